"""The chapter on cases of the user's own: it runs, or says why not."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.sensitivity.cases import PLANTED, case_collection, plant_cases, user_collection
from casebook.sensitivity.domain import FACT_TYPES, read_domain
from casebook.sensitivity.edits import NO_INERT_WORDS
from casebook.sensitivity.facts import to_dict
from casebook.sensitivity.study import run_sensitivity_study

NO_EDIT = {
    "case_id": "x",
    "parties": {"petitioner_type": "Partnership", "respondent_type": "ForeignNational"},
    "sections_cited": ["CPC-Preamble"],
}


@pytest.fixture(scope="module")
def planted():
    return plant_cases(2, 3, 4)


@pytest.fixture
def material(planted, tmp_path):
    """Write cases and documents, and give the parameters that name them."""

    def write(number=None, change=str, annotated=True, sheets=None):
        folder = tmp_path / "documents"
        folder.mkdir(exist_ok=True)
        for row in planted.documents.itertuples():
            (folder / f"{row.doc_id}.txt").write_text(change(row.text), encoding="utf-8")
        lines = []
        for sheet in planted.sheets[:number]:
            record = to_dict(sheet)
            sides = planted.annotations[planted.annotations["case_id"] == sheet.case_id]
            if annotated:
                record["dispositive_facts"] = sides.loc[sides["dispositive"], "fact_type"].tolist()
                record["non_dispositive_facts"] = sides.loc[
                    ~sides["dispositive"], "fact_type"
                ].tolist()
            lines.append(json.dumps(record))
        path = tmp_path / "cases.jsonl"
        path.write_text(
            "\n".join(map(json.dumps, sheets)) if sheets else "\n".join(lines), encoding="utf-8"
        )
        return {"cases": str(path), "corpus": str(folder), "systems": ["bm25"]}

    return write


def without_inert_words(text):
    return re.sub(r"Filed in.*", "", text)


def about_partnerships(text):
    return f"{text} Partnership, ForeignNational, CPC Preamble." if "IPC-302" in text else text


def collection_of(parameters):
    """The cases and documents that the chapter studies."""
    domain = read_domain(parameters.get("facts"))
    return user_collection(parameters["cases"], parameters["corpus"], domain)


def test_cases_of_which_none_can_be_scored_are_refused(material):
    assert len(collection_of(material()).sheets) == 8
    with pytest.raises(InputError, match="so none can be scored") as caught:
        collection_of(material(change=lambda _: "nothing of use"))
    assert "cases.jsonl" in str(caught.value) and "\n" not in str(caught.value)
    cases = collection_of(material(change=about_partnerships, sheets=[NO_EDIT]))
    with pytest.raises(InputError, match="no fact has a plausible edit"):
        run_sensitivity_study(cases, ["bm25"])


def test_too_few_documents_are_refused(material, tmp_path):
    parameters = material()
    for path in sorted((tmp_path / "documents").iterdir())[9:]:
        path.unlink()
    with pytest.raises(InputError, match="holds 9 cases, fewer than the 10"):
        run_sensitivity_study(collection_of(parameters), ["bm25"])


@pytest.fixture
def answers(run_chapter, tmp_path):
    """Give a function that runs the chapter and gives its answers, verdict words first."""

    def run(parameters):
        options = [f"{name}={json.dumps(value)}" for name, value in parameters.items()]
        code, headlines, said = run_chapter(
            "counterfactual_sensitivity", *options, "n_resamples=200"
        )
        assert code == 0, said
        (notebook,) = (tmp_path / "out/results/mine/notebooks").glob("*.ipynb")
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        assert not [output for output in outputs if output.get("name") == "stderr"]
        return headlines

    return run


@pytest.mark.slow
def test_without_inert_words_only_what_needs_no_placebo_is_answered(material, answers):
    excess, single, documented, above = answers(material(change=without_inert_words))
    for headline in (excess, single, documented):
        assert headline["value"] is None and headline["reason"] == NO_INERT_WORDS
    assert above["value"] > 0 and above["n"] == 8 and "placebo" not in above["against"]


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


def test_facts_of_ones_own_are_checked(material, tmp_path):
    parameters = with_facts_of_ones_own(material(1), tmp_path)
    assert len(collection_of(parameters).sheets) == 1
    with pytest.raises(InputError, match="facts has no effect on the planted cases"):
        case_collection(PLANTED, domain=read_domain(parameters["facts"]))
    with pytest.raises(InputError, match="'colour of the ship' is unknown: choose from none"):
        collection_of(parameters | {"facts": None})
    Path(parameters["facts"]).write_text("facts: [{name: x}]", encoding="utf-8")
    with pytest.raises(InputError, match=r"colours\.yml: facts 1 \(x\): give either values"):
        collection_of(parameters)


@pytest.mark.slow
@pytest.mark.parametrize("annotated", [False, True])
def test_one_case_has_answers_by_edit_and_two_systems_need_no_third(
    material, answers, tmp_path, annotated
):
    parameters = material(1, annotated=annotated) | {"systems": ["dense", "bm25"]}
    if annotated:
        parameters = with_facts_of_ones_own(parameters, tmp_path)
    excess, *others = answers(parameters)
    assert (excess["system"], excess["groups"], excess["reason"]) == ("BM25", 1, "interval_by_unit")
    assert excess["low"] < excess["value"] < excess["high"]
    assert len(others) == (3 if annotated else 1)
    assert all(other["low"] is None for other in others)
    assert len(set(placebo_shares(tmp_path / "out/results/mine"))) == 1
    (types,) = (tmp_path / "out/results/mine/tables").glob("*.types.csv")
    edges = pd.read_csv(types).set_index(["system", "fact type"])["edges"]
    if annotated:
        assert edges["bm25", "colour of the ship"] > 0
        (notebook,) = (tmp_path / "out/results/mine/notebooks").glob("*.ipynb")
        assert "colours.yml replaces the act IPC" in notebook.read_text(encoding="utf-8")
    else:
        assert list(edges["bm25"].index) == list(FACT_TYPES)


def placebo_shares(run):
    """Give the share of all placebo edits above 1.5, wherever the chapter states it."""
    (numbers,) = (run / "numbers").glob("*.json")
    tables = {
        name: pd.read_csv(next((run / "tables").glob(f"*.{name}.csv")))
        for name in ("documented-bands", "kinds")
    }
    bands = tables["documented-bands"].set_index("mean displacement")
    kinds = tables["kinds"].set_index("kind")
    (systems,) = json.loads(numbers.read_text(encoding="utf-8"))[
        "counterfactual_sensitivity"
    ].values()
    yield systems["bm25"]["share of placebos above the threshold"]["value"]
    yield bands.loc["above 1.5", "share of placebos"]
    yield kinds.loc["placebo", "share above 1.5"]


@pytest.mark.slow
def test_of_a_retriever_that_never_moves_nothing_can_be_measured(material, answers):
    parameters = material() | {"systems": ["constant"]}
    excess, single, documented, above = answers(parameters)
    for headline in (excess, documented, above):
        assert headline["reason"] == "no_unit_differs" and headline["low"] is None
    assert single["level"] == 0.5  # compared with the fact type alone, which differs
