"""One row of a grid file may stand for many cells: products, pairs, exceptions."""

import itertools
import re

from casebook.errors import InputError

_KEYS = {"product", "zip", "include", "exclude"}
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[0-9]+)?")
LARGEST = 10_000  # cells of one row; more is a mistake


def expand(row, where):
    """Write out a row with a ``vary`` part as one row a combination."""
    vary = row.get("vary")
    if vary is None:
        return [row]
    _check(vary, where)
    fixed = {key: value for key, value in row.items() if key != "vary"}
    chosen = [
        values
        for values in _combinations(vary, where)
        if not any(_matches(values, rule) for rule in vary.get("exclude", []))
    ]
    chosen += [values for values in vary.get("include", []) if values not in chosen]
    if not 1 <= len(chosen) <= LARGEST:
        raise InputError(f"{where}: stands for {len(chosen)} cells, not 1 to {LARGEST}")
    return [_named(fixed, values, vary) for values in chosen]


def _check(vary, where):
    if not isinstance(vary, dict) or not vary or set(vary) - _KEYS:
        raise InputError(f"{where}: vary takes {', '.join(sorted(_KEYS))}")
    for part in ("product", "zip"):
        lists = vary.get(part, {})
        good = isinstance(lists, dict) and all(isinstance(values, list) and values for values in lists.values())
        if not good:
            raise InputError(f"{where}: {part} is a mapping of names to lists")
    for part in ("include", "exclude"):
        rules = vary.get(part, [])
        if not isinstance(rules, list) or not all(isinstance(r, dict) for r in rules):
            raise InputError(f"{where}: {part} is a list of names with values")


def _combinations(vary, where):
    product, pairs = vary.get("product", {}), vary.get("zip", {})
    if len({len(values) for values in pairs.values()}) > 1:
        raise InputError(f"{where}: the lists of zip differ in length")
    if set(product) & set(pairs):
        raise InputError(f"{where}: a parameter stands in product and in zip")
    total = len(next(iter(pairs.values()), [None]))
    for values in product.values():
        total *= len(values)
    if total > LARGEST:
        raise InputError(f"{where}: stands for {total:,} cells, not 1 to {LARGEST}")
    if not product and not pairs:
        return
    together = [dict(zip(pairs, values, strict=True)) for values in zip(*pairs.values(), strict=True)]
    for values in itertools.product(*product.values()):
        for extra in together or [{}]:
            yield dict(zip(product, values, strict=True)) | extra


def _matches(values, rule):
    return all(name in values and values[name] == rule[name] for name in rule)


def _named(fixed, values, vary):
    lists = vary.get("product", {}) | vary.get("zip", {})
    parts = [_word(name, value, lists.get(name, [])) for name, value in values.items()]
    return fixed | {
        "name": "-".join([str(fixed.get("name")), *parts]),
        "parameters": {**(fixed.get("parameters") or {}), **values},
    }


def _word(name, value, listed):
    """Give the part of a name that stands for a value."""
    text = str(value)
    if isinstance(value, (str, int, float)) and _PLAIN.fullmatch(text):
        return text
    place = listed.index(value) + 1 if value in listed else 0
    return f"{name}{place}"
