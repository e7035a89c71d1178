"""Numbers, dates, provisions, parties, negation and modality."""

from casebook.measures.mentions import (
    find_flip,
    mentions,
    provisions,
    share_named,
)

#: Cases are cited without a provision, and none of their numbers counts; provisions have names.
CASES = [
    "See [2019] UKSC 41 at [50].",
    "See [2019] U.K.S.C. 41.",
    "Meena Devi v. State of Ruritania, (1973) 4 S.C.C. 225.",
    "(1973) 4 SCC 225, para 12, is followed.",
    "[2019] UKSC 41, [2015] SGCA 33.",
    "AIR 1978 SC 597; 410 U.S. 113 (1973).",
    "The minister’s case, [2019] UKSC 41, isn’t new.",
    "[2019]\xa0UKSC\xa041.",
    "[2020] EWHC 88 (Admin) at [3]–[5].",
    "(1973) 4 SCC 225 : AIR 1973 SC 1461",
    "2023 INSC 677",
    "[2003] 3 SLR(R) 12",
    "[2019] EWCA Civ 12 at [7]",
    "[2020] EWHC 123 (Ch)",
    "Doe v Roe, 410 U.S. 113 (1973)",
    "[2017] UKSC 5, [2018] AC 61 at para. 42",
    "[1932] A.C. 562 at 580E",
]
PROVISIONS = [
    ("Section 26C(3) and s. 302 of the I.P.C.", ["section 26C(3)", "section 302"]),
    ("Sections 302, 304 and 34 of it", ["section 302", "section 304", "section 34"]),
    ("under Section 26C (3) (a) of the PDPA", ["section 26C(3)(a)"]),
    ("PDPA s.26C(3)(b)", ["section 26C(3)(b)"]),
    ("Art. 21 of the Constitution", ["article 21"]),
    ("Order 7 Rule 11 CPC", ["order 7 rule 11"]),
    ("s 482 Cr.P.C. applies", ["section 482"]),
    ("On 5 May the 12 jurors met in room 302.", []),
]


def test_cases_are_no_provisions_and_provisions_have_names():
    found = [(text, mentions(text)["number"], provisions(text)) for text in CASES]
    assert [case for case in found if case[1] or case[2]] == []
    wrong = [(text, provisions(text)) for text, named in PROVISIONS if provisions(text) != named]
    assert wrong == []
    assert mentions("In 2019 the court sat; [2019] was long.")["number"] == {"2019"}


NUMBERS = [
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
]


def test_numbers():
    assert [(text, mentions(text)["number"]) for text, _ in NUMBERS] == NUMBERS


def test_dates_have_one_form():
    written = [
        "12 March 2019",
        "12th day of March, 2019",
        "March 12, 2019",
        "2019-03-12",
        "12.03.2019",
        "12/3/2019",
        "12 Mar. 2019",
    ]
    for text in written:
        assert mentions(f"It was filed on {text}.")["date"] == {"2019-03-12"}, text
    assert mentions("31.12.2019 and 1.1.2019")["date"] == {"2019-12-31", "2019-01-01"}
    assert mentions("32.12.2019, 0.12.2019, 31.13.2019, 31.0.2019")["date"] == set()


def test_parties_are_the_sides_of_the_case_name():
    text = "In Donoghue v. Stevenson the snail mattered. See Tan Data Pte Ltd v Lim."
    assert mentions(text)["party"] == {"donoghue", "stevenson", "tan data pte ltd", "lim"}
    assert mentions("the 5 v. 6 matter")["party"] == set()


def test_what_is_named_alike():
    # Of number, date, provision and two parties the date is another.
    explanation = "X Ltd v. Y paid 3 lakh on 1 May 2020 under s. 12."
    source = "Y received Rs. 300,000 from X Ltd on 2020-05-02, section 12."
    assert share_named(explanation, source) == 0.8
    assert share_named("Nothing named.", source) is None


NEGATIONS = [
    ("The landlord may not keep it.", "The landlord may keep it.", True),
    ("He didn't pay the rent.", "He did pay the rent.", True),
    ("The claim is not without merit.", "The claim has merit.", False),
    ("The tenant pays rent.", "The tenant pays the rent.", False),
    ("A tenant must pay rent.", "The tenant may pay rent.", True),
]


def test_flips():
    found = [bool(find_flip(text, ["Beside it.", source])) for text, source, _ in NEGATIONS]
    assert found == [turned for *_, turned in NEGATIONS]
    assert find_flip("A tenant must pay.", ["Nothing in common."]) is None
    assert find_flip("It is so.", ["It is so."]) is None
