"""Learn shifts of query embeddings, and apply them to queries not learned from or scaled on."""

from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.shift.embedded import folds, per_query, ranking_order
from casebook.shift.segments import PER_QUERY_COLUMNS, fit_tau, gap_gain
from casebook.stats.samples import check_choice, check_count

DOCUMENTED_MODE = "posneg-uniform"
TRAINING_MODES = (
    DOCUMENTED_MODE,
    "posneg-unit",
    "posneg-violation",
    "posneg-relative",
    "posneg-contrast",
)
MAX_NORM = 1.5
CANCEL_EPSILON = 1e-3
SUSPECT_NORM = 1e-3
# The fixed clip of 1.5 over the length of a simulated vector of the documented system, about 11.5.
RELATIVE_CLIP = 0.13
_ZERO_SQUARED = 1e-18

AS_DOCUMENTED = "posneg-documented"
RIDGE = "ridge"
LEARNERS = {  # options to choose from, by name
    AS_DOCUMENTED: [{"mode": DOCUMENTED_MODE}],
    **{mode: [{"mode": mode}] for mode in TRAINING_MODES},
    # With one negative per query this rule takes the same pairs as the documented one.
    "posneg-violation": [{"mode": "posneg-violation", "hard_negatives": 5}],
    RIDGE: [{"penalty": 1.0}, {"penalty": 10.0}],
}
CANDIDATE_SCALES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
FIXED_SCALES = {AS_DOCUMENTED: (1.0,)}
"""Scales of learners that choose none: EmbeddingShift adds its vector as it was learned."""
SELECTION_MEASURE = "nDCG@10"
GAP_MEASURE = "ndcg@3"


@dataclass(frozen=True, eq=False)
class AdditiveShift:
    """One vector that is added to every query."""

    vector: np.ndarray
    mode: str
    stats: SimpleNamespace  # what happened in learning, under the documented names
    cancel_epsilon: float = CANCEL_EPSILON

    @property
    def norm(self):
        """Length of the vector."""
        return float(np.linalg.norm(self.vector))

    @property
    def cancel_reason(self):
        """Why the shift is not applied; None if it is."""
        if self.norm >= self.cancel_epsilon:
            return None
        return f"Delta norm {self.norm:.3g} below epsilon {self.cancel_epsilon:.3g}"

    def move(self, queries):
        """Movement of each query at scale 1 [Q, D]."""
        vector = np.zeros_like(self.vector) if self.cancel_reason else self.vector
        return np.broadcast_to(vector, np.shape(queries))


def learn_posneg(
    data,
    rows=None,
    mode=DOCUMENTED_MODE,
    *,
    hard_negatives=1,
    max_norm=MAX_NORM,
    cancel_epsilon=CANCEL_EPSILON,
):
    """Learn one shift of all queries from the errors of the unshifted ranking.

    Parameters
    ----------
    data : EmbeddedDataset
        Queries with judgements; see :func:`casebook.shift.embedded.embed`.
    rows : sequence of int, optional
        Queries to learn from; all by default.
    mode : str, default "posneg-uniform"
        One of `TRAINING_MODES`. The documented rule is ``posneg-uniform``: the mean of best ranked
        relevant minus hard negative documents, over all queries whose first document is not
        relevant. ``posneg-unit`` scales each of these to length 1 first, ``posneg-violation`` takes
        negatives above the relevant document only, ``posneg-relative`` clips relative to the length
        of queries, ``posneg-contrast`` takes mean relevant minus mean other document of each query.
    hard_negatives : int, default 1
        Best ranked other documents of each query.
    max_norm : float or None, default 1.5
        Length to which a longer shift is clipped.
    cancel_epsilon : float, default 0.001
        A shorter shift is cancelled: it moves nothing.

    Returns
    -------
    AdditiveShift
        ``vector`` of shape [D], ``move(queries)``, ``cancel_reason`` and ``stats`` under the
        documented names.

    Raises
    ------
    InputError
        If the mode is unknown or a number is out of range.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from casebook.data.splits import RetrievalDataset
    >>> from casebook.shift.embedded import embed
    >>> class Lengths:
    ...     def encode_queries(self, texts):
    ...         return np.array([[text.count("a"), text.count("b")] for text in texts], float)
    ...     encode_documents = encode_queries
    >>> documents = pd.DataFrame({"doc_id": ["p", "n"], "text": ["a", "b"]})
    >>> queries = pd.DataFrame({"query_id": ["q"], "text": ["abb"]})
    >>> data = RetrievalDataset("toy", "test", documents, queries, {"q": {"p": 1}})
    >>> learn_posneg(embed(data, Lengths())).vector.tolist()
    [1.0, -1.0]
    """
    check_choice("mode", mode, TRAINING_MODES)
    check_count("hard_negatives", hard_negatives)
    if not cancel_epsilon >= 0 or not (max_norm is None or max_norm > 0):
        raise InputError("the clip must be above 0 and the cancel epsilon at least 0")
    data = data if rows is None else data.take(rows)
    if mode == "posneg-relative":
        max_norm = _relative_clip(data)
    if mode == "posneg-contrast":
        directions = _contrasts(data)
        pairs = set()
        n_used = len(directions)
    else:
        directions, pairs, n_used = _errors(data, mode, hard_negatives)
    is_zero = (directions**2).sum(axis=1) <= _ZERO_SQUARED
    directions = directions[~is_zero]
    mean = _mean_direction(directions, mode)
    norm = float(np.linalg.norm(mean))
    clipped = mean
    if max_norm is not None and norm > max_norm:
        clipped = mean * max_norm / norm
    clipped_norm = float(np.linalg.norm(clipped))
    stats = SimpleNamespace(
        Cases=len(directions),
        UniquePairs=len(pairs),
        ZeroDirections=int(is_zero.sum()),
        ContradictoryPairs=sum((b, a) in pairs for a, b in pairs) // 2,
        **_length_stats(directions),
        NormClipApplied=clipped_norm < norm,
        ClipNorm=max_norm,
        PreClipDeltaNorm=norm,
        PostClipDeltaNorm=clipped_norm,
        ResultantLength=_resultant_length(directions),
        CancelOutSuspected=len(directions) > 0 and norm <= SUSPECT_NORM,
        QueriesUsed=n_used,
        QueriesWithoutError=len(data) - n_used,
    )
    return AdditiveShift(clipped, mode, stats, cancel_epsilon)


def _mean_direction(directions, mode):
    """Mean of the directions, or of their unit vectors; zero without any."""
    if not len(directions):
        return np.zeros(directions.shape[1])
    if mode == "posneg-unit":
        return _unit_directions(directions).mean(axis=0)
    return directions.mean(axis=0)


def _unit_directions(directions):
    return directions / np.linalg.norm(directions, axis=1)[:, None]


def _length_stats(directions):
    """Lengths of the directions, under the documented names."""
    lengths = np.linalg.norm(directions, axis=1) if len(directions) else np.zeros(1)
    return {
        "AvgDirectionNorm": float(lengths.mean()),
        "MinDirectionNorm": float(lengths.min()),
        "MaxDirectionNorm": float(lengths.max()),
    }


def _resultant_length(directions):
    """Length of the mean unit vector: 1 if all directions agree; None without any."""
    if not len(directions):
        return None
    return float(np.linalg.norm(_unit_directions(directions).mean(axis=0)))


def _relative_clip(data):
    """Length of the longest shift, relative to the length of the queries; None without queries."""
    if not len(data):
        return None
    return RELATIVE_CLIP * float(np.median(np.linalg.norm(data.queries, axis=1)))


def _errors(data, mode, hard_negatives):
    """Directions from hard negatives to the best relevant document, pairs, number of queries."""
    directions = [np.empty((0, data.documents.shape[1]))]
    pairs = set()
    n_used = 0
    for row, scores in enumerate(data.scores(data.queries)):
        order = ranking_order(scores)
        relevant = data.relevant[row][order]
        ranking = data.pools[row][order]
        best_relevant = int(relevant.argmax())
        if best_relevant == 0:
            continue
        negatives = np.flatnonzero(~relevant)
        if mode == "posneg-violation":
            negatives = negatives[negatives < best_relevant]
        positive = ranking[best_relevant]
        differences = data.documents[positive] - data.documents[ranking[negatives]]
        # Pairs of equal vectors do not use up the budget of negatives.
        n_nonzero = np.cumsum((differences**2).sum(axis=1) > _ZERO_SQUARED)
        within_budget = np.r_[0, n_nonzero[:-1]] < hard_negatives
        directions.append(differences[within_budget])
        pairs |= {(positive, negative) for negative in ranking[negatives[within_budget]]}
        n_used += 1
    return np.concatenate(directions), pairs, n_used


def _contrasts(data):
    """Mean relevant minus mean other document of every query that has both."""
    directions = []
    for relevant, pool in zip(data.relevant, data.pools, strict=True):
        if not relevant.all():
            documents = data.documents[pool]
            mean_relevant = documents[relevant].mean(axis=0)
            directions.append(mean_relevant - documents[~relevant].mean(axis=0))
    return np.reshape(directions, (-1, data.documents.shape[1]))


@dataclass(frozen=True, eq=False)
class RidgeShift:
    """A linear map from a query's vector to its movement."""

    basis: np.ndarray
    weights: np.ndarray
    penalty: float
    mode: str = RIDGE

    def move(self, queries):
        """Movement of each query at scale 1 [Q, D]."""
        return (queries @ self.basis.T) @ self.weights


def learn_ridge(data, rows=None, *, penalty=10.0):
    """Regress the contrast of relevant and other documents on the query's vector.

    In the dual form, because there are fewer queries than dimensions.
    """
    if not penalty > 0:
        raise InputError(f"the ridge penalty must be above 0, not {penalty}")
    if rows is None:
        rows = range(len(data))
    data = data.take([row for row in rows if not data.relevant[row].all()])
    basis = data.queries
    gram = basis @ basis.T + penalty * np.eye(len(data))
    weights = np.linalg.solve(gram, _contrasts(data))
    return RidgeShift(basis, weights, penalty)


def learn(data, rows, options):
    """Learn one shift with one set of options of `LEARNERS`."""
    if "penalty" in options:
        return learn_ridge(data, rows, **options)
    return learn_posneg(data, rows, **options)


def best_scale(data, candidates, scales=CANDIDATE_SCALES):
    """Choose by mean nDCG@10 among (options, movements) and the scales, the first of equals."""
    best_score = -np.inf
    for options, moves in candidates:
        for scale in scales:
            vectors = data.queries + scale * moves
            score = data.score(vectors, [SELECTION_MEASURE])[SELECTION_MEASURE].mean()
            if score > best_score + 1e-12:
                best_score = score
                choice = (options, scale, vectors)
    return choice


# A learned shift, and what folds among its queries chose for it: options, scale, and the
# threshold of the gap rule.
Selection = namedtuple("Selection", "shift options scale tau")


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Shifts of the queries of each fold, learned on folds that share no group with it."""

    data: object
    folds: list
    selections: list

    def shifted(self, data=None, scale=None):
        """Shifted queries, at the chosen scales or at a fixed one; of these or of reworded ones."""
        queries = (data or self.data).queries
        vectors = queries.copy()
        for fold, selection in zip(self.folds, self.selections, strict=True):
            by = selection.scale if scale is None else scale
            vectors[fold] += by * selection.shift.move(queries[fold])
        return vectors

    @cached_property
    def lengths(self):
        """How far each query is moved."""
        return np.linalg.norm(self.shifted() - self.data.queries, axis=1)

    @cached_property
    def taus(self):
        """Threshold of the gap rule for each query."""
        taus = np.zeros(len(self.data))
        for fold, selection in zip(self.folds, self.selections, strict=True):
            taus[fold] = selection.tau
        return taus

    @property
    def is_learned(self):
        """Whether any shift could be learned, whatever its scale."""
        return (self.shifted(scale=1.0) != self.data.queries).any()

    @property
    def unmoved(self):
        """Why no query was moved; None if any was."""
        if self.lengths.any():
            return None
        if not self.is_learned:
            return "no shift was learned, so no question was moved"
        if len(self.folds) == 1:
            return "scale 0 was chosen, so no question was moved"
        return "every fold chose scale 0, so no question was moved"

    def choices(self):
        """What was chosen in each fold."""
        rows = []
        for number, (fold, selection) in enumerate(zip(self.folds, self.selections, strict=True)):
            length = np.linalg.norm(selection.shift.move(self.data.queries[fold]), axis=1).mean()
            row = {"fold": number + 1, "held out": len(fold), "scale": selection.scale}
            rows.append(row | {"length": length} | selection.options)
        return pd.DataFrame(rows)


def select_shift(data, rows, grid, *, scales=CANDIDATE_SCALES, k=5, by="group", seed=0):
    """Learn on some queries; choose options and scale by folds among them, the first of equals."""
    inner_folds = folds(data, k, by=by, seed=seed, rows=rows)
    candidates = []
    for options in grid:
        moves = np.zeros_like(data.queries)
        for fold in inner_folds:
            shift = learn(data, np.setdiff1d(rows, fold).tolist(), options)
            moves[fold] = shift.move(data.queries[fold])
        candidates.append((options, moves[rows]))
    training = data.take(rows)
    options, scale, vectors = best_scale(training, candidates, scales)
    before = per_query(training, training.queries)
    after = per_query(training, vectors)
    column = PER_QUERY_COLUMNS[GAP_MEASURE]
    tau = fit_tau(gap_gain(before, after), (after[column] - before[column]).array)
    return Selection(learn(data, rows, options), options, scale, tau)


def cross_fit(data, grid, *, scales=CANDIDATE_SCALES, k=5, by="group", seed=0):
    """Shift the queries of each fold by what was learned, chosen and scaled on the other folds.

    Options and scale are chosen in folds within those.
    """
    held_out = folds(data, k, by=by, seed=seed)
    selections = []
    for fold in held_out:
        training = np.setdiff1d(np.arange(len(data)), fold).tolist()
        selections.append(select_shift(data, training, grid, scales=scales, k=k, by=by, seed=seed))
    return CrossFit(data, held_out, selections)


def fit_in_sample(data, grid, scales=CANDIDATE_SCALES):
    """Learn, choose and apply a shift on the same queries, which says nothing about others."""
    candidates = [(options, learn(data, None, options).move(data.queries)) for options in grid]
    options, scale, _ = best_scale(data, candidates, scales)
    selection = Selection(learn(data, None, options), options, scale, np.nan)
    return CrossFit(data, [list(range(len(data)))], [selection])
