"""Texts whose sheets somebody wrote, and edits that somebody called sensible or absurd."""

from typing import NamedTuple

from casebook import paths
from casebook.readers import read_jsonl
from casebook.sensitivity.cases import read_cases
from casebook.sensitivity.edits import edit_fact
from casebook.sensitivity.facts import FactSheet, from_dict

ANNOTATED_TEXTS = paths.DATA / "counterfactual" / "extraction"
LABELLED_EDITS = paths.DATA / "counterfactual" / "edits.jsonl"


class GoldText(NamedTuple):
    id: str
    split: str
    text: str
    sheet: FactSheet


def read_gold():
    texts = []
    for _, record in read_jsonl(ANNOTATED_TEXTS / "texts.jsonl", ["id", "text"]):
        name = record["id"]
        sheet = from_dict({"case_id": name, **record["sheet"]}, name, empty=True)
        texts.append(GoldText(name, record["split"], record["text"], sheet))
    return texts


def labelled_edits():
    sheets = {text.id: text.sheet for text in read_gold()}
    sheets |= {sheet.case_id: sheet for sheet in read_cases()[0]}
    for _, record in read_jsonl(LABELLED_EDITS, ["sheet", "fact"]):
        sheet = sheets[record["sheet"]]
        yield record, sheet, edit_fact(sheet, record["fact"], record["new"])
