"""Text that a cell can hold: what has to be changed in it is changed and named."""

import re

LONGEST = 32_767  # UTF-16 units of one cell; longer text would be cut without a word
CUT = "\n[cut here: the text is longer than a cell can hold]"
EMPTY = "(no answer)"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPED = re.compile("_x005F_(?=x[0-9A-Fa-f]{4}_)")
# Blanks before the sign, and signs of full width, do not keep a spreadsheet from it.
_FORMULA = re.compile("'*(?:[\t\r]|[\\s\u200b\ufeff]*[=+@＝＋－＠-])")
_CR = re.compile("\r\n?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?", re.ASCII)


def clean(text):
    """Make a text fit for a cell."""
    changes = []
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if lines != text:
        changes.append("line_ends")
    kept = _CONTROL.sub("", lines)
    if kept != lines:
        changes.append("control_characters")
    if not kept.strip():
        return EMPTY, [*changes, "empty"]
    if _units(kept) > LONGEST:
        return _shortened(kept), [*changes, "cut"]
    return kept, changes


def _units(text):
    """Length as a workbook counts it: characters beyond U+FFFF count twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def _shortened(text):
    room = LONGEST - len(CUT)
    part = text[:room]
    while _units(part) > room:
        part = part[: len(part) - max(1, (_units(part) - room) // 2)]
    return part + CUT


def for_workbook(text):
    """Escape what a workbook would read as an escaped character, such as ``_x0041_``."""
    return _ESCAPE.sub("_x005F_", text)


def from_workbook(text):
    """Undo `for_workbook`."""
    return _ESCAPED.sub("_", text)


def for_csv(text):
    """Mark text that a spreadsheet would take for a formula with an apostrophe."""
    runs = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


def from_csv(text):
    """Undo `for_csv`."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text


def table_for_csv(frame):
    """Give a DataFrame whose texts and names no spreadsheet runs, by `for_csv`."""
    return _each_text(frame, lambda text: for_csv(_CR.sub("\n", text)))


def table_from_csv(frame):
    """Undo `table_for_csv` on a DataFrame that was read from a file."""
    return _each_text(frame, from_csv)


def _each_text(frame, change):
    def of(cell):
        return change(cell) if isinstance(cell, str) else cell

    texts = {n: c.map(of) for n, c in frame.items() if c.dtype.kind not in "biufmM"}
    return frame.assign(**texts).rename(columns=of)
