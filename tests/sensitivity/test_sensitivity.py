import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.sensitivity.evaluation import case_scores, coverage, documented_scores, placebo_table, sensitivity
from casebook.sensitivity.study import case_collection
from casebook.sensitivity.tree import MEASURES, TreeSettings, edge_frame, grow_trees, placebo_frame

MORE = {"item": "x/0", "operation": "replace", "depth": 1, "parent": "r"}


def edges(*rows):
    """Make edges from (case, type, status, footrule, placebo[, more])."""
    made = []
    for number, (case, kind, status, value, placebo, *more) in enumerate(rows):
        row = {"case_id": case, "fact_type": kind, "status": status, **MORE}
        row |= {"node": f"r.{number}"}
        row |= dict.fromkeys(MEASURES, value)
        row |= {f"placebo_{name}": placebo for name in MEASURES}
        made.append(row | (more[0] if more else {}))
    return pd.DataFrame(made)


FRAME = edges(
    ("a", "Section", "ok", 0.6, 0.1),
    ("a", "Section", "ok", 0.4, 0.1),
    ("b", "Section", "ok", 0.5, 0.3),
    ("a", "Numerical", "noop", 0.0, np.nan),
    ("a", "Numerical", "ok", 0.2, np.nan),
    ("b", "Evidence", "invalid", np.nan, np.nan),
    ("b", "PartyType", "manual", 0.9, 0.1),
)


def row(frame, name):
    return frame.set_index("fact type").loc[name]


def test_means_excess_and_what_is_left_out():
    found = sensitivity(FRAME, n_boot=500)
    section = row(found, "Section")
    assert section["sensitivity"] == pytest.approx(0.5)
    assert section["placebo"] == pytest.approx(0.5 / 3)
    assert section["excess"] == pytest.approx(1 / 3)
    assert section["p"] == pytest.approx(0.5)  # two cases: 2 of 4 sign vectors
    assert (section["edges"], section["cases"]) == (3, 2)
    numerical = row(found, "Numerical")
    assert (numerical["noop"], numerical["edges"]) == (1, 1)
    assert pd.isna(numerical["excess"])
    assert numerical["reason"] == "no matched placebo"
    evidence = row(found, "Evidence")
    assert evidence["invalid"] == 1
    assert pd.isna(evidence["sensitivity"])
    assert evidence["reason"] == "not assessed: no edge"
    assert row(found, "PartyType")["manual"] == 1
    assert pd.isna(row(found, "PartyType")["sensitivity"])


def test_noops_count_as_zero_only_when_asked():
    assert row(sensitivity(FRAME, n_boot=50), "Numerical")["sensitivity"] == 0.2
    found = sensitivity(FRAME, noops=True, n_boot=50)
    assert row(found, "Numerical")["sensitivity"] == pytest.approx(0.1)


def test_weights_of_edges_items_and_cases():
    frame = edges(
        ("a", "Section", "ok", 1.0, 0.0, {"item": "s/1"}),
        ("a", "Section", "ok", 1.0, 0.0, {"item": "s/1"}),
        ("a", "Section", "ok", 0.0, 0.0, {"item": "s/2"}),
        ("b", "Section", "ok", 0.0, 0.0, {"item": "s/1"}),
    )
    means = {
        weight: row(sensitivity(frame, weight=weight, n_boot=50), "Section") for weight in ("edge", "item", "case")
    }
    assert means["edge"]["sensitivity"] == pytest.approx(0.5)
    assert means["item"]["sensitivity"] == pytest.approx(1 / 3)
    assert means["case"]["sensitivity"] == pytest.approx(1 / 3)


def test_level_one_leaves_deeper_edges_out():
    frame = edges(("a", "Section", "ok", 1.0, 0.0), ("a", "Section", "ok", 0.0, 0.0, {"depth": 2, "parent": "r.1"}))
    assert row(sensitivity(frame, n_boot=50), "Section")["sensitivity"] == 0.5
    found = sensitivity(frame, level_one=True, n_boot=50)
    assert row(found, "Section")["sensitivity"] == 1


def test_documented_scores_turn_the_untested_into_zero_and_ours_do_not():
    documented = documented_scores(FRAME)
    assert documented.loc["b", "Evidence"] == 0
    assert documented.loc["a", "Numerical"] == pytest.approx(0.1)
    ours = case_scores(FRAME, over_placebo=False)
    assert pd.isna(ours.loc["b", "Evidence"])
    assert ours.loc["a", "Numerical"] == pytest.approx(0.2)


def test_coverage_counts_cases_without_any_edge():
    found = row(coverage(FRAME, 3), "Section")
    assert (found["assessed"], found["cases"]) == (2, 3)
    assert row(coverage(FRAME, 3, least=2), "Section")["assessed"] == 1


def test_unknown_options_are_refused():
    with pytest.raises(InputError, match="clusters"):
        sensitivity(FRAME, clusters="court")
    with pytest.raises(InputError, match="weight"):
        sensitivity(FRAME, weight="page")


def test_placebo_table_and_frames_of_a_real_tree(planted, search, inert):
    trees = grow_trees(
        planted.sheets, search, TreeSettings(max_depth=1, children=None), neighbours=planted.neighbours, inert=inert
    )
    placebos = placebo_frame(trees)
    table = placebo_table(placebos, "displacement", n_boot=200)
    total = table.iloc[-1]
    assert total["n"] == len(placebos) == table["n"].iloc[:-1].sum()
    assert total["displacement"] == pytest.approx(placebos["displacement"].mean())
    above = (placebos["displacement"] > 1.5).mean()
    assert total["above 1.5"] == pytest.approx(above)
    frame = edge_frame(trees)
    found = sensitivity(frame, n_boot=200)
    for name, part in frame[frame["status"] == "ok"].groupby("fact_type"):
        assert row(found, name)["sensitivity"] == pytest.approx(part["footrule"].mean())


def test_questions_without_a_fact_are_no_cases():
    with pytest.raises(InputError, match="smoke: no question is a case to edit: 31 ju"):
        case_collection("smoke")
