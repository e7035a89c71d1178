"""``casebook sensitivity evaluate`` and ``casebook explain score`` on material of the
user's own."""

import json
import re
from contextlib import nullcontext

import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.explain.study import LEAST_SOURCES, limited, read_explanations
from casebook.measures.rankshift import rbo
from casebook.paths import ROOT
from casebook.sensitivity.cases import CASE_KEYS, plant_cases, user_collection
from casebook.sensitivity.evaluation import documented_scores
from casebook.sensitivity.facts import (
    CASE_OUTCOMES,
    EVIDENCE_TYPES,
    PARTY_TYPES,
    from_dict,
    to_dict,
)
from casebook.sensitivity.study import run_sensitivity_study
from casebook.sensitivity.tree import TreeSettings

PAGE = (ROOT / "book/methods/counterfactual_sensitivity.md").read_text(encoding="utf-8")
OPTIONS = ("--mode", "bm25", "--resamples", "200")


@pytest.fixture(scope="module")
def planted():
    return plant_cases(2, 3, 4)


@pytest.fixture
def corpus(planted, tmp_path):
    """The planted documents as plain text files, in a folder with a blank in its name."""
    folder = tmp_path / "my judgments"
    folder.mkdir()
    for row in planted.documents.itertuples():
        (folder / f"{row.doc_id}.txt").write_text(row.text, encoding="utf-8")
    return folder


@pytest.fixture
def cases(planted, tmp_path):
    path, lines = tmp_path / "my cases.jsonl", []
    for sheet in planted.sheets:
        facts, told = (
            to_dict(sheet),
            planted.annotations[planted.annotations["case_id"] == sheet.case_id],
        )
        line = {"case_id": facts.pop("case_id"), "fact_sheet": facts}
        for key, decides in (("dispositive_facts", True), ("non_dispositive_facts", False)):
            line[key] = told.loc[told["dispositive"] == decides, "fact_type"].tolist()
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_evaluation_finds_the_facts_that_were_planted(casebook, cases, corpus):
    code, out, _ = casebook(
        "sensitivity", "evaluate", cases, "--corpus", corpus, *OPTIONS, "--json"
    )
    report = json.loads(out)
    assert code == 0 and report["counts"]["annotated"] == 8 and report["counts"]["pairs"] == 32
    rate = report["standard"]["accept rate"]["value"]
    assert report["original"]["llm_accept_rate"] == pytest.approx(rate, abs=1e-4) != 1
    assert report["original in its code"]["llm_accept_rate"] == 1.0
    area, (against,) = report["standard"]["auroc"], report["against"]
    assert area["ci"][0] > 0.5 and against["against"] == "type alone"
    assert (
        against["level"] - against["baseline"] == pytest.approx(against["difference"])
        and against["low"] > 0
    )
    above = report["standard"]["share of placebos above the threshold"]
    assert 0 < above["ci"][0] <= above["value"] <= above["ci"][1] <= 1


def test_original_accuracies_are_those_of_the_rule(casebook, cases, corpus):
    _, out, _ = casebook(
        "sensitivity", "evaluate", cases, "--corpus", corpus, *OPTIONS, "--original", "--json"
    )
    collection = user_collection(cases, corpus)
    study = run_sensitivity_study(
        collection, ["bm25"], TreeSettings.documented(), n_resamples=200, chunking=False
    )
    table = documented_scores(study.edges["bm25"])
    told = collection.annotations.set_index(["case_id", "fact_type"])["dispositive"]
    right = [(table.loc[case, name] > 1.5) == decides for (case, name), decides in told.items()]
    shares = (
        pd.Series(right, index=told.index).groupby([told, told.index.get_level_values(0)]).mean()
    )
    report = json.loads(out)["original"]
    assert report["dispositive_accuracy"] == pytest.approx(shares[True].mean(), abs=1e-4)
    assert report["non_dispositive_accuracy"] == pytest.approx(shares[False].mean(), abs=1e-4)


def test_the_threshold_of_an_evaluation_moves_all_that_depends_on_it(casebook, cases, corpus):
    reports = []
    for threshold in (0, 1.5, 11):
        told = ("--corpus", corpus, *OPTIONS, "--threshold", threshold)
        code, out, _ = casebook("sensitivity", "evaluate", cases, *told, "--json")
        report = json.loads(out)
        assert code == 0 and report["threshold"] == threshold
        assert "share of placebos above the threshold" in report["standard"]
        reports.append(report)
    none, documented, all_of_them = [report["original"] for report in reports]
    assert none["dispositive_accuracy"] == all_of_them["non_dispositive_accuracy"] == 1
    assert all_of_them["dispositive_accuracy"] == 0
    assert documented["non_dispositive_accuracy"] > none["non_dispositive_accuracy"]
    assert reports[0]["fact types"] == reports[2]["fact types"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_model_that_is_down_leaves_the_evaluation_undefined(casebook, cases, corpus, monkeypatch):
    monkeypatch.setenv("CASEBOOK_LLM_URL", "http://127.0.0.1:9/v1")
    told = ("--corpus", corpus, *OPTIONS, "--validator", "endpoint:none")
    code, out, _ = casebook("sensitivity", "evaluate", cases, *told)
    assert code == 0 and "answers missing: unreachable" in out and "not assessed: no edge" in out


def test_a_retriever_of_ones_own_is_evaluated(casebook, cases, corpus, tmp_path, monkeypatch):
    (tmp_path / "fixed_order.py").write_text(
        "class Search:\n"
        "    def __init__(self, documents):\n        self.ids = sorted(documents['doc_id'])\n"
        "    def __call__(self, queries, k):\n"
        "        return [self.ids[:k]] * len(queries), [[1.0] * len(self.ids[:k])] * len(queries)\n"
        "def nonsense(queries, k):\n    return [['nowhere']] * len(queries), [[1.0]] * len(queries)\n"
    )
    monkeypatch.chdir(tmp_path)
    told = ("sensitivity", "evaluate", cases, "--corpus", corpus, "--resamples", "200", "--mode")
    code, out, _ = casebook(*told, "fixed_order:Search", "--json")
    report = json.loads(out)
    assert code == 0 and report["standard"]["auroc"]["value"] == 0.5  # it never moves
    assert (
        report["original"]["dispositive_accuracy"] == 0
        and report["original"]["non_dispositive_accuracy"] == 1
    )
    code, _, error = casebook(*told, "fixed_order:nonsense")
    assert code == 1 and "1 ids are no documents, such as 'nowhere'" in error


def test_inputs_are_kept_and_annotations_may_be_absent(casebook, cases, corpus):
    told = ("sensitivity", "evaluate", cases, "--corpus", corpus, *OPTIONS)
    assert casebook(*told, "-o", cases)[0] == casebook(*told, "-o", next(corpus.iterdir()))[0] == 1
    lines = map(json.loads, cases.read_text(encoding="utf-8").splitlines())
    cases.write_text(
        "\n".join(json.dumps({k: line[k] for k in CASE_KEYS[:2]}) for line in lines),
        encoding="utf-8",
    )
    code, out, _ = casebook(*told)
    assert code == 0 and "no case is annotated" in out and "excess over placebo edits" in out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"case_id": "a", "fact_sheet": {}, "dispositve": []}, "dispositive_facts"),
        ({"case_id": "a", "fact_sheet": {"partys": {}}}, "sections_cited"),
        ({"case_id": "a", "fact_sheet": {"parties": {"petitioner_type": "Wizard"}}}, "Reinsurer"),
    ],
)
def test_a_wrong_key_is_answered_with_the_allowed_ones(casebook, corpus, tmp_path, line, told):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    code, _, error = casebook("sensitivity", "evaluate", path, "--corpus", corpus)
    assert code == 1 and "bad.jsonl:1" in error and told in error and error.count("\n") == 1


def test_the_page_shows_a_case_that_is_read_and_all_values():
    case = json.loads(re.search(r"```json\n(\{\n.*?\n\})\n```", PAGE, re.DOTALL)[1])
    assert from_dict(case).parties.petitioner_type == "Policyholder"
    for name in (*PARTY_TYPES, *EVIDENCE_TYPES, *CASE_OUTCOMES, *CASE_KEYS):
        assert re.search(rf"\b{name}\b", PAGE), name


def test_the_page_promises_no_overlap_of_lists_with_ties():
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| rank-biased overlap")]
    assert "result lists have no ties" in row
    with pytest.raises(InputError, match="stands at ranks"):
        rbo(["a", "b", "b"], ["a", "b", "c"])


# ---- explanations

RECIPES = {
    "bread.txt": "Mix 500 g of flour with water and salt. Let the dough rest for two hours. Bake it until brown.",
    "soup.txt": "Cut onions and carrots. Boil the vegetables in broth for thirty minutes. Serve the soup with parsley.",
    "cake.md": "Beat eggs with sugar until pale. Fold in almonds and chocolate. Cool the cake before slicing it.",
}


@pytest.fixture
def kitchen(tmp_path):
    folder = tmp_path / "my recipes"
    folder.mkdir()
    for name, text in RECIPES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def written(folder, *rows):
    path = folder / "explanations.jsonl"
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows),
        encoding="utf-8",
    )
    return path


def test_grounded_and_invented_explanations_are_told_apart(casebook, kitchen, tmp_path):
    rows = [
        {
            "id": "true",
            "explanation": "The dough must rest for two hours before you bake it.",
            "source": "bread.txt",
        },
        {
            "id": "made up",
            "explanation": "Whales migrate towards warmer oceans every winter.",
            "source": "soup.txt",
        },
        {
            "id": "two",
            "explanation": "Beat eggs with sugar. Boil vegetables.",
            "sources": ["cake.md", "soup.txt"],
        },
    ]
    path = written(tmp_path, *rows)
    code, out, _ = casebook("explain", "score", path, "--sources", kitchen, "--json")
    report = json.loads(out)
    scores = {item["id"]: item["corrected"] for item in report["items"]}
    assert code == 0 and scores["true"]["faithfulness"] == scores["two"]["faithfulness"] == 1.0
    assert scores["made up"]["faithfulness"] == 0.0 and scores["true"]["foreign"] < 0.5
    assert report["documented"]["faithfulness"]["value"] == pytest.approx(2 / 3)
    assert report["corrected"]["faithfulness"]["reason"] == "fewer_than_six_units"
    foreign = [item["corrected"]["foreign"] for item in report["items"]]
    assert (
        report["corrected"]["faithfulness"]["control"] == pytest.approx(sum(foreign) / 3) != 2 / 3
    )
    rows.append(
        {"id": "half", "explanation": "Beat eggs with sugar. Whales migrate.", "source": "cake.md"}
    )
    code, out, _ = casebook("explain", "score", written(tmp_path, *rows), "--sources", kitchen)
    assert code == 0 and "foreign sources" in out and re.search(r"made up +0\.0+ ", out)
    # After two means by each of three rules stand the numbers of the sentences below the threshold.
    listed = {
        name: re.search(rf"^ *{name}((?: +[\d.]+){{6}})(.*)$", out, re.MULTILINE)
        for name in ("half", "two")
    }
    assert [listed["half"][2].strip(), listed["two"][2].strip()] == ["2", ""], out


BAD = [
    (
        '{"explanation": "x", "sorce": "bread.txt"}',
        "the keys are id, explanation, source, sources, contexts",
    ),
    ('{"explanation": "x"}', "name one of"),
    ('{"explanation": "x", "source": "wine.txt"}', "no such document"),
    ('{"id": 3, "explanation": "x", "source": "bread.txt"}', "field id: "),
]


@pytest.mark.parametrize(("line", "problem"), BAD)
def test_a_wrong_explanation_names_file_and_line(casebook, kitchen, tmp_path, line, problem):
    good = {"id": "g", "explanation": "Mix flour.", "source": "bread.txt"}
    code, _, error = casebook(
        "explain", "score", written(tmp_path, good, line), "--sources", kitchen
    )
    assert (
        code == 1
        and "explanations.jsonl:2" in error
        and problem in error
        and error.count("\n") == 1
    )
    code, _, error = casebook(
        "explain", "score", written(tmp_path, good, good), "--sources", kitchen
    )
    assert code == 1 and "comes twice" in error


def of_chapter(path, sources=None):
    """What chapter 05 reads of explanations."""
    return limited(read_explanations(path, sources), None, 0)


def test_the_chapter_asks_for_enough_sources(kitchen, tmp_path):
    path = written(tmp_path, {"explanation": "Mix flour.", "source": "bread.txt"})
    with pytest.raises(InputError, match=f"{LEAST_SOURCES} are the fewest"):
        of_chapter(path, kitchen)


@pytest.mark.parametrize("count", [LEAST_SOURCES - 1, LEAST_SOURCES])
def test_the_fewest_sources_are_enough(tmp_path, count):
    lines = [{"explanation": "Mix flour.", "contexts": [f"Recipe {n}: mix."]} for n in range(count)]
    refused = pytest.raises(InputError, match="are the fewest")
    with refused if count < LEAST_SOURCES else nullcontext():
        of_chapter(written(tmp_path, *lines))
