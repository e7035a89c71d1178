"""Items of a double-blind comparison."""

from itertools import combinations

from casebook.book.item_parts import facts, item, table, text_or_none

_MAJORITY = "more votes: {}"
_NOT_UNANIMOUS = "not unanimous"
MOST_RATERS = 8  # of an item, whose preferences and pairs have a tag each


def content(collection):
    """Give layout, items, measures and ready-made questions of the page."""
    systems = collection["systems"]
    scales = [
        f"{scale.capitalize()} of {system}" for scale in collection["scales"] for system in systems
    ]
    heads = ["Rater", "Vote", "On the left", "Place in the form", *scales]
    return {
        "layout": [facts(), table("Votes and ratings", heads, "left blank", cards=True)],
        "items": [
            _compared_pair(pair, *systems, scales=collection["scales"])
            for pair in collection["items"]
        ],
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


def _compared_pair(pair, system, baseline, scales):
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
    tags += _preferences(pair["votes"], system, baseline)
    if len(votes) > 1:
        tags.append("unanimous" if n_agreeing == len(rater_pairs) else _NOT_UNANIMOUS)
    return item(
        pair["id"],
        f"{system} {wins}, {baseline} {losses}, tied {votes.count(0)}",
        [named_values, [_vote_row(vote, system, baseline) for vote in pair["votes"]]],
        tags=tags,
        by_system=[_ratings(pair["votes"], scales, k) for k in range(2)],
        scores=[[wins], [losses]],
        keys=[abs(wins - losses) / len(votes) if votes else 0.0],
    )


def _ratings(votes, scales, position):
    """Give the ratings of one of the two systems, by scale, each once."""
    of_system = [
        (scale, ratings[position])
        for vote in votes
        for scale, ratings in zip(scales, vote["ratings"], strict=True)
        if ratings[position] is not None
    ]
    return [f"{scale}: {rating}" for scale, rating in sorted(set(of_system))]


def _disagreements(votes):
    """Tag an item by the raters who voted differently on it."""
    voters = [vote for vote in votes if vote["vote"] is not None]
    if len(votes) > MOST_RATERS:
        return []
    return [
        f"{first['rater']} and {second['rater']} disagree"
        for first, second in combinations(voters, 2)
        if first["vote"] != second["vote"]
    ]


def _preferences(votes, system, baseline):
    """Tag an item by the system that each rater prefers."""
    if len(votes) > MOST_RATERS:
        return []
    names = {1: system, -1: baseline}
    return [f"{vote['rater']} for {names[vote['vote']]}" for vote in votes if vote["vote"] in names]


def _vote_row(vote, system, baseline):
    preferred = {1: system, -1: baseline, 0: "tie", None: None}[vote["vote"]]
    left = system if vote["left"] else baseline
    ratings = [rating for scale in vote["ratings"] for rating in scale]
    return [vote["rater"], preferred, left, *map(text_or_none, [vote["place"], *ratings])]
