"""``casebook sensitivity`` on good and bad input; every error is one line."""

import functools
import json

import pytest
from cases import failing
from planting import plant_cases

CASE = {
    "case_id": "t1",
    "parties": {"petitioner_type": "Individual", "respondent_type": "State"},
    "sections_cited": ["IPC-302"],
    "evidence_items": [{"evidence_type": "Witness"}],
    "numerical_facts": {"ages": [{"value": 17, "descriptor": "accused"}]},
}


@pytest.fixture
def run(casebook):
    return functools.partial(casebook, "sensitivity")


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "case.json"
    path.write_text(json.dumps(CASE), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A small planted collection, whose documents hold months and counsel."""
    folder = tmp_path_factory.mktemp("planted")
    for row in plant_cases(1, 3, 4).documents.itertuples():
        (folder / f"{row.doc_id}.txt").write_text(row.text, encoding="utf-8")
    return folder


def test_tree_of_a_fact_sheet_has_the_documented_fields(run, case, folder, tmp_path):
    path = tmp_path / "tree.json"
    code, out, _ = run("run", case, folder, "--mode", "bm25", "-o", path)
    assert code == 0 and "mean displacement" in out and "fewer than six rows" in out
    root, child = json.loads(path.read_text(encoding="utf-8"))["nodes"][:2]
    assert root["diff_vs_parent"] is None
    assert set(root["sensitivity_scores"]) == {"Section", "Numerical", "PartyType", "Evidence"}
    diff = child["diff_vs_parent"]
    lists = {"dropped_cases", "newly_appeared_cases", "stable_cases"}
    assert set(diff) >= {*lists, "rank_displacements", "mean_displacement"}
    assert child["fact_sheet_state"]["case_id"] == "t1" and child["counterfactual_summary"]
    results = child["retrieval_results"]
    assert [r["rank"] for r in results] == list(range(1, len(results) + 1))
    moved = diff["rank_displacements"].values()
    assert diff["mean_displacement"] == pytest.approx(sum(moved) / len(moved))
    deeper = ("--depth", 2, "--children", 2, "-o", path)
    assert run("run", case, folder, "--mode", "bm25", *deeper)[0] == 0
    assert len(json.loads(path.read_text(encoding="utf-8"))["nodes"]) == 1 + 2 + 4


def test_bad_input_is_one_clear_line(refused, case):
    good = case.read_bytes()
    bad = [
        (b"", "", "is not JSON"),
        (b'{"case_id": "e"}', "", "has no fact"),
        (json.dumps(CASE | {"colour": 1}).encode(), "", "colour"),
        (good, "--k 5000", "fewer than the 5000"),
        (good, "--validator oracle", "no language model 'oracle'"),
        (good, "--threshold nan", "threshold"),
        (good, "--threshold -1", "threshold"),
        (good, "--children 0", "--children"),
        (good, "--depth 0", "--depth"),
        (good, "--placebos -1", "--placebos"),
    ]

    def check(content, options, message):
        case.write_bytes(content)
        refused(("sensitivity", "run", case, "smoke", *options.split()), message)

    assert failing(check, bad) == []
    text = case.with_suffix(".txt")
    text.write_text("The appellant, aged 40, was fined Rs. 5,000.")
    words = ("sensitivity", "run", text, "smoke", "--extractor", "oracle")
    refused(words, "no language model 'oracle'")
