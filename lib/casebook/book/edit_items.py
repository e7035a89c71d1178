"""The page of single edits of a sensitivity chapter."""

from itertools import zip_longest

from casebook.book.item_parts import cell, change, decimal, facts, item, page, table, whole

NOUN, TITLE = "edit", "Edit by edit"
BY_SYSTEM = ("results",)
ABOUT = (
    "each edit of one fact, the query before and after it, which cases entered and "
    "left the list, and beside it what placebos did, edits of as many words that mean "
    "nothing. One edit has no interval; the chapter has the means with theirs. The "
    "measures are defined [here](../../methods/counterfactual_sensitivity.md)."
)
SHOWN = "Of documents the beginning is shown, or their facts."
LEFT_OUT = (
    "that change the cases themselves, and for each case those of an edited case that "
    "moved the first system most beyond their placebos"
)
_DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}


def view(found):
    """Turn kept edits into a page."""
    depth, systems = found["depth"], found["systems"]
    moved = ["System", "Edit moved", "Placebos moved"]
    moved += ["Cases new after the edit", "After each placebo"]
    layout = [
        facts(),
        change("The query, before and after the edit"),
        change("A placebo of the same size, before and after"),
        table(
            f"What moved (normalised footrule: 0 nothing, 1 everything), and how many of {depth} cases are new",
            moved,
            missing="not tried or without placebo",
        ),
        table(
            f"Cases that ought to be found: how many are in the first {depth}, and the best rank",
            ["System", "Before the edit", "After the edit", "After placebos"],
            missing="not tried",
        ),
        table(
            f"Cases that left and entered the first {depth}, with their rank there; ✓ ought to be found",
            [f"{systems[place]}: {what}" for place in found["tested"] for what in ("left", "entered")],
            missing="none",
        ),
    ]
    items = [_item(edit, found) for edit in found["items"]]
    orders = ("moved most beyond its placebos",)
    return page(found, NOUN, layout, items, orders=orders)


def _item(edit, found):
    results, systems = edit["results"], found["systems"]
    first = results[found["tested"][0]] if found["tested"] else None
    pairs = list(zip(systems, results, strict=True))
    known = found["precedents"]
    parts = [
        _facts(edit),
        edit["change"],
        edit["placebo"],
        [[system, *_moved(result)] for system, result in pairs],
        [[system, *_precedents(result)] for system, result in pairs] if known else None,
        _lists([results[place] for place in found["tested"]]) or None,
    ]
    tags = [edit["fact_type"], _DECIDES[edit["decides"]], _depth(edit)]
    tags += [_lost(found, first)] if _lost(found, first) else []
    excess = _excess(first)
    return item(edit["id"], _described(edit), parts, tags=tags, keys=[-excess])


def _described(edit):
    if edit["operation"] == "add":
        return f"{edit['fact_type']}: {edit['new']} added"
    if edit["operation"] == "remove":
        return f"{edit['fact_type']}: {edit['old']} removed"
    return f"{edit['fact_type']}: {edit['old']} becomes {edit['new']}"


def _depth(edit):
    return "edit of the case" if edit["depth"] == 1 else "edit of an edited case"


def _facts(edit):
    return [
        ["Case", edit["case"]],
        ["Kind of fact", f"{edit['fact_type']}, which {_DECIDES[edit['decides']]}"],
        ["Edited", _depth(edit).removeprefix("edit of ")],
    ]


def _excess(result):
    if not result or result["error"] or result["placebo_moved"] is None:
        return 0.0
    return (result["moved"] or 0.0) - result["placebo_moved"]


def _lost(found, result):
    """Say that all precedents left the first system's list, if they did."""
    if not result or result["error"] or not result["found"]:
        return None
    if not result["found"][1] or result["still_found"][1]:
        return None
    return f"{found['systems'][found['tested'][0]]} lost every precedent"


def _moved(result):
    """Give the cells of one system on what moved."""
    if result is None or result["error"]:
        return [result and f"failed: {result['error']}", None, None, None]
    new = ", ".join(map(str, result["placebo_new"])) or None
    return [decimal(result["moved"]), decimal(result["placebo_moved"]), whole(result["new"]), new]


def _precedents(result):
    """Give the cells of one system on the cases that ought to be found."""
    if result is None or result["error"]:
        return [None, None, None]
    places = [result["found"], result["still_found"]]
    placebos = "; ".join(_place(found) for found in result["placebo_found"])
    return [*map(_place, places), placebos or None]


def _place(found):
    if found is None:
        return "nobody knows any"
    best, count = found
    return f"{count}, best at rank {best}" if count else "none"


def _lists(results):
    """Give the rows of cases that left and entered, a pair of columns a system."""
    columns = []
    for result in results:
        for name, word in (("left", "before"), ("entered", "after")):
            listed = (result or {}).get(name) or []
            columns.append([_case(*case, word) for case in listed])
    return [list(row) for row in zip_longest(*columns)]


def _case(place, rank, wanted, word):
    return cell(place, "relevant" if wanted else None, f"rank {rank} {word}")


def past(edit, found, before, place):
    """Give the results of another run on one edit."""
    if edit is None:
        return {"results": [None] * len(before["systems"])}
    return {"results": [result and _placed(result, place) for result in edit["results"]]}


def _placed(result, place):
    lists = {
        name: [[place(case), *rest] for case, *rest in result[name]] for name in ("left", "entered") if result.get(name)
    }
    return result | lists
