"""Take roles off the bibliography that ARIA 1.3 deprecates or that do not fit."""

_ROLES = {' role="doc-biblioentry"': "", '<div role="list" class="citation-list">': '<div class="citation-list">'}


def without_roles(app, pagename, templatename, context, doctree):
    for old, new in _ROLES.items():
        context["body"] = context.get("body", "").replace(old, new)


def setup(app):
    app.connect("html-page-context", without_roles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
