"""Audit of relevance labels.

Retrieval is measured against labels, and labels that were dealt out by a program, or
leak between splits, make every number worthless without any of them looking wrong. The
checks see patterns, not intentions: a flag is a reason to look, and its evidence says
where.
"""

from casebook.audits.findings import Audit
from casebook.audits.label_chance import popularity, random_order
from casebook.audits.label_content import anachronisms, duplicates, reused_lists
from casebook.audits.label_order import neighbours, round_robin
from casebook.audits.label_splits import split_leaks
from casebook.audits.label_tables import read_labels

__all__ = ["audit_labels", "read_labels"]

CHECKS = (
    round_robin,
    neighbours,
    anachronisms,
    duplicates,
    reused_lists,
    random_order,
    popularity,
)


def audit_labels(labels, seed=0):
    """Make all checks of relevance labels.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels, str or path-like
        Labels, or what `read_labels` reads.
    seed : int, default 0
        Of permutations and intervals.

    Returns
    -------
    casebook.audits.findings.Audit
        One finding per check, and two per pair of splits.

    Raises
    ------
    InputError
        As `read_labels`.
    """
    if not hasattr(labels, "splits"):
        labels = read_labels(labels)
    findings = [check(labels, seed) for check in CHECKS]
    return Audit(labels.name, (*findings, *split_leaks(labels, seed)))
