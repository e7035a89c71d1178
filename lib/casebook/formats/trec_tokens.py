"""Vectorised TREC tokeniser for regular files; it declines everything else.

Regular means: single blanks or tabs between fields, exactly the expected fields, no
comment, no control character. On such text the result equals that of the strict line
parser; on any other text it is None, and the line parser gives the table or the error.
"""

import numpy as np

from casebook.formats.trec_columns import Columns
from casebook.formats.trec_text import GRADE_LIMIT, parse_score
from casebook.formats.trec_words import PAD, decimal_parts, hash_fields, parse_decimals, words_at

_BLOCK = 1 << 20
_NEWLINE, _BLANK, _TAB, _HASH = (ord(c) for c in "\n \t#")


def tokenise(raw, layout):
    """Split a regular TREC file into columns."""
    text = np.frombuffer(raw, np.uint8)
    blocks, codes = [], {}
    for low, high in _blocks(raw):
        block = _tokenise_block(text, low, high, layout, codes)
        if block is None:
            return None
        blocks.append(block)
    if not blocks:
        return None
    query, *rest = map(np.concatenate, zip(*blocks, strict=True))
    del blocks
    columns = Columns.grouped(text, list(codes), query, *rest)
    return None if columns.may_repeat() else columns


def _blocks(raw):
    """Cut the text into whole lines of about ``_BLOCK`` bytes: they fit a cache."""
    low, end = PAD, len(raw) - PAD
    while low < end:
        high = raw.find(b"\n", min(low + _BLOCK, end - 1)) + 1
        yield low, high
        low = high


def _tokenise_block(text, low, high, layout, codes):
    """Give (query code, id start, length and hash, number) of every line, or None."""
    ends = _field_ends(text, low, high, len(layout.fields))
    if ends is None or not _decodes(text[low:high]):
        return None
    line = np.concatenate([[low], ends[:-1, -1] + 1])
    if (text[line] == _HASH).any():
        return None
    number = ends[:, layout.value - 1] + 1, ends[:, layout.value]
    read = _scores if layout.parse is parse_score else _grades
    value = read(text, *number)
    if value is None:
        return None
    query = _query_codes(text, line, ends[:, 0], codes)
    start = ends[:, layout.document - 1] + 1
    length = (ends[:, layout.document] - start).astype(np.int32)
    return query, start, length, hash_fields(text, start, length), value


def _field_ends(text, low, high, n_fields):
    """Give where each field ends, shape (lines, fields), or None if irregular."""
    block = text[low:high]
    blank = block <= _BLANK
    if blank[0] or (blank[1:] & blank[:-1]).any():
        return None
    ends = np.flatnonzero(blank)
    lines = np.count_nonzero(block == _NEWLINE)
    inner = np.count_nonzero((block == _BLANK) | (block == _TAB))
    if len(ends) != lines * n_fields or len(ends) != lines + inner:
        return None
    ends = ends.reshape(lines, n_fields) + low
    return ends if (text[ends[:, -1]] == _NEWLINE).all() else None


def _decodes(block):
    data = block.tobytes()
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _query_codes(text, start, end, codes):
    """Give each line the number of its query; decode it only where it changes."""
    length = end - start
    new = np.ones(len(start), dtype=bool)
    new[1:] = length[1:] != length[:-1]
    for done in range(0, int(length.max()), 8):
        words = words_at(text, start + done, length - done)
        new[1:] |= words[1:] != words[:-1]
    data = memoryview(text)
    names = [bytes(data[a:b]).decode() for a, b in zip(start[new].tolist(), end[new].tolist(), strict=True)]
    known = [codes.setdefault(name, len(codes)) for name in names]
    return np.array(known, dtype=np.int32)[np.cumsum(new) - 1]


def _scores(text, start, end):
    values, exact = parse_decimals(text, start, end)
    data = memoryview(text)
    try:
        for row in np.flatnonzero(~exact):
            values[row] = parse_score(bytes(data[start[row] : end[row]]))
    except ValueError:
        return None
    return values


def _grades(text, start, end):
    mantissa, decimals, negative, plain = decimal_parts(text, start, end)
    pointed = decimals.any() or (text[end - 1] == ord(".")).any()  # "1." is no integer
    if pointed or not plain.all() or (mantissa >= GRADE_LIMIT).any():
        return None
    grades = mantissa.astype(np.int64)
    return np.where(negative, -grades, grades)
