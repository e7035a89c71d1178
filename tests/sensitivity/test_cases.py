"""Annotated cases: what is shipped holds together, what is wrong is named by line."""

import json

import pytest

from casebook.errors import InputError
from casebook.sensitivity import facts
from casebook.sensitivity.cases import read_cases
from casebook.sensitivity.citations import normalise_section

GOOD = {
    "case_id": "a-v-b",
    "fact_sheet": {"sections_cited": ["IPC-302"]},
    "dispositive_facts": ["Section"],
    "non_dispositive_facts": ["PartyType"],
    "expert_importance_ranking": {"Section": 1, "PartyType": 2},
}


def write(folder, *changes):
    path = folder / "cases.jsonl"
    lines = [GOOD | {"case_id": f"c{at}"} | change for at, change in enumerate(changes)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_shipped_cases_are_complete_and_their_own_words_are_there():
    shipped = read_cases()
    account = shipped.account()
    assert account["annotated"] == 16
    assert account["without annotations"] == 0
    assert account["untestable_types"] == 0
    for case in shipped.cases:
        assert case.title and case.citation and case.rationale
        assert 60 <= len(case.facts.split()) <= 100
        assert set(case.ranking.values()) == set(range(1, len(case.ranking) + 1))
        assert len(facts.present_types(case.sheet)) >= 3
        for section in case.sheet.sections_cited:
            assert normalise_section(section) == section


def test_shipped_annotations_have_both_sides_of_every_type():
    table = read_cases().annotations()
    sides = table.dropna(subset=["dispositive"]).groupby("fact_type")["dispositive"]
    assert len(table["case_id"].unique()) >= 12
    assert (sides.nunique() == 2).all()
    assert table["dispositive"].notna().sum() == 49


def test_case_without_annotations_is_excluded_and_counted(tmp_path):
    nothing = dict.fromkeys(GOOD.keys() - {"case_id", "fact_sheet"})
    found = read_cases(write(tmp_path, {}, nothing))
    assert [case.sheet.case_id for case in found.cases] == ["c0"]
    assert [case.sheet.case_id for case in found.unannotated] == ["c1"]
    assert found.account()["without annotations"] == 1
    assert found.cases[0].untestable == ("PartyType",)


WRONG = [
    ({"dispositive_facts": ["Weather"]}, "unknown fact type 'Weather'"),
    ({"non_dispositive_facts": ["Section"]}, "Section is dispositive and not"),
    ({"dispositive_facts": "Section"}, "is not a list"),
    ({"dispositive_facts": [["Section"]]}, "is not a list"),
    ({"dispositive_facts": ["Section", "Section"]}, "twice"),
    ({"expert_importance_ranking": {"Weather": 1}}, "unknown fact type 'Weather'"),
    ({"expert_importance_ranking": {"Section": 0}}, "rank 0"),
    ({"expert_importance_ranking": {"Section": "1"}}, "rank '1'"),
    ({"expert_importance_ranking": {"Section": float("nan")}}, "rank nan"),
    ({"expert_importance_ranking": ["Section"]}, "is not an object"),
    ({"fact_sheet": {}}, "no fact"),
    ({"fact_sheet": {"outcome": "Won"}}, "field outcome"),
    ({"case_id": "c0"}, "comes twice"),
]


@pytest.mark.parametrize(("change", "problem"), WRONG)
def test_wrong_case_names_file_and_line(tmp_path, change, problem):
    path = write(tmp_path, {}, change)
    with pytest.raises(InputError, match=problem) as caught:
        read_cases(path)
    assert f"{path}:2" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n\n", "[]", "{", "{}"])
def test_file_without_cases_is_refused(tmp_path, content):
    path = tmp_path / "cases.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=r"cases\.jsonl"):
        read_cases(path)


def test_documented_reading_takes_what_the_published_cases_hold(tmp_path):
    sheet = {"evidence_items": [{"evidence_type": "DocumentaryEvidence"}]}
    path = write(tmp_path, {"fact_sheet": sheet})
    with pytest.raises(InputError, match="DocumentaryEvidence"):
        read_cases(path)
    (case,) = read_cases(path, documented=True).cases
    assert case.sheet.evidence_items[0].evidence_type == "DocumentaryEvidence"
