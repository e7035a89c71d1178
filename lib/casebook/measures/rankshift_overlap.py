"""Overlap of two top-k lists, whole and on the way down."""

import numpy as np

from casebook.measures.rankshift_lists import (
    of_one_pair,
    ratio,
    top_matches,
    where_any,
)
from casebook.measures.rankshift_rbo import overlaps


def jaccard(before, after, k=10):
    """Jaccard similarity of two top-k lists as sets.

    Parameters
    ----------
    before, after, k
        As in `casebook.measures.rankshift.mean_displacement`.

    Returns
    -------
    float or None
        Common items over all items, in [0, 1]; None if both lists are empty.
    """
    return of_one_pair(jaccard_batch, before, after, k)


def jaccard_batch(before, after, k=10):
    """Jaccard similarity of many pairs of top-k lists.

    Parameters
    ----------
    before, after, k
        As in `casebook.measures.rankshift.mean_displacement_batch`.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where both lists are empty.
    """
    found = top_matches(before, after, k)
    common = found.count()
    return ratio(common, found.size_before + found.size_after - common)


def average_overlap(before, after, k=10):
    """Average overlap of two top-k lists.

    Parameters
    ----------
    before, after, k
        As in `casebook.measures.rankshift.mean_displacement`.

    Returns
    -------
    float or None
        Mean over d = 1 to k of the share of common items among the first d, in [0, 1];
        None if both lists are empty.

    References
    ----------
    Wu & Crestani, SAC 2003; Webber et al., 2010, equation 2.
    """
    return of_one_pair(average_overlap_batch, before, after, k)


def average_overlap_batch(before, after, k=10):
    """Average overlap of many pairs of top-k lists.

    Parameters
    ----------
    before, after, k
        As in `casebook.measures.rankshift.mean_displacement_batch`.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where both lists are empty.
    """
    found = top_matches(before, after, k)
    mean = (overlaps(found, k) / np.arange(1, k + 1)).mean(axis=1)
    return where_any(found, mean)
