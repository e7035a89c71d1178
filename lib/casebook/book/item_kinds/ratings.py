"""Items that raters rated by one or several criteria."""

from casebook.book.item_parts import item, table

_NOT_ALIKE = ": not all alike"


def content(collection):
    """Give layout, items and ready-made questions of the page."""
    tags = {tag for rated in collection["items"] for tag in rated["tags"]}
    tags = sorted(tag for tag in tags if tag.endswith(_NOT_ALIKE))
    heads = ["Rater", *collection["criteria"]]
    return {
        "layout": [table("Ratings", heads, "not given", cards=len(heads) > 4)],
        "items": [_rated(rated, collection["criteria"]) for rated in collection["items"]],
        "orders": ("raters differ most",),
        "questions": [
            (f"items whose raters differ on {tag.removesuffix(_NOT_ALIKE)}", {"only": tag})
            for tag in tags
        ],
    }


def _rated(rated, criteria):
    columns = list(zip(*rated["ratings"], strict=True))[1:]
    ratings = [
        f"{criterion} {', '.join(filter(None, column))}"
        for criterion, column in zip(criteria, columns, strict=True)
        if any(column)
    ]
    n_different = sum(tag.endswith(_NOT_ALIKE) for tag in rated["tags"])
    text = "; ".join(ratings) or "No rating"
    return item(rated["id"], text, [rated["ratings"]], tags=rated["tags"], keys=[-n_different])
