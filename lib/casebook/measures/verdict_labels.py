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
    """Turn verdicts into outcome numbers by exact, case-sensitive comparison.

    Parameters
    ----------
    labels : array_like of str, shape [n]
        Verdicts; None, NaN and empty text mean that there is no verdict.
    vocabulary : dict, optional
        Further spellings: label to one of `GOLD`.

    Returns
    -------
    codes : numpy.ndarray of int64, shape [n]
        Positions in `OUTCOMES`.
    foreign : dict of int
        Off-label spellings and how often each occurs, in order of occurrence.

    Raises
    ------
    InputError
        If a verdict is a list or another thing that cannot be a label, or the
        vocabulary maps to an unknown outcome.
    """
    known = _vocabulary(vocabulary)
    codes, spellings = factorise(as_objects(labels))
    outcome = np.array([_outcome(s, known) for s in spellings] + [5], dtype=np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=len(spellings))
    foreign = {
        str(s): int(c)
        for s, c, o in zip(spellings, counts, outcome, strict=False)
        if OUTCOMES[o] == OFF_LABEL
    }
    return outcome[codes], foreign


def as_objects(labels):
    """Copy labels into an object array, shape [n], whatever they are.

    Parameters
    ----------
    labels : array_like
        Labels.

    Returns
    -------
    numpy.ndarray of object
        A copy; lists among the labels stay lists.
    """
    values = np.empty(len(labels), dtype=object)
    values[:] = labels if isinstance(labels, list | tuple) else list(labels)
    return values


def paired_labels(gold, predicted):
    """Give gold and predicted labels as object arrays of one length.

    Parameters
    ----------
    gold, predicted : array_like, shape [n]
        Labels in the same order; two series must have the same index.

    Returns
    -------
    tuple of numpy.ndarray of object
        Copies.

    Raises
    ------
    InputError
        If the lengths or the indices differ.
    """
    labelled = isinstance(gold, pd.Series) and isinstance(predicted, pd.Series)
    if labelled and not gold.index.equals(predicted.index):
        raise InputError(
            "gold and predicted have different indices: join them by id first"
        )
    if len(gold) != len(predicted):
        raise InputError(
            f"{len(gold)} gold labels and {len(predicted)} predictions: lengths must "
            "be equal; join them by id first"
        )
    return as_objects(gold), as_objects(predicted)


def factorise(values):
    """Give each distinct label a number; missing ones get -1.

    Parameters
    ----------
    values : numpy.ndarray of object, shape [n]
        Labels.

    Returns
    -------
    codes : numpy.ndarray of int64, shape [n]
        Positions in `spellings`.
    spellings : numpy.ndarray of object
        Distinct labels in order of occurrence.

    Raises
    ------
    InputError
        If a label is a list or another thing that cannot be one.
    """
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
            raise InputError(
                f"label {spelling!r} is mapped to {name!r}: use {', '.join(GOLD)}"
            )
        known[spelling] = GOLD.index(name)
    return known


def _outcome(spelling, known):
    if isinstance(spelling, str) and not spelling.strip():
        return OUTCOMES.index(NO_VERDICT)
    return known.get(spelling, OUTCOMES.index(OFF_LABEL))
