"""The generated pages: scorecard, grid, measures, data cards, provenance of one run."""

import math

import pandas as pd

from casebook.book.changes import changes
from casebook.book.claims import claims_table
from casebook.book.comparison import comparison
from casebook.book.grid_page import grid_page
from casebook.book.items import item_pages
from casebook.book.markup import raw
from casebook.book.provenance import provenance
from casebook.book.scorecard import scorecard
from casebook.datasets.cards import cards
from casebook.datasets.describe import as_markdown, licence_table
from casebook.paths import data_folder
from casebook.run import stored_record
from casebook.tables import to_html


def generated(run, cells, compare=None):
    """Write the pages that depend on the run."""
    records = [stored_record(run, cell) for cell in cells]
    data = {f"cards/{key}.md": as_markdown(card) for key, card in cards().items()}
    if compare:
        data["comparison.md"] = comparison(run, compare)
    data |= item_pages(run, cells, compare)
    return data | {
        "scorecard.md": raw(scorecard(run, chapters(run, cells))),
        "claims.md": raw(claims_table(run)),
        "measures.md": raw(_measures()),
        "systems.md": raw(_systems()),
        "licences.md": raw(to_html(licence_table(), "Licences of the data")),
        "changes.md": changes(run, cells),
        "grid.md": raw(grid_page(run, cells)),
        "provenance.md": provenance(run, [r for r in records if r]),
    }


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
