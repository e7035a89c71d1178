"""Learn one shift of all query embeddings from positives and hard negatives."""

from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.shift.directions import contrast, mean_direction
from casebook.shift.learning_stats import LearningStats, learning_stats
from casebook.shift.vectors import best_first
from casebook.stats.samples import check_choice, check_count

DOCUMENTED = "posneg-uniform"
MODES = (DOCUMENTED, "posneg-unit", "posneg-violation", "posneg-relative", "posneg-contrast")
MAX_NORM = 1.5
CANCEL_EPSILON = 1e-3
# What the fixed clip of 1.5 is of the length of a simulated sha256 vector, about 11.5.
RELATIVE_CLIP = 0.13
_ZERO_SQUARED = 1e-18


@dataclass(frozen=True, eq=False)
class AdditiveShift:
    """One vector that is added to every query."""

    vector: np.ndarray
    mode: str
    stats: LearningStats
    cancel_epsilon: float = CANCEL_EPSILON

    @property
    def norm(self):
        """Length of the vector, float."""
        return float(np.linalg.norm(self.vector))

    @property
    def cancel_reason(self):
        """Why the shift is not applied, str; None if it is."""
        if self.norm >= self.cancel_epsilon:
            return None
        return f"Delta norm {self.norm:.3g} below epsilon {self.cancel_epsilon:.3g}"

    def move(self, queries):
        """Give the movement of each query at scale 1."""
        vector = np.zeros_like(self.vector) if self.cancel_reason else self.vector
        return np.broadcast_to(vector, np.shape(queries))


def learn_posneg(
    data, rows=None, mode=DOCUMENTED, *, hard_negatives=1, max_norm=MAX_NORM, cancel_epsilon=CANCEL_EPSILON
):
    """Learn a shift from the errors of the unshifted ranking."""
    check_choice("mode", mode, MODES)
    check_count("hard_negatives", hard_negatives)
    if not cancel_epsilon >= 0 or not (max_norm is None or max_norm > 0):
        raise InputError("the clip must be above 0 and the cancel epsilon at least 0")
    rows = list(range(len(data)) if rows is None else rows)
    if mode == "posneg-relative":
        lengths = np.linalg.norm(data.queries[rows], axis=1)
        max_norm = RELATIVE_CLIP * float(np.median(lengths)) if rows else None
    if mode == "posneg-contrast":
        directions, pairs, used = _contrasts(data, rows)
    else:
        directions, pairs, used = _errors(data, rows, mode, hard_negatives)
    zero = (directions**2).sum(axis=1) <= _ZERO_SQUARED
    mean = mean_direction(directions[~zero], mode == "posneg-unit")
    clipped = _clip(mean, max_norm)
    stats = learning_stats(
        directions[~zero],
        pairs,
        (mean, clipped),
        ClipNorm=max_norm,
        ZeroDirections=int(zero.sum()),
        QueriesUsed=used,
        QueriesWithoutError=len(rows) - used,
    )
    return AdditiveShift(clipped, mode, stats, cancel_epsilon)


def _errors(data, rows, mode, hard_negatives):
    """Give directions, document pairs and the number of queries with an error."""
    pairs, directions, used = [], [np.empty((0, data.documents.shape[1]))], 0
    unshifted = data.scores(data.queries[rows], rows)
    for row, scores in zip(rows, unshifted, strict=True):
        order = best_first(scores)
        relevant = data.relevant[row][order]
        first = int(relevant.argmax())
        if first == 0:
            continue
        ranked = data.pools[row][order]
        places = np.flatnonzero(~relevant)
        if mode == "posneg-violation":
            places = places[places < first]
        found = data.documents[ranked[first]] - data.documents[ranked[places]]
        # Pairs of equal vectors do not use up the budget of negatives.
        nonzero = np.cumsum((found**2).sum(axis=1) > _ZERO_SQUARED)
        taken = np.r_[0, nonzero[:-1]] < hard_negatives
        directions.append(found[taken])
        pairs += [(ranked[first], ranked[place]) for place in places[taken]]
        used += 1
    return np.concatenate(directions), pairs, used


def _contrasts(data, rows):
    """Give mean relevant minus mean other document of every query that has both."""
    rows = [row for row in rows if not data.relevant[row].all()]
    width = data.documents.shape[1]
    directions = np.reshape([contrast(data, row) for row in rows], (-1, width))
    return directions, [], len(rows)


def _clip(vector, max_norm):
    norm = np.linalg.norm(vector)
    return vector if max_norm is None or norm <= max_norm else vector * max_norm / norm
