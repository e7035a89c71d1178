"""Edits of a sensitivity chapter."""

from itertools import zip_longest

from casebook.book.item_parts import cell, change, decimal, facts, item, table
from casebook.runs.outputs import STORED_DIGITS
from casebook.tables import FACTS

_DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}
_OPERATIONS = {"add": "{new} added", "remove": "{old} removed"}
_REPLACEMENT = "{old} becomes {new}"
_ABOVE = "above {:g}"
_MOVED_MORE = "moved more than its placebos"
_MOVED_NO_MORE = "moved no more than its placebos"
_LOST_ALL = "lost every precedent"
_NOT_EXPANDED = "not expanded"
_EDIT_MEASURES = (
    ("rank change beyond its placebos", 3),
    ("rank change (normalised footrule)", 3),
    ("mean rank displacement", 2),
)


def content(collection):
    """Give layout, items, measures and ready-made questions of the page."""
    depth = collection["depth"]
    moved = (
        "What moved (normalised footrule: 0 nothing, 1 everything), "
        f"and how many of {depth} cases are new"
    )
    moved_heads = [
        "System",
        "Edit moved",
        "Placebos moved",
        "Cases new after the edit",
        "After each placebo",
    ]
    cases = f"Cases that should be found: how many are in the first {depth}, and the best rank"
    cases_heads = ["System", "Before the edit", "After the edit", "After placebos"]
    lists = (
        f"cases that left and entered the first {depth}, with their rank there; ✓ should be found"
    )
    layout = [
        facts(),
        change("The query, before and after the edit"),
        change("A placebo of the same size, before and after"),
        table(moved, moved_heads, missing="not tried or without placebo"),
        table(cases, cases_heads, missing="not tried"),
    ]
    for count, k in enumerate(collection["tested"]):  # a table a system, the first one open
        caption = f"{collection['systems'][k]}: {lists}"
        layout.append(table(caption, ["Left", "Entered"], missing="none", folded=count > 0))
    threshold = collection.get("threshold")
    items = [_edit(edit, collection, threshold) for edit in collection["items"]]
    main = [collection["systems"][k] for k in collection["tested"][:1]]
    ready = []
    for system in main:
        texts = {_MOVED_MORE: f"edits that moved the list of {system} more than its placebos"}
        if threshold:
            ranks = f"by more than {threshold:g} ranks on average"
            texts[_ABOVE.format(threshold)] = f"edits that moved the list of {system} {ranks}"
        if collection["precedents"]:
            texts[_LOST_ALL] = f"edits after which {system} lists no case that should be found"
        ready = [(text, {"system": system, "only": tag}) for tag, text in texts.items()]
    return {
        "layout": layout,
        "items": items,
        "measures": _EDIT_MEASURES,
        "words": ("moves more", "moves equally", "moves less"),
        "orders": ("moved most beyond its placebos",),
        "questions": ready,
    }


def _edit(edit, collection, threshold):
    fact = FACTS.get(edit["fact_type"], edit["fact_type"])
    decides = _DECIDES[edit["decides"]]
    depth = "the case" if edit["depth"] == 1 else "an edited case"
    named_values = [
        ["Case", edit["case"]],
        ["Kind of fact", f"{fact} ({decides})"],
        ["Edited", depth],
    ]
    systems = collection["systems"]
    results = dict(zip(systems, edit["results"], strict=True))
    main = systems[collection["tested"][0]] if collection["tested"] else None
    moved = [_moved_row(name, result) for name, result in results.items()]
    precedents = None
    if collection["precedents"]:
        precedents = [_precedents_row(name, result) for name, result in results.items()]
    lists = [_left_and_entered(edit["results"][k]) for k in collection["tested"]]
    operation = _OPERATIONS.get(edit["operation"], _REPLACEMENT)
    return item(
        edit["id"],
        f"{fact}: {operation.format(old=edit['old'], new=edit['new'])}",
        [named_values, edit["change"], edit["placebo"], moved, precedents, *lists],
        tags=[fact, decides, f"edit of {depth}"],
        by_system=[_edit_tags(result, threshold) for result in edit["results"]],
        scores=[_edit_scores(result) for result in edit["results"]],
        keys=[-(_excess(results[main]) or 0.0) if main else 0.0],
    )


def _edit_tags(result, threshold):
    """Give the tags of what one system did with an edit."""
    if not _is_result(result):
        return [_NOT_EXPANDED]
    tags = []
    excess = _excess(result)
    if excess is not None:
        tags.append(_MOVED_MORE if excess > 0 else _MOVED_NO_MORE)
    displacement = result.get("displacement")
    if threshold and displacement is not None and displacement > threshold:
        tags.append(_ABOVE.format(threshold))
    was_found = result["found"] and result["found"][1]
    if was_found and not result["still_found"][1]:
        tags.append(_LOST_ALL)
    return tags


def _edit_scores(result):
    if not _is_result(result):
        return [None] * len(_EDIT_MEASURES)
    return [_excess(result), result["moved"], result.get("displacement")]


def _is_result(result):
    """Whether an edit was tried by a system, and did not fail."""
    return result is not None and not result["error"]


def _moved_row(system, result):
    if not _is_result(result):
        return [system, result and f"failed: {result['error']}", None, None, None]
    return [
        system,
        decimal(result["moved"]),
        decimal(result["placebo_moved"]),
        str(result["new"]),
        ", ".join(map(str, result["placebo_new"])) or None,
    ]


def _precedents_row(system, result):
    if not _is_result(result):
        return [system, None, None, None]
    placebos = "; ".join(map(_best_and_count, result["placebo_found"])) or None
    before = _best_and_count(result["found"])
    after = _best_and_count(result["still_found"])
    return [system, before, after, placebos]


def _excess(result):
    """How far the edit moved the ranking beyond its placebos."""
    if not _is_result(result) or None in (result["moved"], result["placebo_moved"]):
        return None
    return round(result["moved"] - result["placebo_moved"], STORED_DIGITS)


def _left_and_entered(result):
    """Pair the cases that left the list with those that entered it."""
    if not _is_result(result):
        return []
    left = [_moved_case(*case, "before") for case in result["left"]]
    entered = [_moved_case(*case, "after") for case in result["entered"]]
    return [list(row) for row in zip_longest(left, entered)]


def _moved_case(case, rank, is_relevant, when):
    return cell(case, "relevant" if is_relevant else None, f"rank {rank} {when}")


def _best_and_count(precedents):
    if precedents is None:
        return "none known"
    best, count = precedents
    return f"{count}, best at rank {best}" if count else "none"
