"""The documented evaluators and the acceptance gate."""

import numpy as np
import pandas as pd
import pytest
from cases import not_refused
from simulated import Simulated

from casebook.data.splits import RetrievalDataset
from casebook.shift import gate
from casebook.shift.embedded import embed
from casebook.shift.gate import COSINE, EVALUATORS, MARGIN, MRR, NDCG, evaluate_shift


@pytest.fixture
def demo():
    """Give the documented simulation: two queries against two references."""
    texts = ["Ref 1", "Ref 2"], ["Query 1", "Query 2"]
    documents, queries = (
        pd.DataFrame({name: [f"{name[0]}1", f"{name[0]}2"], "text": part})
        for name, part in zip(("doc_id", "query_id"), texts, strict=True)
    )
    qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    dataset = RetrievalDataset("demo", "test", documents, queries, qrels)
    return embed(dataset, Simulated("sha256"))


@pytest.mark.data
def test_shared_references_give_the_documented_values(demo, expected):
    case = expected["eval_sim_sha256"]
    plain = evaluate_shift(demo, demo.queries, baseline=False, mode="shared")
    zero = evaluate_shift(demo, 0 * demo.queries, mode="shared")
    for name in EVALUATORS:
        identity = case["identity"][name]
        assert plain.metrics[name] == pytest.approx(identity, abs=1e-7)
        assert zero.metrics[f"{name}.shift"] == case["shift=zero"][name]
        delta = case["zero.delta"][name]
        assert zero.metrics[f"{name}.delta"] == pytest.approx(delta, abs=1e-7)


def test_values_by_hand(planted):
    documents = {"a": [1.0, 0], "b": [0, 1.0], "c": [0.6, 0.8]}
    data = planted({"q": [0, 2.0]}, documents, {"q": {"a": 1, "c": 1}})
    metrics = evaluate_shift(data, data.queries).metrics
    assert metrics[COSINE] == pytest.approx((0 + 1 + 0.8) / 3)
    assert metrics[MARGIN] == pytest.approx(0.2)
    assert metrics[MRR] == 0.5
    gain = 1 / np.log2(3) + 1 / np.log2(4)
    assert metrics[NDCG] == pytest.approx(gain / (1 + 1 / np.log2(3)))


@pytest.fixture
def moved(decoys):
    """Give a run of the evaluators on queries moved by some amount."""

    def run(amount, **options):
        shift = amount * np.eye(12)[0]
        return evaluate_shift(decoys, decoys.queries + shift, **options)

    return run


def run_of(moved, deltas):
    """Give a run whose deltas are the given ones."""
    shifted = pd.DataFrame(dict.fromkeys((NDCG, MRR), np.asarray(deltas, dtype=float)))
    metrics = {f"{name}.delta": float(np.mean(deltas)) for name in (NDCG, MRR)}
    return moved(0.0)._replace(metrics=metrics, baseline=0 * shifted, shifted=shifted)


def test_noise_is_undecided_on_bounds_and_passes_on_the_point(moved):
    run = run_of(moved, [0.5, -0.5, 0.4, -0.4, 0.01])
    assert gate.judge_shift(run).verdict == "undecided"
    assert gate.judge_shift(run, decision="point").verdict == "pass"


def test_a_query_that_is_no_vector_any_more_fails(decoys):
    """The documented rule lets NaN and zeros pass."""
    vectors = decoys.queries.copy()
    vectors[3, 0] = np.nan
    vectors[5] = 0
    run = evaluate_shift(decoys, vectors)
    assert run.degenerate == ["q03", "q05"]
    assert gate.judge_shift(run).verdict == "fail"


def test_an_interval_by_query_does_not_pass_the_gate(moved):
    """Of five groups the interval is by query, and may lie above the threshold: nothing is decided
    about new groups."""
    run = run_of(moved, np.linspace(0.1, 0.3, 60))
    [check, _] = gate.judge_shift(run, clusters=np.arange(60) // 12).checks
    assert check["low"] > 0
    assert check["verdict"] == "undecided"
    assert "fewer than six groups" in check["note"]
    assert gate.judge_shift(run, clusters=np.arange(60) // 10).verdict == "pass"


@pytest.mark.parametrize("rank", [1, 2, 3, 10, 11])
def test_shared_references_by_hand(planted, rank):
    """Twelve references 5 degrees apart, the first of the list at some rank: relevant index 0,
    K = 10."""
    cosines = np.cos(np.radians(5 * np.arange(1, 13)))
    order = [rank - 1, *(place for place in range(12) if place != rank - 1)]
    vectors = np.column_stack([cosines, np.sqrt(1 - cosines**2)])[order]
    documents = {f"d{place:02d}": 3 * vector for place, vector in enumerate(vectors)}
    data = planted({"q": [2.0, 0]}, documents, {"q": {"d05": 1}})
    metrics = evaluate_shift(data, data.queries, mode="shared").metrics
    assert metrics[COSINE] == pytest.approx(cosines.mean())
    assert metrics[MARGIN] == pytest.approx(cosines[0] - cosines[1])
    assert metrics[MRR] == pytest.approx(1 / rank)
    assert metrics[NDCG] == pytest.approx(1 / np.log2(rank + 1) if rank <= 10 else 0)


def test_keys_of_the_metrics(moved):
    alone = {*EVALUATORS, "evaluation.duration_ms"} | {f"{e}.duration_ms" for e in EVALUATORS}
    assert set(moved(2.0, baseline=False).metrics) == alone
    found = moved(2.0).metrics
    more = {f"{e}.{kind}" for e in EVALUATORS for kind in ("baseline", "shift", "delta")}
    assert set(found) == alone | more
    for name in EVALUATORS:
        change = found[f"{name}.shift"] - found[f"{name}.baseline"]
        assert found[f"{name}.delta"] == pytest.approx(change) and change


@pytest.mark.parametrize(
    ("name", "delta", "default", "with_cosine"),
    [
        *[(name, -0.005, "pass", "pass") for name in (NDCG, MRR)],
        *[(name, -0.0051, "fail", "fail") for name in (NDCG, MRR)],
        (COSINE, 0.0, "pass", "pass"),
        (COSINE, -0.0001, "pass", "fail"),
        (MARGIN, -1.0, "pass", "pass"),
    ],
)
@pytest.mark.parametrize("decision", ["bound", "point"])
def test_each_default_rule_decides_alone(moved, name, delta, default, with_cosine, decision):
    """nDCG and MRR may lose 0.005; the cosine, which is optional, nothing."""
    shifted = pd.DataFrame(0.0, range(8), list(EVALUATORS)).assign(**{name: delta})
    metrics = shifted.mean().add_suffix(".delta").to_dict()
    run = moved(0.0)._replace(metrics=metrics, baseline=0 * shifted, shifted=shifted)
    for profile, verdict in (("documented", default), ("documented+cosine", with_cosine)):
        assert gate.judge_shift(run, profile, decision=decision).verdict == verdict
    assert gate.judge_shift(run).verdict == default


def test_unknown_words_are_refused(moved):
    cases = [({"profile": name}, "unknown gate profile") for name in ("ranks", "", "cosine")]
    run = moved(0.0)
    assert not_refused(lambda options: gate.judge_shift(run, **options), cases) == []
