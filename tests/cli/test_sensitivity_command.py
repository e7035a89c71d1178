"""``casebook sensitivity`` on good and bad input; every error is one line."""

import json

import pytest

from casebook.cli import main
from casebook.counterfactual.explanation_types import plain
from casebook.datasets.registry import load

CASE = {
    "case_id": "t1",
    "parties": {"petitioner_type": "Individual", "respondent_type": "State"},
    "sections_cited": ["IPC-302"],
    "evidence_items": [{"evidence_type": "Witness"}],
    "numerical_facts": {"ages": [{"value": 17, "descriptor": "accused"}]},
}
JUDGMENT = (
    "FACTS\nThe appellant, an individual aged 17 years, was convicted under section "
    "302 IPC on his confession and a medical report, and fined Rs. 5,000 by the State."
)
DOCKET = "Minor <b>v.</b> State_[1]"


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["sensitivity", *map(str, arguments)])
    return ended.value.code


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASE), encoding="utf-8")
    return path


@pytest.fixture
def tree(case, tmp_path, capsys):
    path = tmp_path / "tree.json"
    assert run("run", case, "smoke", "--mode", "bm25", "-o", path) == 0
    capsys.readouterr()
    return path


def test_tree_of_a_fact_sheet_has_the_documented_fields(tree):
    report = json.loads(tree.read_text(encoding="utf-8"))
    root, child = report["nodes"][:2]
    assert root["diff_vs_parent"] is None
    assert set(root["sensitivity_scores"]) == {
        "Section",
        "Numerical",
        "PartyType",
        "Evidence",
    }
    assert set(child["diff_vs_parent"]) >= {
        "dropped_cases",
        "newly_appeared_cases",
        "stable_cases",
        "rank_displacements",
        "mean_displacement",
    }
    assert child["fact_sheet_state"]["case_id"] == "t1"
    results = child["retrieval_results"]
    assert [r["rank"] for r in results] == list(range(1, len(results) + 1))
    assert child["counterfactual_summary"]
    moved = child["diff_vs_parent"]["rank_displacements"].values()
    mean = child["diff_vs_parent"]["mean_displacement"]
    assert mean == pytest.approx(sum(moved) / len(moved))


def test_every_result_and_edge_is_explained_by_words_of_the_documents(tree, capsys):
    texts = load("smoke").documents.set_index("doc_id")["text"]
    report = json.loads(tree.read_text(encoding="utf-8"))
    assert run("report", tree) == 0
    markdown = capsys.readouterr().out
    quoted = 0
    for node in report["nodes"]:
        told = [result["explanation"] for result in node["retrieval_results"]]
        told += [node["edge"]["explanation"]] if node["edge"] else []
        assert len(told) > 5
        assert f"### {node['node_id']}: " in markdown
        for sentence in [one for each in told for one in each["sentences"]]:
            assert plain(sentence["text"]) in markdown
            for place in sentence["support"]:
                words = texts[place["document_id"]][place["start"] : place["end"]]
                assert words == place["quote"]
                quoted += 1
    assert quoted


def test_report_without_explanations_is_still_written(tree, capsys):
    report = json.loads(tree.read_text(encoding="utf-8"))
    for node in report["nodes"]:
        for part in [*node["retrieval_results"], node["edge"] or {}]:
            part.pop("explanation", None)
    tree.write_text(json.dumps(report), encoding="utf-8")
    assert run("report", tree) == 0
    assert "## Explanations" not in capsys.readouterr().out


def test_report_as_markdown_and_json(tree, tmp_path, capsys):
    assert run("report", tree) == 0
    text = capsys.readouterr().out
    assert text.startswith("# Sensitivity of the results for t1")
    assert "| Section |" in text
    assert run("report", tree, "--json") == 0
    assert "PartyType" in json.loads(capsys.readouterr().out)
    assert run("report", tree, "-o", tmp_path / "tree.md") == 0
    assert (tmp_path / "tree.md").read_text(encoding="utf-8") == text
    assert run("report", tree, "-o", tree) == 1


def test_names_of_others_are_no_markup(tmp_path, capsys):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(CASE | {"case_id": DOCKET}), encoding="utf-8")
    out = tmp_path / "odd-tree.json"
    assert run("run", path, "smoke", "--mode", "bm25", "--depth", 1, "-o", out) == 0
    capsys.readouterr()
    assert run("report", out) == 0
    title = capsys.readouterr().out.splitlines()[0]
    assert "<b>" not in title
    assert r"State\_\[1\]" in title


def test_a_judgment_and_the_documented_mode(tmp_path, capsys):
    path = tmp_path / "judgment.txt"
    path.write_text(JUDGMENT, encoding="utf-8")
    options = ("--mode", "bm25", "--json", "--documented")
    assert run("run", path, "smoke", *options) == 0
    report = json.loads(capsys.readouterr().out)
    scores = report["nodes"][0]["sensitivity_scores"]
    assert scores["Section"]["reason"] == "not assessed: no edge"
    assert scores["Section"]["mean_displacement"]["value"] is None
    assert scores["Numerical"]["edges"] > 0


def test_a_model_that_is_down_accepts_nothing(case, capsys, monkeypatch):
    monkeypatch.setenv("CASEBOOK_LLM_URL", "http://127.0.0.1:9/v1")
    options = ("--mode", "bm25", "--validator", "endpoint:none")
    assert run("run", case, "smoke", *options) == 0
    out = capsys.readouterr().out
    assert "answers missing: unreachable" in out
    assert "0 accept" in out
    assert "not assessed" in out


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", (), "is not JSON"),
        (b"{}", (), "case_id"),
        (b'{"case_id": "e"}', (), "has no fact"),
        (b"\xff\xfe", (), "is not JSON in UTF-8"),
        (json.dumps(CASE | {"colour": 1}).encode(), (), "colour"),
        (None, ("--k", "5000"), "fewer than the 5000"),
        (None, ("--budget", "all"), "unknown budget"),
        (None, ("--mode", "magic"), "magic"),
        (None, ("--validator", "oracle"), "no language model 'oracle'"),
    ],
)
def test_bad_input_is_one_clear_line(case, content, options, message, capsys):
    if content is not None:
        case.write_bytes(content)
    assert run("run", case, "smoke", *options) == 1
    found = capsys.readouterr()
    assert message in found.err
    assert found.err.count("\n") == 1
    assert not found.out


@pytest.mark.parametrize("text", ["", "   \n", "The sea was calm and nobody spoke."])
def test_texts_without_facts_are_refused(tmp_path, text, capsys):
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    assert run("run", path, "smoke") == 1
    assert str(path) in capsys.readouterr().err


def test_reports_that_are_none_are_refused(tmp_path, case, capsys):
    assert run("report", case) == 1
    assert "is no report of a tree" in capsys.readouterr().err
    assert run("report", tmp_path / "absent.json") == 1
    assert "cannot be read" in capsys.readouterr().err
