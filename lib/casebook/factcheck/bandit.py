"""A contextual bandit over the pipeline's settings, and honest estimates from its log.

One round is one claim: features of the claim, an action (number of queries and verdict
thresholds), the probability with which it was chosen, a reward if the claim has a
label. Rounds without a label are counted and never used: the confidence of a verdict
is no reward.

References
----------
Horvitz and Thompson (1952), JASA 47; Dudik, Langford and Li (2011), Doubly robust
policy evaluation and learning, ICML; Swaminathan and Joachims (2015), The
self-normalized estimator for counterfactual learning, NeurIPS.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean, bootstrap_statistic
from casebook.inference.intervals import Interval
from casebook.inference.samples import stream

QUERIES = (1, 2, 3, 4, 5)
THRESHOLDS = ((0.3, 0.7), (0.2, 0.8), (0.45, 0.55))
ACTIONS = tuple(product(QUERIES, THRESHOLDS))
QUERY_COST = 0.02  # reward that one query must bring to be worth asking


@dataclass(frozen=True)
class Log:
    """Logged rounds.

    Attributes
    ----------
    contexts : numpy.ndarray, shape [n, features]
        Of each claim, see `context`.
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


def context(result):
    """Describe a claim before any evidence is seen.

    Parameters
    ----------
    result : VerdictResult
        Checked claim.

    Returns
    -------
    numpy.ndarray, shape [4]
        A constant 1, words over 20, parts over 3, whether it holds a number.
    """
    parts = len(result.subclaims) + len(result.dropped)
    numeric = any(part.properties for part in result.subclaims)
    return np.array([1.0, len(result.claim.split()) / 20, parts / 3, float(numeric)])


def reward(right, queries, cost=QUERY_COST):
    """Give the reward of a round: right or wrong, less the price of its queries.

    Parameters
    ----------
    right : bool or None
        Whether the verdict was the label's; None without a label.
    queries : int
        Queries asked.
    cost : float
        Price of one.

    Returns
    -------
    float
        NaN without a label.
    """
    return np.nan if right is None else float(right) - cost * queries


class EpsilonGreedy:
    """Choose the action of the highest predicted reward, another now and then.

    Parameters
    ----------
    n_actions : int
        Number of actions.
    epsilon : float
        Share of uniform exploration, in (0, 1].
    ridge : float
        Strength of the L2 penalty of the linear reward model of each action.
    """

    def __init__(self, n_actions, epsilon=0.1, ridge=1.0):
        if not 0 < epsilon <= 1:
            raise InputError(f"epsilon must be in (0, 1], got {epsilon}")
        self.n_actions, self.epsilon, self.ridge = n_actions, epsilon, ridge
        self._weights = None

    def fit(self, log):
        """Learn a linear reward model of every action from the labelled rounds.

        Parameters
        ----------
        log : Log
            Rounds.

        Returns
        -------
        EpsilonGreedy
            Itself.
        """
        seen = log.labelled()
        self._weights = reward_model(
            seen.contexts, seen.actions, seen.rewards, self.n_actions, self.ridge
        )
        return self

    def probabilities(self, contexts):
        """Give the probability of every action, shape [n, actions].

        Ties of the prediction go to the first action; before learning all are equal.
        """
        share = self.epsilon / self.n_actions
        chances = np.full((len(contexts), self.n_actions), share)
        if self._weights is None:
            return np.full_like(chances, 1 / self.n_actions)
        best = np.argmax(np.round(contexts @ self._weights.T, 12), axis=1)
        chances[np.arange(len(contexts)), best] += 1 - self.epsilon
        return chances

    def choose(self, contexts, rng):
        """Draw actions.

        Parameters
        ----------
        contexts : numpy.ndarray, shape [n, features]
            Claims.
        rng : numpy.random.Generator
            Source of chance.

        Returns
        -------
        actions : numpy.ndarray of int, shape [n]
            Chosen.
        propensities : numpy.ndarray, shape [n]
            Their probabilities, to be logged.
        """
        chances = self.probabilities(contexts)
        draws = rng.random(len(contexts))[:, None]
        actions = np.minimum(
            (chances.cumsum(axis=1) < draws).sum(axis=1), self.n_actions - 1
        )
        return actions, chances[np.arange(len(contexts)), actions]


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


def run_bandit(contexts, earn, n_actions, *, batch=20, epsilon=0.1, seed=0):
    """Let a bandit learn over a sequence of claims.

    Parameters
    ----------
    contexts : numpy.ndarray, shape [n, features]
        Claims in the order they come.
    earn : callable
        Maps (round, action) to the reward, NaN without a label.
    n_actions : int
        Number of actions.
    batch : int
        Rounds between two fits.
    epsilon : float
        Exploration.
    seed : int
        Of the choices.

    Returns
    -------
    log : Log
        All rounds with their propensities.
    policy : EpsilonGreedy
        As learnt at the end.
    """
    rng = np.random.Generator(stream(seed, "bandit"))
    policy, columns = EpsilonGreedy(n_actions, epsilon), ([], [], [])
    for start in range(0, len(contexts), batch):
        block = contexts[start : start + batch]
        actions, propensities = policy.choose(block, rng)
        rewards = [earn(start + n, int(action)) for n, action in enumerate(actions)]
        for column, values in zip(
            columns, (actions, propensities, rewards), strict=True
        ):
            column.extend(values)
        seen = len(columns[0])
        log = Log(contexts[:seen], *map(np.asarray, columns))
        policy.fit(log)
    return log, policy
