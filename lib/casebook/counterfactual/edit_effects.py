"""What one edit did to the results of one system, beside its placebos."""

from collections import defaultdict

from casebook.counterfactual.edges import PRIMARY


def size(case, node):
    """Give what an edit shares with its placebos."""
    return case, node.parent.name, node.edit.removed, node.edit.added


def placebos_of(trees):
    """Give the placebos of a system whose search did not fail."""
    found = defaultdict(list)
    for tree in trees:
        for node in tree.placebos:
            if not node.found.error:
                found[size(tree.case_id, node)].append(node)
    return found


def effect(case, node, rows, placebos, precedents, control):
    """Give what one edit did under one system."""
    if node is None:
        return None
    before, after = node.parent.found, node.found
    if error := before.error or after.error:
        return {"error": error}
    row, blank = rows[case, node.name], placebos.get(size(case, node), [])
    return {
        "error": None,
        "moved": _short(row[PRIMARY]),
        "placebo_moved": _short(row[f"placebo_{PRIMARY}"]),
        "left": None if control else _beyond(before, after, precedents),
        "entered": None if control else _beyond(after, before, precedents),
        "new": len(_beyond(after, before)),
        "placebo_new": [len(_beyond(n.found, before)) for n in blank],
        "found": _found(before, precedents),
        "still_found": _found(after, precedents),
        "placebo_found": [_found(n.found, precedents) for n in blank],
    }


def _beyond(one, other, precedents=None):
    """Give what stands in one list only: case, rank, whether it is a precedent."""
    return [
        [case, rank, int(case in (precedents or ()))]
        for rank, case in enumerate(one.cases, 1)
        if case not in other.cases
    ]


def _found(found, precedents):
    """Give the best rank of the precedents, None if none is listed, and their number."""
    if not precedents:
        return None
    ranks = [rank for rank, case in enumerate(found.cases, 1) if case in precedents]
    return [min(ranks, default=None), len(ranks)]


def _short(value):
    return None if value != value else round(float(value), 3)
