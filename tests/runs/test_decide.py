import itertools
import json

import numpy as np
import pandas as pd
import pytest
from validation.runs_null import DESIGNS, METRIC, rejections, write_run

from casebook.errors import Incomparable, InputError
from casebook.runs.decide import (
    apply_decision,
    compare_runs,
    decide,
    settle,
    weigh,
)
from casebook.runs.promotions import active_promotion, promote, read_promotions
from casebook.runs.registry import find_run

RNG = np.random.default_rng(0)
WEAK = RNG.integers(1, 8, 200)
STRONG = np.maximum(1, WEAK - 2)
HALF = np.where(RNG.random(200) < 0.5, WEAK, np.roll(WEAK, 1))


def decided(registry, metric="ndcg@3", **options):
    listing = registry.read()
    decision = decide(listing, metric, **options)
    apply_decision(listing, decision)
    return decision


@pytest.mark.parametrize(
    ("eps", "action", "verdict"), [(1e-3, "KeepActive", "fail"), (1e-6, "Promote", "pass")]
)
def test_documented_thresholds_without_rows(registry, eps, action, verdict):
    registry.add("old", 0.6000)
    decided(registry)
    registry.add("new", 0.6005, minutes=1)
    decision = decided(registry, eps=eps)
    assert (decision["action"], decision["evidence"]["verdict"]) == ("KeepActive", "undecided")
    decision = decided(registry, eps=eps, original=True)
    assert (decision["action"], decision["evidence"]["verdict"], decision["evidence"]["basis"]) == (
        action,
        verdict,
        "eps",
    )
    assert decision["delta"] == pytest.approx(0.0005)


def test_a_decision_rests_on_its_interval_and_is_reported_with_the_documented_keys(registry):
    registry.add("old", ranks=WEAK)
    decided(registry)
    registry.add("noise", ranks=HALF, minutes=1)
    registry.add("worse", ranks=WEAK + 2, minutes=2)
    listing = registry.read()
    for name, verdict in (("noise", "undecided"), ("worse", "fail")):
        decision = decide(listing, "ndcg@3", run=find_run(listing, name))
        assert (decision["action"], decision["evidence"]["verdict"]) == ("KeepActive", verdict)
    registry.add("new", ranks=STRONG, minutes=3)
    listing = registry.read()
    decision = decide(listing, "NDCG@3")
    evidence = decision["evidence"]
    assert (decision["action"], evidence["basis"], evidence["n"]) == (
        "Promote",
        "paired_randomisation",
        200,
    )
    assert 0 < evidence["low"] < evidence["improvement"] < evidence["high"]
    assert "best of 4 runs" in " ".join(evidence["notes"])
    documented = {"metricKey", "epsilon", "createdUtc", "runsRoot", "totalRunsFound"}
    assert documented | {"candidate", "active", "action", "delta", "reason"} <= set(decision)
    assert decision["action"] == "Promote" and decision["active"]["runId"] == "old"
    apply_decision(listing, decision)
    assert active_promotion(listing.root, "ndcg@3")["decision"]["low"] == evidence["low"]


def test_two_decisions_at_once_do_not_both_count(registry):
    registry.add("one", 0.5)
    listing = registry.read()
    first = decide(listing, "ndcg@3")
    second = decide(listing, "ndcg@3")
    apply_decision(listing, first)
    with pytest.raises(InputError, match="decide again"):
        apply_decision(listing, second)
    assert len(read_promotions(listing.root)) == 1


def test_rows_that_are_all_the_same_are_neither_better_nor_worse(registry):
    registry.add("old", ranks=WEAK)
    registry.add("new", ranks=WEAK, minutes=1)
    listing = registry.read()
    old = find_run(listing, "old")
    new = find_run(listing, "new")
    promote(listing, old, "map@1", "first")
    decision = decide(listing, "map@1", run=new)
    assert (decision["action"], decision["evidence"]["verdict"]) == ("KeepActive", "same")
    assert apply_decision(listing, decision) is None
    settle(decision["evidence"]["verdict"], "equal")
    assert "no row differs" in decision["evidence"]["notes"]
    assert (decision["evidence"]["low"], decision["evidence"]["high"]) == (None, None)
    gate = weigh(listing, new, old, "map@1", 0.0, inclusive=True)
    assert gate["verdict"] == "pass" and "no row differs" in gate["notes"]


# The other designs, and more studies, are those of make validate.
@pytest.mark.parametrize("design", ["unequal"])
def test_equal_systems_whose_queries_move_together_are_not_told_apart(design):
    by_test, by_interval = rejections(DESIGNS[design], 60)
    assert by_test == by_interval <= 0.07
    assert rejections(DESIGNS[design], 20, grouped=False)[0] > 0.4


def test_the_groups_of_the_rows_reach_interval_and_p_value(tmp_path):
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(12), 5)
    before = rng.normal(0.5, 0.1, 60)
    after = before + rng.normal(0.05, 0.1, 12)[groups]
    grouped = [
        write_run(tmp_path / name, scores, groups)
        for name, scores in (("new", after), ("old", before))
    ]
    comparison = compare_runs(*grouped, METRIC)
    # Equal sizes: the same test on the twelve means of the groups.
    means = pd.Series(after - before).groupby(groups).mean().to_numpy()
    signs = np.array(list(itertools.product((1, -1), repeat=12)))
    expected = np.mean(np.abs(signs @ means) >= abs(means.sum()) - 1e-12)
    assert comparison["p_value"] == pytest.approx(expected, abs=1e-9)
    assert (comparison["n"], comparison["groups"]) == (60, 12)
    # A run whose rows name no groups takes those of the other one.
    write_run(tmp_path / "old", before)
    assert compare_runs(*grouped, METRIC)["p_value"] == comparison["p_value"]
    write_run(tmp_path / "old", before, groups[::-1] // 2)
    with pytest.raises(Incomparable, match="different groups"):
        compare_runs(*grouped, METRIC)


@pytest.mark.parametrize("gain", [0.3, np.linspace(0.2, 0.4, 100)])
def test_few_groups_decide_nothing(tmp_path, casebook, gain):
    """The interval by question of five groups lies above 0, but not of new groups: no promotion."""
    groups = np.repeat(np.arange(5), 20)
    before = np.linspace(0.1, 0.5, 100)
    write_run(tmp_path / "new", before + gain, groups)
    write_run(tmp_path / "old", before, groups)
    root = ("--runs-root", tmp_path)
    assert (
        casebook("runs", *root, "promote", "-m", METRIC, "--run", "old", "--reason", "first")[0]
        == 0
    )
    code, out, _ = casebook("runs", *root, "decide", "-m", METRIC, "--json")
    evidence = json.loads(out)["evidence"]
    assert code == 4 and evidence["verdict"] == "undecided"
    assert (evidence["groups"], evidence["n"]) == (5, 100)
    assert "fewer than six groups: nothing is decided about new ones" in evidence["notes"]
    assert (evidence["low"] is not None) == bool(np.ndim(gain))
    assert casebook("gate", *root, "run", "new", "-m", METRIC)[0] == 4


def test_flips_are_the_queries_that_changed(registry):
    a = registry.add("a", ranks=[1, 2, 4, 1])
    b = registry.add("b", ranks=[1, 1, 1, 9])
    comparison = compare_runs(b, a, "map@1")
    flips = comparison["flips"].set_index("query_id")["change"].to_dict()
    assert flips == {"q3": "lost", "q2": "gained", "q1": "gained", "q0": "unchanged"}
    assert list(flips) == ["q3", "q2", "q1", "q0"]
    assert (comparison["gained"], comparison["unchanged"], comparison["lost"], comparison["n"]) == (
        2,
        1,
        1,
        4,
    )
    assert comparison["difference"] == pytest.approx((0.5 + 0.75 - 8 / 9) / 4)
    assert compare_runs(a, b, "map@1")["difference"] == pytest.approx(-comparison["difference"])
