"""A contextual bandit over the pipeline's settings, and honest estimates from its log.

One round is one claim: features of the claim, an action (number of queries and verdict
thresholds), the probability with which it was chosen, a reward if the claim has a
label. Rounds without a label are counted and never used: the confidence of a verdict
is no reward.
"""

from itertools import product

import numpy as np

from casebook.errors import InputError
from casebook.factcheck.off_policy import Log, reward_model
from casebook.inference.samples import stream

QUERIES = (1, 2, 3, 4, 5)
THRESHOLDS = ((0.3, 0.7), (0.2, 0.8), (0.45, 0.55))
ACTIONS = tuple(product(QUERIES, THRESHOLDS))
QUERY_COST = 0.02  # reward that one query must bring to be worth asking


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
