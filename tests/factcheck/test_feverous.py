"""FEVEROUS: elements of pages, what of them counts, and the public scorer's defects."""

import copy

import pytest
from fever_records import NEI, values

from casebook.errors import InputError
from casebook.factcheck.evidence_scores import OfficialScorerFails
from casebook.factcheck.feverous import (
    official_feverous_score,
    parse_element,
    score_feverous,
    truncate,
)


@pytest.mark.data
def test_nothing_right_stops_the_public_scorer_only(cases):
    case = cases["nothing right"]
    sets = [f"{page}_sentence_{line}" for page, line in case["gold"]]
    listed = [f"{page}_sentence_{line}" for page, line in case["pred"]]
    ours = [{"id": 1, "label": "SUPPORTS", "evidence": [{"content": sets}]}]
    theirs = [{"id": 1, "predicted_label": "SUPPORTS", "predicted_evidence": listed}]
    with pytest.raises(OfficialScorerFails, match="FEVEROUS scorer divides by zero"):
        official_feverous_score(ours, theirs)
    assert values(score_feverous(ours, theirs)) == case["sane"]


def test_case_feverous_is_shortened_in_place_by_the_public_scorer():
    names = [f"Page_sentence_{n}" for n in range(8)]
    record = [{"id": 1, "label": NEI, "evidence": [{"content": names}]}]
    answers = [{"id": 1, "predicted_label": NEI, "predicted_evidence": names}]
    before = copy.deepcopy(answers)
    assert official_feverous_score(record, answers)["feverous_score"] == 0
    assert official_feverous_score(record, answers, 8)["feverous_score"] == 1
    assert answers == before
    cut = [answers[0] | {"predicted_evidence": names[:5]}]  # what k=5 leaves there
    assert official_feverous_score(record, cut, 8)["feverous_score"] == 0


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Town_sentence_0", ("Town", "sentence", "0")),
        ("Town_cell_0_1_2", ("Town", "cell", "0_1_2")),
        ("Town_header_cell_0_0_1", ("Town", "header_cell", "0_0_1")),
        ("Town_table_caption_3", ("Town", "table_caption", "3")),
        ("A (b)_item_0_4", ("A (b)", "item", "0_4")),
        (["Town", "sentence", 1], ("Town", "sentence", "1")),
    ],
)
def test_elements_of_feverous(name, parts):
    assert parse_element(name) == parts


def test_unknown_elements_are_named():
    for name in ("Town", "Town_title", ["a", "b"]):
        with pytest.raises(InputError, match="is not"):
            parse_element(name)


def test_five_sentences_and_25_cells_count():
    cells = [("P", "cell", str(n)) for n in range(30)]
    sentences = [("P", "sentence", str(n)) for n in range(9)]
    kept = truncate([*cells, *sentences])
    assert kept == cells[:25] + sentences[:5]
    assert truncate(cells, max_cells=None) == cells
