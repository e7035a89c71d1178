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
    """Strip one ending from a word of more than four letters."""
    if len(word) <= 4:
        return word
    endings = ("ing", "ed", "es", "s") if len(word) > 5 else ("ed", "es", "s")
    ending = next((e for e in endings if word.endswith(e)), "")
    return word.removesuffix(ending)


def tokens(text):
    """Split a text into the stems that count."""
    words = re.findall(r"[^\W_]+", text.lower())
    stems = [stem(w) for w in words if len(w) >= 3 and not w.isdigit()]
    return [s for s in stems if len(s) >= 3 and s not in STOPWORDS]


def fnv1a(word):
    """Hash a word with FNV-1a, 32 bits, over its UTF-16 code units."""
    number = 2166136261
    for unit in np.frombuffer(word.encode("utf-16-le"), dtype="<u2").tolist():
        number = ((number ^ unit) * 16777619) & _MASK
    return number


def mix(number, k):
    """Derive the k-th independent hash from a hash."""
    x = number ^ ((k + 0x9E3779B9) & _MASK)
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _MASK
    return x ^ (x >> 16)


def features(number, count, dimensions):
    """Spread one hash over signed features."""
    mixed = [mix(number, k) for k in range(count)]
    sizes = [0.5 + (x & 0xFFFF) / 65535 for x in mixed]
    signed = [v if x >> 31 else -v for x, v in zip(mixed, sizes, strict=True)]
    return [x % dimensions for x in mixed], signed


def hashed_words(text, ngrams=False):
    """List what a text contributes to its vector."""
    found = [(fnv1a(token), _WORD_FEATURES) for token in tokens(text)]
    if ngrams:
        joined = "".join(re.findall(r"[^\W_]+", text.lower()))
        grams = Counter(joined[i : i + _GRAM] for i in range(len(joined) - _GRAM + 1))
        found += [(fnv1a(gram), _GRAM_FEATURES) for gram in grams.elements()]
    return found
