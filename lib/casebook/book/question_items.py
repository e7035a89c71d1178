"""The page of single questions of a retrieval chapter."""

from casebook.book.item_parts import cell, decimal, item, page, table

NOUN, TITLE = "question", "Question by question"
BY_SYSTEM = ("scores", "top")
ABOUT = (
    "each question, what was judged relevant to it, and what the systems returned "
    "first. One question has a score but no interval; the chapter has the means with "
    "theirs. The measures are defined [here](../../methods/measures.md)."
)
SHOWN = "Of documents the beginning is shown, except of those that only a control returned."
LEFT_OUT = "on which the systems' nDCG@10 differs most"


def view(found):
    """Turn kept questions into a page."""
    systems, depth = found["systems"], found["depth"]
    layout = [
        table("Scores of this question", ["System", *found["measures"]]),
        table(
            f"Relevant documents, and their rank in the first {depth}",
            ["Document", *systems],
            missing=f"not in the first {depth}",
        ),
        table(f"First {depth} documents of each system; ✓ is relevant", ["Rank", *systems], missing="none"),
    ]
    first = systems[found["tested"][0]] if found["tested"] else systems[0]
    items = [_item(question, found) for question in found["items"]]
    orders = ("systems differ most", f"{first} worst")
    wrong = f"only where {first} has nothing relevant in the first {depth}"
    return page(found, NOUN, layout, items, orders=orders, wrong=wrong)


def _item(question, found):
    tested = [question["scores"][place][0] or 0.0 for place in found["tested"]] or [0.0]
    relevant, tops = set(question["relevant"]), question["top"]
    scores = [
        [system, *map(decimal, values)] for system, values in zip(found["systems"], question["scores"], strict=True)
    ]
    ranks = [[cell(place, "relevant"), *(_rank(top, place) for top in tops)] for place in question["relevant"]]
    longest = max(map(len, tops), default=0)
    lists = [[str(rank + 1), *(_ranked(top, rank, relevant) for top in tops)] for rank in range(longest)]
    missed = not relevant & set(tops[found["tested"][0]]) if found["tested"] else False
    return item(
        question["id"],
        question["text"],
        [scores, ranks, lists],
        keys=[min(tested) - max(tested), tested[0]],
        wrong=missed,
    )


def _rank(top, place):
    return str(top.index(place) + 1) if place in top else None


def _ranked(top, rank, relevant):
    if rank >= len(top):
        return None
    return cell(top[rank], "relevant" if top[rank] in relevant else None)


def past(question, found, before, place):
    """Give scores and lists of one question in another run."""
    measures = found["measures"]
    if question is None:
        count = len(before["systems"])
        return {"scores": [[None] * len(measures)] * count, "top": [[]] * count}
    known = [dict(zip(before["measures"], s, strict=True)) for s in question["scores"]]
    return {
        "scores": [[row.get(measure) for measure in measures] for row in known],
        "top": [[place(document) for document in top] for top in question["top"]],
    }
