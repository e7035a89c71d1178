"""Numbers, dates, provisions, parties, negation and modality."""

import pytest

from casebook.measures.mentions import agreement, find_flip, mentions, modality


def of(kind, text):
    return mentions(text)[kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rs. 1,50,000", {"150000"}),
        ("2.5 lakh", {"250000"}),
        ("three crore rupees", {"30000000"}),
        ("two hundred, 3 thousand", {"200", "3000"}),
        ("2 million, 4 billion", {"2000000", "4000000000"}),
        ("2 crore, 3 crores", {"20000000", "30000000"}),
        ("2 lac, 3 lakhs", {"200000", "300000"}),
        ("two, nineteen, twenty, ninety", {"2", "19", "20", "90"}),
        ("5 % and 5 per cent", {"5%"}),
        ("fourteen days, 14 days", {"14"}),
        ("on 12 March 2019", set()),
        ("s. 26C(3), [2019] UKSC 41", set()),
        ("no number", set()),
    ],
)
def test_numbers(text, expected):
    assert of("number", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "12 March 2019",
        "12th day of March, 2019",
        "March 12, 2019",
        "2019-03-12",
        "12.03.2019",
        "12/3/2019",
        "12 Mar. 2019",
    ],
)
def test_dates_have_one_form(text):
    assert of("date", f"It was filed on {text}.") == {"2019-03-12"}
    assert of("date", "31.12.2019 and 1.1.2019") == {"2019-12-31", "2019-01-01"}
    assert of("date", "32.12.2019, 0.12.2019, 31.13.2019, 31.0.2019") == set()


def test_parties_are_the_sides_of_the_case_name():
    text = "In Donoghue v. Stevenson the snail mattered. See Tan Data Pte Ltd v Lim."
    assert of("party", text) == {"donoghue", "stevenson", "tan data pte ltd", "lim"}
    assert of("party", "the 5 v. 6 matter") == set()


def test_agreement_names_what_is_missing():
    explanation = "X Ltd v. Y paid 3 lakh on 1 May 2020 under s. 12."
    source = "Y received Rs. 300,000 from X Ltd on 2020-05-02, section 12."
    found = {a.kind: a for a in agreement(explanation, source)}
    assert found["number"].share == 1.0
    assert found["date"].share == 0.0 and found["date"].missing == ("2020-05-01",)
    assert found["provision"].share == 1.0
    assert found["party"].share == 1.0 and found["party"].n == 2
    assert [a.share for a in agreement("Nothing named.", source)] == [None] * 4


@pytest.mark.parametrize(
    ("sentence", "source", "turned"),
    [
        ("The landlord may not keep it.", "The landlord may keep it.", True),
        ("He didn't pay the rent.", "He did pay the rent.", True),
        ("The claim is not without merit.", "The claim has merit.", False),
        ("The tenant pays rent.", "The tenant pays the rent.", False),
    ],
)
def test_negations(sentence, source, turned):
    found = find_flip(sentence, ["Unrelated words here.", source])
    assert bool(found.negated) == turned


def test_modality():
    assert modality("You must not enter.") == modality("You mustn't.") == "prohibition"
    assert modality("He shall pay.") == "obligation"
    assert modality("She is entitled to stay.") == "permission"
    assert modality("It rains.") is None
    found = find_flip("A tenant must pay rent.", ["The tenant may pay rent."])
    assert found.modality == ("obligation", "permission")
    assert find_flip("A tenant must pay.", ["Nothing in common."]) is None
    assert find_flip("It is so.", ["It is so."]) is None
