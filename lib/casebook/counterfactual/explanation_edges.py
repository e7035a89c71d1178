"""What one edit did to the results, in checked or in documented sentences."""

from casebook.counterfactual.explanation_facts import fact_changes, facts_of, keys_of, written
from casebook.counterfactual.explanation_types import Explanation, Sentence
from casebook.sensitivity.facts import fact_at, fact_fields, fact_key

LISTED = 5  # cases named in a sentence
_ASSERTED = {
    "PartyType": "Other kinds of parties call for other precedents.",
    "Evidence": "What evidence there is decides which precedents compare.",
    "Numerical": "The number lies on another side of a limit that precedents draw.",
}


def explain_edge(fact_type, sheets, lists, listed, documented=False):
    """Explain what an edit did."""
    before, after = lists
    dropped = [case for case in before if case not in set(after)]
    new = [case for case in after if case not in set(before)]
    changes = fact_changes(*sheets)
    keys = tuple(
        {
            fact_key(sheet, change[side]): written(sheet, change[side])
            for change in changes
            if change[side] and fact_at(sheet, change[side]) != "Unknown"
        }
        for side, sheet in enumerate(sheets, 1)
    )
    sentences = list(_change(sheets, changes))
    if dropped or new:
        sentences += _lists(dropped, new)
        reason = _documented_reason if documented else _checked_reason
        sentences += reason(fact_type, keys, (dropped, new), listed)
    elif documented:
        text = "The fact is not operative: the same cases are found."
        sentences.append(Sentence(text, "order", checked=False))
    else:
        order = "the same" if list(before) == list(after) else "another"
        sentences.append(Sentence(f"The same cases, in {order} order.", "order"))
    used = tuple(listed[case] for case in (*dropped, *new) if case in listed)
    return Explanation(tuple(sentences), used, documented)


def _change(sheets, changes):
    """Yield a sentence for each fact that changed, was added or was taken away."""
    if not changes:
        yield Sentence("No fact changed.", "change")
    for fact_type, *fields in changes:
        old, new = (field and _named(sheet, field) for sheet, field in zip(sheets, fields, strict=True))
        if old and new:
            text = f"{fact_type} changed: {old} became {new}"
            text += _again(sheets[1], fields[1], "another fact says so too")
        elif new:
            text = f"{fact_type} added: {new}"
            text += _again(sheets[1], fields[1], "another fact says so too")
        else:
            text = f"{fact_type} taken away: {old}"
            key = fact_key(sheets[0], fields[0])
            text += " (another fact still says so)" if key in keys_of(sheets[1]) else ""
        yield Sentence(f"{text}.", "change")


def _named(sheet, field):
    """Write a fact with what it is about, if the sheet says so."""
    fact = fact_at(sheet, field)
    about = getattr(fact, "context", "") or getattr(fact, "descriptor", "")
    return f"{written(sheet, field)} ({about})" if about else written(sheet, field)


def _again(sheet, field, remark):
    """Remark that another fact of the sheet is the same."""
    keys = [fact_key(sheet, name) for name in fact_fields(sheet)]
    return f" ({remark})" if keys.count(fact_key(sheet, field)) > 1 else ""


def _lists(dropped, new):
    for cases, what in ((dropped, "left the list"), (new, "came in")):
        if cases:
            more = " and others" if len(cases) > LISTED else ""
            number = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
            text = f"{number} {what}: {', '.join(cases[:LISTED])}{more}."
            yield Sentence(text, "lists")


def _checked_reason(_, keys, cases, listed):
    """Yield where the old fact is told by cases that left, the new one by new ones."""
    found = False
    for facts, part, which in zip(keys, cases, ("left", "came in"), strict=True):
        for key, name in facts.items():
            support = tuple(_supports(key, part, listed))
            if support:
                found = True
                cited = f"Of {len(part)} that {which}, {len(support)}"
                verb = "tells" if len(support) == 1 else "tell"
                text = f"{cited} {verb} of {name} in the passage shown."
                yield Sentence(text, "reason", support)
    if not found:
        text = "No passage shown of a case that left tells of the old fact, and none "
        text += "of a case that came in of the new one."
        yield Sentence(text, "reason")


def _supports(key, cases, listed):
    for case in cases:
        passage = listed.get(case)
        place = facts_of(passage.text).get(key) if passage else None
        if place:
            yield passage.support(*place)


def _documented_reason(fact_type, keys, cases, listed):
    if fact_type in _ASSERTED:
        yield Sentence(_ASSERTED[fact_type], "reason", checked=False)
        return
    for facts, part in zip(keys, cases, strict=True):
        for key, name in facts.items():
            support = tuple(_supports(key, part, listed))
            if support:
                text = f"{name} is cited by a case of the list."
                yield Sentence(text, "reason", support)
