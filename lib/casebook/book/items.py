"""A page per chapter that shows its single items: questions, edits, votes, claims, answers.

One page kind shows them all: an item has an id, a text, tags to filter by, keys to sort by, whether
it is wrong, and the content of the page's parts, in the order of its layout: facts, a marked
change, tables. A cell is text; a number, which is an index of the page's documents; None, which is
undefined; or a list of one of these, a mark before it and a note below it. ``assets/items.js``
draws them. Each kind says below what of its items goes into which part.
"""

import html
import json
from functools import lru_cache
from itertools import combinations, zip_longest
from pathlib import Path

from casebook.batch.run_folder import same_data
from casebook.book.titles import raw, titles
from casebook.data.cards import cards
from casebook.paths import run_dir
from casebook.readers import read_json, read_yaml
from casebook.runs.outputs import item_page_address
from casebook.tables import FACTS, reason_text


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
        viewed = view(collection | {"cell": cell})
        note = _join_run(viewed, collection, run, compare) if compare else None
        # A script, because a page that was opened from disk may not fetch JSON.
        script = json.dumps(viewed, separators=(",", ":"))
        files[f"items/{cell}.js"] = f"window.casebookItems = {script};\n"
        files[f"items/{cell}.md"] = _markdown(collection, cell, note, chapter_titles[cell])
    return files


def view(collection):
    """Turn what a chapter kept of its items into a page."""
    controls = collection.get("controls", ())
    tested = [k for k, name in enumerate(collection["systems"]) if name not in controls]
    kind = collection["kind"]
    content = VIEWS[kind](collection | {"tested": tested})
    return page(collection["cell"], page_words()[kind]["noun"], collection["documents"], **content)


def _markdown(collection, cell, comparison_note, title):
    """Write the page around the viewer: what is on it, what was left out and why, the data."""
    kind = page_words()[collection["kind"]]
    noun = kind["noun"]
    notes = [
        _extent(collection, kind),
        collection.get("remark"),
        _text_note(collection, kind),
        comparison_note,
        _data_note(collection),
    ]
    viewer = (
        f'<div class="items"><p>This page needs JavaScript to show single {noun}s. '
        "The rows of the chapter hold the same results.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/items.js"></script>'
    )
    return (
        f"# {title}, {kind['title'].lower()}\n\n"
        "The single results behind the means of "
        f"[the chapter](../../run/notebooks/{cell}.ipynb): {kind['about']}\n\n"
        f"{' '.join(filter(None, notes))}\n\n{raw(viewer)}"
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


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it."""
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), keys=(), wrong=False):
    """Give one item of a page; a part without content is left out."""
    return {
        "id": name,
        "text": text,
        "parts": [part or None for part in parts],
        "tags": list(tags),
        "keys": [round(key, 3) for key in keys],
        "wrong": wrong,
    }


def page(cell, noun, documents, layout, items, orders=(), wrong=None):
    """Put a page together; tags become indices of its list of tags."""
    tags = sorted({tag for item in items for tag in item["tags"]})
    index = {tag: k for k, tag in enumerate(tags)}
    return {
        "cell": cell,
        "noun": noun,
        "layout": layout,
        "documents": documents,
        "tags": tags,
        "orders": orders,
        "wrong": wrong,
        "items": [item | {"tags": [index[tag] for tag in item["tags"]]} for item in items],
    }


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


def text_or_none(value):
    """Write a number as text, None as it is."""
    return None if value is None else str(value)


# --- the systems of another run next to those of this one


def _join_run(viewed, collection, run, compared_run):
    """Add the rows and columns of the other run's systems to a page, or say why not."""
    noun = viewed["noun"]
    compared = read_items(compared_run, viewed["cell"])
    if compared is None or compared["kind"] != collection["kind"]:
        return f"The run {compared_run} kept no {noun}s of this chapter."
    if not same_data(run, compared_run, viewed["cell"]):
        return f"The run {compared_run} used other data and is not shown here."
    past = view(compared | {"cell": viewed["cell"]})
    past_parts = {item["id"]: item["parts"] for item in past["items"]}
    documents = _SharedDocuments(viewed["documents"], past["documents"])
    for k, (part, past_part) in enumerate(zip(viewed["layout"], past["layout"], strict=False)):
        heads = part.get("heads", [""])
        by_row = heads[0] == "System" and heads == past_part["heads"]
        by_column = heads[1:] == collection["systems"]
        if not by_row and not by_column:
            continue
        for item in viewed["items"]:
            rows = item["parts"][k] or []
            past_rows = []
            if item["id"] in past_parts:
                past_rows = documents.translated(past_parts[item["id"]][k] or [])
            if by_row:
                joined = _join_rows(rows, past_rows, compared_run)
            else:
                joined = _join_columns(rows, past_rows, collection["systems"], compared["systems"])
            item["parts"][k] = joined
        if by_column:
            part["heads"] = [
                heads[0],
                *_joined_heads(collection["systems"], compared["systems"], compared_run),
            ]
    n_missing = sum(item["id"] not in past_parts for item in viewed["items"])
    missing = f"; it did not keep {n_missing} of the {noun}s" if n_missing else ""
    return f"The systems of the run {compared_run} are shown next to those of this run{missing}."


class _SharedDocuments:
    """Documents of a page; those of another run's page are added when its rows name them."""

    def __init__(self, documents, past_documents):
        self.documents = documents
        self.past_documents = past_documents
        self.index = {name: k for k, (name, _) in enumerate(documents)}

    def translated(self, rows):
        """Turn indices of the other run's documents into indices of this page's."""
        return [[self._cell(value) for value in row] for row in rows]

    def _cell(self, value):
        if isinstance(value, list):
            return [self._cell(value[0]), *value[1:]]
        if not isinstance(value, int):
            return value
        name, opening = self.past_documents[value]
        if name not in self.index:
            self.index[name] = len(self.documents)
            self.documents.append([name, opening])
        return self.index[name]


def _equal_names_together(names):
    """Order indices so that equal names stand next to each other."""
    return sorted(range(len(names)), key=lambda k: names.index(names[k]))


def _joined_heads(systems, past_systems, compared_run):
    heads = [*systems, *(f"{name}, {compared_run}" for name in past_systems)]
    return [heads[k] for k in _equal_names_together([*systems, *past_systems])]


def _join_rows(rows, past_rows, compared_run):
    names = [row[0] for row in (*rows, *past_rows)]
    joined = [*rows, *([f"{name}, {compared_run}", *cells] for name, *cells in past_rows)]
    return [joined[k] for k in _equal_names_together(names)]


def _join_columns(rows, past_rows, systems, past_systems):
    """Join rows on their first cell; what one side lacks is undefined."""
    cells = {json.dumps(row[0]): row[1:] for row in rows}
    past_cells = {json.dumps(row[0]): row[1:] for row in past_rows}
    order = _equal_names_together([*systems, *past_systems])
    joined = []
    for key in cells | past_cells:
        row = [
            *cells.get(key, [None] * len(systems)),
            *past_cells.get(key, [None] * len(past_systems)),
        ]
        joined.append([json.loads(key), *(row[k] for k in order)])
    return joined


# --- questions of a retrieval chapter


def _questions(collection):
    systems = collection["systems"]
    depth = collection["depth"]
    tested = collection["tested"]
    main = systems[tested[0]] if tested else systems[0]
    ranked = f"Relevant documents, and their rank in the first {depth}"
    lists = f"First {depth} documents of each system; ✓ is relevant"
    return {
        "layout": [
            table("Scores of this question", ["System", *collection["measures"]]),
            table(ranked, ["Document", *systems], missing=f"not in the first {depth}"),
            table(lists, ["Rank", *systems], missing="none"),
        ],
        "items": [_question(question, systems, tested) for question in collection["items"]],
        "orders": ("systems differ most", f"{main} worst"),
        "wrong": f"only where {main} has nothing relevant in the first {depth}",
    }


def _question(question, systems, tested):
    relevant = set(question["relevant"])
    tops = question["top"]
    scores = [
        [name, *map(decimal, values)]
        for name, values in zip(systems, question["scores"], strict=True)
    ]
    ranks = []
    for document in question["relevant"]:
        ranks_of_document = [_rank(document, top) for top in tops]
        ranks.append([cell(document, "relevant"), *ranks_of_document])
    lists = []
    for rank, documents in enumerate(zip_longest(*tops), 1):
        lists.append([str(rank), *(_listed_document(name, relevant) for name in documents)])
    means = [question["scores"][k][0] or 0.0 for k in tested] or [0.0]
    return item(
        question["id"],
        question["text"],
        [scores, ranks, lists],
        keys=[min(means) - max(means), means[0]],
        wrong=bool(tested) and not relevant & set(tops[tested[0]]),
    )


def _rank(document, top):
    return str(top.index(document) + 1) if document in top else None


def _listed_document(document, relevant):
    if document is None:
        return None
    return cell(document, "relevant" if document in relevant else None)


# --- edits of a sensitivity chapter

_DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}
_OPERATIONS = {"add": "{new} added", "remove": "{old} removed"}
_REPLACEMENT = "{old} becomes {new}"


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
    items = [_edit(edit, collection) for edit in collection["items"]]
    return {"layout": layout, "items": items, "orders": ("moved most beyond its placebos",)}


def _edit(edit, collection):
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
    tags = [fact, decides, f"edit of {depth}"]
    if main and _lost_every_precedent(results[main]):
        tags.append(f"{main} lost every precedent")
    operation = _OPERATIONS.get(edit["operation"], _REPLACEMENT)
    return item(
        edit["id"],
        f"{fact}: {operation.format(old=edit['old'], new=edit['new'])}",
        [named_values, edit["change"], edit["placebo"], moved, precedents, *lists],
        tags=tags,
        keys=[-_excess(results[main]) if main else -0.0],
    )


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
    if not _is_result(result) or result["placebo_moved"] is None:
        return 0.0
    return (result["moved"] or 0.0) - result["placebo_moved"]


def _lost_every_precedent(result):
    if not _is_result(result):
        return False
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


def _votes(collection):
    systems = collection["systems"]
    scales = [
        f"{scale.capitalize()} of {system}" for scale in collection["scales"] for system in systems
    ]
    heads = ["Rater", "Vote", "On the left", "Place in the form", *scales]
    return {
        "layout": [facts(), table("Votes and ratings", heads, "left blank", cards=True)],
        "items": [_compared_pair(pair, *systems) for pair in collection["items"]],
        "orders": ("least agreed first",),
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
    tags = [f"more votes: {majority}"]
    if len(votes) > 1:
        tags.append("unanimous" if n_agreeing == len(rater_pairs) else "not unanimous")
    return item(
        pair["id"],
        f"{system} {wins}, {baseline} {losses}, tied {votes.count(0)}",
        [named_values, [_vote_row(vote, system, baseline) for vote in pair["votes"]]],
        tags=tags,
        keys=[abs(wins - losses) / len(votes) if votes else 0.0],
    )


def _vote_row(vote, system, baseline):
    preferred = {1: system, -1: baseline, 0: "tie", None: None}[vote["vote"]]
    left = system if vote["left"] else baseline
    ratings = [rating for scale in vote["ratings"] for rating in scale]
    return [vote["rater"], preferred, left, *map(text_or_none, [vote["place"], *ratings])]


# --- claims of a fact-checking chapter


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
    return {
        "layout": [
            facts(),
            table("Verdicts; ✓ is right, ✗ wrong", verdicts, "none"),
            table(f"Sub-claims that {main} judged", sub_claims, no_side, cards=True),
            table(decisive, ["Passage", "Decides", "Gold label"], "none", cards=True),
            table(cited_caption, cited, "none", cards=True),
        ],
        "items": [_claim(claim, collection) for claim in collection["items"]],
        "orders": ("least certain first",),
        "wrong": f"only where {main} is wrong",
    }


def _claim(claim, collection):
    main = collection["tested"][0] if collection["tested"] else 0
    wrong = claim["right"][main] is False
    problems = []
    if wrong:
        problems.append("wrong verdict")
    if claim["missed"]:
        problems.append("evidence not found")
    tags = [f"label: {claim['label']}", *problems]
    if claim["missed"] is False:
        tags.append("evidence found")
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
        keys=[claim["stated"][main] or 0.0],
        wrong=wrong,
    )


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


def _answers(collection):
    systems = collection["systems"]
    contexts = "Contexts that each system was given"
    return {
        "layout": [
            table("Answers", ["System", "Answer", "Abstained"], missing="none", cards=True),
            facts(),
            table("Scores of this question", ["Measure", *systems]),
            table(contexts, ["System", "Context"], missing="none", cards=True),
        ],
        "items": [
            _answered_question(question, systems, collection["measures"])
            for question in collection["items"]
        ],
    }


def _answered_question(question, systems, measures):
    answers = {}
    for system, answer in zip(systems, question["given"], strict=True):
        if answer:
            answers[system] = answer
    undefined = [None] * len(measures)
    values = [answers[name]["values"] if name in answers else undefined for name in systems]
    scores = [
        [measure, *map(decimal, row)] for measure, *row in zip(measures, *values, strict=True)
    ]
    contexts = [row for name, answer in answers.items() for row in _context_rows(name, answer)]
    return item(
        question["id"],
        question["text"],
        [
            [_answer_row(name, answer) for name, answer in answers.items()],
            [["Reference", question["reference"]]] if question["reference"] else [],
            scores,
            contexts,
        ],
        tags=[f"{name} abstained" for name, answer in answers.items() if answer["abstained"]],
    )


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


VIEWS = {
    "questions": _questions,
    "edits": _edits,
    "votes": _votes,
    "claims": _claims,
    "answers": _answers,
}
