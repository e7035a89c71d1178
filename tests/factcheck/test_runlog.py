"""The documented run log with its faults; performance by both definitions."""

from dataclasses import replace

import pytest
from casebook.factcheck.model import Evidence, Query, SubClaim, VerdictResult
from casebook.factcheck.runlog import honest_accuracy, log_run, patterns, performance_score, suggestions

from casebook.factcheck.score import cost_rows, documented_performance, high_credibility, timings


def result(levels="", verdict="SUPPORTED", seconds=1.0, confidence=0.8, queries=3):
    names = {"h": "high", "m": "medium", "l": "low"}
    evidence = tuple(
        Evidence(f"EV{n}", "SC1", "d", "", "", "x", 0, 1, 0.5, names[level]) for n, level in enumerate(levels)
    )
    return VerdictResult(
        "c",
        "claim",
        verdict,
        confidence,
        subclaims=(SubClaim("SC1", "x"),),
        queries=tuple(Query("SC1", str(n)) for n in range(queries)),
        evidence=evidence,
        timings={"verdict": seconds, "search": 2 * seconds},
    )


def test_a_fast_wrong_answer_beats_a_slow_right_one():
    fast = log_run(result(seconds=0.05, verdict="NOT_SUPPORTED"), "SUPPORTED")
    slow = log_run(result(seconds=1.0), "SUPPORTED")
    assert (fast.accuracy, fast.efficiency) == (0.0, 10.0)
    assert performance_score([fast]) == pytest.approx(2.0)
    assert performance_score([slow]) == pytest.approx(1.2)
    best = log_run(result("h", seconds=0.0), "SUPPORTED")
    assert performance_score([best]) == pytest.approx(3.3)
    assert performance_score([]) == 0


def test_confidence_stands_in_for_accuracy_only_in_parity():
    runs = [log_run(result(confidence=0.8)), log_run(result(), "SUPPORTED")]
    assert patterns(runs)["accuracy"]["mean"] == pytest.approx(0.9)
    assert honest_accuracy(runs) == {"right": 1, "labelled": 1, "accuracy": 1.0, "unlabelled": 1}
    assert honest_accuracy(runs[:1])["accuracy"] is None


def test_patterns_need_two_runs_and_use_the_sample_deviation():
    assert patterns([log_run(result())]) == {}
    runs = [log_run(result("hm"), "SUPPORTED"), log_run(result("h"), "NOT_SUPPORTED")]
    found = patterns(runs)
    assert found["accuracy"]["sd"] == pytest.approx(0.5**0.5)
    assert found["evidence_quality"]["mean"] == 0.75
    assert found["seconds"] == {"mean": 1.0, "min": 1.0, "max": 1.0}


def test_each_rule_of_the_advice():
    def of(labels, **settings):
        return suggestions([log_run(result(**settings), label) for label in labels])

    right, wrong = "SUPPORTED", "NOT_SUPPORTED"
    assert of([right]) == []
    assert of([right] * 2, levels="h") == ["accuracy_good"]
    assert of([right] * 3 + [wrong], levels="h") == ["normal"]
    assert "evidence_weak" in of([right] * 2, levels="ml")
    assert "slow" in of([right] * 2, levels="h", seconds=11)
    declining = of([right] * 10 + [wrong] * 2, levels="h")
    assert declining == ["declining"]
    assert of([wrong] * 2, levels="h")[:2] == ["raise_k", "raise_credibility"]


def test_high_credibility_macro_and_pooled():
    results = [result("h"), result("hlll"), result("")]
    found = high_credibility(results)
    assert found == {"macro": 0.625, "pooled": 0.4, "claims": 2, "items": 5, "without": 1}
    assert documented_performance(results)["high_credibility_ratio"] == 0.625
    assert high_credibility([])["pooled"] is None


def test_documented_time_leaves_retrieval_out():
    crashed = replace(result(), verdict=None, error="search: x", timings={})
    results = [result(seconds=1.0), result(seconds=3.0, queries=1), crashed]
    found = documented_performance(results)
    assert found["mean_processing_time"] == pytest.approx(4 / 3)
    assert found["queries_per_claim"] == 2
    table = timings(results).set_index("stage")
    assert table.loc["total", "mean"] == pytest.approx(4.0)
    assert table.loc["verdict", "median"] == 1.0
    assert table.loc["total", "p95"] == pytest.approx(8.4)
    assert documented_performance([])["total_processing_time"] == 0
    assert cost_rows(results)["queries"].tolist() == [3, 1, 3]
