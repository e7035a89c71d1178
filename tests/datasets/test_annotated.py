"""Annotated sets: shipped, verified, counted as their cards say."""

import pytest

from casebook.datasets import load
from casebook.sensitivity.cases import read_cases, read_gold
from casebook.sensitivity.facts import fact_fields


def test_cases_load_by_name_and_are_those_of_the_experiment():
    found = load("counterfactual_cases", kind="annotations")
    assert list(found.records["case_id"]) == [c.sheet.case_id for c in read_cases().cases]
    assert found.counts["judgements"] == read_cases().account()["pairs"]
    assert found.name == "counterfactual_cases"


@pytest.mark.parametrize("split", ["all", "dev", "heldout"])
def test_texts_load_by_split_and_facts_are_counted(split):
    found = load("fact_extraction", split, kind="annotations")
    gold = [one for one in read_gold() if split in ("all", one.split)]
    assert list(found.records["id"]) == [one.id for one in gold]
    facts = sum(field != "outcome" for one in gold for field in fact_fields(one.sheet))
    assert found.counts["judgements"] == facts
    assert found.fingerprint == load(f"fact_extraction_{split}", kind="annotations").fingerprint
    assert found.fingerprint != load("counterfactual_cases", kind="annotations").fingerprint
