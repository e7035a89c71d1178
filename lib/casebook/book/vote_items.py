"""The page of single items of a double-blind comparison."""

from itertools import combinations

from casebook.book.item_parts import facts, item, page, table, whole

NOUN, TITLE = "item", "Item by item"
BY_SYSTEM = ()
ABOUT = (
    "each item with the vote of every rater, the side on which the systems stood, the "
    "place in the rater's form and the ratings of both. One item has no interval; the "
    "chapter has win rate and agreement with theirs, defined "
    "[here](../../methods/rater_agreement.md)."
)
SHOWN = "The texts that were judged are not kept, nor are comments."
LEFT_OUT = "on which the raters agree least"


def view(found):
    """Turn kept items into a page."""
    heads = ["Rater", "Vote", "On the left", "Place in the form"]
    heads += [f"{scale.capitalize()} of {system}" for scale in found["scales"] for system in found["systems"]]
    layout = [facts(), table("Votes and ratings", heads, "left blank", cards=True)]
    items = [_item(one, found["systems"]) for one in found["items"]]
    return page(found, NOUN, layout, items, orders=("least agreed first",))


def _item(one, systems):
    cast = [vote["vote"] for vote in one["votes"] if vote["vote"] is not None]
    counts = [cast.count(1), cast.count(-1), cast.count(0)]
    ahead = counts[0] - counts[1]
    majority = systems[ahead < 0] if ahead else "none"
    pairs = list(combinations(cast, 2))
    agreeing = sum(a == b for a, b in pairs)
    lefts = sum(vote["left"] for vote in one["votes"])
    rows = [
        ["More votes", majority],
        ["Raters who agree", f"{agreeing} of {len(pairs)} pairs"],
        [f"{systems[0]} on the left", f"{lefts} of {len(one['votes'])} raters"],
    ]
    tags = [f"more votes: {majority}"]
    if len(cast) > 1:
        tags.append("unanimous" if agreeing == len(pairs) else "not unanimous")
    text = f"{systems[0]} {counts[0]}, {systems[1]} {counts[1]}, tied {counts[2]}"
    votes = [_vote(vote, systems) for vote in one["votes"]]
    agreed = abs(ahead) / len(cast) if cast else 0.0
    return item(one["id"], text, [rows, votes], tags=tags, keys=[agreed])


def _vote(vote, systems):
    names = {1: systems[0], -1: systems[1], 0: "tie", None: None}
    left = systems[0] if vote["left"] else systems[1]
    ratings = [whole(rating) for scale in vote["ratings"] for rating in scale]
    return [vote["rater"], names[vote["vote"]], left, whole(vote["place"]), *ratings]
