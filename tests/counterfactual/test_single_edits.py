"""Single edits: texts and lists that fit what was measured of them."""

import pandas as pd
import pytest

from casebook.counterfactual import chapter
from casebook.counterfactual.collections import case_collection
from casebook.counterfactual.planted import WEIGHTS
from casebook.counterfactual.single_edits import drill_down
from casebook.counterfactual.tree_state import TreeSettings
from casebook.measures.rankshift import normalised_footrule
from casebook.runs.outputs import as_json


@pytest.fixture(scope="module")
def cases():
    return case_collection("planted", cases=1, values=3, per_line=6)


@pytest.fixture(scope="module")
def study(cases):
    settings = TreeSettings(2, 4, placebo_draws=2)
    return chapter.run(cases, ["bm25"], settings)


@pytest.fixture(scope="module")
def found(study, cases):
    return drill_down(study, cases.precedents)


def words(item, sign):
    return " ".join(run[1:] for run in item["change"] if run[0] in ("=", sign))


def tried(study, found, system="bm25"):
    """Give items with the system's own nodes, matched by case and texts."""
    nodes = {
        (tree.case_id, node.parent.query, node.query): node for tree in study.trees[system] for node in tree.nodes[1:]
    }
    keys = [(i["case"], words(i, "-"), words(i, "+")) for i in found["items"]]
    return [(item, nodes[key]) for item, key in zip(found["items"], keys, strict=True) if key in nodes]


def test_precedents_share_the_values_that_decide(cases):
    documents = cases.documents.set_index("doc_id")
    assert {len(found) for found in cases.precedents.values()} == {6}
    for sheet in cases.sheets:
        rows = documents.loc[cases.precedents[sheet.case_id]]
        (area,) = set(rows["area"])
        for name, weight in WEIGHTS[area].items():
            assert not weight or len(set(rows[name])) == 1
        if WEIGHTS[area]["Section"]:
            assert set(rows["Section"]) == set(sheet.sections_cited)


def test_lists_are_what_differs_between_the_results_of_two_queries(study, found):
    ids = [name for name, _ in found["documents"]]
    assert found["systems"] == ["bm25", "random"] and found["remark"] is None
    pairs = tried(study, found)
    assert len(pairs) == sum(item["results"][0] is not None for item in found["items"])
    for item, node in pairs:
        result = item["results"][0]
        before, after = node.parent.found.cases, node.found.cases
        left = [[ids[d], rank] for d, rank, _ in result["left"]]
        assert left == [[d, r] for r, d in enumerate(before, 1) if d not in after]
        assert {ids[d] for d, _, _ in result["entered"]} == set(after) - set(before)
        moved = normalised_footrule(before, after, 10)
        assert result["moved"] == pytest.approx(moved, abs=6e-4)


def test_an_id_means_the_same_edit_to_every_system(study, found):
    for item in found["items"]:
        name, _, only = item["id"].partition(" (")
        systems = [only.rstrip(")")] if only else study.systems
        for system in systems:
            for tree in study.trees[system]:
                for node in tree.nodes[1:]:
                    if f"{tree.case_id} {node.name}" == name:
                        assert node.query == words(item, "+")


def test_precedents_are_counted_in_the_lists(study, found, cases):
    for item, node in tried(study, found):
        wanted = set(cases.precedents[item["case"]])
        ranks = [rank for rank, d in enumerate(node.found.cases, 1) if d in wanted]
        best = min(ranks, default=None)
        assert item["results"][0]["still_found"] == [best, len(ranks)]


def test_placebos_are_those_of_the_same_size(study, found):
    edges = study.edges["bm25"].set_index(["case_id", "node"])
    pairs = tried(study, found)
    assert len(pairs) >= (edges["depth"] == 1).sum()
    for item, node in pairs:
        row, result = edges.loc[(item["case"], node.name)], item["results"][0]
        assert len(result["placebo_new"]) == row["placebos"]
        assert (item["placebo"] is None) == (row["placebos"] == 0)
        expected = pytest.approx(row["placebo_footrule"], abs=6e-4)
        assert result["placebo_moved"] == (expected if row["placebos"] else None)


def test_ids_are_unique_and_a_budget_keeps_edits_of_the_cases(study, found, cases):
    names = [item["id"] for item in found["items"]]
    assert len(set(names)) == len(names) < found["asked"]
    assert as_json(found) == as_json(drill_down(study, cases.precedents))
    small = drill_down(study, cases.precedents, most_bytes=16_000)
    assert len(as_json(small)) <= 16_000 and 1 < len(small["items"]) < len(names)
    first = [item["id"] for item in found["items"] if item["depth"] == 1]
    kept = [item["id"] for item in small["items"]]
    assert set(first) <= set(kept) or set(kept) <= set(first)


def test_of_each_case_all_own_edits_and_the_three_most_telling_are_kept(study, found):
    edges = study.edges["bm25"]
    moved = (edges["footrule"] - edges["placebo_footrule"]).abs().fillna(0)
    pairs = {(i["case"], node.name) for i, node in tried(study, found)}
    keys = zip(edges["case_id"], edges["node"], strict=True)
    kept = pd.Series([key in pairs for key in keys], index=edges.index)
    own = (edges["depth"] == 1) & (edges["status"] == "ok")
    assert kept[own].all()
    for _, group in edges[edges["depth"] > 1].groupby("case_id"):
        inside = kept[group.index]
        assert inside.sum() == min(3, len(group))
        left = moved[group.index][~inside]
        assert moved[group.index][inside].min() >= left.max() - 1e-3


def test_without_permission_queries_stay_away(study, cases, monkeypatch):
    monkeypatch.setattr("casebook.counterfactual.single_edits.may_show", lambda _: frozenset())
    found = drill_down(study, {})
    assert {i["change"] for i in found["items"]} == {None}
    assert {i["placebo"] for i in found["items"]} == {None}
    assert {text for _, text in found["documents"]} == {None}
    assert not found["precedents"]
    assert {r["found"] for i in found["items"] for r in i["results"] if r} == {None}
