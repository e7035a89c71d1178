import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.measures.rankshift import mean_displacement, normalised_footrule
from casebook.retrieval.pipeline import HybridRetriever
from casebook.sensitivity.edits import single_fact_edits
from casebook.sensitivity.evaluation import case_scores, sensitivity
from casebook.sensitivity.facts import from_dict
from casebook.sensitivity.tree import (
    EDGE_MEASURES,
    CaseSearch,
    TreeSettings,
    edge_frame,
    grow_trees,
    placebo_frame,
)


def grown(planted, search, **settings):
    return grow_trees(
        planted.sheets, search, TreeSettings(**settings), neighbours=planted.neighbours
    )


def test_shape_and_thresholds(planted, search):
    trees = grown(planted, search, max_depth=2, children=5)
    for tree in trees:
        by_parent = pd.Series([n.parent.name for n in tree.nodes[1:]]).value_counts()
        assert by_parent.max() <= 5
        assert len(tree.nodes) <= 31
        for node in tree.nodes[1:]:
            assert node.depth == node.parent.depth + 1 <= 2
            if node.name in by_parent.index:
                assert node.displacement(10) >= 1


def test_first_five_uses_up_its_budget_on_numbers(planted, search):
    trees = grow_trees(
        planted.sheets, search, TreeSettings(original=True), neighbours=planted.neighbours
    )
    assert {node.edit.fact_type for tree in trees for node in tree.nodes[1:]} == {"Numerical"}
    stratified = grown(planted, search, max_depth=1)
    for tree in stratified:
        candidates = single_fact_edits(tree.nodes[0].sheet, planted.neighbours, tree.write)
        offered = {edit.fact_type for edit in candidates}
        assert {node.edit.fact_type for node in tree.nodes[1:]} == offered


def test_edges_carry_the_measures_of_their_lists(planted, search):
    trees = grown(planted, search)
    edges = edge_frame(trees)
    nodes = {(t.case_id, n.name): n for t in trees for n in t.nodes}
    for row in edges[edges["status"] == "ok"].itertuples():
        node = nodes[row.case_id, row.node]
        lists = node.parent.ranking.cases, node.ranking.cases
        assert row.displacement == pytest.approx(mean_displacement(*lists))
        assert row.footrule == pytest.approx(normalised_footrule(*lists))
    placebos, size = placebo_frame(trees), ["case_id", "parent", "removed", "added"]
    first = edges[edges["status"] == "ok"].iloc[0]
    matched = placebos[(placebos[size] == first[size]).all(axis=1)]
    assert len(matched) == 4
    assert not pd.isna(first["placebo_displacement"])
    for name in EDGE_MEASURES:
        expected = pytest.approx(matched[name].mean(), nan_ok=True)
        assert first[f"placebo_{name}"] == expected, name


def test_noops_are_recorded_and_not_searched(search):
    ages = [{"value": v, "descriptor": f"person {v}"} for v in (17, 18, 21, 60)]
    record = {"case_id": "many", "sections_cited": ["IPC-302"], "numerical_facts": {"ages": ages}}
    (tree,) = grow_trees([from_dict(record)], search)
    edges = edge_frame([tree])
    noops = edges[edges["status"] == "noop"]
    assert len(noops) > 0 and set(noops["item"]) <= {"ages/2", "ages/3"}
    assert (noops["footrule"] == 0).all()
    assert not any(node.edit.noop for node in tree.nodes[1:])


def test_too_few_documents_are_refused(planted):
    few = HybridRetriever(planted.documents.head(9), mode="bm25")
    with pytest.raises(InputError, match="9 cases, fewer than the 10"):
        CaseSearch(few, 10)


def test_a_case_of_too_few_informative_terms_is_counted_and_never_scored(planted, search):
    sheet = from_dict({"case_id": "x", "parties": {"petitioner_type": "Individual"}})
    (tree,) = grow_trees([sheet], search, neighbours=planted.neighbours)
    assert tree.terms == ("individual",)
    edges = edge_frame([tree])
    assert set(edges["status"]) == {"poor_query"}
    assert edges["footrule"].notna().any()
    found = sensitivity(edges).set_index("fact type").loc["PartyType"]
    assert found["n"] == 0 and pd.isna(found["value"])
    assert "1 informative term" in found["reason"]
    assert case_scores(edges).isna().all(axis=None)
