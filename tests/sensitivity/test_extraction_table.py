"""The chapter's table of extraction: every set stands in it, absent ones by reason."""

import numpy as np
import pytest
from casebook.counterfactual.extraction_table import (
    ABSENT,
    MEASURES,
    SETS,
    country_table,
    extraction_table,
    pooled_extraction,
    sides_table,
)

from casebook.errors import InputError
from casebook.sensitivity.cases import case_texts, read_cases, read_gold
from casebook.sensitivity.extract_scores import extraction_scores


@pytest.fixture(scope="module")
def pooled():
    return pooled_extraction(extraction_table())


def test_every_set_has_a_row_for_each_measure(pooled):
    assert list(dict.fromkeys(pooled["set"])) == list(SETS.values())
    assert len(pooled) == len(SETS) * len(MEASURES)
    real = pooled["set"].str.startswith("real")
    assert set(pooled.loc[real, "reason"]) == {ABSENT}
    assert pooled.loc[real, "value"].isna().all()
    here = pooled[~real]
    assert (here["value low"] <= here["value"]).all()
    assert (here["value"] <= here["value high"]).all()
    assert (here["control"] < here["value low"]).all()


def test_values_are_those_of_each_set(pooled):
    for texts in (read_gold(), case_texts(read_cases())):
        alone = extraction_scores(texts)
        alone = alone[alone["type"] == "all facts"]
        sets = alone["split"].map(SETS)
        mine = pooled[pooled["set"].isin(sets)]
        np.testing.assert_array_equal(mine["value"], alone["value"].astype(float))
        np.testing.assert_array_equal(mine["n"].astype(int), alone["n"])


def test_a_collection_without_the_judgments_is_refused():
    with pytest.raises(InputError, match="does not hold the annotated passage"):
        extraction_table("smoke")


def test_extraction_is_measured_by_country_on_unseen_texts():
    table = country_table().set_index(["country", "type"])
    for country in ("India", "Singapore", "US and UK"):
        row = table.loc[country, "all facts"]
        assert row["control"] < 0.2 < 0.7 < row["F1 low"] <= row["F1"]
    assert table.loc[("US and UK", "Section"), "F1"] > 0.9
    texts = {one.country for one in read_gold() if one.split == "elsewhere"}
    assert texts == {"US", "GB"}


@pytest.mark.data
def test_sides_of_real_judgments_are_found_on_those_that_were_not_looked_at(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    table = sides_table("fire2017_irled").set_index(["judgments", "side"])
    found = table.loc[("held out", "respondent")]
    assert found["n"] >= 20
    assert found["right"] > 0.6 > found["control"]
    assert found["told"] > 0.8
    assert sides_table().empty
