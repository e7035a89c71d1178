"""The items of a chapter that a system makes worse, as the page of items offers them."""

import re

from casebook.runs.outputs import item_page_address

_UNIT = re.compile(r"^(?:\S+ )?questions (?=that|where)")  # a link says the number instead


def worse_items(chapter):
    """Give the last list of such questions: its text, address and count; None without any."""
    collection = chapter.items or {}
    for text, system, against in reversed(collection.get("questions") or ()):
        names = collection["systems"]
        pair = (names.index(system), names.index(against))
        count = sum(_is_worse(item, pair, collection.get("scope")) for item in collection["items"])
        if count:
            choice = {"system": system, "against": against, "change": "worse"}
            if collection.get("scope"):
                choice["only"] = collection["scope"]
            return _UNIT.sub("", text), item_page_address(chapter.cell, **choice), count
    return None


def _is_worse(item, pair, scope):
    """Whether the first of two systems has a lower score on an item, by the leading measure."""
    if scope and scope not in item.get("tags", ()):
        return False
    score, baseline = (item["scores"][k][0] if item["scores"][k] else None for k in pair)
    return score is not None and baseline is not None and score < baseline
