"""Evaluate shifts on queries they were not learned or scaled on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.shift.learner import MODES, learn_posneg
from casebook.shift.per_query import per_query
from casebook.shift.ridge import learn_ridge
from casebook.shift.segments import MEASURES, fit_tau, gap_gain
from casebook.shift.splits import complement, folds

SCALES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
SELECTION = "nDCG@10"
GAP_MEASURE = "ndcg@3"
RIDGE = "ridge"
LEARNERS = {
    **{mode: [{"mode": mode}] for mode in MODES},
    # With one negative per query this rule takes the same pairs as the documented one.
    "posneg-violation": [{"mode": "posneg-violation", "hard_negatives": 5}],
    RIDGE: [{"penalty": 1.0}, {"penalty": 10.0}],
}


@dataclass(frozen=True, eq=False)
class Selection:
    """A learned shift, and what the development folds chose for it."""

    shift: object
    options: dict
    scale: float
    score: float
    tau: float


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Shifts of all queries, each from folds that share no group with it."""

    moves: np.ndarray
    scales: np.ndarray
    taus: np.ndarray
    folds: list
    selections: list

    def shifted(self, data, scale=None):
        """Give the shifted queries."""
        scales = self.scales if scale is None else np.full(len(data), float(scale))
        return data.queries + scales[:, None] * self.moves

    def choices(self):
        """Give what was chosen in each fold."""
        rows = [
            {
                "fold": n,
                "held out": len(fold),
                "scale": s.scale,
                "tau": s.tau,
                "length": float(np.linalg.norm(self.moves[fold], axis=1).mean()),
                **s.options,
            }
            for n, (fold, s) in enumerate(zip(self.folds, self.selections, strict=True), 1)
        ]
        return pd.DataFrame(rows)


def learn(data, rows, options, **settings):
    """Learn one shift."""
    if "penalty" in options:
        return learn_ridge(data, rows, **options)
    return learn_posneg(data, rows, **options, **settings)


def select(data, rows, grid, *, k=5, by="group", seed=0, scales=SCALES, **settings):
    """Learn on some queries; choose options and scale by folds among them."""
    parts = folds(data, k, by=by, seed=seed, rows=rows)
    best = None
    for options in grid:
        moves = np.zeros_like(data.queries)
        for part in parts:
            others = np.setdiff1d(rows, part).tolist()
            shift = learn(data, others, options, **settings)
            moves[part] = shift.move(data.queries[part])
        for scale in sorted(scales):
            vectors = data.queries[rows] + scale * moves[rows]
            frame = data.score(vectors, rows, [SELECTION])
            score = float(frame[SELECTION].mean())
            if best is None or score > best[0] + 1e-12:
                best = score, options, scale, vectors
    score, options, scale, vectors = best
    shift = learn(data, rows, options, **settings)
    return Selection(shift, options, scale, score, _tau(data, vectors, rows))


def _tau(data, vectors, rows):
    frames = per_query(data, data.queries[rows], rows), per_query(data, vectors, rows)
    column = MEASURES[GAP_MEASURE]
    return fit_tau(gap_gain(*frames), (frames[1][column] - frames[0][column]).array)


def cross_fit(data, grid, *, k=5, by="group", seed=0, **options):
    """Shift every query by what was learned from the other folds."""
    held_out = folds(data, k, by=by, seed=seed)
    moves = np.zeros_like(data.queries)
    scales, taus, selections = np.zeros(len(data)), np.zeros(len(data)), []
    for fold in held_out:
        train = complement(fold, len(data))
        chosen = select(data, train, grid, k=k, by=by, seed=seed, **options)
        moves[fold] = chosen.shift.move(data.queries[fold])
        scales[fold], taus[fold] = chosen.scale, chosen.tau
        selections.append(chosen)
    return CrossFit(moves, scales, taus, held_out, selections)
