"""The study of explanations: what is explained, spoilt and detected."""

from dataclasses import replace

import pytest

from casebook.data import load
from casebook.errors import InputError
from casebook.explain.study import (
    DETECTORS,
    Explained,
    cited_provisions,
    corrupt,
    detect,
    detection_contrasts,
    explain,
    explanation_truth,
    scored_copies,
    scores,
)
from casebook.measures.faithfulness import inverse_frequency
from casebook.measures.quotations import quote_states
from casebook.sensitivity.cases import read_gold

SOURCE = (
    "The landlord must return the deposit of 5,000 within 14 days. The tenant may not "
    "sublet the flat. Repairs are the landlord's duty under section 11."
)
RIGHT = "The landlord must return the deposit within 14 days. It says: “The tenant may not sublet the flat.”"


@pytest.fixture(scope="module")
def explained():
    return explain(load("smoke"))


@pytest.fixture(scope="module")
def detected(explained):
    weights = inverse_frequency([explained.sources[key] for key in sorted(set(explained.own.values()))])
    return detect(scored_copies(explained, weights)).set_index(["defect", "detector"])


def test_templates_quote_their_own_source(explained):
    assert len(explained.explanations) == 34 and not explained.left_out
    for key, text in explained.explanations.items():
        own = {"own": explained.sources[explained.own[key]]}
        assert [quote.state for quote in quote_states(text, own)] == ["verbatim"]


def test_each_detector_sees_its_defect():
    weights = inverse_frequency([SOURCE, "Nine men are on boats."])
    right = scores(RIGHT, SOURCE, weights)
    assert tuple(right) == DETECTORS
    assert right["mentions"] == right["quotes"] == right["polarity"] == 1.0
    other = {"b": "It is so. It says: “Nine men are on 3 boats.”"}
    spoilt = {k: v["a"] for k, v in corrupt({"a": RIGHT} | other).items()}
    assert scores(spoilt["number changed"], SOURCE, weights)["mentions"] == 0.0
    turned = scores(spoilt["negation turned"], SOURCE, weights)
    assert turned["polarity"] < 1.0 and turned["quotes"] == 0.0
    assert turned["documented"] == pytest.approx(right["documented"], abs=0.1)
    assert scores(spoilt["foreign sentence"], SOURCE, weights)["corrected"] < right["corrected"]
    nothing = scores("It is so.", SOURCE, weights)
    assert nothing["corrected"] is None and nothing["mentions"] is None


def test_no_count_of_words_sees_a_turned_negation(detected):
    """A finding of the chapter, held here on the shipped data."""
    area = detected["auroc"]
    for detector in ("documented", "corrected", "weighted"):
        assert abs(area["negation turned", detector] - 0.5) < 0.1
    assert area["negation turned", "polarity"] > 0.8
    assert area["number changed", "documented"] == 0.5
    assert area["number changed", "mentions"] > 0.9
    assert (detected["judged"] <= detected["n"]).all()
    assert ((detected["judged"] == 0) == area.isna()).all()


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
    table = cited_provisions(explained).set_index(["condition", "state"])
    assert table.loc["matched", "count"].to_dict() == {"exact": 1, "same section": 1, "absent": 1}
    assert table.loc[("mismatched", "absent"), "count"] == 3
    assert cited_provisions(replace(explained, cited={})).empty


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
    assert list(explain(load("smoke"), limit=20, seed=1).explanations) == list(made.explanations)
    assert list(explain(load("smoke"), limit=20, seed=2).explanations) != list(made.explanations)


def test_sentences_of_the_explainer_are_explanations_too():
    made = explain(load("planted"), "explainer", limit=10)
    assert made.name == "planted.corrected_explainer" and len(made.explanations) == 10
    assert all(text.startswith(("Both", "The ", "Terms")) for text in made.explanations.values())
    documented = explain(load("planted"), "documented explainer", limit=10)
    assert documented.name == "planted.documented_explainer" and documented.kind != made.kind


@pytest.mark.data
def test_stored_answers_are_held_against_what_the_model_was_shown(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    run = "qwen_3_4b__non_reasoning__rag_20251105T164809"
    made = explain(load("pdpabench"), run)
    assert len(made.explanations) == 52 and made.name.endswith(run)
    cited = cited_provisions(made).set_index(["condition", "state"])
    own, other = (cited.loc[(c, "exact"), "share"] for c in ("matched", "mismatched"))
    assert own > 0.5 > other


def test_corrected_sentences_are_true_more_often_than_documented_ones():
    gold = read_gold()
    table = explanation_truth([one for one in gold if one.split == "heldout"][:16]).set_index(["rules", "kind"])
    ours, parity = (table.loc[(rules, "petitioner")] for rules in ("corrected", "documented"))
    assert ours["value"] > parity["value"]
    assert ours["value"] > 2 * ours["control"]
    with pytest.raises(InputError, match="at least two"):
        explanation_truth(gold[:1])


SPOILT = [
    ("number changed", "Pay 0 now.", "", "Pay 1 now."),
    ("number changed", "Pay 5,000 now.", "", "Pay 10001 now."),
    ("number changed", "Pay 3 of 40 now.", "", "Pay 3 of 81 now."),  # the last one
    ("number changed", "Pay within 14 days (7) [8].", "", "Pay within 29 days (7) [8]."),
    ("number changed", "Pay 12 under 304B and s.9.", "", "Pay 25 under 304B and s.9."),
    ("number changed", "Pay 12 (see note 7) [note 8].", "", "Pay 25 (see note 7) [note 8]."),
    ("number changed", "Pay under 304B [2].", "", None),
    ("number changed", "Pay 1234 now.", "", None),  # a year, not an amount
    ("negation turned", "It may not and shall pay.", "", "It may not and shall not pay."),
    ("negation turned", "It shall pay and may not.", "", "It shall pay and may."),
    ("negation turned", "It mayor pays.", "", None),
    ("foreign sentence", "One. Two.", "Three. Four. Five.", "One. Five."),
    ("foreign sentence", "One: Two? Three! Four.", "Five: Six.", "One: Two? Three! Six."),
    ("foreign sentence", "One. two.", "Three. four.", "Three. four."),  # no break before a small letter
    ("foreign sentence", "One. “Two.”", "Three.", "One. Three."),
    ("quotation stitched", "“One two three four.”", "“Five six seven eight.”", "“One two seven eight.”"),
    ("quotation stitched", "“One two three four five.”", "“Six seven eight.”", "“One two seven eight.”"),
    ("quotation stitched", "“One two three.”", "“Four five six seven eight.”", "“One six seven eight.”"),
]


@pytest.mark.parametrize(("defect", "text", "other", "wrong"), SPOILT)
def test_the_last_place_that_allows_a_defect_gets_it(defect, text, other, wrong):
    assert corrupt({"a": text, "b": other or "Snow fell."})[defect].get("a") == wrong


def test_a_swapped_source_is_noticed_and_contrasted_on_the_same_copies(explained):
    copies = scored_copies(explained, inverse_frequency(list(explained.sources.values())))
    table = detect(copies).set_index(["defect", "detector"])
    assert table.loc[("source swapped", "corrected"), "auroc"] > 0.9
    assert (copies.groupby(["defect", "key"])["original"].sum() == 1).all()
    for row in detection_contrasts(copies).itertuples():
        ours, rule = (table.loc[(row.defect, name), "auroc"] for name in ("corrected", "documented"))
        assert (row.level, row.baseline) == pytest.approx((ours, rule))
        assert row.difference == pytest.approx(ours - rule) and not row.low > row.difference
