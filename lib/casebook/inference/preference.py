"""Preference between two systems: counts, tests by item, win rates with intervals."""

import numpy as np
import pandas as pd

from casebook.inference.multiplicity import holm
from casebook.inference.paired import (
    WinTieLoss,
    paired_t,
    wilcoxon_signed_rank,
)
from casebook.inference.permutation import paired_randomization
from casebook.inference.proportions import wilson
from casebook.inference.sign_tests import documented_sign_test, exact_sign_test
from casebook.inference.votes import (
    check_votes,
    count_votes,
    item_means,
)


def win_tie_loss_table(votes, *, level=0.95):
    """Count and test the votes of every rater, and of all together.

    Parameters
    ----------
    votes : pandas.DataFrame or array_like, shape [items, raters]
        1 (first system preferred), 0 (tie), -1 or NaN (no vote).
    level : float, default 0.95
        Coverage of Wilson's interval.

    Returns
    -------
    pandas.DataFrame
        One row per rater and one named ``pooled``: ``wins``, ``losses``, ``ties``,
        ``missing``, ``n`` (untied votes), ``win_rate`` with ``ci_low`` and ``ci_high``
        (Wilson), ``p_sign`` (exact, two-sided) with ``log_p``, and ``p_holm`` (over the
        raters; the pooled test is none of the family). The pooled row takes the votes
        for independent, which they are not: it is there for comparison.

    Raises
    ------
    InputError
        If a value is no vote.
    """
    V = check_votes(votes)
    names = (
        list(votes.columns) if isinstance(votes, pd.DataFrame) else range(V.shape[1])
    )
    rows = [_counted(name, V[:, k], level) for k, name in enumerate(names)]
    adjusted = holm([row["p_sign"] for row in rows])
    rows.append(_counted("pooled", V, level))
    table = pd.DataFrame(rows)
    table["p_holm"] = pd.Series([*adjusted, None], dtype=object)
    return table


def _counted(name, votes, level):
    counts = count_votes(votes)
    n = counts.wins + counts.losses
    share = wilson(counts.wins, n, level)
    test = exact_sign_test(counts.wins, counts.losses)
    return {
        **{"rater": name, "wins": counts.wins, "losses": counts.losses},
        **{"ties": counts.ties, "missing": counts.missing, "n": n},
        **{"win_rate": share.estimate, "ci_low": share.low, "ci_high": share.high},
        **{"p_sign": test.pvalue, "log_p": test.log_pvalue, "reason": test.reason},
    }


def documented_preference(votes):
    """Preference figures of one rater or of all, under the document's names.

    Parameters
    ----------
    votes : array_like
        1, 0, -1 or NaN, of any shape: all votes count as one sample.

    Returns
    -------
    dict
        ``rag_wins``, ``rag_losses``, ``ties``, ``n_effective``, ``p_value_sign_test``
        (None where the document prints nan) and ``unmapped_or_missing``.

    Raises
    ------
    InputError
        From 1030 untied votes on, where the document's form fails.
    """
    counts = count_votes(votes)
    return {
        "rag_wins": counts.wins,
        "rag_losses": counts.losses,
        "ties": counts.ties,
        "n_effective": counts.wins + counts.losses,
        "p_value_sign_test": documented_sign_test(counts.wins, counts.losses),
        "unmapped_or_missing": counts.missing,
    }


def item_majority(votes):
    """Count the items that most raters decide for the first system.

    Parameters
    ----------
    votes : array_like, shape [items, raters]
        1, 0, -1 or NaN.

    Returns
    -------
    WinTieLoss
        Items by the sign of their net vote; items without a vote are left out.

    Raises
    ------
    InputError
        If a value is no vote.
    """
    means = item_means(votes)
    signs = [int(np.count_nonzero(np.sign(means) == s)) for s in (1, 0, -1)]
    return WinTieLoss(*signs)


def item_tests(votes, *, n_resamples=100_000, seed=0):
    """Test the preference with the item as the unit, in five ways.

    Parameters
    ----------
    votes : array_like, shape [items, raters]
        1, 0, -1 or NaN.
    n_resamples, seed
        As in `casebook.inference.permutation.paired_randomization`.

    Returns
    -------
    pandas.DataFrame
        Columns ``test``, ``statistic``, ``pvalue`` (two-sided), ``n`` (items used) and
        ``reason``. Rows: ``sign-flip`` of the items' mean net votes (the recommended
        one), ``majority sign``, ``t``, ``wilcoxon`` (tied items left out) and
        ``wilcoxon-pratt`` (tied items ranked).

    Raises
    ------
    InputError
        If a value is no vote.

    Notes
    -----
    Raters are taken as they are: the conclusion holds for this panel and new items.
    """
    means = item_means(votes)
    counts = item_majority(votes)
    flip = paired_randomization(means, n_resamples=n_resamples, seed=seed)
    majority = exact_sign_test(counts.wins, counts.losses)
    rows = [
        ("sign-flip", flip.statistic, flip.pvalue, flip.n, None),
        ("majority sign", counts.wins, majority.pvalue, majority.n, majority.reason),
    ]
    classical = {
        "t": paired_t(means),
        "wilcoxon": wilcoxon_signed_rank(means),
        "wilcoxon-pratt": wilcoxon_signed_rank(means, zero_method="pratt"),
    }
    rows += [
        (name, test.statistic, test.pvalue, test.n, test.reason)
        for name, test in classical.items()
    ]
    return pd.DataFrame(rows, columns=["test", "statistic", "pvalue", "n", "reason"])
