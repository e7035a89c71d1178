import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from casebook.plots.preference import position_forest, power_curves, preference_forest, rating_distributions
from casebook.raters.power import simulated_power
from casebook.raters.preference import position_effect, preference_intervals

mpl.use("Agg")


@pytest.fixture
def saved(tmp_path):
    def save(figure):
        figure.savefig(tmp_path / "figure.png")
        plt.close(figure)
        return figure.axes[0]

    return save


def test_forest_shows_every_interval(example, saved):
    intervals = preference_intervals(example, n_boot=200)
    axes = saved(preference_forest(intervals, "RAG"))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "new votes\n(n = 176, 200)"
    assert labels[3] == "new items and raters\n(n = 50)"
    lines = [x for x in axes.collections if isinstance(x, LineCollection)]
    drawn = {tuple(path.vertices[:, 0]) for x in lines for path in x.get_paths()}
    bounds = intervals[["ci_low", "ci_high"]].dropna().itertuples(index=False)
    assert {tuple(pair) for pair in bounds} == drawn and len(drawn) == 6


def test_forest_without_bounds(saved):
    intervals = preference_intervals([[1, -1, 0]], n_boot=50)
    assert saved(preference_forest(intervals, "RAG")).get_xlabel().startswith("win rate")


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
