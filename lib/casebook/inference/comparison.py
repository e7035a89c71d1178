"""One table per system and one per pair: everything a comparison should show."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.estimates import BETTER, WORSE, contrasts, estimates
from casebook.inference.effects import effect_sizes
from casebook.inference.multiplicity import holm
from casebook.inference.paired import paired_t, wilcoxon_signed_rank, win_tie_loss
from casebook.inference.permutation import randomised_tukey_hsd
from casebook.inference.power import minimal_detectable_effect
from casebook.inference.samples import check_share, score_matrix, system_pairs
from casebook.inference.tie_classes import tie_classes

MOST_TUKEY_RESAMPLES = 10_000
"""Permuting systems costs ten times what flipping signs does."""

PAIR_COLUMNS = [
    *("system_a", "system_b", "difference", "ci_low", "ci_high", "n", "groups"),
    *("p_randomisation", "p_max_t", "verdict", "p_holm", "p_tukey", "p_t"),
    *("p_wilcoxon", "dz", "wins", "ties", "losses", "mde", "reason"),
]


@dataclass(frozen=True)
class Comparison:
    """Systems compared on the same units."""

    systems: pd.DataFrame
    pairs: pd.DataFrame
    level: float
    n_boot: int
    n_resamples: int
    n_tukey: int
    seed: int


def compare_systems(
    scores, *, clusters=None, baseline=None, pairs=None, level=0.95, n_boot=10_000, n_resamples=10_000, seed=0
):
    """Compare systems on paired units: intervals, tests, effect sizes, tie classes.

    Parameters
    ----------
    scores : pandas.DataFrame or array_like, shape [units, systems]
        Scores on one scale, higher is better.
    clusters : array_like, shape [units], optional
        What units belong to; see `casebook.estimates.estimates`.
    baseline : label, optional
        Test only the pairs of another system (a) with this one (b).
    pairs : sequence of (label, label), optional
        Test only these planned contrasts. The family of adjusted p-values is what is
        tested; tie classes need all pairs and are None otherwise.
    level : float, default 0.95
        Coverage; the intervals of differences hold for the whole family at once.
    n_boot : int, default 10000
        Bootstrap draws.
    n_resamples : int, default 10000
        Sign patterns; Tukey's test takes at most 10000 permutations.
    seed : int, default 0
        Seed.

    Returns
    -------
    Comparison
        Two systems share a tie class exactly if their ``p_max_t`` exceeds
        ``1 - level``, which is exactly if the verdict on the pair is neither better
        nor worse.

    Raises
    ------
    InputError
        If there are no units, a score is missing or a system is unknown.
    """
    check_share("level", level)
    X, labels = score_matrix(scores)
    if not X.size:
        raise InputError("there are no units to compare")
    table = pd.DataFrame(X, columns=labels)
    chosen = [(labels[i], labels[j]) for i, j in system_pairs(labels, baseline)] if pairs is None else list(pairs)
    n_tukey = min(n_resamples, MOST_TUKEY_RESAMPLES)
    pair_frame = pd.DataFrame(columns=PAIR_COLUMNS)
    if chosen:
        options = {"level": level, "n_resamples": n_resamples, "seed": seed}
        found = contrasts(table, chosen, clusters, **options)
        found = found.rename(columns=_RENAMED).assign(p_holm=lambda f: holm(f["p_randomisation"]))
        others = _classical(table, chosen, 1 - level, n_tukey, seed, clusters)
        pair_frame = pd.concat([found, others], axis=1)[PAIR_COLUMNS]
    system_frame = _system_frame(table, clusters, level, n_boot, seed)
    if baseline is None and pairs is None:
        system_frame["tie_class"] = _tie_classes(system_frame, pair_frame)
    return Comparison(system_frame, pair_frame, level, n_boot, n_resamples, n_tukey, seed)


_RENAMED = {
    "system": "system_a",
    "against": "system_b",
    "low": "ci_low",
    "high": "ci_high",
    "p": "p_randomisation",
    "p_adjusted": "p_max_t",
}


def _system_frame(table, clusters, level, n_boot, seed):
    frame = estimates(table, clusters, level=level, n_boot=n_boot, seed=seed)
    frame = frame.rename(columns={"value": "mean", "low": "ci_low", "high": "ci_high"})
    frame = frame.drop(columns="control").astype({"system": object})
    frame.insert(6, "tie_class", None)
    order = sorted(frame.index, key=lambda k: (-frame["mean"][k], str(frame["system"][k])))
    return frame.loc[order].reset_index(drop=True)


def _classical(table, pairs, alpha, n_tukey, seed, clusters):
    """Classical tests, effect size, counts and detectable effect of every pair."""
    tukey = {}
    if clusters is None:
        found = randomised_tukey_hsd(table, n_resamples=n_tukey, seed=seed)
        tukey = dict(zip(map(frozenset, found.pairs), found.pvalue, strict=True))
    rows = []
    for first, second in pairs:
        a, b = table[first].to_numpy(), table[second].to_numpy()
        row = {"p_tukey": tukey.get(frozenset((first, second)))}
        row |= {"p_t": None, "p_wilcoxon": None, "mde": None}
        if clusters is None:
            test = paired_t(a, b)
            row |= {"p_t": test.pvalue, "p_wilcoxon": wilcoxon_signed_rank(a, b).pvalue}
            if test.reason is None:
                sd = float(np.std(a - b, ddof=1))
                row["mde"] = minimal_detectable_effect(sd, len(a), alpha=alpha)
        row["dz"] = effect_sizes(a, b).dz.estimate
        row = {name: np.nan if x is None else x for name, x in row.items()}
        rows.append(row | asdict(win_tie_loss(a, b)))
    return pd.DataFrame(rows)


def _tie_classes(systems, pairs):
    position = {label: k for k, label in enumerate(systems["system"])}
    told_apart = np.zeros((len(systems), len(systems)), dtype=bool)
    for row in pairs.itertuples():
        i, j = position[row.system_a], position[row.system_b]
        told_apart[i, j] = told_apart[j, i] = row.verdict in (BETTER, WORSE)
    return tie_classes(told_apart)
