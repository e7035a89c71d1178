import hypothesis.strategies as st
import pytest
from hypothesis import given

from casebook.errors import InputError
from casebook.retrieval.stemming import porter_extended, stemmer

# Examples of Porter (1980), by the step they illustrate.
PAPER = {
    "caresses": "caress",
    "ponies": "poni",
    "cats": "cat",
    "agreed": "agre",
    "plastered": "plaster",
    "bled": "bled",
    "motoring": "motor",
    "sing": "sing",
    "conflated": "conflat",
    "troubled": "troubl",
    "sized": "size",
    "hopping": "hop",
    "falling": "fall",
    "hissing": "hiss",
    "failing": "fail",
    "filing": "file",
    "happy": "happi",
    "relational": "relat",
    "conditional": "condit",
    "rational": "ration",
    "digitizer": "digit",
    "operator": "oper",
    "feudalism": "feudal",
    "decisiveness": "decis",
    "hopefulness": "hope",
    "sensibiliti": "sensibl",
    "triplicate": "triplic",
    "electrical": "electr",
    "goodness": "good",
    "allowance": "allow",
    "replacement": "replac",
    "adoption": "adopt",
    "effective": "effect",
    "probate": "probat",
    "rate": "rate",
    "cease": "ceas",
    "controll": "control",
    "roll": "roll",
    "generalizations": "gener",
    "oscillators": "oscil",
}
# Outputs of the Natural Language Toolkit 3.10 where it departs from the paper.
DEPARTURES = {
    "is": "is",
    "proceed": "proceed",
    "exceed": "exceed",
    "dying": "die",
    "skies": "sky",
    "day": "day",
    "employed": "employ",
    "try": "tri",
    "lies": "lie",
    "died": "die",
    "carried": "carri",
    "lawfully": "law",
    "intentionally": "intent",
    "archaeology": "archaeolog",
}


@pytest.mark.parametrize(("word", "stem"), (PAPER | DEPARTURES).items())
def test_published_stems(word, stem):
    assert porter_extended(word) == stem


@pytest.mark.parametrize("word", PAPER)
def test_the_paper_and_snowball_agree(word):
    assert stemmer("porter")([word]) == stemmer("porter_extended")([word])


@given(st.text(st.sampled_from("abcdefghilmnorstuvyz'0é"), max_size=12))
def test_any_word_has_a_stem_no_longer_than_itself(word):
    stem = porter_extended(word)
    assert len(stem) <= len(word)
    assert bool(stem) == bool(word)


def test_names():
    assert stemmer(None) is None
    assert stemmer("english")(["generously"]) == ["generous"]
    with pytest.raises(InputError, match="unknown stemmer 'krovetz'"):
        stemmer("krovetz")
