"""Checks of rows of reported tables."""

from casebook.book.item_parts import facts, item, table

_READY = {"impossible": "reported rows that no confusion matrix gives"}


def content(collection):
    """Give layout, items and ready-made questions of the page."""
    tags = {tag for check in collection["items"] for tag in check["tags"]}
    return {
        "layout": [
            facts(),
            table("What was reported", ["Measure", "Value"], "not reported"),
        ],
        "items": [_check(check) for check in collection["items"]],
        "questions": [(text, {"only": tag}) for tag, text in _READY.items() if tag in tags],
    }


def _check(check):
    parts = [check["facts"], check["reported"]]
    return item(check["id"], check["text"], parts, tags=check["tags"])
