"""Every action of the bandit on every claim, so that estimates can meet the truth."""

from dataclasses import dataclass, replace

import numpy as np

from casebook.factcheck.bandit import (
    ACTIONS,
    QUERY_COST,
    context,
    reward,
    run_bandit,
)
from casebook.factcheck.memo import Memo
from casebook.factcheck.off_policy import evaluate_policy
from casebook.factcheck.pipeline import FactChecker, PipelineConfig
from casebook.inference.samples import stream


@dataclass(frozen=True)
class RewardTable:
    """Rewards of every action on every claim.

    Attributes
    ----------
    contexts : numpy.ndarray, shape [n, features]
        Of the claims.
    rewards : numpy.ndarray, shape [n, actions]
        NaN where a claim has no label.
    """

    contexts: np.ndarray
    rewards: np.ndarray


def reward_table(
    base, stance, claims, config=None, cost=QUERY_COST, actions=ACTIONS, memo=None
):
    """Run every action on every claim; actions share their work.

    Parameters
    ----------
    base : EvidenceBase
        Collection.
    stance : object
        Judge of passages.
    claims : sequence of Claim
        Claims; an empty label means none.
    config : PipelineConfig, optional
        Settings that the actions change.
    cost : float
        Price of one query.
    actions : sequence of (int, (float, float))
        Number of queries, and lower and upper threshold.
    memo : Memo, optional
        Work done before on the same collection with the same judge.

    Returns
    -------
    RewardTable
        Crashed claims count as wrong.
    """
    config, contexts, columns = config or PipelineConfig(), None, []
    memo = Memo() if memo is None else memo
    for k, (lower, upper) in actions:
        rule = replace(config.rule, lower=lower, upper=upper)
        settings = replace(config, k=k, rule=rule)
        checker = FactChecker(base, stance, settings, memo=memo)
        results = checker.check_all([(claim.id, claim.text) for claim in claims])
        if contexts is None:
            contexts = np.vstack([context(result) for result in results])
        columns.append(
            [
                reward(_right(result, claim), len(result.queries), cost)
                for result, claim in zip(results, claims, strict=True)
            ]
        )
    return RewardTable(contexts, np.array(columns, dtype=float).T)


def _right(result, claim):
    return (result.verdict == claim.label) if claim.label else None


def study(table, *, rounds=600, epsilon=0.2, seed=0, n_boot=1_000):
    """Log a learning bandit, then estimate fixed policies from its log.

    Parameters
    ----------
    table : RewardTable
        All rewards; claims without a label stay unlabelled.
    rounds : int
        Claims drawn with replacement, half to learn a policy and half to estimate
        with: a policy is never judged on the rounds it was learnt from.
    epsilon : float
        Exploration.
    seed, n_boot : int
        Of draws, and of the intervals.

    Returns
    -------
    dict
        By policy (``learnt``, ``uniform``, and the fixed action that was best on the
        learning half, ``best fixed``): ``truth``, the mean reward of the policy over
        the estimated rounds, and ``estimates``, PolicyValue.
    """
    rng = np.random.Generator(stream(seed, "bandit claims"))
    order = rng.integers(0, len(table.rewards), 2 * rounds)
    n_actions = table.rewards.shape[1]

    def log_of(part, name):
        return run_bandit(
            table.contexts[part],
            lambda place, action: table.rewards[part[place], action],
            n_actions,
            epsilon=epsilon if name == "learn" else 1.0,
            seed=seed,
        )

    learning, held = order[:rounds], order[rounds:]
    _, policy = log_of(learning, "learn")
    log, _ = log_of(held, "log")
    fixed = np.zeros(n_actions)
    fixed[int(np.nanmean(table.rewards[learning], axis=0).argmax())] = 1.0
    chances = {
        "learnt": policy.probabilities(table.contexts[held]),
        "best fixed": np.tile(fixed, (rounds, 1)),
        "uniform": np.full((rounds, n_actions), 1 / n_actions),
    }
    labelled = ~np.isnan(table.rewards[held]).any(axis=1)
    return {
        name: {
            "truth": float((shares * table.rewards[held]).sum(axis=1)[labelled].mean()),
            "estimates": evaluate_policy(log, shares, n_boot=n_boot, seed=seed),
        }
        for name, shares in chances.items()
    }
