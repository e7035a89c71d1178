"""Paired comparisons as counts and linear predictors, and their likelihood."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from casebook.errors import InputError

OUTCOMES = ("first", "tie", "second")
DAMPING = 1e-9
STEPS = 100
SMALL_STEP = 1e-10
FAR_OUT = 25.0
"""Log odds beyond which a maximum counts as infinite."""


@dataclass(frozen=True)
class Design:
    """Distinct ordered pairs of systems with their linear predictors.

    Attributes
    ----------
    systems : list
        Labels, sorted.
    names : list
        Parameters: all systems but the reference, then ``tie`` and ``order`` if wanted.
    features : numpy.ndarray, shape [pairs, outcomes, parameters]
        Log odds of an outcome are features times parameters. Outcomes are first, tie
        and second, or first and second if ties are split.
    ends : numpy.ndarray of int, shape [2, pairs]
        Systems of each pair, the first one first.
    pair, outcome : numpy.ndarray of int, shape [comparisons]
        Pair and outcome (0, 1, 2) of every comparison.
    weight : numpy.ndarray, shape [comparisons]
        How often it occurred.
    """

    systems: list
    names: list
    features: np.ndarray
    ends: np.ndarray
    pair: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray

    def counts(self, weight=None):
        """Count outcomes by pair; without a tie parameter a tie is half of either.

        Parameters
        ----------
        weight : numpy.ndarray, shape [comparisons], optional
            Instead of how often each comparison occurred.

        Returns
        -------
        numpy.ndarray, shape [pairs, outcomes]
            Counts.
        """
        pairs, weight = len(self.features), self.weight if weight is None else weight
        cells = np.bincount(self.pair * 3 + self.outcome, weight, pairs * 3)
        counts = cells.reshape(pairs, 3)
        if self.features.shape[1] == 3:
            return counts
        return counts[:, [0, 2]] + counts[:, [1]] / 2


def require_columns(comparisons, columns):
    """Raise InputError unless the table has all columns."""
    missing = [name for name in columns if name not in comparisons]
    if missing:
        raise InputError(f"comparisons lack the column {missing[0]!r}")


def build_design(comparisons, ties=None, order=False, reference=None):
    """Check a table of comparisons and arrange it for the fit.

    Parameters
    ----------
    comparisons, ties, order, reference
        As in `casebook.inference.bradley_terry.fit_bradley_terry`.

    Returns
    -------
    Design
        Pairs, predictors and comparisons.

    Raises
    ------
    InputError
        If a column is missing, an outcome unknown, a count negative, a system meets
        itself, or there are fewer than two systems.
    """
    systems = _checked_systems(comparisons, reference)
    reference = systems[0] if reference is None else reference
    outcome = comparisons["outcome"].map(OUTCOMES.index).to_numpy()
    ties = bool((outcome == 1).any()) if ties is None else ties
    weight = np.ones(len(outcome))
    if "count" in comparisons:
        weight = comparisons["count"].to_numpy(float)
        if not (weight >= 0).all():
            raise InputError("counts of comparisons must be at least 0")
    sides = [comparisons[side].map(systems.index) for side in ("first", "second")]
    ends, pair = np.unique(sides, axis=1, return_inverse=True)
    free = [system for system in systems if system != reference]
    names = [*free, *(["tie"] if ties else []), *(["order"] if order else [])]
    strengths = np.array([[float(s == f) for f in free] for s in systems])
    features = _features(strengths[ends[0]], strengths[ends[1]], ties, order)
    return Design(systems, names, features, ends, pair.ravel(), outcome, weight)


def _checked_systems(comparisons, reference):
    require_columns(comparisons, ["first", "second", "outcome"])
    unknown = set(comparisons["outcome"]) - set(OUTCOMES)
    if unknown:
        names = ", ".join(OUTCOMES)
        raise InputError(f"outcome {min(map(str, unknown))!r} is none of {names}")
    if (comparisons["first"] == comparisons["second"]).any():
        raise InputError("a system is compared with itself")
    systems = sorted({*comparisons["first"], *comparisons["second"]}, key=str)
    if len(systems) < 2:
        raise InputError("strengths need comparisons of at least two systems")
    if {"tie", "order"} & set(systems):
        raise InputError("'tie' and 'order' name parameters: rename the system")
    if reference is not None and reference not in systems:
        names = ", ".join(map(str, systems))
        raise InputError(f"unknown reference {reference!r}: choose from {names}")
    return systems


def _features(a, b, ties, order):
    """Linear predictors from the strengths' columns of both systems of every pair."""
    none = np.zeros((len(a), 1))
    blocks = [np.stack([a, (a + b) / 2, b], axis=1)]
    if ties:
        blocks.append(np.stack([none, none + 1, none], axis=1))
    if order:
        blocks.append(np.stack([none + 0.5, none, none - 0.5], axis=1))
    features = np.concatenate(blocks, axis=2)
    return features if ties else features[:, [0, 2]]


def why_not_estimable(design, counts):
    """Say why the likelihood has no single finite maximum.

    Parameters
    ----------
    design : Design
        Pairs and predictors.
    counts : numpy.ndarray, shape [pairs, outcomes]
        Counts.

    Returns
    -------
    str or None
        ``"no_ties"``, ``"not_identified"`` (the order effect cannot be told from the
        strengths), ``"separated"`` (Ford's condition fails: some systems never win or
        tie against the others), or None.
    """
    # Imported here: the module takes longer to load than the rest of this package.
    from scipy.sparse import csgraph

    if "tie" in design.names and not counts[:, 1].any():
        return "no_ties"
    seen = counts.sum(axis=1) > 0
    spread = design.features[seen] - design.features[seen].mean(axis=1, keepdims=True)
    if np.linalg.matrix_rank(spread.reshape(-1, len(design.names))) < len(design.names):
        return "not_identified"
    beats = np.zeros((len(design.systems),) * 2)
    tied = counts[:, 1] if counts.shape[1] == 3 else 0
    np.add.at(beats, (design.ends[0], design.ends[1]), counts[:, 0] + tied)
    np.add.at(beats, (design.ends[1], design.ends[0]), counts[:, -1] + tied)
    parts, _ = csgraph.connected_components(beats, connection="strong")
    return "separated" if parts > 1 else None


def maximise(features, counts):
    """Maximise the likelihoods of many count tables at once by Newton's method.

    Parameters
    ----------
    features : numpy.ndarray, shape [pairs, outcomes, parameters]
        Linear predictors.
    counts : numpy.ndarray, shape [tables, pairs, outcomes]
        Counts.

    Returns
    -------
    theta : numpy.ndarray, shape [tables, parameters]
        Maxima; beyond `FAR_OUT` where there is no finite one.
    log_likelihood : numpy.ndarray, shape [tables]
        At the maxima.
    information : numpy.ndarray, shape [tables, parameters, parameters]
        Negative second derivatives there.

    Notes
    -----
    The likelihood is concave; a step that lowers it is halved.
    """
    theta = np.zeros((len(counts), features.shape[2]))
    value, gradient, information = _derivatives(features, counts, theta)
    for _ in range(STEPS):
        # Where a maximum runs off to infinity the information fades out. The damping
        # changes the steps there, not the maxima.
        damped = information + DAMPING * np.eye(theta.shape[1])
        step = np.linalg.solve(damped, gradient[..., None])[..., 0]
        size = np.ones(len(counts))
        for _ in range(STEPS):
            trial = theta + size[:, None] * step
            found = _derivatives(features, counts, trial)
            worse = found[0] < value - 1e-12 * np.abs(value)
            if not worse.any():
                break
            size[worse] /= 2
        theta, (value, gradient, information) = trial, found
        if np.abs(step).max() < SMALL_STEP or np.abs(theta).max() > FAR_OUT:
            break
    return theta, value, information


def _derivatives(features, counts, theta):
    """Log-likelihood, gradient and information at every row of theta."""
    predictors = np.einsum("kop,bp->bko", features, theta)
    logs = special.log_softmax(predictors, axis=2)
    shares, totals = np.exp(logs), counts.sum(axis=2)
    value = np.sum(counts * logs, axis=(1, 2))
    excess = counts - totals[..., None] * shares
    gradient = np.einsum("bko,kop->bp", excess, features)
    means = np.einsum("bko,kop->bkp", shares, features)
    weighted = totals[..., None] * shares
    information = np.einsum("bko,kop,koq->bpq", weighted, features, features)
    information -= np.einsum("bk,bkp,bkq->bpq", totals, means, means)
    return value, gradient, information
