"""Readers' names of chapters, experiments and data sets, and the HTML that links to them."""

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
    chapter_titles = {}
    for cell in cells:
        experiment = experiment_title(run, cell)
        data = data_title(run, cell)
        chapter_titles[cell] = f"{experiment}: {data}" if data else experiment
    counts = Counter(chapter_titles.values())
    for cell, title in chapter_titles.items():
        if counts[title] > 1:
            record = stored_record(run, cell)
            configuration = cell.removeprefix(record.workflow).lstrip("-") if record else cell
            chapter_titles[cell] = f"{title} ({configuration})"
    return chapter_titles


def experiment_title(run, cell):
    """Read the name of an experiment, which is the title of its notebook."""
    path = run_dir(run) / "notebooks" / f"{cell}.ipynb"
    cells = nbformat.read(path, 4).cells if path.is_file() else []
    heading = cells[0].source.partition("\n")[0] if cells else ""
    return heading.removeprefix("# ").strip() if heading.startswith("# ") else cell


def data_title(run, cell):
    """Name the data of a chapter, by its headlines or its parameter; None for several."""
    record = stored_record(run, cell)
    datasets = {headline.dataset for headline in read_headlines(run, cell)}
    if not datasets:  # a demonstration answers nothing; its numbers say what it was made of
        for datasets_of_experiment in read_numbers(run, cell).values():
            datasets |= set(datasets_of_experiment)
    keys = {card_of(name).key if card_of(name) else name for name in datasets}
    dataset = record.labels["Inputs"]["parameters"].get("dataset") if record else None
    if len(keys) == 1:
        (dataset,) = keys
    if not isinstance(dataset, str):
        return None
    folder = data_folder(dataset)
    if folder:
        return folder[0]
    card = card_of(dataset)
    return card.title.partition(",")[0] if card else dataset


def experiment_of(run, cell):
    """Give the experiment of a cell, from its record; without one, the cell's own name."""
    record = stored_record(run, cell)
    return record.workflow if record else cell


def dataset_name(dataset):
    """Give the reader's name of a data set or of a part of one."""
    card = card_of(dataset)
    if card is None:
        return dataset
    title = card.title.partition(",")[0]
    suffix = dataset.removeprefix(card.key)
    if not suffix:
        return title
    part = suffix[1:].replace("_", " ").replace("corrected", "standard")
    if suffix.startswith("_"):
        part += " part"
    return f"{title}, {part}"


def short(title):
    """Cut an entry of the sidebar after four words."""
    words = title.split()
    start = " ".join(words[:MOST_WORDS]).rstrip(":,")
    return f"{start}…" if len(words) > MOST_WORDS else start


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
    files = {"rows": f"rows/{cell}.csv.gz", "run.json": f"runs/{cell}/run.json"}
    links = [
        f'<a href="{name}">{label}</a>'
        for label, name in files.items()
        if (run_dir(run) / name).is_file()
    ]
    return Markup(" ".join(links))
