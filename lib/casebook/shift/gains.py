"""Gains over no shift: with tests, under leaking protocols, and by scale."""

import numpy as np
import pandas as pd

from casebook.inference.comparison import compare_systems
from casebook.inference.verdicts import verdicts
from casebook.shift.evaluate import SCALES
from casebook.shift.study import BASELINE, IN_SAMPLE, MEASURE, SHOWN_APART
from casebook.stats.tests import difference_intervals


def gains(study, measure=MEASURE, n_boot=10_000, n_resamples=100_000):
    """Compare every system with the unshifted baseline.

    Parameters
    ----------
    study : ShiftStudy
        The study.
    measure : str
        One of the measures.
    n_boot, n_resamples : int
        Bootstrap resamples and sign vectors.

    Returns
    -------
    pandas.DataFrame
        Columns system, gain with low and high (resampling queries), groups low and
        groups high (resampling groups), p, p_holm (over the learned shifts; NaN for
        controls and bounds), better, equal, worse, n, reason and verdict (by interval
        and p_holm).
    """
    frame = study.scores[measure]
    draws = {"n_boot": n_boot, "seed": study.seed}
    tested = compare_systems(
        frame[[BASELINE, *study.fits]],
        baseline=BASELINE,
        n_resamples=n_resamples,
        **draws,
    ).pairs.set_index("system_a")
    differences = frame.drop(columns=BASELINE).sub(frame[BASELINE], axis=0)
    options = {"n_resamples": n_resamples, "seed": study.seed}
    intervals = difference_intervals(differences, **options)
    clustered = difference_intervals(differences, study.clusters, **options)
    rows = [
        _gain_row(name, differences[name], interval, group, tested)
        for name, interval, group in zip(differences, intervals, clustered, strict=True)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(verdict=verdicts(frame, "gain low", "gain high", "p_holm"))


def leakage(study, n_boot=10_000):
    """Put honest gains beside those of leaking protocols.

    Parameters
    ----------
    study : ShiftStudy
        The study.
    n_boot : int
        Bootstrap resamples.

    Returns
    -------
    pandas.DataFrame
        Columns system, protocol, gain, gain low, gain high, n.
    """
    frame, rows = study.scores[MEASURE], []
    for name in SHOWN_APART:
        protocols = {
            "groups held out": frame[name],
            "single queries held out": study.leaking[name][MEASURE],
            "same queries (in-sample)": frame[IN_SAMPLE.format(name)],
        }
        table = pd.DataFrame(protocols).sub(frame[BASELINE], axis=0)
        found = difference_intervals(
            table, study.clusters, n_resamples=n_boot, seed=study.seed
        )
        rows += [
            (name, protocol, i.estimate, i.low, i.high, i.n)
            for protocol, i in zip(protocols, found, strict=True)
        ]
    columns = ["system", "protocol", "gain", "gain low", "gain high", "n"]
    return pd.DataFrame(rows, columns=columns)


def sweep(study, n_boot=2_000):
    """Give the gain at each fixed scale: a description, nothing is chosen by it.

    Parameters
    ----------
    study : ShiftStudy
        The study.
    n_boot : int
        Bootstrap resamples.

    Returns
    -------
    pandas.DataFrame
        Columns parameter (the system), value, mean, ci_low, ci_high, default (1)
        and best (the median of the scales that the folds chose).
    """
    base, rows = study.scores[MEASURE][BASELINE], []
    for name in SHOWN_APART:
        fit = study.fits[name]
        moved = {
            scale: study.data.score(fit.shifted(study.data, scale), None, [MEASURE])
            for scale in SCALES
        }
        table = pd.DataFrame({s: frame[MEASURE] for s, frame in moved.items()})
        table = table.sub(base, axis=0)
        found = difference_intervals(
            table, study.clusters, n_resamples=n_boot, seed=study.seed
        )
        middle = float(np.median([s.scale for s in fit.selections]))
        rows += [
            (name, scale, i.estimate, i.low, i.high, 1.0, middle)
            for scale, i in zip(moved, found, strict=True)
        ]
    columns = ["parameter", "value", "mean", "ci_low", "ci_high", "default", "best"]
    return pd.DataFrame(rows, columns=columns)


def _gain_row(name, differences, interval, group, tested):
    pair = tested.loc[name] if name in tested.index else {}
    signs = np.sign(differences.round(12))
    return {
        "system": name,
        "gain": interval.estimate,
        "gain low": interval.low,
        "gain high": interval.high,
        "groups low": group.low,
        "groups high": group.high,
        "p": pair.get("p_randomisation", np.nan),
        "p_holm": pair.get("p_holm", np.nan),
        "better": int((signs > 0).sum()),
        "equal": int((signs == 0).sum()),
        "worse": int((signs < 0).sum()),
        "n": interval.n,
        "reason": interval.reason,
    }
