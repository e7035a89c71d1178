"""What the chapter shows: computed tables, and a truth that is found again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from casebook.raters.numbers import numbers
from casebook.raters.published import further_agreement
from sklearn.metrics import cohen_kappa_score

from casebook.raters import analysis as report
from casebook.raters.analysis import Options, analyse, side_sentence
from casebook.raters.documented import example_votes
from casebook.raters.simulate import Truth, rehearse

QUICK = Options(resamples=300, permutations=19)


@pytest.fixture(scope="module")
def example():
    found, name = report.analyse_panel(options=QUICK)
    assert name == "reconstruction"
    return found


def test_documented_numbers_stand_beside_corrected_ones(example):
    table = report.documented_beside(example).set_index("documented")
    signs = table.loc["p_value_sign_test"]
    assert signs["its value"].tolist() == [0.00020218969307107758] * 2
    assert signs["its n"].tolist() == [113 + 63] * 2
    assert signs["value"].tolist() == pytest.approx([0.004258, 0.16529], abs=5e-6)
    assert table.loc["fleiss_kappa", "its value"] == 0.13
    assert table.loc["fleiss_kappa", "its n"] == 50
    assert table.loc["factuality_mean, RAG minus BASE", "its n"] == 200
    assert table.loc["factuality_mean, RAG minus BASE", "value"] == pytest.approx(0.545)
    control = table.loc["raw_observed_agreement", "control"]
    assert control == pytest.approx(0.43284999999999996)


def test_numbers_have_value_interval_n_control_and_reason(example):
    beside = report.documented_beside(example)
    found = json.loads(json.dumps(numbers(example, beside)))
    assert set(found) == {"panel", "documented"}
    for measures in found.values():
        for number in measures.values():
            assert set(number) == {"value", "ci", "n", "control", "reason"}
            assert (None in number["ci"]) == (number["reason"] is not None)
    # Chance of two votes to agree, from the shares of 113, 63 and 24 of 200 votes.
    chance = (113**2 + 63**2 + 24**2) / 200**2
    assert found["panel"]["percent_agreement"]["control"] == pytest.approx(chance)
    assert found["panel"]["fleiss_kappa"]["control"] == 0
    rate = found["panel"]["win rate"]
    assert rate["ci"][0] < 0.5 < rate["value"] < rate["ci"][1]


def test_the_panel_is_described_and_checked(example):
    rows = report.about(example).set_index("item")["value"]
    assert rows["votes"] == 200 and rows["missing votes"] == 0
    checked = report.check_table(example).set_index("check")
    assert checked.loc["share of left answers", "n"] == 176
    assert "0.506" in side_sentence(example)


def test_cohens_kappa_stands_for_every_pair(example):
    pairs = report.kappa_pairs(example).set_index(["rater", "and rater"])
    votes = example.panel.votes
    assert len(pairs) == 6
    for (one, other), row in pairs.iterrows():
        assert row["kappa"] == pytest.approx(cohen_kappa_score(votes[one], votes[other]), abs=1e-12)
        assert row["kappa low"] < row["kappa"] < row["kappa high"]


def test_one_rater_is_described_without_pairs():
    votes = example_votes()
    frame = votes.frame[votes.frame["rater"] == "rater2"]
    one = replace(votes, frame=frame, raters=("rater2",))
    found = analyse(one, options=QUICK)
    assert found.tables["duplicates"].empty and report.kappa_pairs(found).empty
    checked = report.check_table(found).set_index("check")
    assert checked.loc["share of left answers", "n"] == 43
    known = numbers(found, report.documented_beside(found))
    assert known["panel"]["win rate"]["reason"] == "fewer_than_three_raters"
    assert known["panel"]["fleiss_kappa"]["value"] is None


def test_returned_forms_take_the_place_of_the_example(study, returned, monkeypatch):
    monkeypatch.setattr(report, "analyse", lambda *given: given)
    found, name = report.analyse_panel(returned, study, options=QUICK)
    votes, other, options = found
    assert name == "forms" and votes.systems == ("grounded", "plain") and other is None
    assert options == replace(QUICK, margin=(0.45, 0.55))


def test_the_truth_of_a_simulated_panel_is_covered():
    truth = Truth(effect=1.0, item_sd=1.0, rater_sd=0.3, left=0.4)
    options = Options(resamples=500, permutations=19)
    table = rehearse(60, 6, truth=truth, options=options, seed=2).recovery()
    rows = table.set_index("quantity")
    assert rows.loc["win rate, item and rater drawn anew", "covered"]
    assert rows.loc["systems told apart by their text", "covered"]


def test_without_a_data_set_there_is_no_further_agreement():
    table, caveats = further_agreement(None)
    assert table.empty and caveats == []


@pytest.mark.data
def test_published_agreement_of_the_vader_lexicon(mirror, monkeypatch, require):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    require("vader_lexicon")
    table, caveats = further_agreement("vader_lexicon", n_boot=50)
    found = table.set_index("coefficient")["estimate"]
    expected = {
        "krippendorff_alpha": 0.726,
        "icc_1_1": 0.726,
        "icc_1_k": 0.964,
        "fleiss_kappa": 0.232,
        "fleiss_kappa, sign only": 0.630,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=5e-4), name
    assert np.isnan(table["new_panel_low"]).all()
    assert any("positions, not persons" in text for text in caveats)
