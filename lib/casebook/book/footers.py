"""A chapter for readers: the answer first; at the end limits, repetition and files."""

import html

import nbformat

from casebook.book.items import items_title
from casebook.book.limits import limits
from casebook.book.markup import code
from casebook.book.reading_order import answer_first
from casebook.book.reproduce import SHOWN, command, hashes
from casebook.paths import NOTEBOOKS, run_dir
from casebook.run import stored_record

_FOLDERS = {"rows": "rows", "tables": "table", "figures": "figure data"}


def for_readers(path, run, cell):
    """Put the answer of a staged notebook first, and append the footer."""
    notebook = nbformat.read(path, 4)
    answer_first(notebook)
    cell_of_text = nbformat.v4.new_markdown_cell(_text(run, cell), id="repeat-this")
    notebook.cells.append(cell_of_text)
    nbformat.write(notebook, path)


def _text(run, cell):
    record = stored_record(run, cell)
    parameters = record.labels["Inputs"]["parameters"] if record else {}
    lines = limits(run, cell, parameters)
    lines += ["## Repeat or change this chapter", ""]
    if record:
        again = f"{command(record, run)} --force"
        source = next(NOTEBOOKS.glob(f"[0-9]*_{record.workflow}.ipynb"))
        lines += [
            f"- Rerun: {code(again)}; with other settings: `casebook run {record.workflow} -p name=value`.",
            f"- Edit: `make lab`, then `notebooks/{source.name}`.",
            f"- [Made from](../../provenance.md): {_made_from(record)}.",
        ]
    if title := items_title(run, cell):
        page = f"../../generated/items/{cell}.md"
        lines.append(f"- [{title}]({page}): what stands behind the means.")
    files = list(_files(run, cell))
    if files:
        lines.append(f"- Data of this chapter: {', '.join(files)}.")
    return "\n".join(lines)


def _made_from(record):
    parts = hashes(record) | {"content key": record.labels["ContentKey"][:SHOWN]}
    return ", ".join(f"{name} `{digest}`" for name, digest in parts.items() if digest)


def _files(run, cell):
    """Give a link to each file that the cell wrote for readers."""
    for folder, kind in _FOLDERS.items():
        for path in sorted((run_dir(run) / folder).glob(f"{cell}.*")):
            name = path.name.removeprefix(f"{cell}.")
            label = html.escape(kind if folder == "rows" else f"{kind} {name}")
            yield f'<a href="../../{folder}/{html.escape(path.name)}">{label}</a>'
