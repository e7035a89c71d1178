"""Single questions, to be inspected one by one: what is relevant, and what systems returned."""

from casebook.data.cards import may_show
from casebook.runs.outputs import MOST_BYTES, items_within, one_line
from casebook.stats.samples import number_or_none

ITEM_SYSTEMS = ("full", "bm25", "dense", "random")
ITEM_MEASURES = ("nDCG@10", "RR@10", "AP", "R@10")
ITEM_DEPTH = 10
DOCUMENT_OPENINGS = (160, 80)  # characters of a document; the second where room is short


def question_items(study, systems=ITEM_SYSTEMS, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single questions.

    Where room is short, those on which systems differ least are left out.
    """
    dataset = study.dataset
    systems = [name for name in systems if name in study.results]
    controls = [name for name in systems if name in study.controls]
    measures = [name for name in ITEM_MEASURES if name in study.scores]
    permitted = may_show(dataset.card)
    items = _items(study, systems, measures, with_text="items" in permitted)
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
        "measures": measures,
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
    return items_within(collect, order, DOCUMENT_OPENINGS, most_bytes)


def _items(study, systems, measures, with_text):
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
            "scores": [],
            "top": [],
        }
        for system in systems:
            values = [scores[measure].loc[query, system] for measure in measures]
            item["scores"].append([number_or_none(round(float(value), 3)) for value in values])
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
