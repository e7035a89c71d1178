"""Scores of verdicts, their join by id, the command that prints them; costs; documented log."""

import json
import re

import numpy as np
import pytest

from casebook.factcheck import score as scoring
from casebook.factcheck.score import run_log, score_files
from casebook.factcheck.verdict import SUPPORTS, Rule

S, N, NEI = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT"


@pytest.fixture
def write(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def labels(*values, start=1, **more):
    return [
        {"id": start + i, "label": label} | {k: v[i] for k, v in more.items()}
        for i, label in enumerate(values)
    ]


def test_missing_and_extra_ids_are_listed_and_none_vanishes(write):
    truth = [{"id": n, "truth": label} for n, label in enumerate((S, N, S, N), 1)]
    predicted = labels(S, "maybe", None) + labels(S, start=9)
    files = write("gold.jsonl", truth), write("pred.jsonl", predicted)
    report = score_files(*files, columns={"gold.label": "truth"})
    account = report.account
    assert (account["matched"], account["missing"], account["extra"]) == (3, 1, 1)
    assert account["listed"] == {"missing": ["4"], "extra": ["9"]}
    assert report.scores.counts.to_numpy().sum() == 4
    assert report.scores.counts["no_verdict"].sum() == 2
    assert report.summary()["off-label answers"] == ["maybe 1"]


def test_controls_are_scored_as_the_system_is(write):
    """The unclear answers are the unsupported claims: without them majority is 3/4."""
    gold = write("gold.jsonl", labels(*[S] * 6, *[N] * 6))
    answers = write("p.jsonl", labels(*[S] * 5, N, S, N, *["unclear"] * 4))
    blind = write("b.jsonl", labels(*[S] * 11, "unclear"))
    report = score_files(gold, answers, baseline=blind, policy={"off_label": "drop"})
    controls = {name: found["accuracy"] for name, found in report.scores.baselines.items()}
    assert (report.scores["accuracy"].n, report.scores["accuracy"].estimate) == (8, 6 / 8)
    assert {one.n for one in controls.values()} == set(report.comparisons["n"]) == {8} and len(
        controls
    ) == 3
    assert (controls["majority"].estimate, controls["prior"].estimate) == (6 / 8, (36 + 4) / 64)
    assert report.comparisons.set_index("against").loc["majority", "difference"] == 0
    assert score_files(gold, answers).scores.baselines["majority"]["accuracy"].estimate == 0.5
    # Two kinds of negatives are together more than the supported claims.
    gold = write("gold.jsonl", labels(*[S] * 4, *[N] * 3, *[NEI] * 3))
    report = score_files(gold, write("p.jsonl", labels(*[S] * 10)), policy={"nei": "negative"})
    assert report.comparisons.set_index("against").loc["majority", "worse"] == 6
    assert report.scores.baselines["majority"]["accuracy"].estimate == 0.6


def test_bad_files_end_with_one_line(casebook, write, cases):
    wrong = []
    for gold, pred, options, message in cases["refused_labels"]:
        files = write("gold.jsonl", gold), write("pred.jsonl", pred)
        code, _, error = casebook("factcheck", "score", *files, *options)
        if code != 1 or not re.search(message, error) or error.count("\n") != 1:
            wrong.append((message, code, error))
    assert wrong == []


def test_a_log_and_costs_where_something_is_missing(checked):
    """The methods page works the other documented numbers out by hand."""

    def result(levels, seconds=1.0, **more):
        made = checked([[(level, SUPPORTS) for level in levels]], Rule())
        times = {"timings": {"verdict": seconds, "search": 2 * seconds}, "confidence": 0.8}
        return made._replace(**(times | more))

    fast, slow = result([], seconds=0.05, verdict=N), result([], verdict=S)
    logs = [run_log([fast], [S]), run_log([slow], [S]), run_log([])]
    assert [scoring.performance_score(log) for log in logs] == pytest.approx([2.0, 1.2, 0])
    log = run_log([slow, slow, slow._replace(confidence=None)], [None, S, None])
    assert log["accuracy"].tolist() == [0.8, 1.0, 0.0]
    assert log["confidence"].tolist()[:2] == [0.8, 0.8] and np.isnan(log["confidence"][2])
    crashed = fast._replace(verdict=None, error="search: x", timings={})
    many = result(["high", "low", "low", "low"], seconds=3.0)
    table = scoring.performance([result(["high"]), many, result([]), crashed]).set_index("measure")
    document, in_code = table["original"], table["in its code"]
    # Three claims took 3, 9 and 3 seconds, of which the verdict took a third; the fourth crashed.
    assert (document["mean_processing_time"], document["total_processing_time"]) == (15 / 4, 15)
    assert (in_code["mean_processing_time"], in_code["total_processing_time"]) == (5 / 4, 5)
    # 1 of 1, 1 of 4 and 0 of 0 passages are highly credible.
    assert (document["high_credibility_ratio"], in_code["high_credibility_ratio"]) == (2 / 5, 0.625)
    assert document["evidence_per_claim"] == in_code["evidence_per_claim"] == pytest.approx(5 / 3)
    assert np.isnan(scoring.performance([])["original"][0])
    assert set(scoring.performance([])["in its code"]) == {0}


def test_queries_per_claim_are_counted(checked):
    made = checked([[("high", SUPPORTS)]], Rule())
    asked = [made._replace(queries=("a", "b", "c")), made._replace(queries=("a",))]
    crashed = made._replace(verdict=None, error="search: x", queries=("a",) * 9)
    table = scoring.performance([*asked, made._replace(queries=()), crashed]).set_index("measure")
    assert table.loc["queries_per_claim"].tolist() == pytest.approx([4 / 3, 4 / 3])
