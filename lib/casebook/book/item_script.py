"""A page of single items as a script: what is said more than once stands in it once.

Items are rows of columns. In them ``~5`` is the sixth of the page's strings, and a text that begins
with ``~`` has one more. Scores are numbers of the page's values, and tags of systems numbers of its
lists of tags, one after the other, each written with as many of `DIGITS` as the largest one needs.
"""

import json
from collections import Counter

DIGITS = "".join(chr(code) for code in range(35, 127) if code != 92)  # JSON has no escape for these
REFERENCE = "~"
SHORTEST = 6  # characters of a string that is worth a reference


def as_script(page):
    """Write a page as a script, because a page from disk may not fetch JSON."""
    tag_lists = _distinct(tuple(tags) for item in page["items"] for tags in item["by_system"])
    items = [
        item
        | {
            "scores": _written(_whole_rows(item["scores"], len(page["measures"])), page["values"]),
            "by_system": _written(
                [tag_lists[tuple(tags)] for tags in item["by_system"]], tag_lists
            ),
        }
        for item in page["items"]
    ]
    columns = list(items[0]) if items else []
    rows = [[item[column] for column in columns] for item in items]
    strings = _worth_a_reference(rows)
    positions = {text: k for k, text in enumerate(strings)}
    script = page | {
        "columns": columns,
        "strings": strings,
        "tag_lists": list(tag_lists),
        "items": _with_references(rows, positions),
    }
    return f"window.casebookItems = {json.dumps(script, separators=(',', ':'))};\n"


def _distinct(values):
    """Number values in the order in which they come first."""
    numbers = {}
    for value in values:
        numbers.setdefault(value, len(numbers))
    return numbers


def _whole_rows(rows, length):
    """Give the scores of all systems one after the other, None where one has none."""
    return [score for row in rows for score in [*row, *[None] * length][:length]]


def _written(numbers, counted):
    """Write numbers, or None, with as many digits as the number of what they count needs."""
    width = 1
    while len(DIGITS) ** width <= len(counted):
        width += 1
    digits = []
    for number in numbers:
        rest = 0 if number is None else number + 1
        for power in reversed(range(width)):
            digit, rest = divmod(rest, len(DIGITS) ** power)
            digits.append(DIGITS[digit])
    return "".join(digits)


def _worth_a_reference(rows):
    """Give the strings that are shorter by reference, the commonest first."""
    counts = Counter(_strings(rows))
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    strings = []
    for text in ordered:
        written = len(json.dumps(text)) + 1
        reference = len(json.dumps(f"{REFERENCE}{len(strings)}")) + 1
        if len(text) >= SHORTEST and written + counts[text] * reference < counts[text] * written:
            strings.append(text)
    return strings


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def _with_references(value, positions):
    if isinstance(value, str):
        if value in positions:
            return f"{REFERENCE}{positions[value]}"
        return REFERENCE + value if value.startswith(REFERENCE) else value
    if isinstance(value, list | tuple):
        return [_with_references(part, positions) for part in value]
    return value
