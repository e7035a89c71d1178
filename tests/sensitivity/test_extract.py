"""Extraction: each fact as it is written, at its place, and nothing that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.sensitivity import facts
from casebook.sensitivity.cases import read_gold
from casebook.sensitivity.citations import country_of
from casebook.sensitivity.extract import (
    LONGEST,
    ages,
    amounts,
    durations,
    evidence,
    extract_sheet,
    facts_region,
    outcome,
    parties,
    quantity,
)
from casebook.sensitivity.facts import fact_at, fact_fields

QUANTITIES = [
    ("5,00,000", 500_000),
    ("1,078,640", 1_078_640),
    ("2.5 lakh", 250_000),
    ("1.4 crore", 14_000_000),
    ("2 crores 15 lakhs", 21_500_000),
    ("Twelve Lakhs Fifty Thousand", 1_250_000),
    ("fifty thousand", 50_000),
    ("two hundred and ten", 210),
    ("a hundred", 100),
    ("twenty-one and a half", 21.5),
    ("sixty-eight", 68),
    ("4.2m", 4_200_000),
    ("0.5", 0.5),
]


@pytest.mark.parametrize(("written", "value"), QUANTITIES)
def test_quantity_has_its_value(written, value):
    assert quantity(written) == value


AMOUNTS = [
    ("Rs. 5,00,000/- (Rupees five lakhs only)", [(500_000, "rupees")]),
    ("Rs 2.5 lacs and Rs. 62", [(250_000, "rupees"), (62, "rupees")]),
    ("a rent of ninety rupees", [(90, "rupees")]),
    ("₹ 9.86 lakh", [(986_000, "rupees")]),
    ("Rs.1,47,306 was deducted", [(147_306, "rupees")]),
    ("S$18,000", [(18_000, "Singapore dollars")]),
    ("$14,312.60", [(14_312.6, "dollars")]),
    ("US$3.4 million", [(3_400_000, "US dollars")]),
    ("a fine of up to Rs. 5,000", []),
    ("a penalty not exceeding $1 million", []),
    ("12 rooms, 40 per cent, 302 pages", []),
    ("cars 500 and others 20", []),
]


@pytest.mark.parametrize(("text", "expected"), AMOUNTS)
def test_amounts(text, expected):
    assert [(f.fact.value, f.fact.unit) for f in amounts(text)] == expected


def test_dollar_is_singapores_in_singapore_and_context_says_what_for():
    (fine,) = amounts("He was ordered to pay a fine of $2,500.", "SG")
    assert (fine.fact.unit, fine.fact.context) == ("Singapore dollars", "fine")


AGES = [
    ("a driver aged about 42 years, died", [42]),
    ("a 29-year-old Malaysian", [29]),
    ("a 26 year old loader", [26]),
    ("a girl of thirteen, was", [13]),
    ("children, aged 10 and 7. The wife", [10, 7]),
    ("sixteen years and four months old", [16]),
    ("who was 38 years old at the time", [38]),
    ("The husband, 41, an engineer", [41]),
    ("He is 53 and has no antecedents", [53]),
    ("35 years of age", [35]),
    ("in 1998, at page 37, in March 2001", []),
    ("There were 12 and more; it was 250 metres", []),
    ("aged 900 years", []),
]


@pytest.mark.parametrize(("text", "expected"), AGES)
def test_ages(text, expected):
    assert [f.fact.value for f in ages(text)] == expected


DURATIONS = [
    ("within two hours", [(2, "hours")]),
    ("two years and eight months", [(32, "months")]),
    ("8 months and 20 days", [(260, "days")]),
    ("two and a half years", [(2.5, "years")]),
    ("a year and a half", [(1.5, "years")]),
    ("four months' salary", [(4, "months")]),
    ("one year's rigorous imprisonment", [(1, "years")]),
    ("sentences of 7, 2 and 3 years", [(7, "years"), (2, "years"), (3, "years")]),
    ("imprisonment of up to three years", []),
    ("a boy 12 years old", []),
    ("the year 2009-10 and 14 March 2003", []),
]


@pytest.mark.parametrize(("text", "expected"), DURATIONS)
def test_durations(text, expected):
    assert [(f.fact.value, f.fact.unit) for f in durations(text)] == expected


EVIDENCE = [
    ("The F.I.R. was lodged late. The post mortem was done.", {"FIR", "PostMortem"}),
    ("No FIR was lodged and no post-mortem was held.", set()),
    ("The prosecution did not obtain a medical report.", set()),
    ("No medical report exists, but an eyewitness deposed.", {"Witness"}),
    ("An axe was found under a recovery memo.", {"RecoveryMemo"}),
    ("CCTV footage was tendered.", {"ElectronicRecord"}),
    ("The receipts were produced and found genuine.", {"Document"}),
    ("The receipts were not produced.", set()),
    ("The police inspected the site.", {"SiteInspection"}),
    ("She made a dying declaration.", {"DyingDeclaration"}),
    ("", set()),
]


@pytest.mark.parametrize(("text", "expected"), EVIDENCE)
def test_evidence_given_and_evidence_missing(text, expected):
    assert {f.fact.evidence_type for f in evidence(text)} == expected


OUTCOMES = [
    ("The appeal is dismissed.", "Dismissed"),
    ("The appeal is allowed in part.", "Partly Allowed"),
    ("The petition is disposed of.", "Disposed"),
    ("The High Court dismissed the appeal. We allow this appeal.", "Allowed"),
    ("The appeal succeeds.", "Allowed"),
    ("The appeal is not dismissed.", None),
    ("He was dismissed from service.", None),
    ("List after the vacation.", None),
]


@pytest.mark.parametrize(("text", "expected"), OUTCOMES)
def test_outcome_is_that_of_the_last_proceeding(text, expected):
    found = outcome(text)
    assert (found.fact if found else None) == expected


PARTIES = [
    ("The appellant, a farmer, lost.", "Individual", None),
    ("The State's appeal is dismissed.", "State", None),
    ("The appellant company sued the respondent firm.", "Corporation", "Partnership"),
    ("The petitioner, a minor aged 8, sues.", "Minor", None),
    ("The claimant was employed by the respondent, a company.", "Employee", "Corporation"),
    ("The tenant's appeal fails against the landlord.", "Tenant", "Individual"),
    ("Nobody is named.", None, None),
]


@pytest.mark.parametrize(("text", "petitioner", "respondent"), PARTIES)
def test_parties_by_role_description_and_proceeding(text, petitioner, respondent):
    found = {side: one.fact for side, one in parties(text).items()}
    assert (found.get("petitioner"), found.get("respondent")) == (petitioner, respondent)


def test_region_runs_from_the_facts_heading_to_the_next():
    text = "JUDGMENT\n\nFACTS\nHe paid Rs 5.\n\nISSUES\nWhether Rs 7 was due."
    start, end = facts_region(text)
    assert "Rs 5" in text[start:end]
    assert "Rs 7" not in text[start:end]
    (amount,) = extract_sheet(text).sheet.numerical_facts.amounts
    assert amount.value == 5


def test_region_without_heading_is_the_first_fifth_and_short_texts_whole():
    text = "word " * 10_000
    assert facts_region(text) == (0, 10_000)
    assert facts_region("word " * 100) == (0, 500)
    assert facts_region("word " * 100, documented=True) == (0, 100)
    assert facts_region("FACTS\n" + "word " * 10_000) == (5, 5 + LONGEST)
    inline = "x " * 4_000 + "The facts of the case are these."
    assert facts_region(inline)[0] == 8_000


def test_outcome_of_a_long_judgment_is_looked_for_at_its_end():
    body = "The first appeal was allowed. " + "Nothing was said. " * 2_000
    found = outcome(body + "The appeal is dismissed.")
    assert found.fact == "Dismissed"
    assert found.end == len(body) + len("The appeal is dismissed")
    assert outcome(body) is None


def test_every_fact_has_a_place_in_the_text():
    for one in read_gold():
        found = extract_sheet(one.text, one.id)
        assert {s.field for s in found.spans} == set(fact_fields(found.sheet))
        for span in found.spans:
            words = one.text[span.start : span.end]
            assert words.strip()
            if span.field.startswith("evidence"):
                assert fact_at(found.sheet, span.field).description == words


def test_extracted_sheets_are_valid_sheets():
    for one in read_gold():
        sheet = extract_sheet(one.text, one.id).sheet
        assert facts.from_dict(facts.to_dict(sheet), empty=True) == sheet


@pytest.mark.parametrize("text", ["", " \n", None, 5])
def test_text_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="has no text"):
        extract_sheet(text)


@given(
    st.text(alphabet="aged of Rs.$,/-0123456789 yearsmonthFIR'\"()\n%²١", min_size=1, max_size=200).filter(str.strip)
)
def test_any_text_gives_a_sheet_that_can_be_written(text):
    found = extract_sheet(text)
    assert facts.from_dict(facts.to_dict(found.sheet), empty=True) == found.sheet
    assert all(0 <= s.start < s.end <= len(text) for s in found.spans)


def test_long_text_is_read_in_bounded_time():
    text = "FACTS\n" + "He was aged 40 and paid Rs. 5,000 for two years. " * 5_000
    sheet = extract_sheet(text).sheet
    assert len(sheet.numerical_facts.amounts) == 1
    extract_sheet("one two three " * 20_000)
    extract_sheet("1,11,11," * 20_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The jury in Texas awarded $500 under 42 U.S.C. § 1983.", (500, "dollars")),
        ("He owed US $71,615.75 to the bank.", (71615.75, "US dollars")),
        ("He owed US$ 500 to a firm in Singapore.", (500, "US dollars")),
        ("He owed S$500.", (500, "Singapore dollars")),
        ("He owed $500 to a firm in Singapore.", (500, "Singapore dollars")),
        ("He owed $500.", (500, "dollars")),
        ("He owed £500.", (500, "pounds")),
        ("He owed GBP 500.", (500, "pounds")),
        ("He owed €500.", (500, "euros")),
        ("He owed 500 euros.", (500, "euros")),
        ("He owed EUR 500.", (500, "euros")),
        ("He owed A$500.", (500, "Australian dollars")),
    ],
)
def test_currency_follows_its_symbol(text, expected):
    (found,) = extract_sheet(text).sheet.numerical_facts.amounts
    assert (found.value, found.unit) == expected


@pytest.mark.parametrize(
    ("text", "country", "partial"),
    [
        ("Convicted by the Sessions Judge under section 302 IPC.", "IN", False),
        ("Fined S$500 by a District Court of Singapore.", "SG", False),
        ("Section 21 of the Housing Act 1988 applies in England.", "elsewhere", True),
        ("Convicted under 18 U.S.C. § 922(g).", "elsewhere", True),
        ("The appellant was fined.", None, True),
    ],
)
def test_the_sheet_says_where_coverage_is_partial(text, country, partial):
    assert country_of(text) == country
    notes = extract_sheet(text).notes
    assert any(note.startswith("coverage is partial") for note in notes) == partial


def test_provisions_of_unknown_acts_are_counted_in_the_notes():
    found = extract_sheet("Convicted in India under section 12 and section 14.")
    assert found.sheet.sections_cited == ()
    assert "2 provisions of acts that are not known are left out" in found.notes


WHOLE = "It was argued at length. " * 200


@pytest.mark.parametrize(
    ("text", "petitioner", "respondent"),
    [
        (
            "IN THE SUPREME COURT OF INDIA CRIMINAL APPEAL NO. 12 OF 2007 Ram Lal ... "
            "Appellant Versus State of Bihar ...Respondent\n",
            "Individual",
            "State",
        ),
        ("PUBLIC PROSECUTOR v. TAN AH KOW [2014] SGCA 5\n", "State", "Individual"),
        (
            "Commissioner of Income Tax ... Appellant Versus Acme Mills Ltd. .. Respondent\n",
            "UnionOfIndia",
            "Corporation",
        ),
        (f"The appellant was convicted under section 302 IPC. {WHOLE}", "Individual", "State"),
        (f"The appellant-assessee filed a return. {WHOLE} Counsel for the Revenue.", "Unknown", "UnionOfIndia"),
        (f"{WHOLE} The respondent-company did not build. The appellant-Board sued.", "PublicSector", "Corporation"),
    ],
)
def test_sides_of_judgments_by_title_role_counsel_and_procedure(text, petitioner, respondent):
    found = extract_sheet(text)
    sides = found.sheet.parties
    assert (sides.petitioner_type, sides.respondent_type) == (petitioner, respondent)
    for span in found.spans:
        assert 0 <= span.start < span.end <= len(text)
