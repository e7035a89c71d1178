"""The two simulated embedders of the documented system, written from its rules, for the values that
it documents."""

import hashlib
import re
from collections import Counter

import numpy as np

DIMENSIONS = 1536
_FUNCTION = """
a an and any are as at be by can for from has have in into is it its no not of on or that the their them there these
this those to was were which will with you your
section policy coverage claim claims cover covered provide provides include includes including exclusion exclusions
limit limits
"""
STOPWORDS = frozenset(_FUNCTION.split())


class Simulated:
    """``sha256`` (32 values repeated), ``semantic-hash`` (a hashed bag of stems), the same with
    ``+ngrams``."""

    model_hash = "simulated"

    def __init__(self, name):
        self.name = name
        self.embed = sha256 if name == "sha256" else semantic_hash(name.endswith("ngrams"))

    def encode_queries(self, texts):
        return np.array(
            [self.embed(re.sub(r"\r\n?", "\n", text.lstrip("\ufeff"))) for text in texts],
            np.float32,
        )

    encode_documents = encode_queries


def sha256(text):
    values = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.uint8) / np.float32(
        255
    ) - np.float32(0.5)
    return np.tile(values, DIMENSIONS // len(values))


def semantic_hash(ngrams):
    def embed(text):
        words = re.findall(r"[^\W_]+", text.lower())
        found = [(word, 8) for word in map(stem, words) if len(word) >= 3 and word not in STOPWORDS]
        if ngrams:
            joined = "".join(words)
            grams = Counter(joined[i : i + 3] for i in range(len(joined) - 2))
            found += [(gram, 2) for gram in grams.elements()]
        vector = np.zeros(DIMENSIONS)
        for word, features in found:
            for k in range(features):
                x = mix(fnv1a(word), k)
                size = 0.5 + (x & 0xFFFF) / 65535
                vector[x % DIMENSIONS] += size if x >> 31 else -size
        return vector / (np.linalg.norm(vector) or 1)

    return embed


def stem(word):
    if len(word) < 3 or word.isdigit():
        return ""
    endings = (
        () if len(word) <= 4 else ("ing", "ed", "es", "s") if len(word) > 5 else ("ed", "es", "s")
    )
    return word.removesuffix(next((ending for ending in endings if word.endswith(ending)), ""))


def fnv1a(word):
    number = 2166136261
    for unit in np.frombuffer(word.encode("utf-16-le"), "<u2").tolist():
        number = ((number ^ unit) * 16777619) & 0xFFFFFFFF
    return number


def mix(number, k):
    x = number ^ ((k + 0x9E3779B9) & 0xFFFFFFFF)
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> 16)
