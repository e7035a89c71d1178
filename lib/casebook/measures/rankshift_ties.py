"""Rank-biased overlap of lists in which groups of items share a rank."""

import numpy as np

from casebook.errors import InputError
from casebook.inference.samples import check_choice, check_share, number_or_none
from casebook.measures.rankshift_lists import as_arrays, check_items, match
from casebook.measures.rankshift_rbo import PARTS, RBO, agreement_at_end, combine

TIES = ("a", "b", "w")
BLOCK_ELEMENTS = 2**21


def rbo_ties(before, after, p=0.9, *, ties="a", part="ext"):
    """Rank-biased overlap of two ranked lists with ties.

    Parameters
    ----------
    before, after : sequence of hashable, or of set, frozenset, tuple or list of them
        Ids, best first; a group holds ids that share a rank.
    p : float, default 0.9
        Persistence in (0, 1).
    ties : {"a", "b", "w"}
        "a": expected value when ties are broken at random; "b": the same corrected
        for what ties hide, so that a list agrees with itself entirely; "w": tied items
        stand at the group's first rank, as Webber et al. have it.
    part : {"ext", "min", "max", "res"}
        Extrapolated value, bounds or residual, as in
        `casebook.measures.rankshift_rbo.rbo`.

    Returns
    -------
    float or None
        In [0, 1]; None if both lists are empty.

    Raises
    ------
    InputError
        If a list holds an id twice or an option is unknown.

    References
    ----------
    Corsi & Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024.
    """
    check_choice("part", part, PARTS)
    flat = [_flat(before, "before"), _flat(after, "after")]
    arrays = as_arrays(*([items] for items, _ in flat))
    groups = [np.array([numbers], dtype=int) for _, numbers in flat]
    found = rbo_ties_batch(*arrays, *groups, p, ties=ties)
    return number_or_none(getattr(found, part)[0])


def _flat(ranking, side):
    """Give the ids of a ranking and the number of each one's group."""
    groups = [
        list(x) if isinstance(x, set | frozenset | tuple | list) else [x]
        for x in ranking
    ]
    items = check_items([item for group in groups for item in group], side)
    return items, [number for number, group in enumerate(groups) for _ in group]


def rbo_ties_batch(before, after, before_groups, after_groups, p=0.9, *, ties="a"):
    """Rank-biased overlap of many pairs of lists with ties.

    Parameters
    ----------
    before, after : array_like of int, shape (Q, A) and (Q, B)
        Ids, the members of a group next to each other in any order; negative numbers
        fill the end of shorter lists.
    before_groups, after_groups : array_like of int, shape (Q, A) and (Q, B)
        Items of a list with equal numbers share a rank. Numbers do not decrease.
    p, ties
        As in `rbo_ties`.

    Returns
    -------
    RBO
        Arrays of shape (Q,); NaN where both lists are empty.

    Raises
    ------
    InputError
        As `match`, or if the groups do not fit the lists.
    """
    check_share("p", p)
    check_choice("ties", ties, TIES)
    match(before, after)  # refuses what is wrong, and names its side
    sides = [
        _spans(np.asarray(ids, dtype=np.int64), groups)
        for ids, groups in ((before, before_groups), (after, after_groups))
    ]
    width = max(1, *(side.shape[2] for side in sides))
    sides = [_widen(side, width) for side in sides]
    sizes = [(side[0] >= 0).sum(axis=1) for side in sides]
    swap = (sizes[0] > sizes[1])[:, None]
    short = np.where(swap, sides[1], sides[0])
    long = np.where(swap, sides[0], sides[1])
    rows = max(1, BLOCK_ELEMENTS // width**2)
    blocks = [
        _block(short[:, start : start + rows], long[:, start : start + rows], p, ties)
        for start in range(0, max(short.shape[1], 1), rows)
    ]
    return RBO(*(np.concatenate([getattr(b, part) for b in blocks]) for part in PARTS))


def _spans(ids, groups):
    """Stack ids, and the first and last rank of each one's group; shape (3, Q, A)."""
    groups = np.asarray(groups, dtype=np.int64)
    if groups.shape != ids.shape:
        raise InputError(f"groups of shape {groups.shape} for ids of {ids.shape}")
    present = ids >= 0
    step = np.diff(groups, axis=1)
    if (step < 0)[present[:, 1:]].any():
        raise InputError("the numbers of groups decrease along a list")
    edge = np.ones((len(ids), 1), dtype=bool)
    change = (step != 0) | ~present[:, 1:]
    rank = np.broadcast_to(np.arange(1, ids.shape[1] + 1), ids.shape)
    if not ids.shape[1]:
        return np.stack([ids, rank, rank])
    starts = np.hstack([edge, change])
    first = np.maximum.accumulate(np.where(starts, rank, 0), axis=1)
    ends = np.where(np.hstack([change, edge]), rank, ids.shape[1] + 1)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return np.stack([ids, first, last])


def _widen(side, width):
    missing = width - side.shape[2]
    return np.pad(side, ((0, 0), (0, 0), (0, missing)), constant_values=-1)


def _block(short, long, p, ties):
    """Rank-biased overlap of pairs whose first list is not the longer one."""
    found = match(short[0], long[0])
    sizes = np.stack([found.size_before, found.size_after])
    shares = _shares(short, ties), _shares(long, ties)
    facing = np.zeros_like(shares[0])
    facing[found.pair, found.before - 1] = shares[1][found.pair, found.after - 1]
    overlap = np.einsum("qad,qad->qd", shares[0], facing)
    norm = _norm(shares, sizes, ties)
    unseen = long[0] >= 0
    unseen[found.pair, found.after - 1] = False
    new = np.clip(np.arange(1, overlap.shape[1] + 1) - sizes[0][:, None], 0, None)
    rest = shares[1] * unseen[:, :, None]
    active = np.maximum((rest > 0).sum(axis=1), 1)
    assumed = new * agreement_at_end(overlap, norm, sizes[0])
    assumed = assumed * rest.sum(axis=1) / active
    taken = (unseen.cumsum(axis=1) - 1)[:, :, None] < new[:, None, :]
    return combine(overlap, norm, assumed, (rest * taken).sum(axis=1), sizes, p)


def _shares(side, ties):
    """How much of each item has come at depth d, shape (Q, items, depths), in 0..1."""
    ids, first, last = (x[:, :, None] for x in side)
    d = np.arange(1, ids.shape[1] + 1)
    if ties == "w":
        share = (d >= first).astype(float)
    else:
        share = np.clip((d - first + 1) / np.maximum(last - first + 1, 1), 0.0, 1.0)
    return share * (ids >= 0)


def _norm(shares, sizes, ties):
    """Give the overlap that full agreement would have at each depth."""
    depth = shares[0].shape[2]
    d = np.broadcast_to(np.arange(1.0, depth + 1), (shares[0].shape[0], depth))
    if ties == "a":
        return d
    sums = [
        np.where(d > size[:, None], d, (share**2).sum(axis=1))
        for share, size in zip(shares, sizes, strict=True)
    ]
    return np.sqrt(sums[0] * sums[1]) if ties == "b" else (sums[0] + sums[1]) / 2
