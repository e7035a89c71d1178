"""What chapters, experiments and data sets are called for readers, and the HTML that links to them."""

import html
from collections import Counter

import nbformat

from casebook.batch.run_folder import stored_record
from casebook.data.cards import card_of
from casebook.paths import data_folder, run_dir
from casebook.runs.headlines import read_headlines
from casebook.runs.outputs import read_numbers
from casebook.tables import Markup

MOST_WORDS = 4  # of an entry of the sidebar


def titles(run, cells):
    """Name the chapters of a run: experiment and data set, no two alike."""
    found = {}
    for cell in cells:
        name, data = experiment_title(run, cell), data_title(run, cell)
        found[cell] = f"{name}: {data}" if data else name
    counts = Counter(found.values())
    for cell, title in found.items():
        if counts[title] > 1:
            record = stored_record(run, cell)
            own = cell.removeprefix(record.workflow).lstrip("-") if record else cell
            found[cell] = f"{title} ({own})"
    return found


def experiment_title(run, cell):
    """Read the name of an experiment, which is the title of its notebook."""
    path = run_dir(run) / "notebooks" / f"{cell}.ipynb"
    first = nbformat.read(path, 4).cells[:1] if path.is_file() else []
    line = first[0].source.partition("\n")[0] if first else ""
    return line.removeprefix("# ").strip() if line.startswith("# ") else cell


def data_title(run, cell):
    """Give the name of the data of a chapter, by its headlines or its parameter; None for several."""
    record = stored_record(run, cell)
    named = {each.dataset for each in read_headlines(run, cell)}
    if not named:  # a demonstration answers nothing; its numbers say what it was made of
        named = {dataset for datasets in read_numbers(run, cell).values() for dataset in datasets}
    keys = {card.key if (card := card_of(name)) else name for name in named}
    dataset = record.labels["Inputs"]["parameters"].get("dataset") if record else None
    if len(keys) == 1:
        (dataset,) = keys
    if not isinstance(dataset, str):
        return None
    own, card = data_folder(dataset), card_of(dataset)
    return own[0] if own else card.title.partition(",")[0] if card else dataset


def experiment_of(run, cell):
    """Give the experiment of a cell, from its record; without one, the cell's own name."""
    record = stored_record(run, cell)
    return record.workflow if record else cell


def dataset_name(dataset):
    """Give the reader's name of a data set or of a part of one."""
    card = card_of(dataset)
    if card is None:
        return dataset
    rest = dataset.removeprefix(card.key)
    part = rest[1:].replace("_", " ").replace("corrected", "standard") + " part" * rest.startswith(
        "_"
    )
    return ", ".join(filter(None, [card.title.partition(",")[0], part]))


def short(title):
    """Cut an entry of the sidebar after four words."""
    words = title.split()
    return " ".join(words[:MOST_WORDS]).rstrip(":,") + "…" * (len(words) > MOST_WORDS)


# --- HTML within the Markdown of a generated page


def raw(markup):
    """Wrap HTML so that MyST passes it through."""
    return f"::::::{{raw}} html\n{markup}\n::::::\n"


def as_cards(markup):
    """Mark tables whose rows stand as cards where the screen is narrow."""
    return f'<div class="cards">\n{markup}\n</div>'


def page_link(cell, up=""):
    """Link to the page of an executed notebook, from a page at the top of the site."""
    return Markup(f'<a href="{up}run/notebooks/{cell}.html">{html.escape(cell)}</a>')


def file_links(run, cell):
    """Link to the rows and the run record of a cell, as far as they exist."""
    files = [("rows", f"rows/{cell}.csv.gz"), ("run.json", f"runs/{cell}/run.json")]
    return Markup(
        " ".join(
            f'<a href="{name}">{label}</a>'
            for label, name in files
            if (run_dir(run) / name).is_file()
        )
    )
