"""Metric keys: one canonical spelling, a direction, and a safe file name."""

import hashlib
import math
import re

from casebook.errors import InputError

METRIC_VERSION = 1
"""Raised when the definition of a measure changes; older runs then no longer compare.
"""

ORIGINAL = "original:"
DOCUMENTED = ("map@1", "ndcg@3")
"""Keys of EmbeddingShift's records: its own formulas, not AP@1 and nDCG@3."""

_LOWER_IS_BETTER = re.compile(
    r"(duration|seconds|latency|cost|_ms$|error|loss|brier|\bece\b|\bm?ae\b|rmse|"
    r"footrule|displacement|violation|hallucinat|missing|zero_?directions)"
)
_UNSAFE = re.compile(r"[^a-z0-9_.@+-]")
_LONGEST = 120  # characters of a metric in a file name


def canonical(metric):
    """Give the one spelling of a metric key: trimmed and in lower case."""
    key = str(metric).strip().lower()
    bare = key.removeprefix(ORIGINAL)
    key = bare if bare in DOCUMENTED else key
    if not key:
        raise InputError("a metric needs a name, such as original:ndcg@3")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InputError(f"metric {key!a}: not text in UTF-8") from None
    return key


def label(key):
    """Name a record's metric for readers: a document's formula with its prefix."""
    return ORIGINAL + key if key in DOCUMENTED else key


def canonical_metrics(metrics):
    """Bring a metric table to canonical keys and finite values."""
    result = {}
    for name, value in metrics.items():
        key = canonical(name)
        finite = value if value is not None and math.isfinite(value) else None
        if result.get(key, finite) != finite:
            raise ValueError(f"metric {key!r} occurs twice with different values")
        result[key] = finite
    return result


def higher_is_better(metric):
    """Tell the direction of a metric from its name."""
    # The last part names the measure; a number in brackets may hold a point too.
    name = re.sub(r"\([^)]*\)", "", canonical(metric)).rsplit(".", 1)[-1]
    return not _LOWER_IS_BETTER.search(name)


def file_part(metric):
    """Give the part of a file name that stands for a metric."""
    key = canonical(metric)
    safe = _UNSAFE.sub("_", key)[:_LONGEST]
    if safe == key:
        return key
    return f"{safe}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
