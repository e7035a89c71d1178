"""Words of the semantic-hash simulator: tokens, stems, hashes and signed features."""

import re
from collections import Counter

import numpy as np

_MASK = 0xFFFFFFFF
_WORD_FEATURES, _GRAM_FEATURES, _GRAM = 8, 2, 3
_FUNCTION = """
a an and any are as at be by can for from has have in into is it its no not of on or
that the their them there these this those to was were which will with you your
"""
_DOMAIN = """
section policy coverage claim claims cover covered provide provides include includes
including exclusion exclusions limit limits
"""
STOPWORDS = frozenset(f"{_FUNCTION} {_DOMAIN}".split())


def stem(word):
    """Strip one ending from a word of more than four letters.

    Parameters
    ----------
    word : str
        Lower case.

    Returns
    -------
    str
        Without ``ing`` (words of more than five letters), else ``ed``, ``es`` or ``s``.
    """
    if len(word) <= 4:
        return word
    endings = ("ing", "ed", "es", "s") if len(word) > 5 else ("ed", "es", "s")
    ending = next((e for e in endings if word.endswith(e)), "")
    return word.removesuffix(ending)


def tokens(text):
    """Split a text into the stems that count.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        Lower-case stems of at least three letters, no numbers, no stop words.
    """
    words = re.findall(r"[^\W_]+", text.lower())
    stems = [stem(w) for w in words if len(w) >= 3 and not w.isdigit()]
    return [s for s in stems if len(s) >= 3 and s not in STOPWORDS]


def fnv1a(word):
    """Hash a word with FNV-1a, 32 bits, over its UTF-16 code units.

    Parameters
    ----------
    word : str
        Any text.

    Returns
    -------
    int
        0 to 2**32 - 1.
    """
    number = 2166136261
    for unit in np.frombuffer(word.encode("utf-16-le"), dtype="<u2").tolist():
        number = ((number ^ unit) * 16777619) & _MASK
    return number


def mix(number, k):
    """Derive the k-th independent hash from a hash.

    Parameters
    ----------
    number : int
        32-bit hash.
    k : int
        Which one, from 0.

    Returns
    -------
    int
        0 to 2**32 - 1.
    """
    x = number ^ ((k + 0x9E3779B9) & _MASK)
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _MASK
    return x ^ (x >> 16)


def features(number, count, dimensions):
    """Spread one hash over signed features.

    Parameters
    ----------
    number : int
        32-bit hash of a word.
    count : int
        Number of features.
    dimensions : int
        Length of the vector.

    Returns
    -------
    places : list of int
        Positions in the vector.
    values : list of float
        Magnitude 0.5 to 1.5, positive where the hash's top bit is set.
    """
    mixed = [mix(number, k) for k in range(count)]
    sizes = [0.5 + (x & 0xFFFF) / 65535 for x in mixed]
    signed = [v if x >> 31 else -v for x, v in zip(mixed, sizes, strict=True)]
    return [x % dimensions for x in mixed], signed


def hashed_words(text, ngrams=False):
    """List what a text contributes to its vector.

    Parameters
    ----------
    text : str
        Any text.
    ngrams : bool
        Whether 3-grams of the joined letters and digits are added.

    Returns
    -------
    list of (int, int)
        Hash and number of features of each occurrence, so that repeats add up.
    """
    found = [(fnv1a(token), _WORD_FEATURES) for token in tokens(text)]
    if ngrams:
        joined = "".join(re.findall(r"[^\W_]+", text.lower()))
        grams = Counter(joined[i : i + _GRAM] for i in range(len(joined) - _GRAM + 1))
        found += [(fnv1a(gram), _GRAM_FEATURES) for gram in grams.elements()]
    return found
