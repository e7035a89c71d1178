"""A chapter for readers.

Its title names the data; the answer stands first, limits of the data and commands last. What comes
before the answer in the notebook is folded.
"""

import html
import json
import re
import shlex
from functools import lru_cache
from pathlib import Path

import nbformat

from casebook.batch.grid import DEFAULT_GRID, load_grid
from casebook.batch.parameters import defaults, portable_parameters
from casebook.book.front import TEMPLATES
from casebook.book.items import items_link
from casebook.book.leaderboard import leaderboard_link
from casebook.book.theme import FOLDED
from casebook.book.titles import card_link
from casebook.data.cards import card_of
from casebook.models.device import REFERENCE
from casebook.paths import ROOT, data_folder, notebook_files
from casebook.runs.record import digest, files_of
from casebook.runs.registry import model_settings_of
from casebook.tables import escape_markdown

HASH_DIGITS = 12  # on a page; the record has them all


def for_readers(path, chapter):
    """Title a staged notebook, put its answer first, and append the footer."""
    notebook = nbformat.read(path, 4)
    if notebook.cells and notebook.cells[0].source.startswith("# "):
        text = notebook.cells[0].source.partition("\n")[2]
        text = (
            f"# {escape_markdown(chapter.title)}\n{text}\n\n{leaderboard_link(chapter)}"
        )
        notebook.cells[0].source = text.rstrip()
    for cell in notebook.cells:
        if _title(cell) == "kept for other pages":  # a section that shows nothing
            fold_section(cell)
    answer_first(notebook)
    fold_code(notebook)
    notebook.cells += _footer(chapter)
    nbformat.write(notebook, path)


def fold_code(notebook):
    """Fold all code; that of cells which show nothing joins the cell that they lead to."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            tags = cell.metadata.get("tags", [])
            if not {"hide-input", "remove-input"} & set(tags):
                cell.metadata["tags"] = [*tags, "hide-input"]
            if cells and cells[-1].cell_type == "code" and not cells[-1].outputs:
                cell.source = f"{cells.pop().source}\n\n\n{cell.source}"
        cells.append(cell)
    notebook.cells = cells


# --- the order of a chapter


def fold_section(cell):
    cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), FOLDED})


def answer_first(notebook):
    """Move settings and data to the end: a kernel needs them first, a reader wants the answer."""
    cells = notebook.cells
    titles = [_title(cell) for cell in cells]
    starts = [k for k, title in enumerate(titles) if title]
    answer = next((k for k in starts if titles[k].endswith("answer")), None)
    if answer is None or answer == starts[0]:
        return
    text = "*The notebook runs the sections below first.*"
    note = nbformat.v4.new_markdown_cell(text, id="reading-order")
    for k in starts:
        if k < answer:
            fold_section(cells[k])
    # The imports, between the question and the first heading, follow it.
    start = starts[0]
    setup = [cells[start], note, *cells[1:start], *cells[start + 1 : answer]]
    notebook.cells = [cells[0], *cells[answer:], *setup]


def _title(cell):
    line = cell.source.lstrip().partition("\n")[0]
    is_heading = cell.cell_type == "markdown" and line.startswith("## ")
    return line.removeprefix("## ").strip().lower() if is_heading else ""


def _footer(chapter):
    """The cells on the data of a chapter and on how it is repeated, which is folded."""
    record = chapter.record
    values = {
        "items": items_link(chapter, "../../generated/"),
        "downloads": _downloads(chapter),
    }
    if record:
        inputs = hashes(record) | {
            "content key": record.labels["ContentKey"][:HASH_DIGITS]
        }
        values["inputs"] = {name: digits for name, digits in inputs.items() if digits}
        values["command"] = code(command(record, chapter.run))
        own = record.labels.get("Notebook")
        values["experiment"] = own or record.workflow
        values["source"] = own or f"notebooks/{_notebook_of(record).name}"
    text = TEMPLATES.get_template("repeat.md").render(values)
    new = nbformat.v4.new_markdown_cell
    repeat = new(text, id="repeat-this", metadata={"tags": [FOLDED]})
    limited = limits(chapter.parameters, chapter.cards)
    return [new(limited, id="data-and-limits"), repeat] if limited else [repeat]


def _downloads(chapter):
    """Links to rows, tables and the data of figures; a drawing is on the page."""
    kinds = {"rows": "rows", "tables": "table", "figures": "figure data"}
    links = []
    for path in files_of(chapter.run, chapter.cell, kinds):
        folder = path.parent.name
        name = "" if folder == "rows" else path.name.removeprefix(f"{chapter.cell}.")
        label = html.escape(f"{kinds[folder]} {name}".strip())
        address = html.escape(f"../../{folder}/{path.name}")
        if path.suffix != ".svg":
            links.append(f'<a href="{address}">{label}</a>')
    return links


# --- the data: what they are, what may be done with them, and their limits


def limits(parameters, cards):
    """The section on the data of a chapter with such parameters and data cards; may be empty."""
    dataset = parameters.get("dataset")
    listed = []
    for card in cards.values():
        split = parameters.get("split") if card.key == dataset else ""
        listed.append(
            (card, card_link(card), _counts(card, split or card.default_split))
        )
    unknown = None
    if isinstance(dataset, str):
        folder = data_folder(dataset)
        if folder or card_of(dataset) is None:
            unknown = code(folder[0] if folder else dataset)
    if not listed and unknown is None:
        return ""
    return TEMPLATES.get_template("limits.md").render(cards=listed, unknown=unknown)


def _counts(card, split):
    if split not in card.splits:
        return f"split {code(str(split))}"
    counts = card.splits[split].model_dump(exclude={"note"})
    listed = ", ".join(
        f"{number:,} {name}" for name, number in counts.items() if number
    )
    return f"split `{split}`: {listed}"


def code(text):
    """Write text as code within a line of Markdown, whatever it holds."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    gap = " " if "`" in text else ""
    return f"{ticks}{gap}{text}{gap}{ticks}"


# --- what a number was made from, and the command that makes it again


def command(record, run):
    """Give the command that executes a cell again with the same parameters."""
    cell = _grid(DEFAULT_GRID.stat().st_mtime_ns).get(record.labels["Cell"])
    parameters = record.labels["Inputs"]["parameters"]
    if cell:
        name = cell.name
        grid_parameters = portable_parameters(cell.parameters, cell.source)
    else:  # of another grid, or of -p: its data too, which others differ in
        name = record.labels.get("Notebook") or record.workflow
        grid_parameters = {}
        parameters = _default_data(record) | parameters
    words = ["casebook", "run", name, "--run", run]
    for key, value in parameters.items():
        if key not in grid_parameters or grid_parameters[key] != value:
            words += ["-p", f"{key}={json.dumps(value)}"]
    for option, value in model_settings_of(record.labels["Inputs"]).items():
        if value != REFERENCE[option]:
            words += [f"--{option}", value]
    return shlex.join([*words, "--force"])  # else an unchanged cell is not run


def _notebook_of(record):
    ending = f"_{record.workflow}.ipynb"
    paths = notebook_files()
    return next((path for name, path in paths.items() if name.endswith(ending)), None)


def _default_data(record):
    """Give the data sets that the notebook of a cell reads if none are given; none for a log."""
    if user_logs(record):
        return {}
    label = record.labels.get("Notebook")
    source = ROOT / label if label else _notebook_of(record)
    values = defaults(source) if source and Path(source).is_file() else {}
    return {name: values[name] for name in ("dataset", "datasets") if name in values}


@lru_cache(maxsize=1)
def _grid(_stamp):
    return {cell.name: cell for cell in load_grid()}


def hashes(record):
    inputs = record.labels["Inputs"]
    data = list(inputs["data"].values())
    values = {
        "data": digest(inputs["data"]) if len(data) > 1 else next(iter(data), None)
    }
    values |= {name: inputs.get(name) for name in ("notebook", "library", "lock")}
    digits = {name: value and value[:HASH_DIGITS] for name, value in values.items()}
    if logs := user_logs(record):
        digits["data"] = f"{', '.join(logs)} {digits['data']}"
    return digits


def user_logs(record):
    return [name for name in record.labels["Inputs"]["data"] if name.startswith("log ")]
