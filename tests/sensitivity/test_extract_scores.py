"""Precision and recall of extraction: counted by hand, above a control that guesses, and as good as it was."""

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.readers import read_jsonl
from casebook.sensitivity import facts
from casebook.sensitivity.cases import GoldText, case_texts, read_cases, read_gold, read_passages, read_sides
from casebook.sensitivity.extract import IN_PASSAGES, Extraction, extract_sheet, extraction_errors, extraction_scores


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
    assert table[table["type"] != "Outcome"]["control"].max() < 0.35


# F1 of the rules on our annotated texts, by split, and the control of all facts.
F1 = {
    "dev": {"Numerical": 0.9694, "Section": 1, "PartyType": 0.8367, "Evidence": 0.95, "Outcome": 1, "all facts": 0.944},
    "heldout": {"Numerical": 0.9891, "Section": 1, "PartyType": 0.6207, "Evidence": 0.9157, "all facts": 0.9106},
    "elsewhere": {"Numerical": 0.9787, "Section": 0.9655, "PartyType": 0.4167, "Outcome": 0.9333, "all facts": 0.8571},
    "cases": {"Age": 0.6, "Section": 0.9412, "PartyType": 0.439, "Evidence": 0.4737, "all facts": 0.7523},
}
CONTROL = {"dev": 0.0531, "heldout": 0.0647, "elsewhere": 0.0673, "cases": 0.0656}


def test_rules_read_as_well_as_they_did():
    table = extraction_scores([*read_gold(), *case_texts(read_cases())])
    for split, known in F1.items():
        for kind, value in known.items():
            assert cell(table, kind, "F1", split)["value"] == pytest.approx(value, abs=1e-4), (split, kind)
        pooled = cell(table, "all facts", "F1", split)
        assert pooled["control"] == pytest.approx(CONTROL[split], abs=1e-4)
        assert pooled["ci_low"] > 5 * pooled["control"]


@pytest.mark.data
def test_passages_of_real_judgments_are_found_and_harder_than_our_texts(mirror):
    path = mirror / "fire2017_irled" / "prior_cases.jsonl.xz"
    texts = {row["id"]: row["text"] for _, row in read_jsonl(path, {"id": str, "text": str})}
    table = extraction_scores(read_passages(texts), types=IN_PASSAGES)
    real = cell(table, "all facts", "F1", "real_heldout")
    assert real["value"] < F1["heldout"]["all facts"]
    assert real["ci_low"] > 0.5 > 10 * real["control"]
    name = next(iter(texts))
    with pytest.raises(InputError, match="does not hold the annotated passage"):
        read_passages({name: texts[name]})


@pytest.mark.data
def test_respondents_of_real_judgments_are_found_on_those_that_were_not_looked_at(mirror):
    path = mirror / "fire2017_irled" / "current_cases.jsonl.xz"
    texts = {row["id"]: row["text"] for _, row in read_jsonl(path, {"id": str, "text": str})}
    records = [(r, text) for r, text in read_sides(texts) if r["split"] == "real_heldout" and r["respondent"]]
    found = [extract_sheet(text).sheet.parties.respondent_type for _, text in records]
    right = sum(kind == record["respondent"] for kind, (record, _) in zip(found, records, strict=True))
    assert (right, len(records)) == (16, 22)
