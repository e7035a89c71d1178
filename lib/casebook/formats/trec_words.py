"""Numbers and hashes from byte fields, eight bytes at a time, without a Python loop.

A field is given by where it starts in a byte array and how long it is. Its bytes are
gathered as little-endian 64-bit words, so one vectorised operation handles eight
characters of every line. Arrays must carry ``PAD`` spare bytes at both ends.
"""

import numpy as np

PAD = 24
_U = np.uint64
_KEEP_LOW = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=_U)
_KEEP_HIGH = ~_KEEP_LOW[::-1]
_ZEROS = _U(0x3030303030303030)
_DOTS = _U(0x2E2E2E2E2E2E2E2E)
_SEVEN_BITS = _U(0x7F7F7F7F7F7F7F7F)
_HIGH_NIBBLES = _U(0xF0F0F0F0F0F0F0F0)
_SIXES = _U(0x0606060606060606)
_MULTIPLIER = _U(0x9E3779B97F4A7C15)
_TEN = 10 ** np.arange(19, dtype=_U)
_EXACT_POWERS = 10.0 ** np.arange(23)
_LONG_POWERS = _TEN.astype(np.longdouble)
_LONGEST_NUMBER = 19


def words_at(text, start, length):
    """Gather the first eight bytes of each field, zero beyond its end."""
    inside = np.minimum(start, len(text) - 8)
    return _window(text)[inside].view(_U) & _KEEP_LOW[_up_to_eight(length)]


def hash_fields(text, start, length):
    """Hash each field to 64 bits: equal bytes, equal hash."""
    hashes = length.astype(_U) * _MULTIPLIER
    for done in range(0, int(length.max(initial=0)), 8):
        live = slice(None) if done < length.min() else np.flatnonzero(length > done)
        mixed = hashes[live] ^ words_at(text, start[live] + done, length[live] - done)
        mixed *= _MULTIPLIER
        mixed ^= mixed >> _U(32)
        hashes[live] = mixed
    return hashes


def equal_fields(left, left_start, left_length, right, right_start, right_length):
    """Compare fields pairwise, byte by byte."""
    equal = left_length == right_length
    for done in range(0, int(left_length.max(initial=0)), 8):
        ours = words_at(left, left_start + done, left_length - done)
        equal &= ours == words_at(right, right_start + done, right_length - done)
    return equal


def decimal_parts(text, start, end):
    """Read plain decimals such as ``-12.345`` as integer mantissa and scale."""
    negative = text[start] == ord("-")
    length = end - start - negative
    plain = length <= _LONGEST_NUMBER
    length = np.minimum(length, _LONGEST_NUMBER)
    mantissa = np.zeros(len(start), dtype=_U)
    decimals = np.zeros(len(start), dtype=np.int64)
    pointed = np.zeros(len(start), dtype=np.int64)
    for done in range(0, int(length.max()), 8):
        word = _right_aligned(text, end - done, length - done)
        point = _zero_bytes(word ^ _DOTS)
        before = (np.bitwise_count(point - _U(1)) >> 3).astype(np.int64)
        here = point != 0
        plain &= (point & (point - _U(1))) == 0
        word = np.where(here, _without_byte(word, np.minimum(before, 7)), word)
        plain &= _all_digits(word)
        mantissa += _eight_digits(word) * _TEN[done - pointed]
        decimals += here * (done + 7 - before)
        pointed += here
        plain &= pointed <= 1
        np.minimum(pointed, 1, out=pointed)
    plain &= length > pointed
    plain &= length - pointed < _LONGEST_NUMBER
    return mantissa, decimals, negative, plain


def parse_decimals(text, start, end):
    """Convert plain decimals to doubles, each equal to ``float`` of its text."""
    mantissa, decimals, negative, exact = decimal_parts(text, start, end)
    values = mantissa.astype(np.float64) / _EXACT_POWERS[np.minimum(decimals, 22)]
    long = np.flatnonzero(mantissa >= _U(2**53))
    if len(long):
        values[long], certain = _long_quotient(mantissa[long], decimals[long])
        exact[long] &= certain
    return np.where(negative, -values, values), exact


def _long_quotient(mantissa, decimals):
    """Divide in extended precision, and say where rounding it to double is certain."""
    if np.finfo(np.longdouble).nmant not in (63, 112):
        return np.zeros(len(mantissa)), False
    quotient = mantissa.astype(np.longdouble) / _LONG_POWERS[np.minimum(decimals, 18)]
    values = quotient.astype(np.float64)
    rest = 4 * np.abs(quotient - values)
    spacing = np.spacing(values)
    return values, (rest != spacing) & (rest != 2 * spacing)


def _window(text):
    """View the bytes as overlapping eight-byte items, one starting at every byte."""
    return np.ndarray((len(text) - 7,), dtype="V8", buffer=text, strides=(1,))


def _up_to_eight(length):
    return np.minimum(np.maximum(length, 0), 8)


def _right_aligned(text, end, length):
    """Gather the last eight bytes of each field, ``0`` characters before its start."""
    keep = _KEEP_HIGH[_up_to_eight(length)]
    return (_window(text)[end - 8].view(_U) & keep) | (_ZEROS & ~keep)


def _zero_bytes(word):
    """Mark every zero byte by its highest bit."""
    return ~(((word & _SEVEN_BITS) + _SEVEN_BITS) | word | _SEVEN_BITS)


def _without_byte(word, index):
    """Remove one byte: shift the earlier ones up and put ``0`` in front."""
    earlier = (word & _KEEP_LOW[index]) << _U(8)
    return earlier | (word & _KEEP_HIGH[7 - index]) | _U(0x30)


def _all_digits(word):
    low = (word & _HIGH_NIBBLES) == _ZEROS
    return low & (((word + _SIXES) & _HIGH_NIBBLES) == _ZEROS)


def _eight_digits(word):
    """Combine eight ASCII digits pairwise: 8 x 1, 4 x 2, then 2 x 4 digits."""
    pairs = (word & _U(0x0F0F0F0F0F0F0F0F)) * _U(2561) >> _U(8)
    fours = (pairs & _U(0x00FF00FF00FF00FF)) * _U(6553601) >> _U(16)
    return (fours & _U(0x0000FFFF0000FFFF)) * _U(42949672960001) >> _U(32)
