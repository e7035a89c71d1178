"""What a policy would have earned, estimated from the log of another.

References
----------
Horvitz and Thompson (1952), JASA 47; Dudik, Langford and Li (2011), Doubly robust
policy evaluation and learning, ICML; Swaminathan and Joachims (2015), The
self-normalized estimator for counterfactual learning, NeurIPS.
"""

from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean, bootstrap_statistic
from casebook.inference.intervals import Interval


@dataclass(frozen=True)
class Log:
    """Logged rounds.

    Attributes
    ----------
    contexts : numpy.ndarray, shape [n, features]
        Of each claim, see `casebook.factcheck.bandit.context`.
    actions : numpy.ndarray of int, shape [n]
        Chosen actions, positions in the list of actions.
    propensities : numpy.ndarray, shape [n]
        Probability with which the logging policy chose each, above 0.
    rewards : numpy.ndarray, shape [n]
        Rewards; NaN where the claim has no label.

    Raises
    ------
    InputError
        If lengths differ or a propensity is not in (0, 1].
    """

    contexts: np.ndarray
    actions: np.ndarray
    propensities: np.ndarray
    rewards: np.ndarray

    def __post_init__(self):
        lengths = {len(getattr(self, name)) for name in self.__dataclass_fields__}
        if len(lengths) != 1:
            raise InputError(f"columns of a log differ in length: {sorted(lengths)}")
        inside = (self.propensities > 0) & (self.propensities <= 1)
        if not inside.all():
            raise InputError(
                "propensities must lie in (0, 1]: without them a log cannot say what "
                "another policy would have earned"
            )

    @property
    def unlabelled(self):
        """Rounds without a label, int."""
        return int(np.isnan(self.rewards).sum())

    def labelled(self):
        """Give the rounds with a label, Log."""
        kept = ~np.isnan(self.rewards)
        columns = (self.contexts, self.actions, self.propensities, self.rewards)
        return Log(*(column[kept] for column in columns))


def reward_model(contexts, actions, rewards, n_actions, ridge=1.0):
    """Fit one ridge regression of the reward per action.

    Parameters
    ----------
    contexts, actions, rewards : numpy.ndarray
        Labelled rounds.
    n_actions : int
        Number of actions.
    ridge : float
        L2 penalty.

    Returns
    -------
    numpy.ndarray, shape [actions, features]
        Weights; 0 for an action that was never tried.
    """
    width = contexts.shape[1]
    weights = np.zeros((n_actions, width))
    for action in range(n_actions):
        X, y = contexts[actions == action], rewards[actions == action]
        gram = X.T @ X + ridge * np.eye(width)
        weights[action] = np.linalg.solve(gram, X.T @ y)
    return weights


@dataclass(frozen=True)
class PolicyValue:
    """What a policy would have earned per round, estimated from another's log.

    Attributes
    ----------
    ips : Interval
        Inverse propensity score: unbiased, wide.
    snips : Interval
        Self-normalised: slightly biased, narrower.
    dr : Interval
        Doubly robust: unbiased with right propensities, narrow with a good model; the
        model of each round is learnt without its fold.
    effective_n : float
        ``(sum w)^2 / sum w^2`` of the weights: how many rounds speak for the policy.
    unlabelled : int
        Rounds left aside.
    """

    ips: Interval
    snips: Interval
    dr: Interval
    effective_n: float
    unlabelled: int


def evaluate_policy(log, chances, *, folds=5, n_boot=2_000, seed=0):
    """Estimate the value of a policy from a log with propensities.

    Parameters
    ----------
    log : Log
        Rounds of the logging policy.
    chances : numpy.ndarray, shape [n, actions]
        Probability of each action under the policy, for every round of the log. A
        policy learnt on the same rounds looks better than it is.
    folds : int
        Of the cross-fitted reward model.
    n_boot, seed : int
        Of the bootstrap over rounds.

    Returns
    -------
    PolicyValue
        Three estimates with percentile intervals.

    Raises
    ------
    InputError
        If the shapes do not fit or no round has a label.
    """
    kept = ~np.isnan(log.rewards)
    if len(chances) != len(log.rewards):
        raise InputError(
            f"{len(chances)} rows of chances for {len(log.rewards)} rounds"
        )
    seen, chances = log.labelled(), np.asarray(chances, dtype=float)[kept]
    if not len(seen.rewards):
        raise InputError("no round of the log has a label: nothing can be estimated")
    rows = np.arange(len(seen.rewards))
    weights = chances[rows, seen.actions] / seen.propensities
    ips = bootstrap_mean(weights * seen.rewards, n_boot=n_boot, seed=seed)
    snips = bootstrap_statistic(
        np.column_stack([weights, weights * seen.rewards]),
        _self_normalised,
        n_boot=n_boot,
        seed=seed,
    )
    predicted = _cross_fitted(seen, chances.shape[1], folds)
    direct = (chances * predicted).sum(axis=1)
    residual = seen.rewards - predicted[rows, seen.actions]
    dr = bootstrap_mean(direct + weights * residual, n_boot=n_boot, seed=seed)
    total = weights.sum()
    effective = float(total**2 / (weights**2).sum()) if total else 0.0
    return PolicyValue(ips, snips, dr, effective, log.unlabelled)


def _self_normalised(columns):
    total = columns[:, 0].sum()
    return columns[:, 1].sum() / total if total else None


def _cross_fitted(log, n_actions, folds):
    """Predict the reward of every action for every round without its own fold."""
    predicted = np.zeros((len(log.rewards), n_actions))
    fold = np.arange(len(log.rewards)) % max(2, folds)
    for part in range(max(2, folds)):
        inside, outside = fold == part, fold != part
        weights = reward_model(
            log.contexts[outside], log.actions[outside], log.rewards[outside], n_actions
        )
        predicted[inside] = log.contexts[inside] @ weights.T
    return predicted
