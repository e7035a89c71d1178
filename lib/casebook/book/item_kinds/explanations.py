"""Explanations with their source."""

from casebook.book.item_parts import UNGROUNDED, change, decimal, facts, item, score_table, table


def content(collection):
    """Give layout, items, measures and ready-made questions of the page."""
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
        "wrong": (UNGROUNDED, "only where {system} finds a sentence that is not grounded"),
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
        tags = [UNGROUNDED] if is_ungrounded else []
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
