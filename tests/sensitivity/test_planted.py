"""Planted documents and cases are what they say."""

import pytest

from casebook.errors import InputError
from casebook.sensitivity.placebo import inert_words
from casebook.sensitivity.planted import VALUES, WEIGHTS, plant_cases
from casebook.sensitivity.study import planted_collection


def test_documents_and_cases_are_what_they_say():
    planted = plant_cases(cases=1, values=2, per_line=3)
    assert len(planted.documents) == 4 * 4 * 3
    assert planted.truth.sum(axis=1).tolist() == [3] * 4
    for row in planted.documents.itertuples():
        for name, weight in WEIGHTS[row.area].items():
            shown = str(getattr(row, name))
            assert row.text.count(shown) >= 1 + 3 * weight
    again = plant_cases(cases=1, values=2, per_line=3)
    assert planted.documents.equals(again.documents)
    assert planted.sheets == again.sheets
    with pytest.raises(InputError, match="values must be 2 to"):
        plant_cases(values=1 + min(map(len, VALUES.values())))


def test_inert_words_are_as_common_as_values_of_noise():
    inert = inert_words(plant_cases().documents["text"])
    assert [len(kind) for kind in inert.kinds] == [6, 6, 6]


def test_precedents_share_the_values_that_decide():
    cases = planted_collection(cases=1, values=3, per_line=6)
    documents = cases.documents.set_index("doc_id")
    assert {len(found) for found in cases.precedents.values()} == {6}
    for sheet in cases.sheets:
        rows = documents.loc[cases.precedents[sheet.case_id]]
        (area,) = set(rows["area"])
        for name, weight in WEIGHTS[area].items():
            assert not weight or len(set(rows[name])) == 1
        if WEIGHTS[area]["Section"]:
            assert set(rows["Section"]) == set(sheet.sections_cited)
