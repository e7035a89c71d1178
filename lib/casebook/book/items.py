"""A page per chapter that shows its single items: questions, edits, votes, claims, answers.

One page kind shows them all: an item has an id, a text, tags to filter by, scores of every system,
keys to sort by, and the content of the page's parts, in the order of its layout: facts, a marked
change, tables, what two systems returned. A cell is text; a number, which is an index of the page's
documents; None, which is undefined; or a list of one of these, a mark before it and a note below
it. ``assets/items.js`` draws them and chooses among them by the address.

Tags, which figures link to (``only=TAG``). One of a system belongs to the ``system`` of the
address; ``TAG, other not`` holds for it and not for ``against``.

============  ==================================================  ==================================
kind          tag                                                 of a system
============  ==================================================  ==================================
questions     half: development, half: held-out; lost: in no      nothing relevant in the first 10
              list, lost: by the last cut; length: short,
              length: long
edits         kind of fact, as in `FACTS`; decides, does not      above 1.5, moved more than its
              decide, not annotated; edit of the case, edit of    placebos, moved no more than its
              an edited case                                      placebos, lost every precedent,
                                                                  not expanded
votes         more votes: SYSTEM; unanimous, not unanimous;
              A and B disagree
claims        label: LABEL; SLICE: VALUE; evidence found,         gold LABEL, verdict VERDICT; wrong
              evidence not found                                  verdict
answers                                                           answered, abstained, grounded in
                                                                  full, half right, sentence not
                                                                  grounded
explanations  DEFECT                                              DEFECT: noticed, DEFECT: missed,
                                                                  sentence not grounded
============  ==================================================  ==================================
"""

import html
import json
from collections import Counter
from functools import lru_cache
from itertools import chain, combinations, zip_longest
from pathlib import Path

from casebook.batch.run_folder import same_data
from casebook.book.titles import raw, titles
from casebook.data.cards import cards
from casebook.paths import run_dir
from casebook.readers import read_json, read_yaml
from casebook.runs.outputs import STORED_DIGITS, item_page_address
from casebook.tables import FACTS, reason_text

CHANGES = ("better", "equal", "worse")
FIRST_CODE = 35  # of the characters that stand for documents: the first one after a quotation mark
OTHER_NOT = ", other not"  # ends a tag that the first system of the pair has and the other lacks


@lru_cache(maxsize=1)
def page_words():
    """Read the words of each kind of page."""
    return read_yaml(Path(__file__).with_name("items.yml"), "file of items")


def items_file(run, cell):
    """Give the file in which a cell keeps its items."""
    return run_dir(run) / "items" / f"{cell}.json"


def read_items(run, cell):
    """Read what a cell kept of its items; None if it kept none."""
    path = items_file(run, cell)
    return read_json(path) if path.is_file() else None


def items_title(run, cell):
    """Name the page of a cell's items, such as "Claim by claim"."""
    collection = read_items(run, cell)
    return collection and page_words()[collection["kind"]]["title"]


def item_links(run, cell):
    """Give the addresses of a cell's items, from a page of ``generated``."""
    collection = read_items(run, cell) or {"items": []}
    return {item["id"]: item_page_address(cell, q=item["id"]) for item in collection["items"]}


def item_pages(run, cells, compare=None):
    """Write the pages of all cells that kept items, and the data that they load."""
    files = {}
    chapter_titles = titles(run, cells)
    for cell in cells:
        collection = read_items(run, cell)
        if not collection:
            continue
        collection["cell"] = cell
        note = None
        shown_collection = collection
        if compare:
            shown_collection, note = _joined(collection, run, compare)
        files[f"items/{cell}.js"] = as_script(view(shown_collection))
        files[f"items/{cell}.md"] = _markdown(collection, cell, note, chapter_titles[cell])
    return files


def as_script(page):
    """Write a page as a script, because a page from disk may not fetch JSON; its items as rows."""
    columns = list(page["items"][0]) if page["items"] else []
    rows = [[item[column] for column in columns] for item in page["items"]]
    packed = json.dumps(page | {"columns": columns, "items": rows}, separators=(",", ":"))
    return f"window.casebookItems = {packed};\n"


def view(collection):
    """Turn what a chapter kept of its items into a page."""
    kind = collection["kind"]
    controls = collection.get("controls", ())
    tested = [k for k, name in enumerate(collection["systems"]) if name not in controls]
    tested.sort(key=lambda k: collection["systems"][k] != collection.get("focus"))
    pair = _usual_pair(collection, tested)
    content = VIEWS[kind](collection | {"tested": tested, "pair": pair})
    return page(
        collection["cell"],
        page_words()[kind]["noun"],
        collection["documents"],
        systems=collection["systems"],
        tested=tested,
        pair=pair,
        **content,
    )


def _usual_pair(collection, tested):
    """Give the positions of the system under study and of what it is compared with at first."""
    systems = collection["systems"]
    if len(systems) < 2:
        return None
    system = tested[0] if tested else 0
    others = [k for k in [*tested, *range(len(systems))] if k != system]
    others.sort(key=lambda k: systems[k] != collection.get("against"))
    return [system, others[0]]


def _markdown(collection, cell, comparison_note, title):
    """Write the page around the viewer: how much is on it; below it what, and the data."""
    kind = page_words()[collection["kind"]]
    noun = kind["noun"]
    opening = [
        f"The single results behind the means of [the chapter](../../run/notebooks/{cell}.ipynb).",
        _extent(collection, kind),
        collection.get("remark"),
    ]
    notes = [
        f"The page holds {kind['about'].strip()}",
        _text_note(collection, kind),
        comparison_note,
        _data_note(collection),
    ]
    viewer = (
        f'<div class="items"><p>This page needs JavaScript to show single {noun}s. '
        "The rows of the chapter hold the same results.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/items.js"></script>\n'
        '<link rel="stylesheet" href="../../_static/items.css">'
    )
    return (
        f"# {title}, {kind['title'].lower()}\n\n"
        f"{' '.join(filter(None, opening))}\n\n{raw(viewer)}\n\n"
        f"{' '.join(filter(None, notes))}\n"
    )


def _extent(collection, kind):
    """Say how many items there are, and which are left out."""
    n_items = len(collection["items"])
    if n_items == collection["asked"]:
        return f"The page shows all {n_items} {kind['noun']}s."
    return (
        f"The page shows the {n_items} of {collection['asked']} {kind['noun']}s "
        f"{kind['left_out']}; the others are left out to keep the page small."
    )


def _text_note(collection, kind):
    """Say what is marked in the texts, or why there are none."""
    texts = collection["texts"]
    if texts is None or "documents" in texts:
        return kind["shown"]
    subject = "Documents"
    if "items" not in texts:
        subject = f"{kind['noun']}s and documents".capitalize()
    rule = "by our rule, a report repeats no texts whose licence is non-commercial or unknown"
    return f"{subject} are shown by their ids only: {rule}."


def _data_note(collection):
    """Name the data set with licence and citation."""
    card = cards().get(collection["card"])
    if card is None:
        return None
    citation = " ".join(card.citation.split())
    return f"Data: [{card.title}](../cards/{card.key}.md), {card.licence.name}; {citation}"


# --- what any page is made of


def facts():
    """Describe a part of named values: content is a list of name and cell."""
    return {"part": "facts"}


def change(caption):
    """Describe a part of a text before and after, see `casebook.runs.outputs.word_changes`."""
    return {"part": "change", "caption": caption}


def table(caption, heads, missing="undefined", cards=False, folded=False):
    """Describe a table, which a reader opens if it is folded: content is a list of rows."""
    return {
        "part": "table",
        "caption": caption,
        "heads": list(heads),
        "missing": missing,
        "cards": cards,
        "folded": folded,
    }


def score_table(caption):
    """Describe the table of an item's scores, a row a system: it has no content of its own."""
    return {"part": "scores", "caption": caption}


def rankings(ranked, lists, depth):
    """Describe what the chosen pair of systems returned: content is that of `ranked_lists`."""
    return {"part": "rankings", "ranked": ranked, "lists": lists, "depth": depth}


def ranked_lists(relevant, lists):
    """Give what systems returned for one question, each document and each list once.

    These are the documents, the relevant ones first; how many are relevant; the lists that differ,
    a character for each document, whose code is its position here and `FIRST_CODE`; and for each
    system the position of its list.
    """
    positions = {document: k for k, document in enumerate(relevant)}
    distinct = {}
    list_of_system = []
    for documents in lists:
        codes = [FIRST_CODE + positions.setdefault(name, len(positions)) for name in documents]
        ranking = "".join(map(chr, codes))
        list_of_system.append(distinct.setdefault(ranking, len(distinct)))
    return [list(positions), len(relevant), list(distinct), list_of_system]


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it."""
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), by_system=(), scores=(), keys=()):
    """Give one item of a page; a part without content is left out.

    ``by_system`` has the tags, and ``scores`` the values of the page's measures, of each system.
    """
    return {
        "id": name,
        "text": text,
        "parts": [part or None for part in parts],
        "tags": list(tags),
        "by_system": [list(tags_of_system) for tags_of_system in by_system]
        if any(by_system)
        else [],
        "scores": [list(values) for values in scores],
        "keys": [round(key, 3) for key in keys],
    }


def page(
    cell,
    noun,
    documents,
    layout,
    items,
    *,
    systems=(),
    tested=(),
    pair=None,
    measures=(),
    words=CHANGES,
    orders=(),
    wrong=None,
    questions=(),
):
    """Put a page together.

    Tags become positions in its list of tags, and scores positions in its ascending list of values,
    so that the signs of differences are those of the scores themselves.

    Parameters
    ----------
    systems : sequence of str
        Readers' names; ``tested`` has the positions of those that are no controls, ``pair`` of the
        two that are compared at first.
    measures : sequence of (str, int)
        What the scores are, and the decimals that a reader sees; the first one leads.
    words : sequence of str
        What better, equal and worse are called.
    orders : sequence of str
        What the items' keys order by, the smallest first.
    wrong : (str, str), optional
        The tag of items on which a system is wrong, and the label of the box that asks for them.
    questions : sequence of (str, dict)
        Ready-made choices: their text, and what they put into the address.
    """
    tags = sorted({tag for item in items for tag in _tags_of(item)})
    values = sorted({value for item in items for row in item["scores"] for value in row} - {None})
    return {
        "cell": cell,
        "noun": noun,
        "layout": layout,
        "documents": documents,
        "systems": list(systems),
        "tested": list(tested),
        "pair": pair,
        "measures": [list(measure) for measure in measures],
        "values": values,
        "words": dict(zip(CHANGES, words, strict=True)),
        "tags": tags,
        "orders": orders,
        "wrong": wrong,
        "questions": [list(question) for question in questions],
        "items": _numbered(items, tags, values),
    }


def _tags_of(item):
    return {*item["tags"], *chain.from_iterable(item["by_system"])}


def _numbered(items, tags, values):
    """Write positions in the lists of tags and of values for both."""
    tag_positions = {tag: k for k, tag in enumerate(tags)}
    positions = {value: k for k, value in enumerate(values)} | {None: None}
    return [
        item
        | {
            "tags": [tag_positions[tag] for tag in item["tags"]],
            "by_system": [[tag_positions[tag] for tag in row] for row in item["by_system"]],
            "scores": [[positions[value] for value in row] for row in item["scores"]],
        }
        for item in items
    ]


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


def text_or_none(value):
    """Write a number as text, None as it is."""
    return None if value is None else str(value)


# --- the systems of another run next to those of this one

#: What the items of a kind hold of each system, in the order of the systems.
BY_SYSTEM = {
    "questions": ("scores", "top"),
    "edits": ("results",),
    "votes": (),
    "claims": ("verdicts", "right", "stated"),
    "answers": ("given",),
    "explanations": ("scores", "copies"),
}


def _joined(collection, run, compared_run):
    """Add the systems of the other run to a collection, and say so, or why not."""
    cell = collection["cell"]
    noun = page_words()[collection["kind"]]["noun"]
    past = read_items(compared_run, cell)
    if past is None or past["kind"] != collection["kind"]:
        return collection, f"The run {compared_run} kept no {noun}s of this chapter."
    if not same_data(run, compared_run, cell):
        return collection, f"The run {compared_run} used other data and is not shown here."
    if past.get("measures") != collection.get("measures"):
        return collection, f"The run {compared_run} kept other measures and is not shown here."
    if not BY_SYSTEM[collection["kind"]]:
        return collection, f"The {noun}s of the run {compared_run} are not shown here."
    documents = _SharedDocuments(collection["documents"], past["documents"])
    order = _equal_names_together([*collection["systems"], *past["systems"]])
    past_items = {item["id"]: item for item in past["items"]}
    items = [
        _with_systems(item, past_items.get(item["id"]), collection, past, order, documents)
        for item in collection["items"]
    ]
    past_names = {name: f"{name}, {compared_run}" for name in past["systems"]}
    systems = [*collection["systems"], *past_names.values()]
    joined = collection | {
        "systems": [systems[k] for k in order],
        "controls": [
            *collection.get("controls", ()),
            *(past_names[name] for name in past.get("controls", ())),
        ],
        "documents": documents.documents,
        "items": items,
    }
    n_missing = sum(item["id"] not in past_items for item in collection["items"])
    missing = f"; it did not keep {n_missing} of the {noun}s" if n_missing else ""
    return joined, f"The systems of the run {compared_run} are among those of this run{missing}."


def _equal_names_together(names):
    """Order positions so that equal names stand next to each other."""
    return sorted(range(len(names)), key=lambda k: names.index(names[k]))


def _with_systems(item, past_item, collection, past, order, documents):
    """Give an item with what the systems of the other run did, None where they lack it."""
    joined = {}
    for field in BY_SYSTEM[collection["kind"]]:
        past_values = [None] * len(past["systems"])
        if past_item is not None:
            past_values = [documents.translated(field, value) for value in past_item[field]]
        values = [*item[field], *past_values]
        joined[field] = [values[k] for k in order]
    return item | joined


class _SharedDocuments:
    """Documents of a page; those of the other run's items are added when these name them."""

    def __init__(self, documents, past_documents):
        self.documents = list(documents)
        self.past_documents = past_documents
        self.positions = {name: k for k, (name, _) in enumerate(documents)}

    def translated(self, field, value):
        """Turn positions among the other run's documents into positions among this page's."""
        if field == "top":
            return [self._position(document) for document in value]
        if field == "results" and value and not value["error"]:
            sides = {}
            for side in ("left", "entered"):
                moved = value[side]
                sides[side] = moved and [[self._position(case), *rest] for case, *rest in moved]
            return value | sides
        return value

    def _position(self, past_position):
        name, opening = self.past_documents[past_position]
        if name not in self.positions:
            self.positions[name] = len(self.documents)
            self.documents.append([name, opening])
        return self.positions[name]


# --- questions of a retrieval chapter


def _questions(collection):
    systems = collection["systems"]
    depth = collection["depth"]
    nothing = f"nothing relevant in the first {depth}"
    items = [_question(question, nothing) for question in collection["items"]]
    scope = {"only": collection["scope"]} if collection.get("scope") else {}
    ready = [
        (text, {"system": system, "against": against, "change": "worse"} | scope)
        for text, system, against in collection.get("questions", ())
    ]
    ready += [
        (f"questions where {systems[k]} has {nothing}", {"system": systems[k], "only": nothing})
        for k in collection["tested"][:1]
    ]
    return {
        "layout": [
            rankings(
                f"Relevant documents, and their rank in the first {depth}",
                f"First {depth} documents; ✓ is relevant",
                depth,
            ),
            score_table("Scores of this question, every system"),
        ],
        "items": items,
        "measures": [(measure, 3) for measure in collection["measures"]],
        "wrong": (nothing, f"only where {{system}} has {nothing}"),
        "questions": ready,
    }


def _question(question, nothing):
    relevant = question["relevant"]
    lists = [documents or [] for documents in question["top"]]
    found = [not set(relevant).isdisjoint(documents) for documents in lists]
    return item(
        question["id"],
        question["text"],
        [ranked_lists(relevant, lists), None],
        tags=question.get("tags", ()),
        by_system=[[] if is_found else [nothing] for is_found in found],
        scores=[values or [] for values in question["scores"]],
    )


# --- edits of a sensitivity chapter

_DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}
_OPERATIONS = {"add": "{new} added", "remove": "{old} removed"}
_REPLACEMENT = "{old} becomes {new}"
_ABOVE = "above {:g}"
_MOVED_MORE = "moved more than its placebos"
_MOVED_NO_MORE = "moved no more than its placebos"
_LOST_ALL = "lost every precedent"
_NOT_EXPANDED = "not expanded"
_EDIT_MEASURES = (
    ("rank change beyond its placebos", 3),
    ("rank change (normalised footrule)", 3),
    ("mean rank displacement", 2),
)


def _edits(collection):
    depth = collection["depth"]
    moved = (
        "What moved (normalised footrule: 0 nothing, 1 everything), "
        f"and how many of {depth} cases are new"
    )
    moved_heads = [
        "System",
        "Edit moved",
        "Placebos moved",
        "Cases new after the edit",
        "After each placebo",
    ]
    cases = f"Cases that should be found: how many are in the first {depth}, and the best rank"
    cases_heads = ["System", "Before the edit", "After the edit", "After placebos"]
    lists = (
        f"cases that left and entered the first {depth}, with their rank there; ✓ should be found"
    )
    layout = [
        facts(),
        change("The query, before and after the edit"),
        change("A placebo of the same size, before and after"),
        table(moved, moved_heads, missing="not tried or without placebo"),
        table(cases, cases_heads, missing="not tried"),
    ]
    for count, k in enumerate(collection["tested"]):  # a table a system, the first one open
        caption = f"{collection['systems'][k]}: {lists}"
        layout.append(table(caption, ["Left", "Entered"], missing="none", folded=count > 0))
    threshold = collection.get("threshold")
    items = [_edit(edit, collection, threshold) for edit in collection["items"]]
    main = [collection["systems"][k] for k in collection["tested"][:1]]
    ready = []
    for system in main:
        texts = {_MOVED_MORE: f"edits that moved the list of {system} more than its placebos"}
        if threshold:
            ranks = f"by more than {threshold:g} ranks on average"
            texts[_ABOVE.format(threshold)] = f"edits that moved the list of {system} {ranks}"
        if collection["precedents"]:
            texts[_LOST_ALL] = f"edits after which {system} lists no case that should be found"
        ready = [(text, {"system": system, "only": tag}) for tag, text in texts.items()]
    return {
        "layout": layout,
        "items": items,
        "measures": _EDIT_MEASURES,
        "words": ("moves more", "moves equally", "moves less"),
        "orders": ("moved most beyond its placebos",),
        "questions": ready,
    }


def _edit(edit, collection, threshold):
    fact = FACTS.get(edit["fact_type"], edit["fact_type"])
    decides = _DECIDES[edit["decides"]]
    depth = "the case" if edit["depth"] == 1 else "an edited case"
    named_values = [
        ["Case", edit["case"]],
        ["Kind of fact", f"{fact} ({decides})"],
        ["Edited", depth],
    ]
    systems = collection["systems"]
    results = dict(zip(systems, edit["results"], strict=True))
    main = systems[collection["tested"][0]] if collection["tested"] else None
    moved = [_moved_row(name, result) for name, result in results.items()]
    precedents = None
    if collection["precedents"]:
        precedents = [_precedents_row(name, result) for name, result in results.items()]
    lists = [_left_and_entered(edit["results"][k]) for k in collection["tested"]]
    operation = _OPERATIONS.get(edit["operation"], _REPLACEMENT)
    return item(
        edit["id"],
        f"{fact}: {operation.format(old=edit['old'], new=edit['new'])}",
        [named_values, edit["change"], edit["placebo"], moved, precedents, *lists],
        tags=[fact, decides, f"edit of {depth}"],
        by_system=[_edit_tags(result, threshold) for result in edit["results"]],
        scores=[_edit_scores(result) for result in edit["results"]],
        keys=[-(_excess(results[main]) or 0.0) if main else 0.0],
    )


def _edit_tags(result, threshold):
    """Give the tags of what one system did with an edit."""
    if not _is_result(result):
        return [_NOT_EXPANDED]
    tags = []
    excess = _excess(result)
    if excess is not None:
        tags.append(_MOVED_MORE if excess > 0 else _MOVED_NO_MORE)
    displacement = result.get("displacement")
    if threshold and displacement is not None and displacement > threshold:
        tags.append(_ABOVE.format(threshold))
    if _lost_every_precedent(result):
        tags.append(_LOST_ALL)
    return tags


def _edit_scores(result):
    if not _is_result(result):
        return [None] * len(_EDIT_MEASURES)
    return [_excess(result), result["moved"], result.get("displacement")]


def _is_result(result):
    """Whether an edit was tried by a system, and did not fail."""
    return result is not None and not result["error"]


def _moved_row(system, result):
    if not _is_result(result):
        return [system, result and f"failed: {result['error']}", None, None, None]
    return [
        system,
        decimal(result["moved"]),
        decimal(result["placebo_moved"]),
        str(result["new"]),
        ", ".join(map(str, result["placebo_new"])) or None,
    ]


def _precedents_row(system, result):
    if not _is_result(result):
        return [system, None, None, None]
    placebos = "; ".join(map(_best_and_count, result["placebo_found"])) or None
    before = _best_and_count(result["found"])
    after = _best_and_count(result["still_found"])
    return [system, before, after, placebos]


def _excess(result):
    """How far the edit moved the ranking beyond its placebos."""
    if not _is_result(result) or None in (result["moved"], result["placebo_moved"]):
        return None
    return round(result["moved"] - result["placebo_moved"], STORED_DIGITS)


def _lost_every_precedent(result):
    return bool(result["found"] and result["found"][1] and not result["still_found"][1])


def _left_and_entered(result):
    """Pair the cases that left the list with those that entered it."""
    if not _is_result(result):
        return []
    left = [_moved_case(*case, "before") for case in result["left"]]
    entered = [_moved_case(*case, "after") for case in result["entered"]]
    return [list(row) for row in zip_longest(left, entered)]


def _moved_case(case, rank, is_relevant, when):
    return cell(case, "relevant" if is_relevant else None, f"rank {rank} {when}")


def _best_and_count(precedents):
    if precedents is None:
        return "none known"
    best, count = precedents
    return f"{count}, best at rank {best}" if count else "none"


# --- items of a double-blind comparison

_MAJORITY = "more votes: {}"
_NOT_UNANIMOUS = "not unanimous"
_MOST_RATERS = 8  # whose pairs have a tag each


def _votes(collection):
    systems = collection["systems"]
    scales = [
        f"{scale.capitalize()} of {system}" for scale in collection["scales"] for system in systems
    ]
    heads = ["Rater", "Vote", "On the left", "Place in the form", *scales]
    return {
        "layout": [facts(), table("Votes and ratings", heads, "left blank", cards=True)],
        "items": [_compared_pair(pair, *systems) for pair in collection["items"]],
        "measures": [("votes", 0)],
        "words": ("more votes", "as many votes", "fewer votes"),
        "orders": ("least agreed first",),
        "questions": [
            ("items on which the raters disagree", {"only": _NOT_UNANIMOUS}),
            *(
                (f"items with more votes for {name}", {"only": _MAJORITY.format(name)})
                for name in systems
            ),
        ],
    }


def _compared_pair(pair, system, baseline):
    votes = [vote["vote"] for vote in pair["votes"] if vote["vote"] is not None]
    wins = votes.count(1)
    losses = votes.count(-1)
    majority = "none"
    if wins != losses:
        majority = system if wins > losses else baseline
    rater_pairs = list(combinations(votes, 2))
    n_agreeing = sum(a == b for a, b in rater_pairs)
    n_left = sum(vote["left"] for vote in pair["votes"])
    named_values = [
        ["More votes", majority],
        ["Raters who agree", f"{n_agreeing} of {len(rater_pairs)} pairs"],
        [f"{system} on the left", f"{n_left} of {len(pair['votes'])} raters"],
    ]
    tags = [_MAJORITY.format(majority), *_disagreements(pair["votes"])]
    if len(votes) > 1:
        tags.append("unanimous" if n_agreeing == len(rater_pairs) else _NOT_UNANIMOUS)
    return item(
        pair["id"],
        f"{system} {wins}, {baseline} {losses}, tied {votes.count(0)}",
        [named_values, [_vote_row(vote, system, baseline) for vote in pair["votes"]]],
        tags=tags,
        scores=[[wins], [losses]],
        keys=[abs(wins - losses) / len(votes) if votes else 0.0],
    )


def _disagreements(votes):
    """Tag an item by the raters who voted differently on it."""
    voters = [vote for vote in votes if vote["vote"] is not None]
    if len(votes) > _MOST_RATERS:
        return []
    return [
        f"{first['rater']} and {second['rater']} disagree"
        for first, second in combinations(voters, 2)
        if first["vote"] != second["vote"]
    ]


def _vote_row(vote, system, baseline):
    preferred = {1: system, -1: baseline, 0: "tie", None: None}[vote["vote"]]
    left = system if vote["left"] else baseline
    ratings = [rating for scale in vote["ratings"] for rating in scale]
    return [vote["rater"], preferred, left, *map(text_or_none, [vote["place"], *ratings])]


# --- claims of a fact-checking chapter

_WRONG = "wrong verdict"
_MISSED = "evidence not found"
_CONFUSION = "gold {}, verdict {}"
_MOST_CELLS = 4  # of the confusion matrix, that the page offers


def _claims(collection):
    main = collection["systems"][0]
    sub_claims = ["Part", "Sub-claim", "Verdict", "Share of support", "Passages"]
    decisive = "Decisive evidence"
    if collection["searched"]:
        decisive += f"; ✓ was found by {main}, ✗ was not"
    verdicts = ["System", "Verdict", "Stated probability that it is right"]
    cited = ["Passage", "For", "Stance", "Probability of support", "Credibility"]
    cited_caption = f"Evidence that {main} found; ✓ contains decisive words"
    no_side = "none: no passage takes a side"
    items = [_claim(claim, collection) for claim in collection["items"]]
    return {
        "layout": [
            facts(),
            table("Verdicts; ✓ is right, ✗ wrong", verdicts, "none"),
            table(f"Sub-claims that {main} judged", sub_claims, no_side, cards=True),
            table(decisive, ["Passage", "Decides", "Gold label"], "none", cards=True),
            table(cited_caption, cited, "none", cards=True),
        ],
        "items": items,
        "measures": [("right verdict", 0), ("stated probability", 3)],
        "words": ("right where the other is wrong", "as right", "wrong where the other is right"),
        "orders": ("least certain first",),
        "wrong": (_WRONG, "only where {system} is wrong"),
        "questions": _claim_questions(main, collection["items"]),
    }


def _claim_questions(main, claims):
    """Offer the cells of the confusion matrix off its diagonal, and what the search missed."""
    cells = Counter(
        _CONFUSION.format(claim["label"], claim["verdicts"][0] or "none")
        for claim in claims
        if claim["right"][0] is False
    )
    ready = [
        (f"claims, {main}: {tag}", {"system": main, "only": tag})
        for tag, _ in cells.most_common(_MOST_CELLS)
    ]
    if any(claim["missed"] for claim in claims):
        ready.append(("claims whose evidence was not found", {"only": _MISSED}))
    return ready


def _claim(claim, collection):
    main = collection["tested"][0] if collection["tested"] else 0
    problems = []
    if claim["right"][main] is False:
        problems.append(_WRONG)
    tags = [f"label: {claim['label']}"]
    if claim["missed"]:
        problems.append(_MISSED)
    if claim["missed"] is not None:
        tags.append(_MISSED if claim["missed"] else "evidence found")
    tags += [f"{name}: {value}" for name, value in claim["slices"].items()]
    return item(
        claim["id"],
        claim["text"],
        [
            _claim_facts(claim, problems),
            _verdict_rows(claim, collection["systems"]),
            [_sub_claim_row(sub_claim) for sub_claim in claim["parts"]],
            [_decisive_row(role, collection) for role in claim["decisive"]],
            [_cited_row(role, collection) for role in claim["cited"]],
        ],
        tags=tags,
        by_system=[
            _verdict_tags(claim["label"], verdict, right)
            for verdict, right in zip(claim["verdicts"], claim["right"], strict=True)
        ],
        scores=[
            [None if right is None else int(right), stated]
            for right, stated in zip(claim["right"], claim["stated"], strict=True)
        ],
        keys=[claim["stated"][main] or 0.0],
    )


def _verdict_tags(label, verdict, right):
    """Give the cell of the confusion matrix, and whether the verdict is wrong."""
    cell_tag = _CONFUSION.format(label, verdict or "none")
    return [cell_tag, _WRONG] if right is False else [cell_tag]


def _claim_facts(claim, problems):
    named_values = [
        ["Gold label", claim["label"]],
        *([name.capitalize(), value] for name, value in claim["slices"].items()),
        ["What is wrong", ", ".join(problems) or "nothing"],
    ]
    if claim["reason"]:
        named_values.append(["Why no evidence decided", reason_text(claim["reason"])])
    return named_values


def _verdict_rows(claim, systems):
    marks = {True: "right", False: "wrong", None: None}
    columns = zip(systems, claim["verdicts"], claim["right"], claim["stated"], strict=True)
    return [
        [system, cell(verdict, marks[right]), decimal(probability)]
        for system, verdict, right, probability in columns
    ]


def _sub_claim_row(sub_claim):
    return [
        sub_claim["id"],
        sub_claim["text"],
        sub_claim["verdict"],
        decimal(sub_claim["score"]),
        text_or_none(sub_claim["evidence"]),
    ]


def _decisive_row(role, collection):
    mark = None
    if collection["searched"]:
        mark = "found" if role["met"] else "missed"
    passage = _passage(role, collection, mark)
    return [passage, role["about"] or "the claim", role["stance"]]


def _cited_row(role, collection):
    passage = _passage(role, collection, "decides" if role["met"] else None)
    probability = decimal(role["probability"])
    return [passage, role["about"] or None, role["stance"], probability, role["level"]]


def _passage(role, collection, mark):
    """Give a passage, its document and characters below."""
    document, start, end, text = collection["passages"][role["passage"]]
    doc_id, title = collection["documents"][document]
    source = f"{doc_id}, characters {start} to {end}" if end else doc_id
    if title:
        source = f"{title} ({source})"
    return cell(text, mark, source) if text else cell(source, mark)


# --- answers of assistants

_UNGROUNDED = "sentence not grounded"
_IN_FULL = "grounded in full"
_WHOLE_NUMBERS = {"Answered": 0, "Words": 0}  # decimals of these measures


def _answers(collection):
    systems = collection["systems"]
    contexts = "Contexts that each system was given"
    measures = collection["measures"]
    return {
        "layout": [
            table("Answers", ["System", "Answer", "Abstained"], missing="none", cards=True),
            facts(),
            score_table("Scores of this question"),
            table(contexts, ["System", "Context"], missing="none", cards=True),
        ],
        "items": [
            _answered_question(question, systems, len(measures)) for question in collection["items"]
        ],
        "measures": [(measure, _WHOLE_NUMBERS.get(measure, 3)) for measure in measures],
        "wrong": (_UNGROUNDED, "only where {system} has a sentence that is not grounded"),
        "questions": _answer_questions(systems, collection["pair"]),
    }


def _answer_questions(systems, pair):
    """Offer what the two systems do not do alike."""
    if pair is None:
        return []
    ready = []
    first, second = (systems[k] for k in pair)
    for system, against in ((first, second), (second, first)):
        choice = {"system": system, "against": against}
        flipped = {"only": f"{_IN_FULL}{OTHER_NOT}"}
        ready.append(
            (f"questions where {system} is worse than {against}", choice | {"change": "worse"})
        )
        ready.append((f"answered {_IN_FULL} by {system}, not by {against}", choice | flipped))
    return ready


def _answered_question(question, systems, n_measures):
    answers = question["given"]
    given = {name: answer for name, answer in zip(systems, answers, strict=True) if answer}
    undefined = [None] * n_measures
    contexts = [row for name, answer in given.items() for row in _context_rows(name, answer)]
    return item(
        question["id"],
        question["text"],
        [
            [_answer_row(name, answer) for name, answer in given.items()],
            [["Reference", question["reference"]]] if question["reference"] else [],
            None,
            contexts,
        ],
        by_system=[_answer_tags(answer) for answer in answers],
        scores=[answer["values"] if answer else undefined for answer in answers],
    )


def _answer_tags(answer):
    if not answer:
        return []
    tags = ["abstained" if answer["abstained"] else "answered", *answer.get("outcomes", ())]
    if answer["weak"]:
        tags.append(_UNGROUNDED)
    return list(dict.fromkeys(tags))


def _answer_row(system, answer):
    note = None
    if answer.get("weak"):
        note = "Not grounded: " + " | ".join(answer["weak"])
    abstained = "yes" if answer["abstained"] else "no"
    return [system, cell(answer["answer"] or None, None, note), abstained]


def _context_rows(system, answer):
    for k, text in enumerate(answer["contexts"]):
        name = answer["ids"][k] if answer["ids"] else f"passage {k + 1}"
        yield [system, cell(text, None, name) if text else name]


# --- explanations with their source


def _explanations(collection):
    defects = collection["defects"]
    main = collection["systems"][0]
    threshold = f"a sentence is grounded from {collection['threshold']:.0%} on"
    return {
        "layout": [
            facts(),
            score_table("Scores of the explanation, and of its copies with a defect"),
            table(f"Share of each sentence's words in the source; {threshold}", ["Rule", "Shares"]),
            *(change(f"Copy: {defect}") for defect in collection["marked"]),
        ],
        "items": [_explanation(explanation, collection) for explanation in collection["items"]],
        "measures": [(measure, 3) for measure in (*collection["measures"], *defects)],
        "words": ("scores higher", "scores alike", "scores lower"),
        "wrong": (_UNGROUNDED, "only where {system} finds a sentence that is not grounded"),
        "questions": [
            (f"{defect}, missed by {main}", {"system": main, "only": f"{defect}: missed"})
            for defect in defects
        ],
    }


def _explanation(explanation, collection):
    defects = collection["defects"]
    scores = [
        [*(original or [None]), *(copies or [None] * len(defects))]
        for original, copies in zip(explanation["scores"], explanation["copies"], strict=True)
    ]
    by_system = []
    for (original, *copies), is_ungrounded in zip(scores, explanation["ungrounded"], strict=True):
        tags = [_UNGROUNDED] if is_ungrounded else []
        for defect, score in zip(defects, copies, strict=True):
            if None not in (original, score):
                tags.append(f"{defect}: {'noticed' if score < original else 'missed'}")
        by_system.append(tags)
    shares = [
        [rule, "; ".join(decimal(share) or "none" for share in values) or None]
        for rule, values in explanation["shares"].items()
    ]
    copied = [
        defect
        for defect, copies in zip(defects, list(zip(*scores, strict=True))[1:], strict=True)
        if any(score is not None for score in copies)
    ]
    return item(
        explanation["id"],
        explanation["text"],
        [
            [["Source", explanation["source"]]],
            None,
            shares,
            *(explanation["changes"].get(defect) for defect in collection["marked"]),
        ],
        tags=copied,
        by_system=by_system,
        scores=scores,
    )


VIEWS = {
    "questions": _questions,
    "edits": _edits,
    "votes": _votes,
    "claims": _claims,
    "answers": _answers,
    "explanations": _explanations,
}
