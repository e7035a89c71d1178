"""What Sphinx loads for a book: styles, scripts, the order of a search, roles that ARIA allows."""

from casebook.paths import SHIPPED

ASSETS = SHIPPED / "book" / "assets"
STYLES = ["custom.css", "front.css"]
SCRIPTS = ["tables.js", "figures.js", "front.js"]
# Roles of the bibliography that ARIA 1.3 deprecates or that do not fit.
_ROLES = {
    ' role="doc-biblioentry"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
}


def _add_assets(app, config):
    """Name the files here, so that a project needs no copies of them."""
    config.html_static_path = [str(ASSETS)]
    config.html_favicon = str(ASSETS / "favicon.svg")
    config.html_search_scorer = str(ASSETS / "scorer.js")
    for name in STYLES:
        app.add_css_file(name)
    for name in SCRIPTS:
        app.add_js_file(name, loading_method="defer")


def _without_roles(app, pagename, templatename, context, doctree):
    for old, new in _ROLES.items():
        context["body"] = context.get("body", "").replace(old, new)


def setup(app):
    """Register with Sphinx."""
    app.setup_extension("casebook.book.words")
    app.connect("config-inited", _add_assets, priority=100)  # before Sphinx checks the paths
    app.connect("html-page-context", _without_roles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
