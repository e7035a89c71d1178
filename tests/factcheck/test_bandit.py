"""Off-policy estimates against a truth that is known, and what they refuse."""

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.factcheck.bandit import (
    EpsilonGreedy,
    reward,
    run_bandit,
)
from casebook.factcheck.bandit_study import RewardTable, reward_table, study
from casebook.factcheck.off_policy import Log, evaluate_policy

WEIGHTS = np.array([[0.2, 0.0], [0.5, -0.3], [0.1, 0.6]])


def simulate(n, seed, curved=False):
    """Log a uniform policy over three actions; the truth of another is known."""
    rng = np.random.default_rng(seed)
    contexts = np.column_stack([np.ones(n), rng.random(n)])
    means = contexts @ WEIGHTS.T + (0.3 * contexts[:, 1:] ** 2 if curved else 0)
    chances = np.tile([0.5, 0.3, 0.2], (n, 1))
    actions = np.array([rng.choice(3, p=row) for row in chances])
    rows = np.arange(n)
    rewards = means[rows, actions] + rng.normal(0, 0.2, n)
    log = Log(contexts, actions, chances[rows, actions], rewards)
    target = np.tile([0.1, 0.1, 0.8], (n, 1))
    return log, target


def truth(curved):
    # The context is uniform on [0, 1]: its mean is 1/2, the mean of its square 1/3.
    means = WEIGHTS @ [1, 0.5] + (0.3 / 3 if curved else 0)
    return float(np.array([0.1, 0.1, 0.8]) @ means)


@pytest.mark.parametrize("curved", [False, True])
def test_estimates_are_unbiased_and_intervals_cover(curved):
    true = truth(curved)
    found = {"ips": [], "snips": [], "dr": []}
    covered = dict.fromkeys(found, 0)
    runs = 80
    for seed in range(runs):
        log, target = simulate(300, seed, curved)
        value = evaluate_policy(log, target, n_boot=200, seed=seed)
        for name, values in found.items():
            interval = getattr(value, name)
            values.append(interval.estimate)
            covered[name] += interval.low <= true <= interval.high
    for name, values in found.items():
        error = np.std(values) / np.sqrt(runs)
        assert abs(np.mean(values) - true) < 4 * error, name
        assert covered[name] / runs > 0.84, name
    # A right model takes most of the variance away.
    assert np.std(found["dr"]) < 0.7 * np.std(found["ips"])


def test_the_naive_mean_of_the_log_is_not_the_policys_value():
    log, target = simulate(3_000, 0)
    value = evaluate_policy(log, target, n_boot=200)
    assert abs(log.rewards.mean() - truth(False)) > 0.05
    assert abs(value.dr.estimate - truth(False)) < 0.03
    assert 0 < value.effective_n < 3_000


def test_unlabelled_rounds_are_counted_and_never_used():
    log, target = simulate(400, 1)
    rewards = log.rewards.copy()
    rewards[::2] = np.nan
    holed = Log(log.contexts, log.actions, log.propensities, rewards)
    kept = Log(
        log.contexts[1::2], log.actions[1::2], log.propensities[1::2], rewards[1::2]
    )
    a = evaluate_policy(holed, target, n_boot=100)
    b = evaluate_policy(kept, target[1::2], n_boot=100)
    assert (a.ips, a.snips, a.dr) == (b.ips, b.snips, b.dr)
    assert (a.unlabelled, b.unlabelled) == (200, 0)
    assert np.isnan(reward(None, 3))
    assert reward(True, 3, 0.1) == pytest.approx(0.7)


def test_a_bandit_learns_the_better_action_and_logs_its_chances():
    rng = np.random.default_rng(3)
    contexts = np.column_stack([np.ones(600), rng.random(600)])

    def earn(place, action):
        best = int(contexts[place, 1] > 0.5)
        return 1.0 if action == best else 0.0

    log, policy = run_bandit(contexts, earn, 2, epsilon=0.2, seed=1)
    assert log.rewards[-200:].mean() > 0.8
    assert log.rewards[:20].mean() < 0.75
    assert set(np.round(log.propensities[200:], 6)) == {0.9, 0.1}
    assert policy.probabilities(np.array([[1, 0.95]]))[0, 1] > 0.5
    again, _ = run_bandit(contexts, earn, 2, epsilon=0.2, seed=1)
    assert np.array_equal(log.actions, again.actions)


def test_bad_logs_are_refused():
    zeros = np.zeros((2, 1))
    with pytest.raises(InputError, match="propensities"):
        Log(zeros, np.array([0, 0]), np.array([0.5, 0.0]), np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="length"):
        Log(zeros, np.array([0]), np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    log = Log(zeros, np.array([0, 0]), np.array([1.0, 1.0]), np.full(2, np.nan))
    with pytest.raises(InputError, match="no round"):
        evaluate_policy(log, np.ones((2, 1)))
    with pytest.raises(InputError, match="rows of chances"):
        evaluate_policy(log, np.ones((1, 1)))
    with pytest.raises(InputError, match="epsilon"):
        EpsilonGreedy(2, 0)


def test_rewards_of_real_claims_and_the_study(base, stance, claims):
    actions = ((1, (0.3, 0.7)), (3, (0.3, 0.7)))
    some = [claim for claim in claims if claim.split == "test"][:20]
    table = reward_table(base, stance, some, actions=actions)
    assert table.rewards.shape == (20, 2)
    # A claim of one part asks one query or up to three, at the price of 0.02 each.
    assert set(np.round(table.rewards[:, 0], 2)) <= {0.98, -0.02}
    found = study(
        RewardTable(np.tile(table.contexts, (5, 1)), np.tile(table.rewards, (5, 1))),
        rounds=300,
        n_boot=200,
    )
    for entry in found.values():
        for name in ("ips", "snips", "dr"):
            interval = getattr(entry["estimates"], name)
            assert abs(interval.estimate - entry["truth"]) < 0.15
