"""A page per retrieval chapter on which a reader looks at single questions."""

import html
import json
from urllib.parse import urlencode

from casebook.book.history import same_data
from casebook.book.markup import raw
from casebook.datasets.cards import cards
from casebook.paths import run_dir
from casebook.plain_json import read_json

_TEXTS = {
    (): "Questions and documents are named by their ids: the licence of the data does "
    "not let their texts be passed on, or none is known.",
    ("questions",): "Documents are named by their ids: the licence of the data does "
    "not let their texts be passed on.",
    ("documents", "questions"): "Of documents the beginning is shown, except of those "
    "that only a control returned.",
}


def questions_file(run, cell):
    """Give the file in which a cell keeps its questions.

    Parameters
    ----------
    run, cell : str
        Names of the run and of the cell.

    Returns
    -------
    pathlib.Path
        ``results/<run>/questions/<cell>.json``; only some chapters write one.
    """
    return run_dir(run) / "questions" / f"{cell}.json"


def kept_questions(run, cell):
    """Read what a cell kept of its questions.

    Parameters
    ----------
    run, cell : str
        Names of the run and of the cell.

    Returns
    -------
    dict or None
        See `casebook.retrieval.questions.drill_down`; None if it kept nothing.
    """
    path = questions_file(run, cell)
    return read_json(path) if path.is_file() else None


def question_links(run, cell):
    """Give the addresses of a cell's questions, from a page of ``generated``.

    Parameters
    ----------
    run, cell : str
        Names of the run and of the cell.

    Returns
    -------
    dict
        Question id to address; empty if the cell kept nothing.
    """
    kept = kept_questions(run, cell) or {"questions": []}
    ids = [question["id"] for question in kept["questions"]]
    return {name: f"questions/{cell}.html#{urlencode({'q': name})}" for name in ids}


def question_pages(run, cells, compare=None):
    """Write the pages of all cells that kept questions, and the data that they load.

    Parameters
    ----------
    run : str
        Name of the run.
    cells : list of str
        Names of the executed notebooks.
    compare : str, optional
        Another run, whose systems stand beside those of this run.

    Returns
    -------
    dict
        File name below ``book/generated`` to content: MyST Markdown and JavaScript.
    """
    files = {}
    for cell in cells:
        found = kept_questions(run, cell)
        if found:
            notes = [_count(found), _TEXTS[tuple(found["texts"])]]
            found |= {"cell": cell, "tested": _tested(found)}
            if compare:
                notes.append(_put_beside(found, run, compare))
            # A script, because a page that was opened from disk may not fetch JSON.
            script = json.dumps(found, separators=(",", ":"))
            files[f"questions/{cell}.js"] = f"window.casebookQuestions = {script};\n"
            files[f"questions/{cell}.md"] = _page(found, notes)
    return files


def _tested(found):
    return [p for p, s in enumerate(found["systems"]) if s not in found["controls"]]


def _count(found):
    kept, asked = len(found["questions"]), found["asked"]
    if kept == asked:
        return f"All {asked} questions are here."
    return (
        f"Here are the {kept} of {asked} questions on which the systems' nDCG@10 "
        "differs most; the others are left out to keep the page small."
    )


def _put_beside(found, run, other):
    """Add the other run's systems to the questions, or say why not."""
    before = kept_questions(other, found["cell"])
    if before is None:
        return f"The run {other} kept no questions of this chapter."
    if not same_data(run, other, found["cell"]):
        return f"The run {other} had other data and is not shown beside this one."
    past = {question["id"]: question for question in before["questions"]}
    places = {name: place for place, (name, _) in enumerate(found["documents"])}
    for question in found["questions"]:
        scores, top = _past(past.get(question["id"]), before, found["measures"])
        question["scores"] += scores
        for documents in top:
            new = [document for document in documents if document[0] not in places]
            for name, opening in new:
                places[name] = len(places)
                found["documents"].append([name, opening])
            question["top"].append([places[name] for name, _ in documents])
    _side_by_side(found, before["systems"], other)
    missing = sum(question["id"] not in past for question in found["questions"])
    lost = f"; it did not keep {missing} of the questions" if missing else ""
    return f"The systems of the run {other} stand beside those of this run{lost}."


def _side_by_side(found, systems, other):
    """Let each system of the other run stand next to its namesake of this run."""
    names = [*found["systems"], *systems]
    first = [names.index(name) for name in names]
    order = sorted(range(len(names)), key=first.__getitem__)
    shown = found["systems"] + [f"{system}, {other}" for system in systems]
    found["systems"] = [shown[place] for place in order]
    found["tested"] = [order.index(place) for place in found["tested"]]
    for question in found["questions"]:
        for part in ("scores", "top"):
            question[part] = [question[part][place] for place in order]


def _past(question, before, measures):
    """Give the scores and documents of one question in the other run."""
    if question is None:
        count = len(before["systems"])
        return [[None] * len(measures) for _ in range(count)], [[]] * count
    known = [dict(zip(before["measures"], s, strict=True)) for s in question["scores"]]
    scores = [[row.get(measure) for measure in measures] for row in known]
    return scores, [[before["documents"][p] for p in top] for top in question["top"]]


def _page(found, notes):
    cell, card = found["cell"], cards().get(found["card"])
    source = ""
    if card:
        citation = " ".join(card.citation.split())
        source = (
            f" Data: [{card.title}](../cards/{card.key}.md), {card.licence.name}; "
            f"{citation}"
        )
    viewer = (
        '<div class="questions"><p>Single questions are shown by a script, which does '
        "not run here; the chapter's rows hold the same scores.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/questions.js"></script>'
    )
    return (
        f"# Question by question: {card.title if card else cell}\n\n"
        "What stands behind the means of [the chapter]"
        f"(../../run/notebooks/{cell}.ipynb): each question, what was judged relevant "
        "to it, and what the systems returned first. One question has a score but no "
        "interval; the chapter has the means with theirs. The measures are defined "
        f"[here](../../methods/measures.md).\n\n{' '.join(notes)}{source}\n\n"
        f"{raw(viewer)}"
    )
