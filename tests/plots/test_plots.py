"""What a figure draws is what its frame holds."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from casebook import plots

mpl.use("Agg")

ROWS = pd.DataFrame(
    {
        "row": ["x", "x", "y"],
        "series": ["s", "t", "s"],
        "value": [0.5, 0.4, np.nan],
        "low": [0.4, 0.3, np.nan],
        "high": [0.6, 0.5, np.nan],
        "n": [9, 9, 4],
    }
)
LINES = pd.DataFrame(
    {
        "words": [10, 100] * 2,
        "panel": ["r"] * 4,
        "series": ["own", "own", "foreign", "foreign"],
        "value": [0.9, 0.8, 0.2, 0.3],
        "low": [0.8, 0.7, 0.1, 0.2],
        "high": [1.0, 0.9, 0.3, 0.4],
    }
)
SCORES = pd.DataFrame({"a set": [0.123, np.nan], "another set": [-0.2, 0.5]}, ["x", "y"])


@pytest.fixture(autouse=True)
def style():
    plots.use_style()
    yield
    mpl.pyplot.close("all")


def labels(axis):
    return [" ".join(label.get_text().split()) for label in axis.get_ticklabels()]


def words(axes):
    return [text.get_text() for text in axes.texts]


# Title to link of everything that a reader points at, in the order of drawing.
def marks(figure):
    links = pd.DataFrame(figure.casebook_marks).set_index("title")["link"].astype(object)
    return links.where(links.notna(), None).to_dict()


def test_values_are_drawn_with_their_intervals_the_first_row_on_top():
    figure = plots.values(ROWS, "value", reference={"chance": 0.5})
    axes = figure.axes[0]
    assert labels(axes.yaxis) == ["x (n = 9)", "y (n = 4)"]
    lines = [part for part in axes.collections if isinstance(part, LineCollection)]
    ends = [path.vertices[:, 0].tolist() for part in lines for path in part.get_paths()]
    assert ends[0] == [0.4, 0.6] and [0.3, 0.5] in ends
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert "x, t (n = 9): 0.400 [0.300, 0.500]" in marks(figure)


def test_effects_show_their_numbers_and_lead_to_their_items():
    rows = pd.DataFrame({"row": ["x", "y"], "value": [0.1, -0.2], "n": [3, 4], "series": "s"})
    rows = rows.assign(
        verdict="better", low=rows["value"] - 0.1, high=rows["value"] + 0.1, address=["a", None]
    )
    assert marks(plots.effects(rows, "x", 0.1)) == {
        "x, s (n = 3): 0.100 [0.000, 0.200]": "a",
        "y, s (n = 4): \u22120.200 [\u22120.300, \u22120.100]": None,
    }
    assert labels(plots.values(rows.drop(columns="n"), "x").axes[0].yaxis) == ["x", "y"]


def test_a_matrix_writes_its_values_and_a_dash_for_none():
    axes = plots.matrix(SCORES, "+z.2f").axes[0]
    assert words(axes) == ["+0.12", "\u22120.20", "–", "+0.50"]
    assert labels(axes.yaxis) == ["x", "y"] and labels(axes.xaxis) == ["a set", "another set"]
    counts = pd.DataFrame({"a set": [5, 0], "another set": 2}, ["x", "y"])
    (axes,) = plots.matrix(SCORES, counts=counts).axes
    assert words(axes)[:2] == ["0.12\n(5)", "\u22120.20\n(2)"]


def test_lines_have_their_intervals_as_bands():
    (axes,) = plots.lines(LINES, "words", "share").axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0.9, 0.8], [0.2, 0.3]]
    bands = [{y for _, y in band.get_paths()[0].vertices.tolist()} for band in axes.collections]
    assert bands == [{0.7, 0.8, 0.9, 1.0}, {0.1, 0.2, 0.3, 0.4}]
