"""Labels of verdicts as numbers: which strings count as which outcome."""

import numpy as np
import pandas as pd

from casebook.errors import InputError

SUPPORTED, NOT_SUPPORTED = "SUPPORTED", "NOT_SUPPORTED"
INSUFFICIENT, CONFLICTING = "INSUFFICIENT", "CONFLICTING"
OFF_LABEL, NO_VERDICT = "off_label", "no_verdict"
GOLD = (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT, CONFLICTING)
OUTCOMES = (*GOLD, OFF_LABEL, NO_VERDICT)
SYNONYMS = {"INSUFFICIENT_EVIDENCE": INSUFFICIENT}


def encode(labels, vocabulary=None):
    """Turn verdicts into outcome numbers by exact, case-sensitive comparison."""
    known = _vocabulary(vocabulary)
    codes, spellings = factorise(as_objects(labels))
    outcome = np.array([_outcome(s, known) for s in spellings] + [5], dtype=np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings))
    foreign = {str(s): int(c) for s, c, o in zip(spellings, counts, outcome, strict=False) if OUTCOMES[o] == OFF_LABEL}
    return outcome[codes], foreign


def as_objects(labels):
    """Copy labels into an object array, shape [n], whatever they are."""
    values = np.empty(len(labels), dtype=object)
    values[:] = labels if isinstance(labels, list | tuple) else list(labels)
    return values


def paired_labels(gold, predicted):
    """Give gold and predicted labels as object arrays of one length."""
    labelled = isinstance(gold, pd.Series) and isinstance(predicted, pd.Series)
    if labelled and not gold.index.equals(predicted.index):
        raise InputError("gold and predicted have different indices: join them by id first")
    if len(gold) != len(predicted):
        raise InputError(
            f"{len(gold)} gold labels and {len(predicted)} predictions: lengths must be equal; join them by id first"
        )
    return as_objects(gold), as_objects(predicted)


def factorise(values):
    """Give each distinct label a number; missing ones get -1."""
    try:
        return pd.factorize(values)
    except TypeError:
        row = next(i for i, v in enumerate(values) if not getattr(v, "__hash__", None))
        kind = type(values[row]).__name__
        raise InputError(f"verdict in row {row} is a {kind}, not a label") from None


def _vocabulary(extra):
    known = {name: i for i, name in enumerate(GOLD)}
    known |= {spelling: known[name] for spelling, name in SYNONYMS.items()}
    for spelling, name in (extra or {}).items():
        if name not in GOLD:
            raise InputError(f"label {spelling!r} is mapped to {name!r}: use {', '.join(GOLD)}")
        known[spelling] = GOLD.index(name)
    return known


def _outcome(spelling, known):
    if isinstance(spelling, str) and not spelling.strip():
        return OUTCOMES.index(NO_VERDICT)
    return known.get(spelling, OUTCOMES.index(OFF_LABEL))
