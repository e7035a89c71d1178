"""Single items of a double-blind comparison: each rater's vote, side and ratings."""

from casebook.raters.unblinding import SCALES
from casebook.runs.outputs import MOST_BYTES, fitting

RECONSTRUCTED = (
    "The votes are a reconstruction: which rater cast which vote for which item was "
    "drawn at random within the published tallies, so that nothing can be concluded "
    "from a single item."
)


def drill_down(panel, reconstructed=False, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single items."""
    known = {
        "kind": "votes",
        "dataset": None,
        "card": None,
        "texts": None,
        "systems": [panel.focus, panel.other],
        "controls": [],
        "scales": list(SCALES),
        "asked": len(panel.votes),
        "remark": RECONSTRUCTED if reconstructed else None,
        "documents": [],
    }

    def collect(chosen, _):
        names = panel.votes.index[list(chosen)]
        return known | {"items": [_item(panel, name) for name in names]}

    agreed = panel.votes.mean(axis=1).abs().fillna(0).tolist()
    order = sorted(range(len(agreed)), key=lambda row: (agreed[row], row))
    return fitting(collect, order, (0,), most_bytes)


def _item(panel, name):
    judged = [rater for rater in panel.raters if panel.place.loc[name, rater] >= 1]
    return {"id": str(name), "votes": [_vote(panel, name, rater) for rater in judged]}


def _vote(panel, name, rater):
    return {
        "rater": str(rater),
        "vote": _whole(panel.votes.loc[name, rater]),
        "left": bool(panel.left.loc[name, rater]),
        "place": _whole(panel.place.loc[name, rater]),
        "ratings": [
            [_whole(panel.ratings[scale, system].loc[name, rater]) for system in (panel.focus, panel.other)]
            for scale in SCALES
        ],
    }


def _whole(value):
    return None if value != value else int(value)
