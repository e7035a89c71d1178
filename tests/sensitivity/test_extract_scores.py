"""Precision and recall of extraction: counted by hand, above a control that guesses."""

from dataclasses import replace

import numpy as np
import pytest

from casebook.datasets.jsonl import read_jsonl
from casebook.errors import InputError
from casebook.sensitivity import facts
from casebook.sensitivity.cases import GoldText, case_texts, read_cases, read_gold, read_passages
from casebook.sensitivity.extract import Extraction, extract_sheet, extract_with_model
from casebook.sensitivity.extract_scores import IN_PASSAGES, extraction_errors, extraction_scores

TEXT = "The appellant, a farmer aged 40, was fined Rs. 5,000 under section 302 IPC."


def sheet(case="x", **fields):
    return facts.from_dict({"case_id": case, **fields}, empty=True)


def gold(*sheets):
    return [GoldText(f"t{at}", "dev", "IN", "text", one) for at, one in enumerate(sheets)]


def cell(table, kind, measure, split="dev"):
    chosen = table[(table["split"] == split) & (table["type"] == kind) & (table["measure"] == measure)]
    return chosen.iloc[0]


def says(*sheets):
    answers = {f"t{at}": one for at, one in enumerate(sheets)}
    return lambda text, name: Extraction(answers[name], (), (0, 1))


def test_counts_are_those_made_by_hand():
    true = [sheet(sections_cited=["IPC-1", "IPC-2"]), sheet(sections_cited=["IPC-3"]), sheet()]
    found = [sheet(sections_cited=["IPC-1", "IPC-9"]), sheet(sections_cited=["IPC-3"]), sheet(sections_cited=["IPC-4"])]
    table = extraction_scores(gold(*true), says(*found))
    precision = cell(table, "Section", "precision")
    assert (precision["value"], precision["n"], precision["texts"]) == (0.5, 4, 3)
    recall = cell(table, "Section", "recall")
    assert (recall["value"], recall["n"], recall["texts"]) == (pytest.approx(2 / 3), 3, 2)
    assert cell(table, "Section", "F1")["value"] == pytest.approx(4 / 7)
    assert np.isnan(cell(table, "Age", "recall")["value"])
    assert cell(table, "Age", "recall")["reason"] == "no_units"
    errors = extraction_errors(gold(*true), says(*found))
    assert sorted(errors["fact"]) == ["IPC-2", "IPC-4", "IPC-9"]


def test_equal_facts_in_other_words_are_equal():
    durations = [{"value": 30, "unit": "months"}], [{"value": 2.5, "unit": "years"}]
    one, other = (sheet(numerical_facts={"durations": d}) for d in durations)
    table = extraction_scores(gold(one, one), says(other, other))
    assert cell(table, "Duration", "F1")["value"] == 1.0


def test_perfect_extractor_is_far_above_its_control():
    texts = read_gold()
    truth = {one.id: one.sheet for one in texts}
    table = extraction_scores(texts, lambda text, name: Extraction(truth[name], (), (0, len(text))))
    assert (table["value"] == 1).all()
    many = table["reason"].isna()
    assert (table.loc[many, "ci_low"] < 1).all()  # a clean sweep proves little
    assert set(table.loc[~many, "reason"]) == {"fewer_than_six_clusters"}
    assert (table.loc[~many, "texts"] < 6).all()
    controls = table[table["type"] != "Outcome"]["control"]
    assert controls.max() < 0.35
    assert table.loc[table["split"] != "elsewhere", "n"].min() > 10


def test_rules_are_far_above_chance_on_unseen_texts():
    table = extraction_scores(read_gold())
    pooled = cell(table, "all facts", "F1", "heldout")
    assert pooled["ci_low"] > 0.8 > 5 * pooled["control"]
    assert cell(table, "PartyType", "recall", "heldout")["value"] < 0.8  # weakest


def test_restated_cases_are_a_harder_set_that_no_rule_was_mended_on():
    texts = case_texts(read_cases())
    assert len(texts) == 16
    table = extraction_scores(texts)
    pooled = cell(table, "all facts", "recall", "cases")
    assert pooled["ci_low"] > 0.4 > 4 * pooled["control"]
    assert pooled["ci_high"] < 0.8  # people tell facts in more ways than rules know


@pytest.mark.data
def test_passages_of_real_judgments_are_found_and_harder_than_our_texts(mirror):
    path = mirror / "fire2017_irled" / "prior_cases.jsonl.xz"
    rows = (row for _, row in read_jsonl(path, {"id": str, "text": str}))
    texts = {row["id"]: row["text"] for row in rows}
    table = extraction_scores(read_passages(texts), types=IN_PASSAGES)
    real = cell(table, "all facts", "F1", "real_heldout")
    ours = cell(extraction_scores(read_gold()), "all facts", "F1", "heldout")
    assert real["value"] < ours["value"]
    assert real["ci_low"] > 0.5 > 10 * real["control"]
    name = next(iter(texts))
    with pytest.raises(InputError, match="does not hold the annotated passage"):
        read_passages({name: texts[name]})


class Fake:
    """A language model that gives the answers it was made with, in turn."""

    name = "fake"

    def __init__(self, *answers):
        self.answers, self.prompts = list(answers), []

    def complete_json(self, prompt, schema):
        self.prompts.append(prompt)
        assert schema["properties"].keys() >= {"parties", "sections_cited"}
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


ANSWER = {
    "parties": {"petitioner_type": "Individual"},
    "sections_cited": ["section 302 IPC"],
    "evidence_items": [{"evidence_type": "Witness", "description": "a farmer"}],
    "numerical_facts": {"ages": [{"value": 40}], "amounts": [{"value": 6000}]},
}


def test_model_gives_the_sheet_and_what_it_made_up_is_counted():
    found = extract_with_model(TEXT, Fake(ANSWER))
    assert found.method == "fake"
    assert found.sheet.sections_cited == ("IPC-302",)
    assert "1 facts of fake were not found in the text" in found.notes
    fields = {s.field: TEXT[s.start : s.end] for s in found.spans}
    assert fields["evidence_items.0"] == "a farmer"
    assert fields["sections_cited.0"] == "302"
    assert "numerical_facts.amounts.0" not in fields


@pytest.mark.parametrize("bad", [{"outcome": "Won"}, {"x": 1}, ["a list"], None])
def test_useless_model_gives_way_to_the_rules_and_it_is_said(bad):
    found = extract_with_model(TEXT, Fake(bad, bad))
    rules = extract_sheet(TEXT)
    assert replace(found, notes=()) == rules
    assert len(found.notes) == 3
    assert "the rules were used" in found.notes[-1]
