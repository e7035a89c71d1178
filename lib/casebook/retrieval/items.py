"""Single questions, to be inspected one by one: what is relevant, and what systems returned."""

from collections import defaultdict

from casebook.data.cards import may_show
from casebook.runs.outputs import items_within, one_line, stored_number

ITEM_MEASURES = ("nDCG@10", "RR@10", "AP", "R@10")
ITEM_DEPTH = 10
DOCUMENT_OPENINGS = (160, 80)  # characters of a document; the second where room is short
MOST_BYTES = 900_000  # every system is kept; the page says the same in less than half of it
LOST_UNLISTED = "lost: in no list"
LOST_BY_CUT = "lost: by the last cut"


def question_items(
    study,
    *,
    focus=None,
    against=None,
    tags=None,
    scope=None,
    questions=(),
    openings=DOCUMENT_OPENINGS,
    most_bytes=MOST_BYTES,
):
    """Collect what a reader needs to judge single questions, with what every system returned.

    Where room is short, those on which systems differ least are left out.

    Parameters
    ----------
    study : Ablation
        All its systems are kept.
    focus : str, optional
        The system under study, which stands first.
    against : str, optional
        The system that a reader compares it with at first.
    tags : dict of str to list of str, optional
        Tags by question.
    scope : str, optional
        The tag of those questions that the chapter's tables are about.
    questions : sequence of (str, str, str), optional
        What a reader may want to see, as text, system and the system that is better there.
    openings : sequence of int
        Characters of a document, the later ones where room is short.
    """
    dataset = study.dataset
    systems = list(dict.fromkeys([*filter(None, [focus]), *study.results]))
    controls = [name for name in systems if name in study.controls]
    measures = [name for name in ITEM_MEASURES if name in study.scores]
    permitted = may_show(dataset.card)
    items = _items(study, systems, measures, tags or {}, with_text="items" in permitted)
    texts = {}
    if "documents" in permitted:
        texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    head = {
        "kind": "questions",
        "dataset": dataset.name,
        "card": dataset.card.key if dataset.card else None,
        "texts": sorted(permitted),
        "systems": systems,
        "controls": controls,
        "against": against,
        "measures": measures,
        "scope": scope,
        "questions": [list(question) for question in questions],
        "depth": ITEM_DEPTH,
        "asked": len(items),
    }

    def collect(rows, opening_length):
        positions = {}
        chosen_items = [_with_positions(items[row], positions) for row in rows]
        # What only a control returned has no opening.
        with_opening = set()
        for row in rows:
            with_opening.update(items[row]["relevant"])
            for system, top in zip(systems, items[row]["top"], strict=True):
                if system not in controls:
                    with_opening.update(top)
        documents = []
        for document in positions:
            opening = None
            # The collection may lack a judged document.
            if document in with_opening and document in texts:
                opening = one_line(texts[document], opening_length)
            documents.append([document, opening])
        return head | {"documents": documents, "items": chosen_items}

    order = _by_spread(study, [name for name in systems if name not in controls])
    return items_within(collect, order, openings, most_bytes)


def lost_documents(study, system, depth=ITEM_DEPTH):
    """Tag the questions of which a system loses a relevant document, by where it loses it."""
    query_ids = study.dataset.queries["query_id"].tolist()
    result = study.results[system]
    returned = result.run(query_ids)
    listed = result.run(query_ids, "fused")
    tags = defaultdict(list)
    for query in query_ids:
        relevant = {
            document for document, grade in study.dataset.qrels.get(query, {}).items() if grade > 0
        }
        if relevant - set(listed[query]):
            tags[query].append(LOST_UNLISTED)
        if relevant & set(listed[query]) - set(list(returned[query])[:depth]):
            tags[query].append(LOST_BY_CUT)
    return tags


def _items(study, systems, measures, tags, with_text):
    """Give every question with its relevant documents, and scores and top of every system."""
    query_ids = study.dataset.queries["query_id"].tolist()
    texts = study.dataset.queries["text"].tolist()
    runs = {system: study.results[system].run(query_ids) for system in systems}
    scores = {measure: study.scores[measure].reindex(query_ids) for measure in measures}
    items = []
    for query, text in zip(query_ids, texts, strict=True):
        grades = study.dataset.qrels.get(query, {})
        item = {
            "id": query,
            "text": one_line(text) if with_text else None,
            "relevant": [document for document, grade in grades.items() if grade > 0],
            "tags": tags.get(query, []),
            "scores": [],
            "top": [],
        }
        for system in systems:
            values = [scores[measure].loc[query, system] for measure in measures]
            item["scores"].append([stored_number(value) for value in values])
            item["top"].append(list(runs[system][query])[:ITEM_DEPTH])
        items.append(item)
    return items


def _by_spread(study, systems):
    """Give the numbers of the questions, those first on which systems differ most in nDCG@10."""
    query_ids = study.dataset.queries["query_id"]
    scores = study.scores["nDCG@10"].reindex(query_ids)[systems]
    spread = (scores.max(axis=1) - scores.min(axis=1)).fillna(0).reset_index(drop=True)
    return spread.sort_values(ascending=False, kind="stable").index.tolist()


def _with_positions(item, positions):
    """Write positions in the list of documents for the ids of an item."""
    relevant = _numbered(item["relevant"], positions)
    top = [_numbered(documents, positions) for documents in item["top"]]
    return item | {"relevant": relevant, "top": top}


def _numbered(documents, positions):
    return [positions.setdefault(document, len(positions)) for document in documents]
