"""What Sphinx loads for a book: styles, scripts, folded sections, roles that ARIA allows."""

import hashlib
import html
import json
import re
from base64 import b64encode
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from markupsafe import escape

from casebook.paths import SHIPPED

ASSETS = SHIPPED / "book" / "assets"
FOLDED = "folded"  # tag of the cell of a heading
_FOLD = f"<!-- {FOLDED} -->"
# Roles of the bibliography that ARIA 1.3 deprecates or that do not fit.
_ROLES = {
    ' role="doc-biblioentry"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
}
# Scripts that the theme writes into its pages, and those of its two buttons.
_INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
_HANDLERS = ("toggleFullScreen()", "window.print()")
_POLICY = (
    "default-src 'none'; script-src 'self' {scripts} 'unsafe-hashes'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'"
)


def _add_assets(app, config):
    """Name the files here, so that a project needs no copies of them."""
    config.html_static_path = [str(ASSETS)]
    config.html_favicon = str(ASSETS / "favicon.svg")
    config.html_search_scorer = str(ASSETS / "scorer.js")
    config.html_use_index = False
    config.html_domain_indices = False
    for name in ["custom.css", "front.css"]:
        app.add_css_file(name)
    for name in ["tables.js", "figures.js"]:
        app.add_js_file(name, loading_method="defer")


def _escape_names(app, pagename, templatename, context, doctree):
    """Escape the names of book, page and author, which the theme writes as they are."""
    for name in ("docstitle", "root_title", "pagetitle", "author"):
        context[name] = escape(context.get(name) or "")


def _add_policy(app, exception):
    """Let pages run and load nothing but files of the site and what the theme writes in its head.

    A script that somebody's text, name or notebook brought with it stands below the head.
    """
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        head, _, body = page.partition("</head>")
        if "<head>" not in head:
            continue
        scripts = _INLINE.findall(page if path.name == "search.html" else head)
        policy = _POLICY.format(scripts=" ".join(map(_hash, (*scripts, *_HANDLERS))))
        meta = f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}" />'
        head = head.replace("<head>", f"<head>\n{meta}", 1)
        path.write_text(f"{head}</head>{body}", encoding="utf-8")


def _hash(script):
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


def _formula(writer, node):
    """Write a formula as MathML, which browsers draw without a script."""
    is_block = isinstance(node, nodes.math_block)
    writer.body.append(tex2mathml(node.astext(), as_block=is_block))
    raise nodes.SkipNode


def _without_roles(app, pagename, templatename, context, doctree):
    for old, new in _ROLES.items():
        context["body"] = context.get("body", "").replace(old, new)


# --- sections that most readers do not need


def _mark_folds(app, docname, source):
    """Mark the headings of notebooks whose cells have the tag, which Sphinx would not see."""
    if app.env.doc2path(docname).endswith(".ipynb"):
        notebook = json.loads(source[0])
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown" and FOLDED in cell["metadata"].get(
                "tags", []
            ):
                heading, newline, text = "".join(cell["source"]).partition("\n")
                cell["source"] = f"{heading}\n\n{_FOLD}\n{newline}{text}"
        source[0] = json.dumps(notebook)


def _fold_sections(app, doctree, docname):
    """Put what follows a marked heading into a disclosure that opens without a script."""
    for mark in list(doctree.findall(nodes.raw)):
        section = mark.parent
        if mark.astext().strip() != _FOLD or not isinstance(section, nodes.section):
            continue
        section.remove(mark)
        section["classes"].append(FOLDED)
        title = section.next_node(nodes.title)
        section.insert(section.index(title), _html('<details class="folded"><summary>'))
        section.insert(section.index(title) + 1, _html("</summary>"))
        section.append(_html("</details>"))


def _html(markup):
    return nodes.raw("", markup, format="html")


def _code_last(app, doctree, docname):
    """Put the code of a cell below what it shows: readers want that first."""
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") == "cell_code" and len(cell.children) == 2:
            code, output = cell.children
            cell.children = [output, code]


def setup(app):
    app.setup_extension("casebook.book.words")
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    # Before Sphinx checks the paths.
    app.connect("config-inited", _add_assets, priority=100)
    app.connect("source-read", _mark_folds)
    app.connect("doctree-resolved", _fold_sections)
    app.connect("doctree-resolved", _code_last)
    # After the theme, whose names are escaped too.
    app.connect("html-page-context", _escape_names, priority=900)
    app.connect("html-page-context", _without_roles)
    app.connect("build-finished", _add_policy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
