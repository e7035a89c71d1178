"""HTML within the Markdown of a generated page."""


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
