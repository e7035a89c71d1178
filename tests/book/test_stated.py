"""What documents state is held against the same quantity, by rule, and all cells are computed."""

import json
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from toy_records import seal

from casebook import paths
from casebook.book.results import read_chapters
from casebook.book.stated import (
    Measurement,
    filled,
    measured,
    read_stated,
    stated_page,
    verdicts,
)
from casebook.paths import run_dir

CELL = "factcheck_confusion-smoke"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a function that writes contrasts and numbers of a run."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path)

    def write(numbers=None, contrasts=None):
        for kind, content in (("numbers", numbers), ("contrasts", contrasts)):
            (tmp_path / "mine" / kind).mkdir(parents=True, exist_ok=True)
            (tmp_path / "mine" / kind / f"{CELL}.json").write_text(json.dumps(content or {}))
        (tmp_path / "mine" / "notebooks").mkdir(exist_ok=True)
        (tmp_path / "mine" / "notebooks" / f"{CELL}.ipynb").write_text('{"cells": []}')
        seal(tmp_path / "mine")
        return "mine"

    return write


def number(value, low=None, high=None, **more):
    return {"value": value, "ci": [low, high], "n": 100, "control": 0.5, "reason": None} | more


def judge(rule, *values, dataset="mine", reason=None, **row):
    """Give the verdict on (stated, value, low, high)."""
    stated_values = [{"name": "share", "stated": value[0], "rounding": 0.0005} for value in values]
    numbers = [
        SimpleNamespace(
            **dict(zip(("value", "low", "high"), (*value[1:], None, None), strict=False)),
            reason=reason,
        )
        for value in values
    ]
    found = Measurement(dataset, "cell", numbers, {})
    return ", ".join(verdicts({"rule": rule, "values": stated_values, **row}, found))


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("inside", (0.1, 0.2, 0.05, 0.3), "not contradicted"),
        ("inside", (0.0, 0.65, 0.6, 0.7), "contradicted"),
        ("inside", (0.1, 0.2, None, None), "undecided"),
        ("inside", (-0.1, None, None, None), "cannot be measured"),
        ("above 0", ("above 0", 0.1, 0.02, 0.2), "confirmed"),
        ("above 0", (0.13, 0.13, -0.1, 0.4), "undecided"),
        ("above 0", (0.1, -0.2, -0.3, -0.1), "contradicted"),
        ("above 0", (0.1, -0.2, -0.3, 0.0), "contradicted"),
        ("above 0", (0.1, 0.2, 0.0, 0.3), "undecided"),
        ("below 0", ("below 0", -0.1, -0.2, -0.02), "confirmed"),
        ("below 0", ("below 0", 0.1, 0.02, 0.2), "contradicted"),
        ("below 0", ("below 0", -0.1, -0.2, 0.02), "undecided"),
        ("below 0", (-0.1, -0.1, -0.2, 0.0), "undecided"),
        ("below 0", (-0.1, 0.1, 0.0, 0.2), "contradicted"),
        ("above 0.9", (0.9, 0.95, None, None), "undecided"),
        ("above 0.9", (0.9, 0.95, 0.91, 0.99), "confirmed"),
        ("above 0.9", (0.9, 0.95, 0.89, 0.99), "undecided"),
        ("below 0.9", (0.9, 0.85, 0.8, 0.89), "confirmed"),
        ("below 0.9", (0.9, 0.95, 0.91, 0.99), "contradicted"),
        ("equal", (0.13, 0.1304), "reproduced"),
        ("equal", (0.13, 0.1306), "contradicted"),
    ],
)
def test_the_rule_and_the_interval_give_the_verdict(rule, value, expected):
    assert judge(rule, value) == expected


def test_a_stated_gain_that_no_row_shows_is_no_difference():
    assert judge("inside", (0.13, 0.0), reason="no_unit_differs") == "no difference"


def test_each_value_has_its_verdict():
    values = [(-12, -18, -28, -9), (-8, 0, -3, 3), (-15, None, None, None), (-10, -7, -14, -1)]
    words = ["not contradicted", "contradicted", "cannot be measured", "not contradicted"]
    assert judge("inside", *values).split(", ") == words


def test_data_that_were_made_to_have_a_value_confirm_nothing():
    assert (
        judge("equal", (0.13, 0.13), dataset="reconstruction", constructed=["reconstruction"])
        == "by construction"
    )
    assert (
        judge("equal", (0.13, 0.13), dataset="votes", constructed=["reconstruction"])
        == "reproduced"
    )


def test_cells_are_read_from_the_run_and_sentences_filled(run):
    parts = {
        "decomposition": (0.18, 0.08, 0.28, None),
        "query diversity": (0.0, -0.1, 0.1, None),
        "credibility weighting": (None, None, None, "all sources have one class"),
        "three stages": (0.07, -0.03, 0.17, None),
    }
    names = ("difference", "low", "high", "reason")
    rows = [
        {"system": "pipeline", "against": f"without {part}", "n": 100}
        | dict(zip(names, values, strict=True))
        for part, values in parts.items()
    ]
    systems = {"pipeline": {"accuracy": number(0.8, 0.7, 0.9)}}
    name = run(
        {"factcheck_parts": {"factcheck_claims": systems}},
        {"factcheck_parts": {"factcheck_claims": {"accuracy": rows}}},
    )
    text = BeautifulSoup(stated_page(read_chapters(name)), "html.parser").get_text(" ")
    measured_values = ["18 [8, 28]", "0 [-10, 10]", "7 [-3, 17]"]
    assert all(f"measured {value}" in text for value in measured_values)
    assert "stated 15, cannot be measured (all sources have one class)" in text
    assert "stated 12, measured 18" in text and text.count("not contradicted") == 3
    assert "in our own pipeline on 100 claims" in text
    assert text.index("Each of four components") < text.index("not measured in this run")


def test_other_data_contradict_no_statement_and_every_data_set_is_shown(run):
    gain = {"system": "rrf", "difference": 0.05, "low": 0.01, "high": 0.09, "n": 40}
    loss = gain | {"difference": -0.05, "low": -0.09, "high": -0.01}
    measures = {}
    for dataset, rows in {"consumer_contracts_qa": gain, "privacy_qa": loss}.items():
        against = [rows | {"against": name} for name in ("bm25", "dense")]
        measures[dataset] = {"R@10": against}
    page = stated_page(read_chapters(run(None, {"retrieval_ablation": measures})))
    first = BeautifulSoup(page, "html.parser").select_one("li.question-row")
    assert "Neither ranked list alone" in first.text
    words = [word.text for word in first.select(".verdict")]
    assert words == ["holds here too"] * 2 + ["differs here"] * 2
    assert "On ConsumerContractsQA (40 questions) fusion differs from BM25 by +0.050" in first.text
    assert "On PrivacyQA (40 questions) fusion differs from BM25 by -0.050" in first.text


def test_what_cannot_be_measured_has_its_reason():
    for row in read_stated():
        if row["rule"] == "cannot":
            assert len(filled(row["why"])) == len(row["why"]), row["statement"]


def test_what_data_were_made_to_have_is_not_drawn(run):
    systems = {"documented": {"fleiss_kappa": number(0.13)}}
    for dataset, marks in {"pdpabench_votes": 1, "reconstruction": 0}.items():
        page = stated_page(read_chapters(run({"rater_agreement": {dataset: systems}})))
        assert len(BeautifulSoup(page, "html.parser").select(".mark")) == marks


def test_every_row_of_the_smoke_run_repeats_its_stored_numbers():
    """Read the stored files in another way than the page does."""
    for row in read_stated():
        pairs = []
        for found in measured(read_chapters("smoke"), row):
            pairs += zip([found.dataset] * 9, row["values"], found.numbers, strict=False)
        for dataset, where, got in pairs:
            if "number" in where:
                system, measure = where["number"]
                tree = json.loads((run_dir("smoke") / "numbers.json").read_text())
                stored = tree[row["experiment"]][dataset][system][measure]
                assert [got.value, got.low, got.high] == [stored["value"], *stored["ci"]]
            else:
                measure, *pair = where["contrast"]
                tree = json.loads((run_dir("smoke") / "contrasts.json").read_text())
                (stored,) = [
                    r
                    for r in tree[row["experiment"]][dataset][measure]
                    if [r["system"], r["against"]] == pair
                ]
                assert [got.value, got.low, got.high] == [
                    stored["difference"],
                    stored["low"],
                    stored["high"],
                ]
