"""The order of a page: a reader wants the answer first, a kernel the settings."""

import nbformat

_NOTE = "In the notebook, the sections from here on stand before the answer."


def answer_first(notebook):
    """Move what leads to the answer behind everything else."""
    cells = notebook.cells
    starts = [n for n, cell in enumerate(cells) if _title(cell)]
    answer = next((n for n in starts if _title(cells[n]).endswith("answer")), None)
    if answer in (None, *starts[:1]):
        return
    first = starts[0]
    # What stands between the question and the first heading, the imports, leads there.
    leads = [cells[first], _note(), *cells[1:first], *cells[first + 1 : answer]]
    notebook.cells = [cells[0], *cells[answer:], *leads]


def _title(cell):
    """Give the title of a section in small letters, or nothing."""
    line = cell.source.lstrip().partition("\n")[0]
    is_heading = cell.cell_type == "markdown" and line.startswith("## ")
    return line.removeprefix("## ").strip().lower() if is_heading else ""


def _note():
    return nbformat.v4.new_markdown_cell(f"*{_NOTE}*", id="reading-order")
