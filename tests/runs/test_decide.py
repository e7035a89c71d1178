import itertools
import json

import numpy as np
import pandas as pd
import pytest
from validation.runs_null import DESIGNS, METRIC, rejections, write_run

from casebook.errors import CheckFailed, Incomparable, InputError, Undecided
from casebook.inference.power import minimal_detectable_effect
from casebook.runs.decide import (
    Gate,
    apply,
    apply_gate,
    decide,
    decision_report,
    judge,
    read_gate,
    settle,
    write_report,
)
from casebook.runs.pairing import compare_runs
from casebook.runs.promotions import Reason, active, history, promote, rollback
from casebook.runs.registry import REPO, discover, find

RNG = np.random.default_rng(0)
WEAK = RNG.integers(1, 8, 200)
STRONG = np.maximum(1, WEAK - 2)
HALF = np.where(RNG.random(200) < 0.5, WEAK, np.roll(WEAK, 1))


def decided(registry, metric="ndcg@3", **options):
    listing = registry.read()
    found = decide(listing, metric, **options)
    apply(listing, found)
    return found


def test_the_first_run_is_promoted(registry):
    registry.add("first", ranks=WEAK)
    found = decided(registry)
    assert (found.action, found.evidence.basis) == ("Promote", "first")
    assert active(registry.layout.root, "ndcg@3")["runId"] == "first"
    again = decided(registry)
    assert (again.action, again.evidence.basis) == ("KeepActive", "same_run")
    assert again.delta == 0


@pytest.mark.parametrize(("eps", "action", "verdict"), [(1e-3, "KeepActive", "fail"), (1e-6, "Promote", "pass")])
def test_documented_thresholds_without_rows(registry, eps, action, verdict):
    registry.add("old", 0.6000)
    decided(registry)
    registry.add("new", 0.6005, minutes=1)
    found = decided(registry, eps=eps)
    assert (found.action, found.evidence.verdict) == (action, verdict)
    assert found.evidence.basis == "eps"
    assert found.delta == pytest.approx(0.0005)
    assert "no interval" in " ".join(found.evidence.notes)


def test_a_clear_gain_is_promoted_on_its_interval(registry):
    registry.add("old", ranks=WEAK)
    decided(registry)
    registry.add("new", ranks=STRONG, minutes=1)
    found = decided(registry)
    assert (found.action, found.evidence.basis) == ("Promote", "paired_randomisation")
    assert 0 < found.evidence.low < found.evidence.improvement < found.evidence.high
    assert found.evidence.n == 200
    assert "best of 2 runs" in " ".join(found.evidence.notes)
    entry = active(registry.layout.root, "ndcg@3")
    assert entry["decision"]["low"] == found.evidence.low


def test_noise_is_undecided_and_a_loss_fails(registry):
    registry.add("old", ranks=WEAK)
    decided(registry)
    registry.add("noise", ranks=HALF, minutes=1)
    listing = registry.read()
    found = decide(listing, "ndcg@3", run=find(listing, "noise"))
    assert (found.action, found.evidence.verdict) == ("KeepActive", "undecided")
    assert found.evidence.low < 0 < found.evidence.high
    assert found.evidence.mde > 0
    registry.add("worse", ranks=WEAK + 2, minutes=2)
    listing = registry.read()
    found = decide(listing, "ndcg@3", run=find(listing, "worse"))
    assert (found.action, found.evidence.verdict) == ("KeepActive", "fail")


def test_the_score_of_the_active_run_is_read_again(registry):
    folder = registry.add("old", 0.5)
    decided(registry)
    record = folder / "run.json"
    record.write_text(record.read_text().replace("0.5", "0.75"))
    registry.add("new", 0.6, minutes=1)
    listing = registry.read()
    found = decide(listing, "ndcg@3", run=find(listing, "new"))
    assert found.delta == pytest.approx(-0.15)
    assert found.evidence.verdict == "fail"


def test_other_data_is_incomparable_unless_forced_and_then_for_good(registry):
    registry.add("old", 0.5, labels={"DatasetHash": "1"})
    decided(registry)
    registry.add("new", 0.9, minutes=1, labels={"DatasetHash": "2"})
    listing = registry.read()
    new = find(listing, "new")
    # By itself the better run on other data is not even a candidate.
    assert decide(listing, "ndcg@3").evidence.basis == "same_run"
    found = decide(listing, "ndcg@3", run=new)
    assert (found.action, found.evidence.verdict) == ("KeepActive", "incomparable")
    forced = decided(registry, force=True)
    assert forced.action == "Promote"
    assert active(listing.root, "ndcg@3")["incomparable"] is True
    promote(listing, new, "ndcg@3", Reason("again"))
    rollback(listing.root, "ndcg@3", Reason("back"))
    assert active(listing.root, "ndcg@3")["incomparable"] is True


def test_runs_below_repo_compete_only_when_asked(registry):
    # The documented case: .90 below _repo beats .10 only with the flag.
    registry.add("plain", 0.10)
    registry.add("hidden", 0.90, workflow="MiniInsurance-PosNeg")
    root = registry.layout.root
    (root / "_repo").mkdir()
    (root / "MiniInsurance-PosNeg").rename(root / REPO)
    assert decide(registry.read(), "ndcg@3").candidate.run_id == "plain"
    both = discover(registry.layout, include=(REPO,))
    assert decide(both, "ndcg@3").candidate.run_id == "hidden"
    assert decide(both, "ndcg@3").candidate.path == f"{REPO}/hidden"


def test_other_queries_are_incomparable(registry):
    registry.add("old", ranks=WEAK)
    decided(registry)
    registry.add("new", ranks=STRONG[:150], minutes=1)
    found = decide(registry.read(), "ndcg@3")
    assert found.evidence.verdict == "incomparable"
    assert "50 queries" in " ".join(found.evidence.notes)
    forced = decide(registry.read(), "ndcg@3", force=True)
    assert forced.evidence.n == 150 and forced.evidence.incomparable is True
    apply(registry.read(), forced)
    assert active(registry.layout.root, "ndcg@3")["incomparable"] is True


def test_two_decisions_at_once_do_not_both_count(registry):
    registry.add("one", 0.5)
    listing = registry.read()
    first, second = decide(listing, "ndcg@3"), decide(listing, "ndcg@3")
    apply(listing, first)
    with pytest.raises(InputError, match="decide again"):
        apply(listing, second)
    assert len(history(listing.root)) == 1


def test_a_failed_candidate_fails_even_where_nothing_is_active(registry):
    registry.add("failed", 0.9, success=False)
    listing = registry.read()
    found = decide(listing, "ndcg@3", run=listing.runs[0])
    assert (found.action, found.evidence.verdict) == ("KeepActive", "fail")


def test_an_active_run_that_is_gone_is_said_so(registry):
    folder = registry.add("old", 0.5)
    decided(registry)
    registry.add("new", 0.6)
    (folder / "run.json").unlink()
    with pytest.raises(Incomparable, match="gone"):
        decide(registry.read(), "ndcg@3")


def test_bad_requests(registry):
    registry.add("r", 0.5)
    for eps in (-1e-9, float("nan")):
        with pytest.raises(InputError, match="eps"):
            decide(registry.read(), "ndcg@3", eps=eps)
    with pytest.raises(InputError, match="no successful run"):
        decide(registry.read(), "map@1")


def test_the_report_of_a_decision_has_the_documented_keys(registry, tmp_path):
    registry.add("old", ranks=WEAK)
    decided(registry)
    registry.add("new", ranks=STRONG, minutes=1)
    listing = registry.read()
    report = decision_report(listing, decide(listing, "NDCG@3", profile=None))
    first = write_report(listing.root, "decision", report)
    second = write_report(listing.root, "decision", report)
    assert first != second and first.parent.name == "_decisions"
    stored = json.loads(first.read_text())
    documented = {"metricKey", "epsilon", "createdUtc", "runsRoot", "totalRunsFound"}
    documented |= {"candidate", "active", "action", "delta", "reason", "profile"}
    assert documented <= set(stored)
    assert stored["action"] == "Promote" and stored["active"]["runId"] == "old"
    assert first.with_suffix(".md").read_text().startswith("# decision: original:ndcg@3")


def test_judge_at_the_margin():
    assert judge(0.0, 0.0, 1e-6) == "fail"  # two equal runs: nothing to promote
    assert judge(0.0, 0.0, 0.0) == "fail"
    assert judge(-0.005, 0.1, -0.005, inclusive=True) == "pass"
    assert judge(-0.1, -0.005, -0.005, inclusive=True) == "undecided"
    assert judge(None, None, 0.0) == "undecided"


@pytest.mark.parametrize(
    ("verdict", "error", "code"),
    [("fail", CheckFailed, 2), ("undecided", Undecided, 4), ("incomparable", Incomparable, 5)],
)
def test_exit_codes(verdict, error, code):
    with pytest.raises(error) as caught:
        settle(verdict, "why")
    assert caught.value.exit_code == code
    settle("pass", "why")


def test_the_same_run_again_is_neither_better_nor_worse(registry):
    for name, ranks, score in (("rows", WEAK, None), ("scores", None, 0.5)):
        metric = "map@1" if score is None else "ndcg@3"
        held = {} if score is None else {"metrics": {"ndcg@3": score}}
        registry.add(f"{name}-old", ranks=ranks, **held)
        registry.add(f"{name}-new", ranks=ranks, minutes=1, **held)
        listing = registry.read()
        promote(listing, find(listing, f"{name}-old"), metric, Reason("first"))
        found = decide(listing, metric, run=find(listing, f"{name}-new"))
        assert (found.action, found.evidence.verdict) == ("KeepActive", "same")
        assert apply(listing, found) is None
        settle(found.evidence.verdict, "equal")
        pair = (find(listing, f"{name}-new"), find(listing, f"{name}-old"))
        assert apply_gate(listing, *pair, Gate({metric: 0.0})).passed


@pytest.mark.parametrize("design", DESIGNS)
def test_equal_systems_whose_queries_move_together_are_not_told_apart(design):
    by_test, by_interval = rejections(DESIGNS[design], 60)
    assert by_test == by_interval <= 0.07
    over_queries, _ = rejections(DESIGNS[design], 20, grouped=False)
    assert over_queries > 0.4


def test_the_groups_of_the_rows_reach_interval_and_p_value(tmp_path, casebook):
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(12), 5)
    before = rng.normal(0.5, 0.1, 60)
    after = before + rng.normal(0.05, 0.1, 12)[groups]
    grouped = [write_run(tmp_path / name, scores, groups) for name, scores in (("new", after), ("old", before))]
    found = compare_runs(*grouped, METRIC)
    # Equal sizes: the same test on the twelve means of the groups.
    means = pd.Series(after - before).groupby(groups).mean().to_numpy()
    signs = np.array(list(itertools.product((1, -1), repeat=12)))
    expected = np.mean(np.abs(signs @ means) >= abs(means.sum()) - 1e-12)
    assert found.p_value == pytest.approx(expected, abs=1e-9)
    assert (found.n, found.groups) == (60, 12)
    sd = means.std(ddof=1)
    assert found.mde == pytest.approx(minimal_detectable_effect(sd, 12), rel=1e-4)
    # A run whose rows name no groups takes those of the other one.
    write_run(tmp_path / "old", before)
    assert compare_runs(*grouped, METRIC).p_value == found.p_value
    code, out, _ = casebook(*("runs", "compare", "new", "old", "-m", METRIC), *("--runs-root", tmp_path, "--json"))
    assert code == 0 and json.loads(out)["groups"] == 12
    write_run(tmp_path / "old", before, groups[::-1] // 2)
    with pytest.raises(Incomparable, match="different groups"):
        compare_runs(*grouped, METRIC)


def test_few_groups_decide_nothing(tmp_path, casebook):
    groups = np.repeat(np.arange(5), 20)
    before = np.linspace(0.1, 0.5, 100)
    write_run(tmp_path / "new", before + 0.3, groups)
    write_run(tmp_path / "old", before, groups)
    root = ("--runs-root", tmp_path)
    named = ("runs", "promote", "--run", "old", "-m", METRIC, "--reason", "first")
    assert casebook(*named, *root)[0] == 0
    code, out, _ = casebook("runs", "decide", "-m", METRIC, *root, "--json")
    evidence = json.loads(out)["evidence"]
    assert code == 4 and evidence["verdict"] == "undecided"
    assert (evidence["low"], evidence["groups"], evidence["n"]) == (None, 5, 100)
    assert "interval: fewer than six clusters" in evidence["notes"]


def test_lower_is_better_turns_the_sign(registry):
    registry.add("slow", metrics={"duration_ms": 9.0})
    decided(registry, metric="duration_ms")
    registry.add("fast", metrics={"duration_ms": 1.0}, minutes=1)
    found = decided(registry, metric="duration_ms")
    assert (found.action, found.delta, found.evidence.improvement) == ("Promote", -8, 8)


def test_flips_are_the_queries_that_changed(registry):
    a = registry.add("a", ranks=[1, 2, 4, 1])
    b = registry.add("b", ranks=[1, 1, 1, 9])
    found = compare_runs(b, a, "map@1")
    flips = found.flips.set_index("query_id")["change"].to_dict()
    assert flips == {"q0": "unchanged", "q1": "gained", "q2": "gained", "q3": "lost"}
    assert found.flips["query_id"].tolist() == ["q3", "q2", "q1", "q0"]
    assert (found.gained, found.unchanged, found.lost, found.n) == (2, 1, 1, 4)
    assert found.difference == pytest.approx((0.5 + 0.75 - 8 / 9) / 4)
    back = compare_runs(a, b, "map@1")
    assert back.difference == pytest.approx(-found.difference)
    assert back.p_value == found.p_value


def test_a_gate_tolerates_its_margin_and_fails_on_what_is_missing(registry):
    registry.add("old", ranks=WEAK)
    registry.add("same", ranks=WEAK, minutes=1)
    registry.add("worse", ranks=WEAK + 2, minutes=2)
    registry.add("noise", ranks=HALF, minutes=3)
    listing = registry.read()
    old = find(listing, "old")
    gate = Gate({"ndcg@3": 0.005, "map@1": 0.005})
    verdicts = {
        name: apply_gate(listing, find(listing, name), old, gate).verdict for name in ("same", "worse", "noise")
    }
    assert verdicts == {"same": "pass", "worse": "fail", "noise": "undecided"}
    absent = apply_gate(listing, old, old, Gate({"p@1": 0.0}))
    assert not absent.passed and "MISSING" in " ".join(absent.notes)


def test_gate_files(tmp_path):
    path = tmp_path / "gate.yml"
    path.write_text("rules:\n- {metric: nDCG@3, margin: 0.01}\n- metric: map@1\n")
    gate = read_gate(path)
    assert gate.rules == {"ndcg@3": 0.01, "map@1": 0.005}
    assert len(gate.sha256) == 64
    for text in (
        "",
        "rules: []",
        "rules: 3",
        "rules: [{margin: 1}]",
        "rules: [{metric: a, margin: -1}]",
        "rules: [{metric: a, margin: .nan}]",
        "rules: [{metric: a}, {metric: A}]",
        "rules: [",
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=r"gate\.yml:"):
            read_gate(path)
    with pytest.raises(InputError, match="no such gate"):
        read_gate(tmp_path / "absent.yml")
