"""Citations: as lawyers of two countries write them, each in one normal form."""

import re
import runpy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook import paths
from casebook.sensitivity import citations as sections

WRITTEN = [
    ("IPC-302", "IPC-302"),
    ("  IPC-302 ", "IPC-302"),
    ("Constitution-Article-21", "Constitution-Article-21"),
    ("CPC-Order-7-Rule-11", "CPC-Order-7-Rule-11"),
    ("Section 13(1)(b) of the Personal Data Protection Act 2012", "PDPA-13"),
    ("PDPA s.13", "PDPA-13"),
    ("PDPA s 26B(1)(b)", "PDPA-26B"),
    ("s 300A IPC", "IPC-300A"),
    ("u/s 138 NI Act", "NIA-138"),
    ("u/s 138 of the N.I. Act, 1881", "NIA-138"),
    ("IPC 302", "IPC-302"),
    ("302 IPC", "IPC-302"),
    ("Section 498-A of the Indian Penal Code, 1860", "IPC-498A"),
    ("Sec. 27 of the Arms Act", "AA-27"),
    ("S. 304, Part II, I.P.C.", "IPC-304"),
    ("Section 100, C.P.C.", "CPC-100"),
    ("Order VII Rule 11 of the Code of Civil Procedure", "CPC-Order-7-Rule-11"),
    ("O. XXXIX R. 1 CPC", "CPC-Order-39-Rule-1"),
    ("Order 18 Rule 19 of the Rules of Court", "ROC-Order-18-Rule-19"),
    ("Article 19(1)(g) of the Constitution of India", "Constitution-Article-19"),
    ("Article 58 of the schedule to the [Limitation Act, 1963]", "LA-Article-58"),
    ("s. 60 of the [Cantonments Act, 1924]", "CantonmentsAct1924-60"),
    ("Art. 300-A", "Constitution-Article-300A"),
    ("Article 14 of the Constitution of Singapore", "SGConstitution-Article-14"),
    ("section 300(c) of the Penal Code (Cap 224)", "SGPC-300"),
    ("s 323 of the Penal Code 1871", "SGPC-323"),
    ("Section 323 of the Penal Code, 1860", "IPC-323"),
    ("section 216 of the Companies Act 1967", "SGCoA-216"),
    ("section 241 of the Companies Act, 2013", "CoA-241"),
    ("s 33(1) of the Misuse of Drugs Act (Cap 185, 2008 Rev Ed)", "MDA-33"),
    ("section 12 of the Fisheries Licensing Act 1990", "FisheriesLicensingAct1990-12"),
]


@pytest.mark.parametrize(("written", "normal"), WRITTEN)
def test_one_citation_has_one_normal_form(written, normal):
    assert sections.normalise_section(written) == normal
    assert sections.normalise_section(normal) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no citation",
        "section 5",
        "14 March 2003",
        "Civil Appeal Nos. 2210-2212 of 1995",
        "paragraphs 12 to 18",
        "the IPC 1860",
        "a fine of Rs 302 and 34 days",
        "within 24 hours of arrest",
        "NDPS cases take 3 years",
    ],
)
def test_numbers_that_are_no_citation_are_left_alone(text):
    assert sections.cited_sections(text) == ()


ELSEWHERE = [
    ("18 U.S.C. § 922(g)", ["USC18-922"]),
    ("42 U.S.C. § 1983 and § 1983 again", ["USC42-1983"]),
    ("42 U.S.C. § 2000e-2(a)", ["USC42-2000e-2"]),
    ("15 U.S.C. §§ 78j(b) and 78ff", ["USC15-78j", "USC15-78ff"]),
    ("Cal. Penal Code § 187(a)", ["CalPenalCode-187"]),
    (
        "under Texas Penal Code § 19.02 and 21 U.S.C. §§ 841(a)(1) and 846",
        ["TexasPenalCode-19.02", "USC21-841", "USC21-846"],
    ),
    ("§ 10(b) of the Securities Exchange Act of 1934", ["SecuritiesExchangeAct1934-10"]),
    (
        "section 21 of the Housing Act 1988 and section 214 of the Housing Act 2004",
        ["HousingAct1988-21", "HousingAct2004-214"],
    ),
    ("section 994 of the Companies Act 2006", ["CompaniesAct2006-994"]),
    ("section 10 of the Companies Act, 1956", ["CompaniesAct1956-10"]),
    ("§ 302 of the Indian Penal Code", ["IPC-302"]),
]


@pytest.mark.parametrize(("text", "cited"), ELSEWHERE)
def test_acts_of_other_countries_and_years_are_never_the_known_ones(text, cited):
    assert list(sections.cited_sections(text)) == cited
    assert [sections.normalise_section(one) for one in cited] == cited


NEVER_ANOTHER = [
    # An act that nothing tells, beside one that is known.
    ("Convicted under s 5 of the Misuse of Drugs Act (Cap 185) in Singapore. s 47 of the CDSA applied.", ("MDA-5",)),
    ("Section 3 of the Dowry Prohibition Act applies. A case under S. 304-B fell.", ("DPA-3",)),
    # Two acts of one title: a citation without the year is of neither.
    ("The Housing Act 1988 and the Housing Act 2004 apply. Section 5 of the Housing Act was cited in England.", ()),
    ("He relied on section 300 of the Penal Code. The Crown Court in England sat.", ()),
]


@pytest.mark.parametrize(("text", "cited"), NEVER_ANOTHER)
def test_a_provision_of_an_unknown_act_is_unknown_and_never_of_another(text, cited):
    assert sections.cited_sections(text) == cited
    assert "Unknown" in {one.act for one in sections.find_citations(text)}


def test_a_name_that_a_text_gives_an_act_is_that_act():
    text = (
        "Section 4 of the Serious Crimes (Confiscation of Benefits) Act 1992 (“the "
        "SCCB”) was read with s 12 of the Misuse of Drugs Act (Cap 185). Then s 47 of "
        "the SCCB."
    )
    code = "SeriousCrimesConfiscationOfBenefitsAct1992"
    assert sections.cited_sections(text) == (f"{code}-4", "MDA-12", f"{code}-47")


def test_a_misquoted_title_is_told_by_its_abbreviation_unless_the_year_differs():
    title = "the Conservation of Foreign Exchange and Preservation of Smuggling Act"
    text = f"detained under section 3 of {title}, 1974 (COFEPOSA Act)"
    assert sections.cited_sections(text) == ("COFEPOSA-3",)
    assert sections.cited_sections(text.replace("1974", "1999")) != ("COFEPOSA-3",)


@pytest.mark.parametrize("written", ["S-304B", "Section-304B", "304-B", "u/s 304-B"])
def test_a_number_without_an_act_is_no_section(written):
    assert sections.normalise_section(written) is None


CHAINS = [
    ("Sections 304-B and 498-A read with Section 34, I.P.C.", "304B 498A 34"),
    ("u/ss 420, 467, 468 r/w 120-B IPC", "420 467 468 120B"),
    ("sections 302/34 and 323/34 IPC", "302 34 323"),
    ("Ss. 147, 148, 307 read with 149 of the Indian Penal Code", "147 148 307 149"),
    ("Sections 376(2)(i) and (n) and 506 of the Penal Code", "376 506"),
    ("Section 302 IPC. The sentence under section 506 was reduced.", "302 506"),
]


@pytest.mark.parametrize(("text", "numbers"), CHAINS)
def test_chain_shares_its_act(text, numbers):
    expected = tuple(f"IPC-{number}" for number in numbers.split())
    assert sections.cited_sections(text, country="IN") == expected


def test_two_acts_in_one_sentence_are_kept_apart():
    text = "sections 376 and 506 IPC and section 6 of the POCSO Act, under Article 226"
    assert sections.cited_sections(text) == ("IPC-376", "IPC-506", "POCSO-6", "Constitution-Article-226")


def test_country_decides_between_acts_of_one_name():
    text = "section 300 of the Penal Code"
    assert sections.normalise_section(text, country="IN") == "IPC-300"
    assert sections.normalise_section(text, country="SG") == "SGPC-300"
    singapore = f"The Singapore High Court applied {text}."
    assert sections.cited_sections(singapore) == ("SGPC-300",)


def test_spans_and_pinpoints_are_those_of_the_text():
    text = "convicted under Sections 7 and 13(1)(d) of the Prevention of Corruption Act"
    assert {one.act for one in sections.find_citations(text)} == {"Unknown"}
    found = sections.find_citations(text, "IN")  # Singapore has an act of the name too
    assert [text[c.start : c.end] for c in found] == ["7", "13(1)(d)"]
    assert [(c.id, c.pinpoint) for c in found] == [("PCA-7", ""), ("PCA-13", "(1)(d)")]


def test_citation_without_any_act_is_reported_as_unknown():
    (found,) = sections.find_citations("He was charged under section 12.")
    assert (found.act, found.number) == ("Unknown", "12")


def test_documented_form_only_changes_spaces():
    assert sections.documented_section("IPC 302") == "IPC-302"
    assert sections.documented_section("section three") == "section three"


@given(
    st.sampled_from(["IPC", "CrPC", "IEA", "NIA", "PDPA", "MDA"]),
    st.integers(1, 999),
    st.sampled_from(["", "A", "B"]),
    st.sampled_from(["section {n} {a}", "s. {n}, {a}", "{a} s {n}", "u/s {n} of the {a}"]),
)
def test_every_number_of_an_act_is_found_in_every_wording(act, number, letter, wording):
    short = {"IEA": "Indian Evidence Act", "NIA": "NI Act"}.get(act, act)
    text = wording.format(a=short, n=f"{number}{letter}")
    assert sections.cited_sections(text) == (f"{act}-{number}{letter}",)


@given(st.text(alphabet="sS.u/ 0123IVX,()&-andofPCrtAcHb'’\n", max_size=300))
def test_any_text_is_read_and_spans_lie_inside(text):
    for found in sections.find_citations(text):
        assert re.match(r"\d+", text[found.start : found.end])


def test_long_text_takes_no_more_than_linear_work():
    text = "Sections 302, 304 and 34 of the Indian Penal Code. And The " * 300
    assert len(sections.find_citations(text)) == 900
    assert sections.find_citations("1, " * 20_000) == []
    assert sections.cited_sections("The Great " * 5_000) == ()


def test_shipped_neighbours_share_chapter_and_lie_near():
    near = sections.neighbours
    assert near("IPC-302")[:2] == ("IPC-301", "IPC-303")
    assert set(near("IPC-304")) >= {"IPC-304A", "IPC-304B", "IPC-302"}
    assert "IPC-379" not in near("IPC-377")  # another chapter begins at 378
    assert near("PDPA-13") == ("PDPA-14", "PDPA-15", "PDPA-15A")
    assert near("Constitution-Article-21")
    assert near("Nowhere-1") == ()
    assert sections.neighbours_or_next("Nowhere-1") == ("Nowhere-2",)
    assert sections.neighbours_or_next("Nowhere-7A") == ("Nowhere-6", "Nowhere-8")


chapters = st.dictionaries(
    st.text("123", max_size=2), st.lists(st.from_regex(r"[1-9][0-9]?[AB]?", fullmatch=True), max_size=12), max_size=3
)


@given(chapters, st.integers(0, 4))
def test_neighbours_are_symmetric_of_one_chapter_and_within_the_distance(act, distance):
    near = sections.adjacent_sections({"X-": act}, distance)
    for one, others in near.items():
        gaps = [abs(int(re.search(r"\d+", one)[0]) - int(re.search(r"\d+", other)[0])) for other in others]
        assert gaps == sorted(gaps) and max(gaps, default=0) <= distance
        for other in others:
            assert other != one and one in near[other]
            assert any({one[2:], other[2:]} <= set(numbers) for numbers in act.values())


@pytest.mark.data
def test_shipped_structure_is_the_one_of_the_statute_files(mirror):
    made = runpy.run_path(paths.DATA / "make" / "act_structure.py")["structure"](mirror)
    assert made == sections.act_structure()
    assert sum(map(len, made["IPC-"].values())) >= 511
