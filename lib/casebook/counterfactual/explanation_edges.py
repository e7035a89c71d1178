"""What one edit did to the results, in checked or in documented sentences."""

from casebook.counterfactual.explanation_facts import facts_of, keys_of, shown
from casebook.counterfactual.explanation_types import Explanation, Sentence

LISTED = 5  # cases named in a sentence
_ASSERTED = {
    "PartyType": "Other kinds of parties call for other precedents.",
    "Evidence": "What evidence there is decides which precedents compare.",
    "Numerical": "The number lies on another side of a limit that precedents draw.",
}


def explain_edge(fact_type, sheets, lists, listed, documented=False):
    """Explain what an edit did.

    Parameters
    ----------
    fact_type : str
        Type of the edited fact.
    sheets : (FactSheet, FactSheet)
        Before and after.
    lists : (sequence of str, sequence of str)
        Cases retrieved before and after, best first.
    listed : dict of Passage
        Passage by case, for at least the cases that left or came.
    documented : bool, default False
        Which rules.

    Returns
    -------
    Explanation
        What changed; how many cases left and came, the first five of each; a reason.
        Documented: the reason is asserted, but for sections, where a case must cite
        one of the two; if no case left or came, the fact is called not operative.
        Corrected: the reason counts in which passages of the cases that left or came
        the old or the new fact was found, with the places; if there is none, that is
        said; lists of the same cases are said to be in the same or another order.
    """
    before, after = lists
    dropped = [case for case in before if case not in set(after)]
    new = [case for case in after if case not in set(before)]
    old_keys, new_keys = map(keys_of, sheets)
    removed = [key for key in old_keys if key not in new_keys]
    added = [key for key in new_keys if key not in old_keys]
    sentences = [_change(fact_type, removed, added)]
    if dropped or new:
        sentences += _lists(dropped, new)
        reason = _documented_reason if documented else _checked_reason
        sentences += reason(fact_type, (removed, added), (dropped, new), listed)
    elif documented:
        text = "The fact is not operative: the same cases are found."
        sentences.append(Sentence(text, "order", checked=False))
    else:
        order = "the same" if list(before) == list(after) else "another"
        sentences.append(Sentence(f"The same cases, in {order} order.", "order"))
    used = tuple(listed[case] for case in (*dropped, *new) if case in listed)
    return Explanation(tuple(sentences), used, documented)


def _change(fact_type, removed, added):
    old, new = (", ".join(map(shown, keys)) or "nothing" for keys in (removed, added))
    return Sentence(f"{fact_type} changed: {old} became {new}.", "change")


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
        for key in facts:
            support = tuple(_supports(key, part, listed))
            if support:
                found = True
                cited = f"Of {len(part)} that {which}, {len(support)}"
                verb = "tells" if len(support) == 1 else "tell"
                text = f"{cited} {verb} of {shown(key)} in the passage shown."
                yield Sentence(text, "reason", support)
    if not found:
        text = "No passage shown of these cases tells of the old or the new fact."
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
        for key in facts:
            support = tuple(_supports(key, part, listed))
            if support:
                text = f"{shown(key)} is cited by a case of the list."
                yield Sentence(text, "reason", support)
