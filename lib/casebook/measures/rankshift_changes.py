"""What became of every item of two ranked lists."""

from dataclasses import dataclass

from casebook.inference.samples import check_choice, check_count
from casebook.measures.rankshift_lists import check_items

AFFECTED = ("union", "moved", "before")
ABSENT = ("k+1", "len_aware")


@dataclass(frozen=True)
class RankChanges:
    """What became of every item of two ranked lists.

    Attributes
    ----------
    displacement : dict
        Id to how many ranks it moved; items of `before` first, then newcomers.
    dropped, new, stable : tuple
        Ids that left, came and stayed, in rank order.
    n_before, n_after : int
        Lengths of the two lists, at most k.
    """

    displacement: dict
    dropped: tuple
    new: tuple
    stable: tuple
    n_before: int
    n_after: int


def rank_changes(before, after, k=10, *, absent="k+1"):
    """Say of every item of two lists how far it moved.

    Parameters
    ----------
    before, after, k, absent
        As in `casebook.measures.rankshift.mean_displacement`.

    Returns
    -------
    RankChanges

    Raises
    ------
    InputError
        As `casebook.measures.rankshift.mean_displacement`.
    """
    check_count("k", k)
    check_choice("absent", absent, ABSENT)
    before = check_items(list(before), "before")[:k]
    after = check_items(list(after), "after")[:k]
    ranks = [{x: r for r, x in enumerate(items, 1)} for items in (before, after)]
    place = [k + 1 if absent == "k+1" else len(items) + 1 for items in (before, after)]
    return RankChanges(
        {
            item: abs(ranks[0].get(item, place[0]) - ranks[1].get(item, place[1]))
            for item in dict.fromkeys([*before, *after])
        },
        tuple(x for x in before if x not in ranks[1]),
        tuple(x for x in after if x not in ranks[0]),
        tuple(x for x in before if x in ranks[1]),
        len(before),
        len(after),
    )


def undefined_reason(before, after, k=10, *, affected="union", absent="k+1"):
    """Say why a value is None.

    Parameters
    ----------
    before, after, k, affected, absent
        As in `casebook.measures.rankshift.mean_displacement`; the other measures are
        as ``affected="union"``.

    Returns
    -------
    str or None
        ``"both_lists_empty"``, ``"first_list_empty"`` or ``"nothing_moved"``; None if
        the value exists.
    """
    check_choice("affected", affected, AFFECTED)
    changes = rank_changes(before, after, k, absent=absent)
    if not changes.displacement:
        return "both_lists_empty"
    if affected == "before" and not changes.n_before:
        return "first_list_empty"
    if affected == "moved" and not any(changes.displacement.values()):
        return "nothing_moved"
    return None
