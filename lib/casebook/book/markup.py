"""HTML within the Markdown of a generated page."""

import html

from casebook.paths import run_dir
from casebook.tables import Markup


def raw(markup):
    """Wrap HTML so that MyST passes it through.

    Parameters
    ----------
    markup : str
        HTML.

    Returns
    -------
    str
        A ``raw`` directive; its fence is longer than any run of colons inside.
    """
    return f"::::::{{raw}} html\n{markup}\n::::::\n"


def page_link(cell):
    """Link to the page of an executed notebook, from a page at the top of the site.

    Parameters
    ----------
    cell : str
        Name of the cell.

    Returns
    -------
    casebook.tables.Markup
        HTML.
    """
    return Markup(f'<a href="run/notebooks/{cell}.html">{html.escape(cell)}</a>')


def file_links(run, cell):
    """Link to the rows and the run record of a cell, as far as they exist.

    Parameters
    ----------
    run, cell : str
        Names of the run and of the cell.

    Returns
    -------
    casebook.tables.Markup
        HTML, for a page at the top of the site.
    """
    files = [("rows", f"rows/{cell}.csv.gz"), ("run.json", f"runs/{cell}/run.json")]
    return Markup(
        " ".join(
            f'<a href="{name}">{label}</a>'
            for label, name in files
            if (run_dir(run) / name).is_file()
        )
    )
