"""Take roles off the bibliography that ARIA 1.3 deprecates or that do not fit; rank the results of a search."""

from pathlib import Path

_ROLES = {
    ' role="doc-biblioentry"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
}


def without_roles(app, pagename, templatename, context, doctree):
    for old, new in _ROLES.items():
        context["body"] = context.get("body", "").replace(old, new)


def rank_results(app):
    # Sphinx would look for a relative path in the folder that the build was started from.
    app.config.html_search_scorer = str(Path(app.srcdir) / "assets" / "scorer.js")


def setup(app):
    app.connect("html-page-context", without_roles)
    app.connect("builder-inited", rank_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
