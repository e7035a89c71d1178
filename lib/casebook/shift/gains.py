"""Gains over no shift: with tests, under leaking protocols, and by scale."""

import numpy as np
import pandas as pd

from casebook.estimates import UNTESTED, contrasts
from casebook.shift.evaluate import SCALES
from casebook.shift.study import BASELINE, IN_SAMPLE, MEASURE, SHOWN_APART
from casebook.stats.tests import difference_intervals


def gains(study, measure=MEASURE, n_resamples=10_000):
    """Compare every system with the unshifted baseline, over groups of queries."""
    frame = study.scores[measure]
    options = {"n_resamples": n_resamples, "seed": study.seed}
    pairs = [(name, BASELINE) for name in study.fits]
    family = contrasts(frame, pairs, study.clusters, **options).set_index("system")
    differences = frame.drop(columns=BASELINE).sub(frame[BASELINE], axis=0)
    alone = difference_intervals(differences, study.clusters, **options)
    rows = []
    for name, interval in zip(differences, alone, strict=True):
        found = {"p": np.nan, "p_adjusted": np.nan, "verdict": UNTESTED}
        found |= {"low": interval.low, "high": interval.high, "reason": interval.reason}
        if name in family.index:
            found = family.loc[name]
        signs = np.sign(differences[name].round(12))
        rows.append(
            {
                "system": name,
                "gain": interval.estimate,
                "gain low": found["low"],
                "gain high": found["high"],
                "p": found["p"],
                "p_adjusted": found["p_adjusted"],
                "better": int((signs > 0).sum()),
                "equal": int((signs == 0).sum()),
                "worse": int((signs < 0).sum()),
                "n": interval.n,
                "groups": len(set(study.clusters)),
                "verdict": found["verdict"],
                "reason": found["reason"],
            }
        )
    return pd.DataFrame(rows)


def leakage(study, gained, n_resamples=10_000):
    """Put honest gains beside those of leaking protocols."""
    base, known = study.scores[MEASURE][BASELINE], gained.set_index("system")
    columns, rows = ["gain", "gain low", "gain high", "n"], []
    for name in SHOWN_APART:
        leaking = study.leaking[name][MEASURE] - base
        [found] = difference_intervals(leaking, study.clusters, n_resamples=n_resamples, seed=study.seed)
        protocols = {
            "groups held out": known.loc[name, columns],
            "single queries held out": (found.estimate, found.low, found.high, found.n),
            "same queries (in-sample)": known.loc[IN_SAMPLE.format(name), columns],
        }
        rows += [(name, protocol, *row) for protocol, row in protocols.items()]
    return pd.DataFrame(rows, columns=["system", "protocol", *columns])


def sweep(study, n_resamples=10_000):
    """Give the gain at each fixed scale: a description, nothing is chosen by it."""
    base, rows = study.scores[MEASURE][BASELINE], []
    for name in SHOWN_APART:
        fit = study.fits[name]
        moved = {scale: study.data.score(fit.shifted(study.data, scale), None, [MEASURE]) for scale in SCALES}
        table = pd.DataFrame({s: frame[MEASURE] for s, frame in moved.items()})
        table = table.sub(base, axis=0)
        found = difference_intervals(table, study.clusters, n_resamples=n_resamples, seed=study.seed)
        middle = float(np.median([s.scale for s in fit.selections]))
        rows += [(name, scale, i.estimate, i.low, i.high, 1.0, middle) for scale, i in zip(moved, found, strict=True)]
    columns = ["parameter", "value", "mean", "ci_low", "ci_high", "default", "best"]
    return pd.DataFrame(rows, columns=columns)
