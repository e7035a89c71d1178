"""The study of explanations: what is explained, spoilt and detected."""

import csv
import json

import numpy as np
import pytest

from casebook.counterfactual import quality, quality_report
from casebook.counterfactual.corruptions import KINDS, corrupt
from casebook.counterfactual.detection import DETECTORS, scores
from casebook.counterfactual.explained import Explained, explain
from casebook.counterfactual.hard_cases import hard_cases, reading_check
from casebook.counterfactual.rated import for_raters, ratings_note, ratings_table
from casebook.datasets import load
from casebook.errors import InputError
from casebook.measures.faithfulness import inverse_frequency
from casebook.raters.forms import make_likert_forms
from casebook.stats import intervals

SOURCE = (
    "The landlord must return the deposit of 5,000 within 14 days. The tenant may not "
    "sublet the flat. Repairs are the landlord's duty under section 11."
)
RIGHT = "The landlord must return the deposit within 14 days. It says: “The tenant may not sublet the flat.”"


@pytest.fixture(scope="module")
def study():
    return quality.run_quality(explain(load("smoke")))


def test_templates_quote_their_own_source(study):
    made = study.explained
    assert len(made.explanations) == 34 and not made.left_out
    for key, text in made.explanations.items():
        quoted = text.split("“")[1].split("”")[0]
        assert quoted in " ".join(made.sources[made.own[key]].split())
    table = quality_report.quote_table(study).set_index("state")
    assert table.loc["verbatim", "own source"] == 34
    assert table.loc["verbatim", "foreign sources"] == 0


def test_every_defect_changes_what_it_says():
    spoilt = corrupt({"a": RIGHT, "b": "It is so. It says: “Nine men are on 3 boats.”"})
    assert set(spoilt) == set(KINDS)
    assert spoilt["number changed"]["a"] == RIGHT.replace("14", "29")
    assert spoilt["negation turned"]["a"] == RIGHT.replace("may not", "may")
    assert "may not" not in spoilt["foreign sentence"]["a"]
    assert spoilt["quotation stitched"]["a"].endswith("“The tenant may on 3 boats.”")
    none = corrupt({"a": "Rain fell.", "b": "Snow fell."})
    assert none["number changed"] == none["quotation stitched"] == {}


def test_each_detector_sees_its_defect():
    weights = inverse_frequency([SOURCE, "Nine men are on boats."])
    right = scores(RIGHT, SOURCE, weights)
    assert right == pytest.approx(dict.fromkeys(DETECTORS, 1.0) | {"weighted": 1.0}, abs=0.35)
    assert right["mentions"] == right["quotes"] == right["polarity"] == 1.0
    other = {"b": "It is so. It says: “Nine men are on 3 boats.”"}
    spoilt = {k: v["a"] for k, v in corrupt({"a": RIGHT} | other).items()}
    assert scores(spoilt["number changed"], SOURCE, weights)["mentions"] == 0.0
    turned = scores(spoilt["negation turned"], SOURCE, weights)
    assert turned["polarity"] < 1.0 and turned["quotes"] == 0.0
    assert turned["documented"] == pytest.approx(right["documented"], abs=0.1)
    foreign = scores(spoilt["foreign sentence"], SOURCE, weights)
    assert foreign["corrected"] < right["corrected"]
    nothing = scores("It is so.", SOURCE, weights)
    assert nothing["corrected"] is None and nothing["mentions"] is None


def test_numbers_carry_interval_n_and_control(study):
    numbers = quality.score_numbers(study)
    json.dumps(numbers, allow_nan=False)
    for rule in ("documented", "corrected"):
        area, score = numbers[rule]["AUROC"], numbers[rule]["faithfulness"]
        assert area["control"] == 0.5 and area["ci"][0] > 0.5
        assert score["value"] > score["control"]  # foreign sources
        assert score["ci"][0] <= score["value"] <= score["ci"][1] and score["n"] == 34
    for row in study.detection.itertuples():
        assert (row.judged == 0) == (row.auroc is None or np.isnan(row.auroc))
    text = quality_report.answer(study, numbers)
    assert "34 explanations" in text and text.count("\n") == 1 + len(KINDS)


def test_no_count_of_words_sees_a_turned_negation(study):
    """A finding of the chapter, held here on the shipped data."""
    table = study.detection.set_index(["defect", "detector"])["auroc"]
    for detector in ("documented", "corrected", "weighted"):
        assert abs(table["negation turned", detector] - 0.5) < 0.1
    assert table["negation turned", "polarity"] > 0.8
    assert table["number changed", "documented"] == 0.5
    assert table["number changed", "mentions"] > 0.9


def test_provisions_are_held_against_those_of_the_passages():
    explained = Explained(
        "x",
        "x",
        {"a": "Under PDPA s.26C(3)(a) it must.", "b": "See s 4(2) and section 99."},
        {"a": "text", "b": "text"},
        {"a": "a", "b": "b"},
        {"a": "PDPA s.26C(3)", "b": "PDPA s.4(1); PDPA s.7(0)"},
        {},
    )
    table = quality.cited_provisions(explained).set_index(["condition", "state"])
    assert table.loc["matched", "count"].to_dict() == {"exact": 1, "same section": 1, "absent": 1}
    assert table.loc[("mismatched", "absent"), "count"] == 3
    silent = Explained("x", "x", {"a": "s 1"}, {}, {}, {}, {})
    assert quality.cited_provisions(silent).empty


def test_hard_cases_are_read_and_a_plain_pattern_fails():
    table = reading_check(*hard_cases()).set_index(["kind", "reader"])
    assert table["n"].groupby("kind").max().to_dict() == {"quote": 37, "citation": 20, "spelling": 15}
    for kind in ("quote", "citation", "spelling"):
        assert table.loc[(kind, "ours"), "share"] == 1.0
        assert table.loc[(kind, "plain"), "share"] < 0.5


def test_what_cannot_be_explained_says_why(monkeypatch):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    data = load("smoke")
    with pytest.raises(InputError, match="no reference answers"):
        explain(data, "gold")
    with pytest.raises(InputError, match="CASEBOOK_DATA_MIRROR"):
        explain(data, "some_run")
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", "/nowhere")
    with pytest.raises(InputError, match="not allowed"):
        explain(data, "../x")
    with pytest.raises(InputError, match="no stored answers"):
        explain(data, "some_run")
    with pytest.raises(InputError, match="fewest"):
        explain(data, limit=2)


def test_a_limit_draws_and_counts_the_rest():
    made = explain(load("smoke"), limit=20, seed=1)
    assert len(made.explanations) == 20 and made.left_out == {"not drawn": 14}
    again = explain(load("smoke"), limit=20, seed=1)
    assert list(again.explanations) == list(made.explanations)


@pytest.mark.data
def test_stored_answers_are_held_against_what_the_model_was_shown(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    run = "qwen_3_4b__non_reasoning__rag_20251105T164809"
    made = explain(load("pdpabench"), run)
    assert len(made.explanations) == 52 and made.name.endswith(run)
    cited = quality.cited_provisions(made).set_index(["condition", "state"])
    own, other = (cited.loc[(c, "exact"), "share"] for c in ("matched", "mismatched"))
    assert own > 0.5 > other


def test_ratings_of_people_come_back(study, tmp_path):
    assert ratings_table(None, None).empty
    assert "No person" in ratings_note(ratings_table(None, None))
    forms = tmp_path / "study"
    rows = for_raters(study.explained).head(6)
    make_likert_forms(rows, forms, "Pilot", {"R1": "lay", "R2": "expert"}, secret="s" * 32)
    key = next(forms.rglob("key.json"))
    sheets = [p for p in sorted(forms.rglob("*.csv")) if "usefulness" in p.read_text()]
    for number, sheet in enumerate(sheets):
        fill(sheet, 3 + number)
    table = ratings_table(sheets[0].parent, key, n_boot=200)
    assert table["mean"].tolist() == [3.5, 3.5, 3.5] and table["ratings"].sum() == 36
    assert "36 ratings by up to 2 raters" in ratings_note(table)


def fill(path, rating):
    """Give every explanation of a form one rating."""
    text = path.read_text(encoding="utf-8-sig")
    rows = list(csv.reader(text.splitlines()))
    head = next(i for i, row in enumerate(rows) if "usefulness_1_to_5" in row)
    places = [i for i, name in enumerate(rows[head]) if name.endswith("_1_to_5")]
    for row in rows[head + 1 :]:
        for place in places:
            row[place] = str(rating)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def spoilt(text, other="Snow fell."):
    return {kind: made.get("a") for kind, made in corrupt({"a": text, "b": other}).items()}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Pay 0 now.", "Pay 1 now."),
        ("Pay 5,000 now.", "Pay 10001 now."),
        ("Pay 3 of 40 now.", "Pay 3 of 81 now."),  # the last one
        ("Pay within 14 days (7) [8].", "Pay within 29 days (7) [8]."),
        ("Pay 12 under 304B and s.9.", "Pay 25 under 304B and s.9."),
        ("Pay 12 (see note 7) [note 8].", "Pay 25 (see note 7) [note 8]."),
        ("Pay under 304B [2].", None),
        ("Pay 1234 now.", None),  # a year, not an amount
    ],
)
def test_the_last_number_becomes_twice_itself_and_one(text, wrong):
    assert spoilt(text)["number changed"] == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("It may not and shall pay.", "It may not and shall not pay."),
        ("It shall pay and may not.", "It shall pay and may."),
        ("It mayor pays.", None),
    ],
)
def test_the_last_auxiliary_verb_is_turned(text, wrong):
    assert spoilt(text)["negation turned"] == wrong


@pytest.mark.parametrize(
    ("text", "other", "wrong"),
    [
        ("One. Two.", "Three. Four. Five.", "One. Five."),
        ("One: Two? Three! Four.", "Five: Six.", "One: Two? Three! Six."),
        ("One. two.", "Three. four.", "Three. four."),  # no break before a small letter
        ("One. “Two.”", "Three.", "One. Three."),
    ],
)
def test_the_last_sentence_becomes_anothers(text, other, wrong):
    assert spoilt(text, other)["foreign sentence"] == wrong


@pytest.mark.parametrize(
    ("ours", "theirs", "wrong"),
    [
        ("One two three four.", "Five six seven eight.", "One two seven eight."),
        ("One two three four five.", "Six seven eight.", "One two seven eight."),
        ("One two three.", "Four five six seven eight.", "One six seven eight."),
    ],
)
def test_half_of_a_quotation_becomes_anothers(ours, theirs, wrong):
    made = spoilt(f"It says: “{ours}”", f"It says: “{theirs}”")
    assert made["quotation stitched"] == f"It says: “{wrong}”"


def test_resamples_and_seed_reach_every_draw_of_the_chapter(monkeypatch):
    study = quality.run_quality(explain(load("smoke")), n_boot=123, seed=5)
    asked = []
    draw = intervals.resample_counts
    monkeypatch.setattr(
        intervals,
        "resample_counts",
        lambda units, n_boot, seed: asked.append((n_boot, seed)) or draw(units, n_boot, seed),
    )
    noted = []
    monkeypatch.setattr(intervals, "check_count", lambda name, n: noted.append(n))
    numbers = quality.score_numbers(study)
    quality_report.rule_table(study, numbers)
    assert len(study.sweep) and len(study.lengths()) and len(study.sentences())
    assert set(noted) == {123}
    assert set(asked) == {(123, 5)}
