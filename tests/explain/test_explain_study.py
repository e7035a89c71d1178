"""The study of explanations: what is explained, spoilt and detected."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from casebook.data import load
from casebook.data.cards import card_of
from casebook.errors import InputError
from casebook.explain.items import DEFECTS, STANDARD, explanation_items
from casebook.explain.study import (
    DETECTOR_CONTRASTS,
    DETECTORS,
    FAITHFULNESS,
    Explained,
    cited_provisions,
    corrupt,
    detect,
    detection_answer,
    detection_contrasts,
    detector_scores,
    explain_dataset,
    score_explanations,
    scored_copies,
)
from casebook.measures.faithfulness import inverse_frequency
from casebook.measures.quotations import quote_states
from casebook.runs.headlines import Headline
from casebook.verdicts import verdict_of

SOURCE = (
    "The landlord must return the deposit of 5,000 within 14 days. The tenant may not "
    "sublet the flat. Repairs are the landlord's duty under section 11."
)
RIGHT = (
    "The landlord must return the deposit within 14 days. "
    "It says: “The tenant may not sublet the flat.”"
)


@pytest.fixture(scope="module")
def explained():
    return explain_dataset(load("smoke"))


@pytest.fixture(scope="module")
def detected(explained):
    weights = inverse_frequency(
        [explained.sources[key] for key in sorted(set(explained.source_of.values()))]
    )
    return detect(scored_copies(explained, weights)).set_index(["defect", "detector"])


def test_templates_quote_their_own_source(explained):
    assert len(explained.explanations) == 34 and not explained.left_out
    for key, text in explained.explanations.items():
        own = explained.sources[explained.source_of[key]]
        assert [state for _, state in quote_states(text, [own])] == ["verbatim"]


def test_each_detector_sees_its_defect():
    weights = inverse_frequency([SOURCE, "Nine men are on boats."])
    right = detector_scores(RIGHT, SOURCE, weights)
    assert tuple(right) == tuple(DETECTORS)
    assert right["mentions"] == right["quotes"] == right["polarity"] == 1.0
    other = {"b": "It is so. It says: “Nine men are on 3 boats.”"}
    spoilt = {k: v["a"] for k, v in corrupt({"a": RIGHT} | other).items()}
    assert detector_scores(spoilt["number changed"], SOURCE, weights)["mentions"] == 0.0
    turned = detector_scores(spoilt["negation turned"], SOURCE, weights)
    assert turned["polarity"] < 1.0 and turned["quotes"] == 0.0
    assert turned["documented"] == pytest.approx(right["documented"], abs=0.1)
    assert (
        detector_scores(spoilt["foreign sentence"], SOURCE, weights)["corrected"]
        < right["corrected"]
    )
    nothing = detector_scores("It is so.", SOURCE, weights)
    assert nothing["corrected"] is None and nothing["mentions"] is None
    assert nothing["documented faithfulness"] is None and nothing["code faithfulness"] == 0.0


def test_faithfulness_is_the_share_of_grounded_sentences_and_not_the_mean_share():
    """Two of three sentences have half of their words in the source: 2/3 grounded, share 1/3."""
    source = "The tenant pays. The insurer refunds."
    text = "Tenant sings. Insurer sings. Whales sing."
    found = detector_scores(text, source, inverse_frequency([source]))
    for rule in ("documented", "code", "corrected"):
        assert found[f"{rule} faithfulness"] == pytest.approx(2 / 3)
        assert found[rule] == pytest.approx(1 / 3)


def test_no_count_of_words_sees_a_turned_negation(detected):
    """A finding of the chapter, held here on the shipped data."""
    area = detected["auroc"]
    for detector in [*FAITHFULNESS, "documented", "corrected", "weighted"]:
        assert abs(area["negation turned", detector] - 0.5) < 0.1
    for detector in FAITHFULNESS:  # every copy scores as its original
        row = detected.loc[("negation turned", detector)]
        assert np.isnan(row["low"]) and np.isnan(row["high"]) and row["reason"] == "no_unit_differs"
    assert area["negation turned", "polarity"] > 0.8
    assert area["number changed", "documented"] == pytest.approx(0.5, abs=1e-12)
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
        explain_dataset(data, "gold")
    stored = replace(data, key="pdpabench")  # of which runs of answers are published
    with pytest.raises(InputError, match="CASEBOOK_DATA_MIRROR"):
        explain_dataset(stored, "some_run")
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", "/nowhere")
    with pytest.raises(InputError, match="not allowed"):
        explain_dataset(stored, "../x")
    with pytest.raises(InputError, match="no stored answers"):
        explain_dataset(stored, "some_run")
    # Documents of one text are one source.
    same = replace(data, documents=data.documents.assign(text="One text."))
    for dataset, limit in ((data, 2), (same, None)):
        with pytest.raises(InputError, match=r"source\(s\) with an explanation, 5 are the fewest"):
            explain_dataset(dataset, limit=limit)
    with pytest.raises(InputError, match="explanations: 'nope': choose from template, gold"):
        explain_dataset(data, "nope")


def test_a_limit_draws_and_counts_the_rest():
    made = explain_dataset(load("smoke"), limit=20, seed=1)
    assert len(made.explanations) == 20 and made.left_out == {"not drawn": 14}
    assert list(explain_dataset(load("smoke"), limit=20, seed=1).explanations) == list(
        made.explanations
    )
    assert list(explain_dataset(load("smoke"), limit=20, seed=2).explanations) != list(
        made.explanations
    )


def test_sentences_of_the_explainer_are_explanations_too():
    made = explain_dataset(load("planted"), "explainer", limit=10)
    assert made.name == "planted.corrected_explainer" and len(made.explanations) == 10
    assert all(text.startswith(("Both", "The ", "Terms")) for text in made.explanations.values())
    documented = explain_dataset(load("planted"), "documented explainer", limit=10)
    assert documented.name == "planted.documented_explainer" and documented.kind != made.kind


@pytest.mark.data
def test_stored_answers_are_held_against_what_the_model_was_shown(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    run = "qwen_3_4b__non_reasoning__rag_20251105T164809"
    made = explain_dataset(load("pdpabench"), run)
    assert len(made.explanations) == 52 and made.name.endswith(run)
    cited = cited_provisions(made).set_index(["condition", "state"])
    own, other = (cited.loc[(c, "exact"), "share"] for c in ("matched", "mismatched"))
    assert own > 0.5 > other


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
    (
        "foreign sentence",
        "One. two.",
        "Three. four.",
        "Three. four.",
    ),  # no break before a small letter
    ("foreign sentence", "One. “Two.”", "Three.", "One. Three."),
    (
        "quotation stitched",
        "“One two three four.”",
        "“Five six seven eight.”",
        "“One two seven eight.”",
    ),
    (
        "quotation stitched",
        "“One two three four five.”",
        "“Six seven eight.”",
        "“One two seven eight.”",
    ),
    (
        "quotation stitched",
        "“One two three.”",
        "“Four five six seven eight.”",
        "“One six seven eight.”",
    ),
]


@pytest.mark.parametrize(("defect", "text", "other", "wrong"), SPOILT)
def test_the_last_place_that_allows_a_defect_gets_it(defect, text, other, wrong):
    assert corrupt({"a": text, "b": other or "Snow fell."})[defect].get("a") == wrong


def test_a_swapped_source_is_noticed_and_contrasted_on_the_same_copies(explained):
    copies = scored_copies(explained, inverse_frequency(list(explained.sources.values())))
    table = detect(copies).set_index(["defect", "detector"])
    assert table.loc[("source swapped", "corrected faithfulness"), "auroc"] > 0.9
    assert (copies.groupby(["defect", "key"])["original"].sum() == 1).all()
    contrasts = detection_contrasts(copies, margin=0.05)
    assert len(contrasts) == 5 * len(DETECTOR_CONTRASTS)
    for row in contrasts.itertuples():
        ours, rule = (table.loc[(row.defect, name), "auroc"] for name in (row.system, row.against))
        assert (row.level, row.baseline) == pytest.approx((ours, rule))
        assert row.difference == pytest.approx(ours - rule) and not row.low > row.difference
        assert np.isnan(row.low) or row.low < row.high  # no interval of width 0
        assert (row.verdict == "no difference") == (row.reason == "no_unit_differs")


def made_copies(defect, pairs, rows=12):
    """Scored copies of which the detectors give each original and its copy the scores of a pair."""
    table = []
    for i in range(rows):
        for original in (True, False):
            known = {"defect": defect, "key": f"e{i}", "source": f"s{i}", "original": original}
            table.append(
                known | {name: float(pair(i)[not original]) for name, pair in pairs.items()}
            )
    return pd.DataFrame(table, columns=["defect", "key", "source", "original", *DETECTORS]).astype(
        dict.fromkeys(DETECTORS, float)
    )


def blind(i):
    return (0.5 + i / 100, 0.5 + i / 100)


def seeing(i):
    return (0.9, 0.1) if i % 6 else (0.5, 0.5)


def answered(row, margin):
    return Headline.of(row, "Is it noticed?", dataset="mine", **detection_answer(row, margin))


def headline(pairs, against="code faithfulness", margin=0.05, rows=12):
    found = detection_contrasts(made_copies("negation turned", pairs, rows), margin).set_index(
        "against"
    )
    row = found.loc[against].to_dict() | {"against": against}
    return answered(row, margin)


def test_the_answer_tells_both_sides():
    """Where COUNTERCASE's measure is better, the answer says so as loudly as where ours is."""
    ours = headline({"corrected faithfulness": seeing, "code faithfulness": blind})
    theirs = headline({"corrected faithfulness": blind, "code faithfulness": seeing})
    assert ours.verdict == "helps" and ours.sentence.startswith("Yes: +0.")
    assert theirs.verdict == "hurts" and theirs.sentence.startswith(
        "No, COUNTERCASE's notices it better: -0."
    )
    assert theirs.value == pytest.approx(-ours.value) and theirs.word == "COUNTERCASE better"
    assert (
        "AUROC of faithfulness against COUNTERCASE's rule in its code (standard 0.500"
        in theirs.sentence
    )


def test_two_measures_that_notice_nothing_or_rank_alike_are_no_success_of_either():
    neither = headline({"corrected faithfulness": blind, "code faithfulness": blind})
    both = headline(
        dict.fromkeys(["corrected faithfulness", "code faithfulness"], lambda i: (0.9, 0.1))
    )
    assert neither.verdict == both.verdict == "no difference"
    assert neither.sentence.startswith("Neither notices it: +0.000 [no interval] AUROC")
    assert both.sentence.startswith("Both notice it: +0.000 [no interval] AUROC")
    assert neither.word == both.word == "no difference"


THEIRS = "No, COUNTERCASE's notices it better"


@pytest.mark.parametrize(
    ("difference", "low", "high", "opening"),
    [
        (
            0.046,
            0.021,
            0.071,
            "Yes, though perhaps by less than the difference that matters (0.05)",
        ),
        (
            0.060,
            0.021,
            0.099,
            "Yes, though perhaps by less than the difference that matters (0.05)",
        ),
        (0.200, 0.100, 0.300, "Yes"),
        (0.200, 0.050, 0.350, "Yes"),
        (
            -0.046,
            -0.071,
            -0.021,
            f"{THEIRS}, though perhaps by less than the difference that matters (0.05)",
        ),
        (0.010, -0.020, 0.040, "No, the difference is too small to matter"),
    ],
)
def test_better_and_margin_agree(difference, low, high, opening):
    row = {
        "difference": difference,
        "low": low,
        "high": high,
        "level": 0.855,
        "baseline": 0.855 - difference,
    }
    row |= {"against": "code faithfulness", "verdict": verdict_of(low, high, 0.05), "reason": None}
    found = answered(row | {"n": 100, "groups": 96}, 0.05)
    assert found.answer == opening


def test_no_interval_is_what_rounding_leaves_of_a_variance_of_zero():
    """Copies that score as their originals, several a source: no detector, no contrast has
    bounds."""
    copies = made_copies(
        "negation turned", {"corrected faithfulness": blind, "code faithfulness": seeing_none}, 90
    )
    copies = copies.assign(source="s" + (copies.index // 2 % 13).astype(str))
    row = detection_contrasts(copies, 0.05).set_index("against").loc["code faithfulness"]
    assert row["verdict"] == "no difference" and np.isnan(row["low"]) and row["difference"] == 0
    three = headline({"corrected faithfulness": blind, "code faithfulness": blind}, rows=3)
    assert three.sentence.startswith("Neither notices it: +0.000 [no interval]")


def seeing_none(i):
    return (i % 7 / 10, i % 7 / 10)


def test_with_few_sources_detection_is_by_explanation_and_says_so():
    copies = made_copies(
        "negation turned", {"corrected faithfulness": seeing, "code faithfulness": blind}
    )
    table = detect(copies.assign(source="one")).set_index(["defect", "detector"])
    row = table.loc[("negation turned", "corrected faithfulness")]
    assert (
        row["reason"] == "interval_by_unit"
        and row["low"] < row["auroc"] < row["high"]
        and row["groups"] == 1
    )
    few = detect(copies[copies["key"].isin(["e0", "e1", "e2"])]).set_index(["defect", "detector"])
    row = few.loc[("negation turned", "corrected faithfulness")]
    assert row["reason"] == "fewer_than_six_units" and np.isnan(row["low"])


def test_an_explanation_is_tagged_by_the_defects_that_a_detector_missed():
    data = load("smoke")
    explained = explain_dataset(data, limit=12)
    copies = scored_copies(explained, inverse_frequency(list(explained.sources.values())))
    scored = score_explanations(explained, foreign=1, n_resamples=100)
    page = explanation_items(explained, scored, copies, card=data.card)
    names = [item["id"] for item in page["items"]]
    assert len(names) == page["asked"] == 12 and page["systems"][0] == DETECTORS[STANDARD]
    scores = copies.set_index(["defect", "key"])
    for defect in DEFECTS:
        of_copies = scores.loc[defect]
        originals = of_copies[of_copies["original"]]
        spoilt = of_copies[~of_copies["original"]]
        assert {names[place] for place in page["tags"].get(defect, ())} == set(spoilt.index)
        for detector, name in DETECTORS.items():
            tags = page["system_tags"][page["systems"].index(name)]
            missed = spoilt[detector] >= originals[detector]
            places = tags.get(f"{defect}: missed", ())
            assert {names[place] for place in places} == set(missed.index[missed])
    n_missed = pd.Series(0, names)
    for tag, places in page["system_tags"][0].items():
        n_missed.iloc[places] += tag.endswith(": missed")
    assert n_missed.is_monotonic_decreasing
    hidden = explanation_items(explained, scored, copies, card=card_of("consumer_contracts_qa"))
    assert {item["text"] for item in hidden["items"]} == {None} and hidden["documents"] == []
    fields = {name for item in hidden["items"] for name, _ in item["fields"]}
    assert not any(name.startswith("copy") for name in fields)
