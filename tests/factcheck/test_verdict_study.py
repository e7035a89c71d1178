"""The chapter's studies on real sets, and its tables on verdicts made by hand."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from casebook import plots
from casebook.errors import InputError
from casebook.factcheck import verdict_report as report
from casebook.factcheck import verdict_rows, verdict_tables
from casebook.factcheck.study_sets import run_study
from casebook.factcheck.verdict_study import WRONG, VerdictStudy

S, N, NEI = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT"


@pytest.fixture
def study():
    """Eight claims in four groups: one unparsed answer, one crash, one abstention."""
    rows = pd.DataFrame(
        {
            "id": [f"c{n}" for n in range(8)],
            "label": [S, N, S, N, S, N, S, NEI],
            "group": list("aabbccdd"),
            "hops": ["1", "1", "2", "2", "1", "1", "2", "0"],
        }
    )
    verdicts = {"pipeline": [S, N, S, "well", None, N, NEI, NEI], "claim only": [S, S, S, S, N, N, S, S]}
    stated = [0.9, 0.8, 0.7, None, None, 0.6, None, None]
    return VerdictStudy(
        "toy",
        rows,
        verdicts,
        WRONG | {"nei": "three_class"},
        blind=("claim only",),
        slices=("hops",),
        confidence={"pipeline": stated},
        found=[True, True, True, False, False, True, False, None],
        facts={"documents": 3},
    )


def test_policies_of_the_two_class_question(study):
    scores, two = study.scores(n_boot=50), study.two_class(n_boot=50)
    assert scores["pipeline"]["accuracy"].estimate == 5 / 8
    values = {k: m["accuracy"].estimate for k, m in two["pipeline"].policies.items()}
    assert values == pytest.approx({"wrong": 4 / 7, "drop": 1.0, "negative": 5 / 7})
    tables = verdict_rows.confusions(scores["pipeline"], two["pipeline"])
    assert tables["all outcomes"].to_numpy().sum() == 8
    assert tables["wrong"].loc[S].tolist() == [2, 0, 2]
    assert tables["negative"].loc[N].tolist() == [0, 3, 0]


def test_the_answer_names_what_the_tables_say(study):
    scores, two = study.scores(n_boot=200), study.two_class(n_boot=200)
    text = report.answer(study, scores, two, study.comparisons())
    assert "accuracy 0.625" in text
    assert "Of 7 claims that are SUPPORTED or NOT\\_SUPPORTED 3 get neither" in text
    assert "pipeline minus claim only: +0.125" in text
    assert "57.1% of 7 claims" in text


def test_tables_of_the_chapter(study):
    scores = study.scores(n_boot=50)
    systems = verdict_tables.systems_table(study, scores)
    assert systems["system"].tolist() == ["pipeline", "claim only", "majority", "prior"]
    assert systems["parse rate"].tolist()[0] == 6 / 8
    slices = verdict_rows.slice_rows(study, scores).set_index("row")
    assert slices.loc["hops: 0", ["value", "control", "n"]].tolist() == [1.0, 1.0, 1]
    assert slices.loc["hops: 2", "control"] == pytest.approx(2 / 3)
    assert 0 < slices.loc["hops: 0", "low"] < 1
    evidence = verdict_tables.evidence_table(study).set_index("evidence")
    assert evidence["accuracy"].to_dict() == {"found": 1.0, "not found": 0.0}
    parity = verdict_tables.parity_table(scores["pipeline"]).set_index("documented")
    assert parity.loc["f1", "S"] == pytest.approx(0.8)  # the crash counts as negative
    assert parity.loc["f1", "value"] == pytest.approx(2 * 2 / (2 + 4))
    assert verdict_tables.outcome_table(scores).loc[0, "no_verdict"] == 1
    assert verdict_rows.effect_rows(study)[1].empty
    assert verdict_tables.reported_table(study).empty


def test_confidence_and_rows_keep_every_claim(study):
    found = study.calibrated(n_boot=20)
    assert (found.n, found.missing) == (4, 4)
    assert found.curve["coverage"].max() == 0.5
    tidy = study.tidy()
    assert len(tidy) == 16
    assert tidy["verdict"].isna().sum() == 1
    numbers = verdict_tables.verdict_numbers(study, study.scores(n_boot=20), found)
    assert numbers["toy"]["pipeline"]["brier"]["n"] == 4
    assert set(numbers["toy"]["claim only"]["accuracy"]) == {*("value", "ci", "n", "control", "reason")}


def test_figures_can_be_drawn_even_of_nothing(study):
    scores, two = study.scores(n_boot=20), study.two_class(n_boot=20)
    systems = verdict_rows.measure_rows(verdict_tables.systems_table(study, scores))
    found = study.calibrated(n_boot=20)
    made = [
        plots.interval_rows(systems, "value"),
        plots.interval_rows(verdict_rows.effect_rows(study)[1], "change"),
        plots.interval_rows(verdict_rows.slice_rows(study, scores), "x", limits=(0, 1)),
        plots.confusion_matrices(verdict_rows.confusions(scores["pipeline"], two["pipeline"])),
        plots.reliability(found.bins, found.curve, found.n, found.missing),
    ]
    assert all(figure.axes for figure in made)
    plt.close("all")


def test_unknown_sets_are_named():
    with pytest.raises(InputError, match="no verdicts for 'smoke'"):
        run_study("smoke")


@pytest.mark.data
def test_climate_fever_rules(mirror, monkeypatch):
    """Any/any reproduces every label; the documented vote finds 166 of 654."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    found = run_study("climate_fever_claims")
    scores = found.scores(n_boot=20)
    assert scores["any/any"]["accuracy"].estimate == 1.0
    counts = scores["documented vote"].counts
    assert (counts.loc[S, S], counts.loc[S].sum()) == (166, 654)
    other = scores["vote without neutral"].counts
    assert other.loc[S, S] == 654
    assert other[S].sum() - 654 == 25


@pytest.mark.data
def test_hover_gives_little_away_by_its_wording(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    scores = run_study("hover").two_class(n_boot=100)
    assert 0.49 < scores["claim only"]["accuracy"].low < 0.56
    assert {*scores["claim only"].groups["hops"]} == {"2", "3", "4"}
