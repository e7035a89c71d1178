"""Single items of a chapter, such as claims: what a page needs to show each of them."""

import difflib
import json
from urllib.parse import urlencode

LONGEST = 400  # characters of an item's own text
MOST_BYTES = 250_000  # of one chapter, so that a report stays small


def as_json(found):
    """Write the items of a chapter, the same bytes for the same content."""
    return json.dumps(found, separators=(",", ":"), sort_keys=True, allow_nan=False)


def fitting(collect, order, openings, most_bytes=MOST_BYTES):
    """Collect as many items as there is room for."""
    for opening in openings:
        found = collect(sorted(order), opening)
        if len(as_json(found)) <= most_bytes:
            return found
    fits, fails = 0, len(order)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        found = collect(sorted(order[:middle]), openings[-1])
        if len(as_json(found)) <= most_bytes:
            fits = middle
        else:
            fails = middle
    return collect(sorted(order[: max(fits, 1)]), openings[-1])


def shortened(text, most=LONGEST):
    """Give a text in one line, with an ellipsis where it was longer."""
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def changed(before, after):
    """Mark, word by word, what differs between two texts."""
    a, b = before.split(), after.split()
    runs = []
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    for what, a0, a1, b0, b1 in matcher.get_opcodes():
        if what == "equal":
            runs.append("=" + " ".join(a[a0:a1]))
            continue
        parts = (("-", a[a0:a1]), ("+", b[b0:b1]))
        runs += [sign + " ".join(words) for sign, words in parts if words]
    return runs


def page_address(cell, **choice):
    """Give the address of a chapter's items, from a page of ``generated``."""
    return f"items/{cell}.html" + (f"#{urlencode(choice)}" if choice else "")
