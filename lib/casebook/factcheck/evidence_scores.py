"""What the scorers of the FEVER family share: rows per claim, intervals, joins."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.counts import percentile_interval
from casebook.stats.intervals import cluster_sums, ratio_draws


class OfficialScorerFails(InputError):
    """The public scorer gives no result on this input; the message names its defect."""


@dataclass(frozen=True, eq=False)
class EvidenceScores:
    """Corrected scores of labels and evidence.

    Attributes
    ----------
    measures : dict of casebook.inference.intervals.Interval
        By name; ``n`` is the number of claims that a measure is defined for.
    rows : pandas.DataFrame
        One row per gold claim, for paired comparisons; NaN where undefined.
    account : dict of int
        gold, predictions, missing, extra, and what was repaired or left undefined.
    """

    measures: dict
    rows: pd.DataFrame
    account: dict


def same_length(gold, predictions, name):
    """Refuse what an official scorer that aligns by position cannot align.

    Parameters
    ----------
    gold, predictions : sequence
        Records.
    name : str
        Of the scorer, for the message.

    Raises
    ------
    OfficialScorerFails
        If the lengths differ or there is nothing.
    """
    if len(gold) != len(predictions):
        raise OfficialScorerFails(
            f"{name} aligns by position and needs as many predictions as gold claims: "
            f"{len(predictions)} and {len(gold)}"
        )
    if not gold:
        raise OfficialScorerFails(f"{name} divides by zero without claims")


def harmonic(precision, recall, name):
    """F1 as the official scorers compute it.

    Parameters
    ----------
    precision, recall : float
        Means.
    name : str
        Of the scorer, for the message.

    Returns
    -------
    float
        2PR / (P + R).

    Raises
    ------
    OfficialScorerFails
        If both are 0.
    """
    if not precision + recall:
        raise OfficialScorerFails(
            f"{name} divides by zero when no evidence is right: precision and recall "
            "are 0, and so should F1 be"
        )
    return 2.0 * precision * recall / (precision + recall)


def join_records(gold, predictions, join="id", key="id"):
    """Pair gold records with predictions.

    Parameters
    ----------
    gold, predictions : sequence of dict
        Records; neither is changed.
    join : {"id", "position"}
        By the field `key`, or in the order given.
    key : str
        Name of the id field.

    Returns
    -------
    pairs : list of (dict, dict or None)
        In gold order; None where there is no prediction.
    account : dict of int
        gold, predictions, missing, extra.

    Raises
    ------
    InputError
        If ids are doubled or absent (named), or lengths differ by position.
    """
    account = {"gold": len(gold), "predictions": len(predictions)}
    if join == "position":
        if len(gold) != len(predictions):
            raise InputError(
                f"{len(gold)} gold claims and {len(predictions)} predictions cannot be "
                "joined by position"
            )
        pairs = list(zip(gold, predictions, strict=True))
        return pairs, account | {"missing": 0, "extra": 0}
    if join != "id":
        raise InputError(f"unknown join {join!r}: choose from id, position")
    wanted = _by_id(gold, "gold", key)
    found = _by_id(predictions, "predictions", key)
    extra = len(found.keys() - wanted.keys())
    pairs = [(record, found.get(name)) for name, record in wanted.items()]
    missing = sum(prediction is None for _, prediction in pairs)
    return pairs, account | {"missing": missing, "extra": extra}


def _by_id(records, what, key):
    found = {}
    for number, record in enumerate(records, start=1):
        if key not in record:
            raise InputError(
                f"{what}: record {number} has no {key!r}: join by position"
            )
        found.setdefault(str(record[key]), []).append(record)
    twice = [name for name, group in found.items() if len(group) > 1]
    if twice:
        raise InputError(
            f"{what}: {len(twice)} ids stand more than once (first: {twice[0]}); "
            "repair them or join by position"
        )
    return {name: group[0] for name, group in found.items()}


def macro_measures(rows, columns, pairs=(), *, clusters=None, n_boot=1000, seed=0):
    """Means of columns over the claims that each is defined for, with intervals.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row per claim; NaN where a column is undefined.
    columns : sequence of str
        Columns to average.
    pairs : sequence of (str, str, str)
        Name, precision column and recall column of an F1 of means.
    clusters, n_boot, seed
        Of the bootstrap; all measures share the resamples.

    Returns
    -------
    dict of casebook.inference.intervals.Interval
        By column and by F1 name.
    """
    values = rows[list(columns)].to_numpy(dtype=float)
    defined = ~np.isnan(values)
    both = np.hstack([np.where(defined, values, 0.0), defined.astype(float)])
    sums, sizes = cluster_sums(both, clusters)
    means_of, draws_of = (
        sums.sum(0) / sizes.sum(),
        ratio_draws(sums, sizes, n_boot, seed),
    )
    k = len(columns)
    means = {
        name: (
            _divide(means_of[i], means_of[k + i]),
            _divide(draws_of[:, i], draws_of[:, k + i]),
            int(defined[:, i].sum()),
        )
        for i, name in enumerate(columns)
    }
    for name, precision, recall in pairs:
        (p, p_draws, n), (r, r_draws, m) = means[precision], means[recall]
        means[name] = _f1(p, r), _f1(p_draws, r_draws), min(n, m)
    return {
        name: percentile_interval(value, draws, n, reason="undefined_for_every_claim")
        for name, (value, draws, n) in means.items()
    }


def ratio_measures(rows, ratios, *, clusters=None, n_boot=1000, seed=0):
    """Precision, recall and F1 pooled over claims (micro), with intervals over claims.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row of counts per claim.
    ratios : dict
        Name to columns (correct, retrieved, relevant).
    clusters, n_boot, seed
        Of the bootstrap; all measures share the resamples.

    Returns
    -------
    dict of casebook.inference.intervals.Interval
        ``<name>_precision``, ``<name>_recall`` and ``<name>_f1``.
    """
    columns = list(dict.fromkeys(name for names in ratios.values() for name in names))
    sums, sizes = cluster_sums(rows[columns].to_numpy(dtype=float), clusters)
    drawn = ratio_draws(sums, sizes, n_boot, seed)
    place = {name: i for i, name in enumerate(columns)}
    found = {}
    for name, parts in ratios.items():
        correct, retrieved, relevant = (place[part] for part in parts)
        values, draws = (
            {
                "precision": _divide(x[..., correct], x[..., retrieved]),
                "recall": _divide(x[..., correct], x[..., relevant]),
                "f1": _divide(
                    2 * x[..., correct], x[..., retrieved] + x[..., relevant]
                ),
            }
            for x in (sums.sum(0) / sizes.sum(), drawn)
        )
        for kind, value in values.items():
            found[f"{name}_{kind}"] = percentile_interval(
                value, draws[kind], len(rows), reason="nothing_to_count"
            )
    return found


def _f1(precision, recall):
    """Harmonic mean, 0 if both are 0, NaN if one is undefined."""
    total = np.asarray(precision + recall)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total == 0, 0.0, 2 * precision * recall / total)


def _divide(above, below):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.asarray(below) > 0, above / below, np.nan)
