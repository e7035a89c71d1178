"""Learn shifts of query embeddings, and apply them to queries not learned from or scaled on."""

from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd

from casebook.shift.embedded import folds, per_query
from casebook.shift.segments import PER_QUERY_COLUMNS, fit_tau, gap_gain
from casebook.stats.samples import check_choice

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
_SHORTEST = 1e-9  # direction

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
# Of learners that choose none: EmbeddingShift adds its vector as it was learned.
FIXED_SCALES = {AS_DOCUMENTED: (1.0,)}
SELECTION_MEASURE = "nDCG@10"
GAP_MEASURE = "ndcg@3"
# Statistics of learning that are shown.
LEARNED = {
    "Cases": "cases",
    "ContradictoryPairs": "opposed",
    "PreClipDeltaNorm": "before the clip",
    "ResultantLength": "resultant length",
}


@dataclass(frozen=True, eq=False)
class AdditiveShift:
    """One vector that is added to every query."""

    vector: np.ndarray
    mode: str
    stats: dict  # what happened in learning, under the documented names
    cancel_epsilon: float = CANCEL_EPSILON

    @property
    def norm(self):
        return float(np.linalg.norm(self.vector))

    @property
    def cancel_reason(self):
        if self.norm >= self.cancel_epsilon:
            return None
        return f"Delta norm {self.norm:.3g} below epsilon {self.cancel_epsilon:.3g}"

    def move(self, queries):
        return np.tile(
            0 * self.vector if self.cancel_reason else self.vector, (len(queries), 1)
        )


def learn_posneg(
    data,
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
    mode : str, default "posneg-uniform"
        One of `TRAINING_MODES`. The documented rule is ``posneg-uniform``: the mean of best ranked
        relevant minus hard negative documents, over all queries whose first document is not
        relevant. ``posneg-unit`` scales each of these to length 1 first, ``posneg-violation`` takes
        negatives above the relevant document only, ``posneg-relative`` clips relative to the length
        of queries, ``posneg-contrast`` takes mean relevant minus mean other document of each query.
    hard_negatives : int, default 1
        Best ranked other documents of each query.
    max_norm : float, default 1.5
        Length to which a longer shift is clipped; infinite: to none.
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
        If the mode is unknown.

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
    if mode == "posneg-relative":
        max_norm = RELATIVE_CLIP * float(
            np.median(np.linalg.norm(data.queries, axis=1))
        )
    if mode == "posneg-contrast":
        found = _contrasts(data)
        pairs = set()
        n_used = len(found)
    else:
        found, pairs, n_used = _errors(data, mode, hard_negatives)
    # The mean of all directions, and its clip.
    directions = found[np.linalg.norm(found, axis=1) > _SHORTEST]
    n = len(directions)
    lengths = np.linalg.norm(directions, axis=1)
    units = directions / lengths[:, None]
    resultant = np.linalg.norm(units.mean(axis=0)) if n else None
    shown = lengths if n else np.zeros(1)
    summands = units if mode == "posneg-unit" else directions
    vector = summands.sum(axis=0) / max(n, 1)
    norm = float(np.linalg.norm(vector))
    if norm > max_norm:
        vector = vector * max_norm / norm
    stats = {
        "Cases": n,
        "UniquePairs": len(pairs),
        "ZeroDirections": len(found) - n,
        "ContradictoryPairs": sum((b, a) in pairs for a, b in pairs) // 2,
        "AvgDirectionNorm": shown.mean(),
        "MinDirectionNorm": shown.min(),
        "MaxDirectionNorm": shown.max(),
        "NormClipApplied": norm > max_norm,
        "ClipNorm": max_norm,
        "PreClipDeltaNorm": norm,
        "PostClipDeltaNorm": np.linalg.norm(vector),
        # 1 if all directions agree; None without any.
        "ResultantLength": resultant,
        "CancelOutSuspected": n > 0 and norm <= SUSPECT_NORM,
        "QueriesUsed": n_used,
        "QueriesWithoutError": len(data) - n_used,
    }
    return AdditiveShift(vector, mode, stats, cancel_epsilon)


def _errors(data, mode, hard_negatives):
    """Directions from hard negatives to the best relevant document, pairs, number of queries."""
    directions = [np.empty((0, data.documents.shape[1]))]
    pairs = set()
    for ranking, _, relevant in data.rankings(data.queries):
        best = int(relevant.argmax())
        if best == 0:
            continue
        negatives = ranking[~relevant]
        if mode == "posneg-violation":
            negatives = ranking[:best]
        differences = data.documents[ranking[best]] - data.documents[negatives]
        # Pairs of equal vectors do not use up the budget of negatives.
        differ = np.linalg.norm(differences, axis=1) > _SHORTEST
        is_used = np.cumsum(np.r_[0, differ[:-1]]) < hard_negatives
        directions.append(differences[is_used])
        pairs |= {(ranking[best], negative) for negative in negatives[is_used]}
    return np.concatenate(directions), pairs, len(directions) - 1


def _contrasts(data):
    """Mean relevant minus mean other document of every query that has both."""
    directions = []
    for relevant, pool in zip(data.relevant, data.pools, strict=True):
        if not relevant.all():
            documents = data.documents[pool]
            directions.append(
                documents[relevant].mean(axis=0) - documents[~relevant].mean(axis=0)
            )
    return np.reshape(directions, (-1, data.documents.shape[1]))


def learn_ridge(data, penalty=10.0):
    """Regress the contrast of relevant and other documents on the query's vector."""
    from sklearn.linear_model import Ridge

    queries = data.queries[[not relevant.all() for relevant in data.relevant]]
    fitted = Ridge(penalty, fit_intercept=False).fit(queries, _contrasts(data))
    return SimpleNamespace(move=fitted.predict, stats={})


def learn(data, options):
    if "penalty" in options:
        return learn_ridge(data, **options)
    return learn_posneg(data, **options)


# A learned shift, and what folds among its queries chose for it: options, scale, and the
# threshold of the gap rule.
Selection = namedtuple("Selection", "shift options scale tau")


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Shifts of the queries of each fold, learned on folds that share no group with it."""

    data: object
    folds: list
    selections: list

    def shifted(self, scale=None):
        """Shifted queries, at the chosen scales or at a fixed one."""
        vectors = self.data.queries.copy()
        for fold, selection in zip(self.folds, self.selections, strict=True):
            by = selection.scale if scale is None else scale
            vectors[fold] += by * selection.shift.move(self.data.queries[fold])
        return vectors

    def unmoved(self):
        """Why no query was moved; None if any was."""
        if (self.shifted() != self.data.queries).any():
            return None
        if (self.shifted(scale=1.0) != self.data.queries).any():
            return "every fold chose scale 0, so no question was moved"
        return "no shift was learned, so no question was moved"

    def choices(self):
        """What each fold chose without its questions, and what happened in learning."""
        rows = []
        for fold, (shift, options, scale, _) in zip(
            self.folds, self.selections, strict=True
        ):
            lengths = np.linalg.norm(shift.move(self.data.queries[fold]), axis=1)
            chosen = {"scale": scale, "length": lengths.mean(), **options}
            learned = {name: shift.stats.get(key) for key, name in LEARNED.items()}
            rows.append(
                {"fold": len(rows) + 1, "held out": len(fold), **chosen, **learned}
            )
        return pd.DataFrame(rows)


def cross_fit(data, learner, *, k=5, by="group", seed=0):
    """Shift the queries of each fold by what was learned, chosen and scaled on the other folds.

    `learner` is one of `LEARNERS`; options and scale are chosen in folds within those.
    """
    held_out = folds(data, k, by=by, seed=seed)
    selections = []
    for fold in held_out:
        rows = np.setdiff1d(np.arange(len(data)), fold)
        selections.append(select_shift(data, rows, learner, k=k, by=by, seed=seed))
    return CrossFit(data, held_out, selections)


def select_shift(data, rows, learner, *, k=5, by="group", seed=0):
    """Learn on some queries; choose options and scale by folds among them, the first of equals."""
    inner_folds = folds(data, k, by=by, seed=seed, rows=rows)
    moves = []
    for options in LEARNERS[learner]:
        moved = np.zeros_like(data.queries)
        for fold in inner_folds:
            shift = learn(data.take(np.setdiff1d(rows, fold)), options)
            moved[fold] = shift.move(data.queries[fold])
        moves.append(moved[rows])
    training = data.take(rows)
    options, scale, vectors = _best(training, learner, moves)
    before = per_query(training, training.queries)
    after = per_query(training, vectors)
    column = PER_QUERY_COLUMNS[GAP_MEASURE]
    tau = fit_tau(gap_gain(before, after), (after[column] - before[column]).array)
    return Selection(learn(training, options), options, scale, tau)


def fit_in_sample(data, learner):
    """Learn, choose and apply a shift on the same queries, which says nothing about others."""
    moves = [learn(data, options).move(data.queries) for options in LEARNERS[learner]]
    options, scale, _ = _best(data, learner, moves)
    selection = Selection(learn(data, options), options, scale, np.nan)
    return CrossFit(data, [list(range(len(data)))], [selection])


def _best(data, learner, moves):
    """Options, scale and shifted queries with the best mean nDCG@10, the first of equals."""
    tried = []
    means = []
    for options, moved in zip(LEARNERS[learner], moves, strict=True):
        for scale in FIXED_SCALES.get(learner, CANDIDATE_SCALES):
            tried.append((options, scale, data.queries + scale * moved))
            scores = data.score(tried[-1][2], [SELECTION_MEASURE])
            means.append(scores[SELECTION_MEASURE].mean())
    return tried[np.argmax(np.round(means, 12))]
