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

KEPT = "kept for other pages"  # section of a chapter that shows nothing
HASH_DIGITS = 12  # on a page; the record has them all


def for_readers(path, chapter):
    """Title a staged notebook, put its answer first, and append the footer."""
    notebook = nbformat.read(path, 4)
    if notebook.cells and notebook.cells[0].source.startswith("# "):
        text = notebook.cells[0].source.partition("\n")[2]
        text = f"# {escape_markdown(chapter.title)}\n{text}\n\n{leaderboard_link(chapter)}"
        notebook.cells[0].source = text.rstrip()
    for cell in notebook.cells:
        if _title(cell) == KEPT:
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
    """Fold the section below a heading: most readers do not need it."""
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
    """Give the title of a section in small letters, or nothing."""
    line = cell.source.lstrip().partition("\n")[0]
    is_heading = cell.cell_type == "markdown" and line.startswith("## ")
    return line.removeprefix("## ").strip().lower() if is_heading else ""


def _footer(chapter):
    """Give the cells on the data of a chapter and on how it is repeated, which is folded."""
    cells = []
    lines = limits(chapter.parameters, chapter.cards)
    if lines:
        cells.append(nbformat.v4.new_markdown_cell("\n".join(lines), id="data-and-limits"))
    lines = ["## How to repeat or change this", ""]
    if chapter.record:
        lines += _commands(chapter.record, chapter.run)
    link = items_link(chapter, "../../generated/")
    if link:
        lines.append(f"- {link}: the single results behind the means.")
    links = _download_links(chapter.run, chapter.cell)
    if links:
        lines.append(f"- Downloads: {', '.join(links)}.")
    tags = {"tags": [FOLDED]}
    text = "\n".join(lines)
    return [*cells, nbformat.v4.new_markdown_cell(text, id="repeat-this", metadata=tags)]


def _commands(record, run):
    """Say how a chapter is repeated and edited, and what it was made from."""
    user_notebook = record.labels.get("Notebook")
    experiment = user_notebook or record.workflow
    source = user_notebook
    if source is None:
        name = _notebook_of(record).name
        source = f"notebooks/{name}"
    inputs = hashes(record) | {"content key": record.labels["ContentKey"][:HASH_DIGITS]}
    made_from = ", ".join(f"{name} `{digits}`" for name, digits in inputs.items() if digits)
    return [
        f"- Repeat: {code(command(record, run))}; with other settings: "
        f"`casebook run {experiment} -p name=value`.",
        f"- Edit: open `{source}` in JupyterLab.",
        f"- [Inputs](../../provenance.md): {made_from}.",
    ]


def _download_links(run, cell):
    kinds = {"rows": "rows", "tables": "table", "figures": "figure data"}
    links = []
    for path in files_of(run, cell, kinds):
        folder = path.parent.name
        label = kinds[folder]
        if folder != "rows":
            label += f" {path.name.removeprefix(f'{cell}.')}"
        address = f"../../{folder}/{html.escape(path.name)}"
        links.append(f'<a href="{address}">{html.escape(label)}</a>')
    return links


# --- the data: what they are, what may be done with them, and their limits


def limits(parameters, cards):
    """Write the section on the data of a chapter with such parameters and data cards."""
    lines = []
    for card in cards.values():
        split = parameters.get("split") if card.key == parameters.get("dataset") else ""
        counts = _counts(card, split or card.default_split)
        link = card_link(card)
        use = ", non-commercial use only" if card.licence.non_commercial else ""
        lines += [f"{link}: {counts}; {card.licence.name}{use}.", ""]
        lines += [f"- {' '.join(caveat.split())}" for caveat in card.caveats]
        lines.append("")
    dataset = parameters.get("dataset")
    if isinstance(dataset, str):
        folder = data_folder(dataset)
        if folder or card_of(dataset) is None:
            name = code(folder[0] if folder else dataset)
            lines.append(f"There is no data card for {name}, so its limits are unknown.")
    return ["## Data and limits", "", *lines, ""] if lines else []


def _counts(card, split):
    if split not in card.splits:
        return f"split {code(str(split))}"
    counts = card.splits[split].model_dump(exclude={"note"})
    listed = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
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
    """Give the notebook of an experiment of the project; None if there is none."""
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
    """Read the grid once, not for each of its numbers; again when the file changes."""
    return {cell.name: cell for cell in load_grid()}


def hashes(record):
    """Give the first digits of the hashes of what a cell was made from, by name."""
    inputs = record.labels["Inputs"]
    data = list(inputs["data"].values())
    values = {"data": digest(inputs["data"]) if len(data) > 1 else next(iter(data), None)}
    for name in ("notebook", "library", "lock"):
        values[name] = inputs.get(name)
    digits = {name: value and value[:HASH_DIGITS] for name, value in values.items()}
    logs = user_logs(record)
    if logs:
        digits["data"] = f"{', '.join(logs)} {digits['data']}"
    return digits


def user_logs(record):
    """Give the names of the user's logs that a cell was made from instead of a data set."""
    return [name for name in record.labels["Inputs"]["data"] if name.startswith("log ")]
