"""Every kind of figure is drawn from a small frame, and what it draws is what the frame holds."""

from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from casebook import plots
from casebook.measures import agreement
from casebook.plots import position_forest, power_curves, rating_distributions
from casebook.raters.power import simulated_power
from casebook.raters.preference import position_effect

mpl.use("Agg")

SYSTEMS = pd.DataFrame(
    {
        "system": ["a", "b", "chance"],
        "gain": [0.2, 0.6, 0.0],
        "gain low": [0.1, 0.5, -0.1],
        "gain high": [0.3, 0.7, 0.1],
        "tie class": ["2", "1", "3"],
    }
)
ROWS = pd.DataFrame(
    {
        "row": ["x", "x", "y"],
        "series": ["s", "t", "s"],
        "value": [0.5, 0.4, np.nan],
        "low": [0.4, 0.3, np.nan],
        "high": [0.6, 0.5, np.nan],
        "n": [9, 9, 4],
        "control": [0.1, 0.1, 0.2],
    }
)
AUDITED = pd.DataFrame(
    {
        "check": ["c", "d", "d", "d"],
        "audited": ["s", "s", "t", "t"],
        "verdict": ["flagged", "passed", "passed", "flagged"],
        "value": [0.9, np.nan, 0.5, 0.75],
        "chance": [0.5, np.nan, 0.5, np.nan],
    }
)
DETECTED = pd.DataFrame(
    {"detector": ["e", "f"], "defect": ["one two", "one two"], "auroc": [0.9, np.nan], "judged": [5, 0]}
)
CONFUSED = pd.DataFrame([[3, 1], [0, 0]], ["SUPPORTED", "NOT_SUPPORTED"], ["SUPPORTED", "no_class"])
PLACEBO = pd.DataFrame(
    {
        "system": ["s", "s"],
        "fact type": ["Section", "Evidence"],
        "placebo": [0.1, 0.2],
        "sensitivity": [0.3, 0.4],
        "sensitivity low": [0.2, 0.3],
        "sensitivity high": [0.4, 0.5],
        "edges": [3, 4],
    }
)
SWEPT = pd.DataFrame(
    {
        "parameter": ["alpha"] * 2,
        "value": [0.0, 1.0],
        "mean": [0.3, 0.4],
        "ci_low": [0.2, 0.3],
        "ci_high": [0.4, 0.5],
        "default": [0.0] * 2,
        "best": [1.0] * 2,
    }
)
THRESHOLDS = pd.DataFrame(
    {"measure": ["m"] * 2, "threshold": [1, 2], "value": [0.5, 0.6], "low": [0.4, 0.5], "high": [0.6, 0.7]}
)
MATCHED = pd.DataFrame(
    {
        "rule": ["r"] * 4,
        "condition": ["matched", "matched", "mismatched", "mismatched"],
        "words": [10, 100] * 2,
        "score": [0.9, 0.8, 0.2, 0.3],
        "low": [0.8, 0.7, 0.1, 0.2],
        "high": [1.0, 0.9, 0.3, 0.4],
        "n": [5] * 4,
    }
)
EDGES = pd.DataFrame({"fact_type": ["Section", "Section", "Evidence"], "moved": [1.0, 2.0, np.nan]})
STAGES = pd.DataFrame({"stage": ["bm25", "rerank"], "share": [0.9, 0.5], "milliseconds": [1.0, 9.0]})
ADDED = STAGES.assign(change=[0.1, -0.1], low=[0.0, -0.2], high=[0.2, -0.05])
CHANGED = pd.DataFrame({"query_id": ["q1", "q2"], "before": [1, 9], "after": [3, 2]})
PAST = pd.DataFrame({"series": ["s"] * 2, "number": [1, 2], "value": [0.4, 0.5]})
BINS = pd.DataFrame({"confidence": [0.2, 0.8], "share": [0.3, 0.7], "share low": [0.1, 0.5], "share high": [0.5, 0.9]})
CURVE = pd.DataFrame({"coverage": [0.5, 1.0], "risk": [0.1, 0.3]})
DEALT = pd.DataFrame(
    {"dealt": [0.0, 1.0], "flagged": [0, 1], "flagged low": [0, 0.8], "flagged high": [0.2, 1], "n": 20}
)


def node(name, depth, parent=None, kind=None):
    edit = kind and SimpleNamespace(fact_type=kind, description=f"{kind}: changed")
    return SimpleNamespace(name=name, depth=depth, parent=parent, edit=edit, displacement=lambda k: 1.5)


ROOT = node("root", 0)
TREE = SimpleNamespace(root=ROOT, nodes=[ROOT, node("n1", 1, ROOT, "Section"), node("n2", 1, ROOT, "Evidence")])

FIGURES = {
    "forest": lambda: plots.forest(SYSTEMS, "gain", ["chance"]),
    "values": lambda: plots.values(ROWS, "value", reference={"chance": 0.5}, band=(0.45, 0.55)),
    "effects": lambda: plots.effects(ROWS.drop(columns="series"), "change", margin=0.1),
    "added_by_stage": lambda: plots.added_by_stage(ADDED, "nDCG@10"),
    "against_placebo": lambda: plots.against_placebo(PLACEBO, "footrule"),
    "score_matrix": lambda: plots.score_matrix(pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, np.nan]}), "nDCG@10"),
    "case_matrix": lambda: plots.case_matrix(pd.DataFrame({"Section": [0.1, -0.2]}, ["c1", "c2"]), "excess"),
    "detector_matrix": lambda: plots.detector_matrix(DETECTED),
    "confusion_matrices": lambda: plots.confusion_matrices({"policy": CONFUSED}),
    "audit_matrix": lambda: plots.audit_matrix(AUDITED),
    "sweeps": lambda: plots.sweeps(SWEPT, "nDCG@10"),
    "histories": lambda: plots.histories(PAST, "nDCG@10"),
    "thresholds": lambda: plots.thresholds(THRESHOLDS, {"documented": 1.5, "none": None}),
    "detection_line": lambda: plots.detection_line(DEALT),
    "matched_lines": lambda: plots.matched_lines(MATCHED, "words", "words", log=True),
    "reliability": lambda: plots.reliability(BINS, CURVE, 12, 3),
    "per_query": lambda: plots.per_query(pd.DataFrame({"a": [1, 0.5, 0], "b": [0, 0.5, 1]}), "a", "b", "RR"),
    "attrition": lambda: plots.attrition(STAGES),
    "shift_vector": lambda: plots.shift_vector(np.arange(12.0).reshape(2, 6)),
    "rank_changes": lambda: plots.rank_changes(CHANGED),
    "no change": lambda: plots.rank_changes(CHANGED[:0]),
    "displacements": lambda: plots.displacements(EDGES, EDGES[["moved"]], "moved", (1.0,)),
    "edit_tree": lambda: plots.edit_tree(TREE, 10),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_kind_is_drawn(name, tmp_path):
    plots.use_style()
    figure = FIGURES[name]()
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 2_000
    mpl.pyplot.close(figure)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_forest_draws_each_interval_best_on_top():
    axes = FIGURES["forest"]().axes[0]
    assert labels(axes.yaxis) == ["b (1)", "a (2)", "chance (3)"]
    (lines,) = (part for part in axes.collections if isinstance(part, LineCollection))
    assert next(path.vertices.tolist() for path in lines.get_paths()) == [[0.5, 0], [0.7, 0]]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_confusion_counts_are_written_with_their_share_of_the_gold_label():
    axes = FIGURES["confusion_matrices"]().axes[0]
    assert [text.get_text() for text in axes.texts] == ["3\n75%", "1\n25%", "0\n0%", "0\n0%"]
    assert labels(axes.yaxis) == ["SUPPORTED", "NOT SUP."] and labels(axes.xaxis) == ["SUPPORTED", "neither"]


def test_an_audit_names_what_is_flagged():
    axes = FIGURES["audit_matrix"]().axes[0]
    assert [text.get_text() for text in axes.texts] == ["0.90 !\n(0.50)", "–", "✓", "0.75 !"]


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(30, 1)) + rng.normal(size=(30, 4))
    values = np.digitize(latent, [-1, 0, 1]) + 1.0
    values[rng.random(values.shape) < 0.1] = np.nan
    return pd.DataFrame(values, columns=list("ABCD"))


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_undefined_coefficients_keep_their_row(ratings):
    table = agreement.agreement_table(ratings, n_boot=50)
    axes = plots.agreement_intervals(table).axes[0]
    names = [" ".join(label.get_text().split()) for label in axes.get_yticklabels()]
    assert len(names) == len(table)
    assert f"Krippendorff's alpha (n = {table['n_items'].max()})" in names
    assert words(axes).count("undefined: needs two raters") == 4


def title(axes):
    """Give the title, wherever the style in force puts it."""
    return axes.get_title() or axes.get_title(loc="left")


def test_matrix_says_what_it_shows(ratings):
    axes = plots.rating_matrix(ratings).axes[0]
    missing = ratings.isna().to_numpy().sum()
    assert title(axes) == f"30 of 30 items x 4 raters,\n{missing} ratings missing"
    shown = axes.images[0].get_array()
    assert shown.shape == (4, 30)
    assert shown.mask.sum() == missing
    means = shown.mean(axis=0)
    assert (np.diff(means) >= 0).all()
    many = pd.DataFrame(np.ones((1000, 3)))
    assert title(plots.rating_matrix(many, (1, 5)).axes[0]).startswith("400 of 1,0")


@pytest.fixture
def saved(tmp_path):
    def save(figure):
        figure.savefig(tmp_path / "figure.png")
        plt.close(figure)
        return figure.axes[0]

    return save


def test_positions(example, saved):
    axes = saved(position_forest(position_effect(example, example > -2), "RAG"))
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["not defined", "not defined"]


def test_ratings(example_rows, saved):
    parts = [
        pd.DataFrame({"scale": s, "system": a, "rating": example_rows[f"{s}_{a}"]})
        for s in ("factuality", "usefulness")
        for a in ("rag", "base")
    ]
    axes = saved(rating_distributions(pd.concat(parts)))
    assert axes.get_yticklabels()[1].get_text() == "factuality, rag\n(4.500, n = 200)"
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(400)


def test_power(saved):
    table = simulated_power(items=(20, 50), raters=(2, 4), win_rates=(0.5, 0.6, 0.7), studies=50)
    axes = saved(power_curves(table, "item sign-flip"))
    assert len(axes.get_legend().get_texts()) == 4
