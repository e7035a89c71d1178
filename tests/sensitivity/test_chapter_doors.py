"""The chapter on cases of the user's own: it runs, or says why not."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from planting import plant_cases

from casebook.sensitivity.edits import NO_INERT_WORDS


@pytest.fixture(scope="module")
def planted():
    return plant_cases(2, 3, 4)


@pytest.fixture
def material(planted, tmp_path):
    """Write cases and documents, and give the parameters that name them."""

    def write(number=None, change=str):
        folder = tmp_path / "documents"
        folder.mkdir(exist_ok=True)
        for row in planted.documents.itertuples():
            (folder / f"{row.doc_id}.txt").write_text(change(row.text), encoding="utf-8")
        lines = []
        for sheet in planted.sheets[:number]:
            record = sheet.model_dump()
            sides = planted.annotations[planted.annotations["case_id"] == sheet.case_id]
            for key, part in sides.groupby("dispositive")["fact_type"]:
                record["dispositive_facts" if key else "non_dispositive_facts"] = part.tolist()
            lines.append(json.dumps(record))
        path = tmp_path / "cases.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return {"cases": str(path), "corpus": str(folder), "systems": ["bm25"]}

    return write


def without_inert_words(text):
    return re.sub(r"Filed in.*", "", text)


@pytest.fixture
def answers(chapter, headlines):
    """Give a function that runs both chapters and gives their answers, and what was displayed."""

    def run(parameters):
        found, texts = [], []
        for name in ("04_counterfactual_sensitivity", "16_deciding_facts"):
            _, shown = chapter(name, n_resamples=200, **parameters)
            found += headlines()
            texts += shown.values()
        return found, "".join(texts)

    return run


@pytest.mark.slow
def test_without_inert_words_nothing_that_needs_a_placebo_is_answered(material, answers):
    (excess, least, single), _ = answers(material(change=without_inert_words))
    for headline in (excess, least, single):
        assert headline["value"] is None and headline["reason"] == NO_INERT_WORDS


COLOURS = """
facts:
  - name: colour of the ship
    values: {red: red, blue: blue}
acts:
  - code: IPC
    titles: [Insurance Penalties Code]
    sections: [302-307]
"""


def with_facts_of_ones_own(parameters, folder):
    """Add a fact of a type of the user's own to the only case, and the file of the types."""
    path = Path(parameters["cases"])
    case = json.loads(path.read_text(encoding="utf-8"))
    case["further_facts"] = [{"fact_type": "colour of the ship", "value": "red"}]
    path.write_text(json.dumps(case), encoding="utf-8")
    (folder / "colours.yml").write_text(COLOURS, encoding="utf-8")
    return parameters | {"facts": str(folder / "colours.yml")}


@pytest.mark.slow
def test_one_case_has_answers_by_edit_and_two_systems_need_no_third(material, answers, tmp_path):
    parameters = material(1) | {"systems": ["dense", "bm25"]}
    (excess, *others), shown = answers(with_facts_of_ones_own(parameters, tmp_path))
    assert (excess["system"], excess["groups"], excess["reason"]) == ("BM25", 1, "interval_by_unit")
    assert excess["low"] < excess["value"] < excess["high"]
    assert len(others) == 2
    assert others[1]["low"] is None
    (types,) = (tmp_path / "results/mine/tables").glob("*.every-retriever.csv")
    edges = pd.read_csv(types).set_index(["system", "part"])["n"]
    assert edges["bm25", "colour of the ship"] > 0
    assert "colours.yml adds or replaces colour of the ship, IPC" in shown
