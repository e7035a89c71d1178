"""Which documents may be returned: a where-clause on metadata, or pools per query."""

import operator

import numpy as np
import pandas as pd

from casebook.errors import InputError

_COMPARE = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
}
_OPERATORS = (*_COMPARE, "in", "not_in")


def metadata_mask(documents, where):
    """Find the documents that satisfy a declarative filter.

    Parameters
    ----------
    documents : pandas.DataFrame
        One row per document, one column per metadata field. A document without a
        value (NaN, None) satisfies no condition on that field.
    where : mapping or None
        Column to condition; all conditions must hold. A condition is a value
        (equality), a list, tuple or set (membership), or a mapping of operators
        ``eq ne gt gte lt lte in not_in`` to operands, all of which must hold. None
        or an empty mapping allows every document.

    Returns
    -------
    array of bool, shape (N,)
        True where the document may be returned.

    Raises
    ------
    InputError
        If a column or an operator does not exist, or the values of a column cannot
        be compared with the operand.

    Examples
    --------
    >>> frame = pd.DataFrame({"year": [2009, 2015], "outcome": ["Allowed", "Allowed"]})
    >>> metadata_mask(frame, {"year": {"gte": 2010, "lte": 2020}}).tolist()
    [False, True]
    """
    mask = np.ones(len(documents), dtype=bool)
    for column, condition in (where or {}).items():
        if column not in documents.columns:
            known = ", ".join(map(str, documents.columns)) or "none"
            raise InputError(f"filter names no column {column!r}; columns: {known}")
        mask &= _satisfies(documents[column], column, condition)
    return mask


def _satisfies(values, column, condition):
    """Evaluate one condition on one column."""
    if isinstance(condition, list | tuple | set | frozenset):
        condition = {"in": condition}
    elif not isinstance(condition, dict):
        condition = {"eq": condition}
    mask = values.notna().to_numpy(dtype=bool, copy=True)
    present = values[mask]
    results = [_compare(present, column, *entry) for entry in condition.items()]
    if results:
        mask[mask] = np.logical_and.reduce(results)
    return mask


def _compare(values, column, name, operand):
    """Apply one operator to values none of which is missing."""
    if name not in _OPERATORS:
        raise InputError(f"filter on {column!r} uses no operator {name!r}; operators: {', '.join(_OPERATORS)}")
    if name in ("in", "not_in"):
        if isinstance(operand, str) or not np.iterable(operand):
            raise InputError(f"filter on {column!r}: {name!r} needs a list of values")
        member = values.isin(list(operand)).to_numpy(dtype=bool)
        return member if name == "in" else ~member
    try:
        return _COMPARE[name](values, operand).to_numpy(dtype=bool)
    except TypeError as error:
        raise InputError(f"filter on {column!r}: cannot compare its values with {operand!r}") from error


def candidate_mask(allowed, n_queries, n_items):
    """Bring every way of restricting a search to one boolean mask."""
    if allowed is None:
        return None
    if pd.api.types.is_bool_dtype(allowed):
        allowed = np.asarray(allowed)
        if allowed.shape not in ((n_items,), (n_queries, n_items)):
            raise InputError(f"mask of shape {allowed.shape} does not fit {n_queries} queries and {n_items} items")
        return np.atleast_2d(allowed)
    if len(allowed) != n_queries:
        raise InputError(f"{len(allowed)} candidate pools for {n_queries} queries")
    mask = np.zeros((n_queries, n_items), dtype=bool)
    for row, pool in enumerate(allowed):
        pool = np.asarray(pool, dtype=np.int64)
        if pool.size and (pool.min() < 0 or pool.max() >= n_items):
            raise InputError(f"candidate pool of query {row} holds a position outside 0..{n_items - 1}")
        mask[row, pool] = True
    return mask
