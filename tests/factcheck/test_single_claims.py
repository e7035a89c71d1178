"""Single claims: the page says of each what the chapter's tables say of all."""

import pytest

from casebook.factcheck.single_claims import drill_down
from casebook.factcheck.study_sets import run_study
from casebook.factcheck.verdict_tables import evidence_table
from casebook.runs.outputs import as_json


@pytest.fixture(scope="module")
def study():
    return run_study(ablation=False)


@pytest.fixture(scope="module")
def found(study):
    return drill_down(study)


def test_items_add_up_to_the_chapters_tables(study, found):
    assert len(found["items"]) == found["asked"] == len(study.rows)
    assert found["systems"] == list(study.verdicts)
    assert found["systems"][0] == "pipeline"
    assert found["controls"] == ["claim only"]
    for place, name in enumerate(found["systems"]):
        right = [item["right"][place] for item in found["items"]]
        assert right.count(True) == (study.right(name) == True).sum()  # noqa: E712
    table = evidence_table(study, n_boot=10).set_index("evidence")["n"]
    missed = [item["missed"] for item in found["items"]]
    assert missed.count(True) == table["not found"]
    assert missed.count(False) == table["found"]


def test_passages_are_the_words_of_their_documents(study, found):
    texts = dict(zip(study.pipeline.base.doc_ids, study.pipeline.base.texts, strict=True))
    for document, start, end, text in found["passages"]:
        whole = " ".join(texts[found["documents"][document][0]][start:end].split())
        assert text == whole or whole.startswith(text.removesuffix("…"))
    for item, claim in zip(found["items"], study.pipeline.test, strict=True):
        spans = [found["passages"][one["passage"]][1:3] for one in item["decisive"]]
        assert spans == [[atom.start, atom.end] for atom in claim.atoms]
        if item["decisive"]:
            assert item["missed"] is not all(one["met"] for one in item["decisive"])
        known = {part["id"] for part in item["parts"]}
        assert {one["about"] for one in item["cited"]} <= known


def test_equal_studies_give_equal_bytes(study, found):
    assert as_json(found) == as_json(drill_down(study)) and as_json(found).isascii()


def test_a_small_budget_keeps_what_is_wrong_first(found, study):
    small = drill_down(study, most_bytes=20_000)
    assert len(as_json(small)) <= 20_000 and small["asked"] == 100
    kept = {item["id"] for item in small["items"]}
    wrong = {item["id"] for item in found["items"] if item["right"][0] is False}
    assert kept <= wrong or wrong <= kept
    assert [i["id"] for i in small["items"]] == [i["id"] for i in found["items"] if i["id"] in kept]


def test_without_permission_ids_remain(study, monkeypatch):
    monkeypatch.setattr("casebook.factcheck.single_claims.may_show", lambda _: frozenset())
    found = drill_down(study)
    assert {item["text"] for item in found["items"]} == {None}
    assert {part["text"] for i in found["items"] for part in i["parts"]} == {None}
    assert {passage[3] for passage in found["passages"]} == {None}
    assert {name for _, name in found["documents"]} == {None}
    words = {one["about"] for i in found["items"] for one in i["decisive"] + i["cited"]}
    assert words == {""}


@pytest.mark.data
def test_of_a_non_commercial_set_only_the_questions_are_shown(mirror):
    found = drill_down(run_study("consumer_contracts_qa"))
    assert found["texts"] == ["items"]
    assert all(item["text"] for item in found["items"])
    assert {passage[3] for passage in found["passages"]} == {None}
    for item in found["items"]:
        clauses = [{one["passage"] for one in item[k]} for k in ("decisive", "cited")]
        at_first = item["slices"]["clause found at"] == "rank 1"
        assert at_first is not item["missed"] and at_first is (clauses[0] == clauses[1])
