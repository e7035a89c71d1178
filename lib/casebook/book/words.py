"""The word list: its page, the links to it in chapters, and the index that the search reads."""

import html
import json
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from casebook.book.front import TEMPLATES
from casebook.files import write_text
from casebook.readers import read_yaml

FOLDER = Path(__file__).parent
PAGE = "words"  # of the book
DATA = "words-data.js"


@lru_cache(maxsize=1)
def word_groups():
    return read_yaml(FOLDER / "words.yml")


def anchor(word):
    return nodes.make_id(word["term"])


def spellings(word):
    return [word["term"], *word.get("spellings", [])]


# --- the page


def words_page():
    return TEMPLATES.get_template("words.md").render(
        groups=word_groups(), picture=picture
    )


def picture(name, alternative):
    drawing = (FOLDER / "words" / f"{name}.svg").read_text(encoding="utf-8")
    start = (
        f'<svg class="word-picture" role="img" aria-label="{html.escape(alternative)}" '
    )
    drawing = drawing.replace("<svg ", start)
    return drawing.replace("\n", "")


# --- the links of chapters


def link_data():
    words = [
        {"spellings": spellings(word), "means": word["means"], "anchor": anchor(word)}
        for group in word_groups()
        for word in group["words"]
        if not word.get("quiet")
    ]
    text = json.dumps({"page": f"{PAGE}.html", "words": words}, ensure_ascii=False)
    return f"const WORDS = {text};\n"


def _write_data(app):
    write_text(Path(app.outdir) / "_static" / DATA, link_data())


def _link_words(app, pagename, templatename, context, doctree):
    """Load the links on the pages that have any, if the book has the word list."""
    if fnmatchcase(pagename, "run/notebooks/*") and PAGE in app.env.found_docs:
        for name in (DATA, "words.js"):
            app.add_js_file(name, loading_method="defer")


# --- the index


class TaskWords(SphinxTransform):
    """Put the words that a page answers into the index, before Sphinx collects it."""

    default_priority = 800

    def apply(self):
        section = self.document.next_node(nodes.section)
        entries = index_entries(self.env.docname)
        if section is not None and entries:
            section.insert(1, addnodes.index(entries=entries))


def index_entries(page):
    """Give the entries of a page as Sphinx has them: words, place, and that this is their page."""
    entries = []
    for pattern, words in read_yaml(FOLDER / "task_words.yml").items():
        if fnmatchcase(page, pattern):
            entries += [("single", str(word), "", "main", None) for word in words]
    if page == PAGE:
        for group in word_groups():
            for word in group["words"]:
                names = spellings(word)
                entries += [
                    ("single", name, anchor(word), "main", None) for name in names
                ]
    return entries


def setup(app):
    app.add_css_file("words.css")
    app.add_transform(TaskWords)
    app.connect("builder-inited", _write_data)
    app.connect("html-page-context", _link_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
