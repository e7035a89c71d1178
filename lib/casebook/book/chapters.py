"""A chapter for readers: a title that names the data, the answer first, limits of the data and commands last."""

import html
import json
import re
import shlex
from functools import lru_cache
from pathlib import Path

import nbformat

from casebook.batch.grid import DEFAULT_GRID, load_grid
from casebook.batch.parameters import defaults
from casebook.batch.run_folder import stored_record
from casebook.book.items import items_title
from casebook.data.cards import card_of, cards
from casebook.paths import NOTEBOOKS, data_folder
from casebook.runs.evidence import files_of
from casebook.runs.outputs import finished_cells, read_numbers
from casebook.runs.record import digest
from casebook.tables import Markup

SHOWN = 12  # digits of a hash; the record has them all


def for_readers(path, run, cell, title):
    """Title a staged notebook, put its answer first, and append the footer."""
    notebook = nbformat.read(path, 4)
    if notebook.cells and notebook.cells[0].source.startswith("# "):
        text = notebook.cells[0].source.partition("\n")[2]
        notebook.cells[0].source = f"# {title}\n{text}"
    answer_first(notebook)
    fold_code(notebook)
    notebook.cells.append(nbformat.v4.new_markdown_cell(_footer(run, cell), id="repeat-this"))
    nbformat.write(notebook, path)


def fold_code(notebook):
    """Fold all code, that of cells which show nothing into the line of the cell that they lead to."""
    cells = []
    for each in notebook.cells:
        tags = each.metadata.get("tags", [])
        if each.cell_type == "code" and not {"hide-input", "remove-input"} & set(tags):
            each.metadata["tags"] = [*tags, "hide-input"]
        before = cells[-1] if cells else each
        if (
            before is not each
            and before.cell_type == each.cell_type == "code"
            and not before.outputs
        ):
            each.source = f"{before.source}\n\n\n{each.source}"
            cells.pop()
        cells.append(each)
    notebook.cells = cells


# --- the order of a chapter


def answer_first(notebook):
    """Move settings and data behind everything else: a kernel needs them first, a reader wants the answer."""
    cells = notebook.cells
    titles = [_title(cell) for cell in cells]
    starts = [place for place, title in enumerate(titles) if title]
    answer = next((place for place in starts if titles[place].endswith("answer")), None)
    if answer in (None, *starts[:1]):
        return
    first = starts[0]
    text = "*In the notebook, the following sections come before the answer.*"
    note = nbformat.v4.new_markdown_cell(text, id="reading-order")
    # The imports, between the question and the first heading, follow it.
    leads = [cells[first], note, *cells[1:first], *cells[first + 1 : answer]]
    notebook.cells = [cells[0], *cells[answer:], *leads]


def _title(cell):
    """Give the title of a section in small letters, or nothing."""
    line = cell.source.lstrip().partition("\n")[0]
    is_heading = cell.cell_type == "markdown" and line.startswith("## ")
    return line.removeprefix("## ").strip().lower() if is_heading else ""


def _footer(run, cell):
    record = stored_record(run, cell)
    parameters = record.labels["Inputs"]["parameters"] if record else {}
    lines = limits(run, cell, parameters)
    lines += ["## How to repeat or change this", ""]
    if record:
        again = command(record, run)
        own = record.labels.get("Notebook")
        source = Path(own) if own else next(NOTEBOOKS.glob(f"[0-9]*_{record.workflow}.ipynb"))
        parts = hashes(record) | {"content key": record.labels["ContentKey"][:SHOWN]}
        made_from = ", ".join(f"{name} `{found}`" for name, found in parts.items() if found)
        lines += [
            f"- Repeat: {code(again)}; with other settings: `casebook run {own or record.workflow} -p name=value`.",
            f"- Edit: `make lab`, then open `{own or f'notebooks/{source.name}'}`.",
            f"- [Inputs](../../provenance.md): {made_from}.",
        ]
    if title := items_title(run, cell):
        lines.append(
            f"- [{title}](../../generated/items/{cell}.md): the single results behind the means."
        )
    links = []
    kinds = {"rows": "rows", "tables": "table", "figures": "figure data"}
    for path in files_of(run, cell, finished_cells(run), kinds):
        folder = path.parent.name
        label = (
            "rows" if folder == "rows" else f"{kinds[folder]} {path.name.removeprefix(f'{cell}.')}"
        )
        links.append(f'<a href="../../{folder}/{html.escape(path.name)}">{html.escape(label)}</a>')
    if links:
        lines.append(f"- Downloads: {', '.join(links)}.")
    return "\n".join(lines)


# --- the data: what they are, what may be done with them, and their limits


def cards_of(run, cell, parameters):
    """Give every card that the parameters or numbers of a chapter name, once."""
    found = {}
    for value in parameters.values():
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name in cards():
                found[name] = cards()[name]
    for datasets in read_numbers(run, cell).values():
        found |= {card.key: card for card in filter(None, map(card_of, datasets))}
    return found


def limits(run, cell, parameters):
    """Write the section on the data of a chapter."""
    lines = []
    for card in cards_of(run, cell, parameters).values():
        split = parameters.get("split") if card.key == parameters.get("dataset") else ""
        use = ", non-commercial use only" if card.licence.non_commercial else ""
        counts = _counts(card, split or card.default_split)
        lines += [
            f"[{card.title}](../../generated/cards/{card.key}.md): {counts}; {card.licence.name}{use}.",
            "",
        ]
        lines += [*(f"- {' '.join(caveat.split())}" for caveat in card.caveats), ""]
    named = parameters.get("dataset")
    if isinstance(named, str) and (data_folder(named) or card_of(named) is None):
        called = data_folder(named)[0] if data_folder(named) else named
        lines.append(f"There is no data card for {code(called)}, so its limits are unknown.")
    return ["## Data and limits", "", *lines, ""] if lines else []


def _counts(card, split):
    held = card.splits.get(split)
    if held is None:
        return f"split {code(str(split))}"
    counts = held.model_dump(exclude={"note"}).items()
    return (
        f"split `{split}`: {', '.join(f'{number:,} {name}' for name, number in counts if number)}"
    )


def code(text):
    """Write text as code within a line of Markdown, whatever it holds."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    gap = " " if "`" in text else ""
    return f"{ticks}{gap}{text}{gap}{ticks}"


# --- what a number was made from, and the command that makes it again


def command(record, run):
    """Give the command that executes a cell again with the same parameters."""
    name, own = record.labels["Cell"], record.labels.get("Notebook")
    cell = _grid(DEFAULT_GRID.stat().st_mtime_ns).get(name)
    known = cell.parameters if cell else {}
    parameters = record.labels["Inputs"]["parameters"]
    if cell is None:  # of another grid, or of -p: its data too, which others differ in
        sources = (
            [record.labels["Notebook"]]
            if own
            else NOTEBOOKS.glob(f"[0-9]*_{record.workflow}.ipynb")
        )
        values = next(map(defaults, sources), {})
        named = () if own_logs(record) else ("dataset", "datasets")
        parameters = {key: values[key] for key in named if key in values} | parameters
    words = ["casebook", "run", name if cell else own or record.workflow, "--run", run]
    for key, value in parameters.items():
        if key not in known or known[key] != value:
            words += ["-p", f"{key}={json.dumps(value)}"]
    return shlex.join([*words, "--force"])  # else an unchanged cell is not run


@lru_cache(maxsize=1)
def _grid(_stamp):
    """Read the grid once, not for each of its numbers; again when the file changes."""
    return {cell.name: cell for cell in load_grid()}


def hashes(record):
    """Give what a cell was made from."""
    inputs = record.labels["Inputs"]
    each = list(inputs["data"].values())
    data = digest(inputs["data"]) if len(each) > 1 else next(iter(each), None)
    found = {"data": data, **{name: inputs.get(name) for name in ("notebook", "library", "lock")}}
    found = {name: value and value[:SHOWN] for name, value in found.items()}
    if logs := own_logs(record):
        found["data"] = f"{', '.join(logs)} {found['data']}"
    return found


def own_logs(record):
    """Give the names of the logs of one's own that a cell was made from instead of a data set."""
    return [name for name in record.labels["Inputs"]["data"] if name.startswith("log ")]


def reproduce_line(run, cell, up=""):
    """Write the command that repeats a number, and the hashes of its inputs; closed until a reader opens it."""
    record = stored_record(run, cell)
    if record is None:
        return Markup("<small>no record</small>")
    parts = [
        f"{name} <code>{found}</code>" if found else f"{name} not hashed"
        for name, found in hashes(record).items()
    ]
    return Markup(
        '<details class="reproduce"><summary>reproduce</summary>'
        f'<code class="command">{html.escape(command(record, run))}</code><br>{", ".join(parts)}; '
        f'<a href="{up}provenance.html#{cell}">provenance</a></details>'
    )
