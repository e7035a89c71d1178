"""The study of explanations: what is explained, spoilt and detected."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import not_refused

from casebook.data import load
from casebook.explain.defects import (
    DEFECTS,
    DETECTORS,
    FAITHFULNESS,
    corrupt,
    detection,
    detector_scores,
    explanation_copies,
    lower_scores,
    noticed,
    noticed_by,
)
from casebook.explain.study import Explained, explain_dataset
from casebook.measures.faithfulness import inverse_frequency

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
def copies(explained):
    return explanation_copies(explained)


def test_each_detector_sees_its_defect():
    weights = inverse_frequency([SOURCE, "Nine men are on boats."])
    right = detector_scores(RIGHT, SOURCE, weights)
    assert set(right) == set(DETECTORS)
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


def test_no_count_of_words_sees_a_turned_negation(explained, copies):
    """A finding of the chapter, held here on the shipped data."""
    shares = detection(lower_scores(explained, copies), copies)
    lower = shares.set_index(["part", "system"])["value"]
    for measure in FAITHFULNESS:  # every copy scores as its original
        assert lower["turned negation", measure] == 0
    assert lower["turned negation", "polarity"] > 0.6
    assert lower["changed number", "documented"] == 0 and lower["changed number", "mentions"] > 0.9
    assert lower["swapped source", "corrected faithfulness"] > 0.9
    assert 0 < shares.set_index(["part", "system"])["high"]["turned negation", "documented"] < 0.2
    for defect, name in DEFECTS.items():  # the count by hand
        versions = copies[copies["defect"] == defect].dropna(subset="corrected")
        originals = versions[versions["original"]].set_index("key")["corrected"]
        spoilt = versions[~versions["original"]].set_index("key")["corrected"]
        assert lower[name, "corrected"] == pytest.approx(np.mean(spoilt < originals[spoilt.index]))


def test_what_cannot_be_explained_says_why():
    data = load("smoke")
    # Documents of one text are one source.
    same = replace(data, documents=data.documents.assign(text="One text."))
    few = r"source\(s\) with an explanation, 5 are the fewest"
    bad = [
        (data, "gold", None, "no reference answers"),
        (data, "template", 2, few),
        (same, "template", None, few),
        (data, "nope", None, "explanations: 'nope': choose from template, gold"),
    ]
    assert not_refused(lambda data, kind, most: explain_dataset(data, kind, limit=most), bad) == []
    assert len(explain_dataset(data, "template", limit=5).explanations) == 5


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


def test_the_last_place_that_allows_a_defect_gets_it():
    wrong = [
        (defect, text)
        for defect, text, other, copy in SPOILT
        if corrupt({"a": text, "b": other or "Snow fell."})[defect].get("a") != copy
    ]
    assert wrong == []


def made(pairs, sources=13, keys=24):
    """Explanations and copies of which every measure named gives original and copy a pair."""
    source_of = {f"e{i}": f"s{i % sources}" for i in range(keys)}
    explained = Explained("mine", "made", {}, {}, source_of, {})
    rows = []
    for i, key in enumerate(source_of):
        for place, original in enumerate([True, False]):
            row = {"defect": "negation turned", "key": key, "source": source_of[key]}
            scores = {name: pair(i)[place] for name, pair in pairs.items()}
            rows.append(row | {"original": original} | scores)
    columns = ["defect", "key", "source", "original", *DETECTORS]
    copies = pd.DataFrame(rows, columns=columns)
    return explained, copies.fillna({name: 0.5 for name in DETECTORS if name not in pairs})


def seeing(i):
    return (0.9, 0.1) if i % 6 else (0.5, 0.5)


def test_a_measure_notices_only_what_lowers_more_than_the_stated_share():
    pairs = {"corrected faithfulness": seeing, "code faithfulness": lambda i: (0.6, i % 2)}
    explained, copies = made(pairs)
    scores = lower_scores(explained, copies)
    verdicts = {}
    for notices in (0.5, 0.9):
        shares = detection(scores, copies, notices)
        verdicts[notices] = shares.set_index("system")["verdict"]
        title = noticed(shares[shares["system"].isin(FAITHFULNESS)])
        is_said = "Standard faithfulness notices a turned negation" in title
        assert is_said == (notices == 0.5) and f"{notices:.0%}".replace("%", " %") in title
    assert verdicts[0.5][FAITHFULNESS].tolist() == ["better", "worse", "undecided"]
    assert verdicts[0.9]["corrected faithfulness"] == "undecided"
    said = noticed_by(detection(scores, copies), ["turned negation"])
    one = f"1 of {len(DETECTORS)} measures (standard faithfulness)."
    assert said == f"A turned negation is noticed by {one}"


def test_what_too_few_copies_show_is_not_missed():
    explained, copies = made({}, keys=3)
    shares = detection(lower_scores(explained, copies), copies)
    assert noticed(shares).count("cannot be judged on so few copies") == len(DETECTORS)
