"""Single edits: texts and lists that fit what was measured of them."""

import pytest

from casebook.counterfactual import chapter
from casebook.counterfactual.collections import case_collection
from casebook.counterfactual.planted import WEIGHTS
from casebook.counterfactual.single_edits import drill_down
from casebook.counterfactual.tree_state import TreeSettings
from casebook.measures.rankshift import normalised_footrule
from casebook.runs.items import as_json


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


def nodes(study, system="bm25"):
    return {
        f"{tree.case_id} {node.name}": node
        for tree in study.trees[system]
        for node in tree.nodes[1:]
    }


def test_precedents_share_the_values_that_decide(cases):
    documents = cases.documents.set_index("doc_id")
    assert {len(found) for found in cases.precedents.values()} == {6}
    for sheet in cases.sheets:
        rows = documents.loc[cases.precedents[sheet.case_id]]
        (area,) = set(rows["area"])
        for name, weight in WEIGHTS[area].items():
            assert not weight or rows[name].nunique() == 1
        if WEIGHTS[area]["Section"]:
            assert set(rows["Section"]) == set(sheet.sections_cited)


def test_texts_are_the_queries_and_lists_what_differs_between_results(study, found):
    known = nodes(study)
    ids = [name for name, _ in found["documents"]]
    assert found["systems"] == ["bm25", "random"] and found["remark"] is None
    for item in found["items"]:
        node, result = known.get(item["id"]), item["results"][0]
        if node is None:  # only the control went on from this state
            assert result is None
            continue
        for sign, text in (("-", node.parent.query), ("+", node.query)):
            runs = [run[1:] for run in item["change"] if run[0] in ("=", sign)]
            assert " ".join(runs) == text
        before, after = node.parent.found.cases, node.found.cases
        left = [[ids[d], rank] for d, rank, _ in result["left"]]
        assert left == [[d, r] for r, d in enumerate(before, 1) if d not in after]
        assert {ids[d] for d, _, _ in result["entered"]} == set(after) - set(before)
        moved = normalised_footrule(before, after, 10)
        assert result["moved"] == pytest.approx(moved, abs=6e-4)


def test_precedents_are_counted_in_the_lists(study, found, cases):
    known = nodes(study)
    for item in found["items"]:
        if item["id"] in known and item["results"][0]:
            wanted = set(cases.precedents[item["case"]])
            listed = known[item["id"]].found.cases
            ranks = [rank for rank, d in enumerate(listed, 1) if d in wanted]
            best = min(ranks, default=None)
            assert item["results"][0]["still_found"] == [best, len(ranks)]


def test_placebos_are_those_of_the_same_size(study, found):
    edges = study.edges["bm25"].set_index(["case_id", "node"])
    tried = [item for item in found["items"] if item["results"][0]]
    assert len(tried) >= (edges["depth"] == 1).sum()
    for item in tried:
        row = edges.loc[tuple(item["id"].split())]
        assert len(item["results"][0]["placebo_new"]) == row["placebos"]
        assert (item["placebo"] is None) == (row["placebos"] == 0)
        assert item["results"][0]["placebo_moved"] == (
            pytest.approx(row["placebo_footrule"], abs=6e-4)
            if row["placebos"]
            else None
        )


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
    names = edges["case_id"] + " " + edges["node"]
    kept = names.isin([item["id"] for item in found["items"]])
    own = (edges["depth"] == 1) & (edges["status"] == "ok")
    assert kept[own].all()
    for _, group in edges[edges["depth"] > 1].groupby("case_id"):
        inside = kept[group.index]
        assert inside.sum() == min(3, len(group))
        left = moved[group.index][~inside]
        assert moved[group.index][inside].min() >= left.max() - 1e-3


def test_without_permission_queries_stay_away(study, cases, monkeypatch):
    monkeypatch.setattr(
        "casebook.counterfactual.single_edits.may_show", lambda _: frozenset()
    )
    found = drill_down(study, {})
    assert {i["change"] for i in found["items"]} == {None}
    assert {i["placebo"] for i in found["items"]} == {None}
    assert {text for _, text in found["documents"]} == {None}
    assert not found["precedents"]
    assert {r["found"] for i in found["items"] for r in i["results"] if r} == {None}
