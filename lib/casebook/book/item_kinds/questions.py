"""Questions of a retrieval chapter."""

from casebook.book.item_parts import item, ranked_lists, rankings, score_table


def content(collection):
    """Give layout, items, measures and ready-made questions of the page."""
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
    has_relevant = [not set(relevant).isdisjoint(documents) for documents in lists]
    return item(
        question["id"],
        question["text"],
        [ranked_lists(relevant, lists), None],
        tags=question.get("tags", ()),
        by_system=[[] if has_one else [nothing] for has_one in has_relevant],
        scores=[values or [] for values in question["scores"]],
    )
