"""HTML within the Markdown of a generated page."""

import html

from casebook.paths import run_dir
from casebook.tables import Markup


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
    return Markup(" ".join(f'<a href="{name}">{label}</a>' for label, name in files if (run_dir(run) / name).is_file()))
