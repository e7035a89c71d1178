"""``casebook sensitivity evaluate`` and ``casebook explain score`` on material of the
user's own."""

import json

import pytest
from cases import failing
from planting import plant_cases

from casebook.paths import ROOT

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
        facts = sheet.model_dump()
        told = planted.annotations[planted.annotations["case_id"] == sheet.case_id]
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
    tables = report["tables"]
    rate = tables["Plausibility of the edits"][-1]
    stated, in_code, *_ = tables["COUNTERCASE's evaluation"]
    share = rate["accept"] / (rate["accept"] + rate["reject"])
    assert rate["rate"] == pytest.approx(share) and stated["llm accept rate"] != 1
    assert in_code["llm accept rate"] == 1.0
    area = tables["Facts that decide"][0]
    (against,) = tables["Facts that decide, against simple baselines"]
    assert area["low"] > 0.5 and against["against"] == "type alone"
    assert against["level"] - against["baseline"] == pytest.approx(against["difference"])
    assert against["low"] > 0
    (above,) = tables["Placebo edits above the threshold"]
    assert 0 < above["low"] <= above["value"] <= above["high"] <= 1


def test_what_cases_lack_is_said_before_anything_is_searched(casebook, corpus, tmp_path):
    cases = tmp_path / "cases.jsonl"
    case = {"case_id": "c1", "fact_sheet": {"sections_cited": ["IPC-302"]}}
    cases.write_text(json.dumps(case), encoding="utf-8")
    code, _, err = casebook("sensitivity", "evaluate", cases, "--corpus", corpus, *OPTIONS)
    said = [line for line in err.splitlines() if line.startswith("note: ")]
    assert code == 0 and "note: no case is annotated" in err
    assert {line.split()[1].rstrip(":") for line in said[:-1]} == {"Numerical", "PartyType"}


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
    assert code == 0
    rules = {(row["rule"], row["measure"]): row for row in report["rules"]}
    documented, _, ours = dict.fromkeys(row["rule"] for row in report["rules"])
    scores = {row["id"]: row for row in report["explanations"]}
    assert scores["true"][ours] == scores["two"][ours] == 1.0
    assert scores["made up"][ours] == 0.0 and scores["true"][f"{ours}, foreign"] < 0.5
    assert rules[documented, "faithfulness"]["value"] == pytest.approx(2 / 3)
    assert rules[ours, "faithfulness"]["reason"] == "fewer_than_six_units"
    foreign = [row[f"{ours}, foreign"] for row in report["explanations"]]
    assert rules[ours, "faithfulness"]["control"] == pytest.approx(sum(foreign) / 3) != 2 / 3


BAD = [
    ('{"explanation": "x", "sorce": "bread.txt"}', "name one of"),
    ('{"explanation": "x", "source": "bread.txt", "contexts": ["y"]}', "name one of"),
    ('{"explanation": "x", "source": "wine.txt"}', "no such document"),
    ('{"explanation": " ", "source": "bread.txt"}', "explanation (column 'explanation') is empty"),
    ('{"explanation": "x", "contexts": "y"}', "is no JSON list of texts: type --lists one"),
]


def test_a_wrong_explanation_names_file_and_line(casebook, refused, kitchen, tmp_path):
    good = {"id": "g", "explanation": "Mix flour.", "source": "bread.txt"}
    told = written(tmp_path, {"id": 7, "text": "Mix flour.", "of": ["bread.txt"], "by": "me"})
    words = ("--columns", "explanation=text", "--columns", "sources=of")
    code, out, _ = casebook("explain", "score", told, "--sources", kitchen, *words)
    assert code == 0 and "explanation = 'text', sources = 'of'; not read: by" in out

    def check(line, problem):
        row = line if isinstance(line, dict) else {"id": "h"} | json.loads(line)
        path = written(tmp_path, good, row)
        words = ("explain", "score", path, "--sources", kitchen)
        refused(words, "explanations.jsonl:2", problem)

    assert failing(check, [*BAD, (good, "id 'g' stands in an earlier row already")]) == []
