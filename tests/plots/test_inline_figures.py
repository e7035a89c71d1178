"""A figure as a notebook shows it: parsed by another parser, against what was drawn."""

import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from casebook import paths, plots
from casebook.figures import WIDE, hover
from casebook.runs.outputs import RunOutputs

HOSTILE = '"><script>window.ran = 1</script>'


class Parts(HTMLParser):
    """Tags with their attributes, and the texts of titles, of a view or of one of its drawings."""

    def __init__(self, view):
        super().__init__()
        self.tags, self.titles, self._inside = [], [], None
        self.feed(view if isinstance(view, str) else view._repr_html_())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self._inside == "title":
            self.titles.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def marks(self):
        """Rectangles that a reader points at: all of the last group of a drawing."""
        group = self.tags.index(("g", {"fill": "transparent"}))
        return [attributes for name, attributes in self.tags[group:] if name == "rect"]


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    plots.use_style()
    return RunOutputs("mine", "cell")


def bars():
    figure, axes = plt.subplots()
    axes.bar([0, 1], [0.123456, 0.5])
    axes.set_xticks([0, 1], ["first one", "second one"])
    return figure


def test_what_a_cell_shows_is_kept_and_linked(outputs):
    frame = pd.DataFrame({"x": [1 / 3]})
    others = plt.get_fignums()  # of tests before this one
    view = outputs.figure("bars", bars(), "Two bars.", frame)
    assert plt.get_fignums() == others
    assert [link["href"] for link in Parts(view).of("a")] == [
        "../../figures/cell.bars.svg",
        "../../figures/cell.bars.csv",
    ]
    kept = outputs.folder / "figures"
    assert (kept / "cell.bars.csv").read_text() == "x\n0.333333\n"
    assert (kept / "cell.bars.svg").read_bytes().startswith(b"<?xml")
    path = outputs.figure("again", bars())  # without a caption there is a file and no view
    assert path == kept / "cell.again.svg"
    plt.close("all")


def test_a_rerun_draws_the_same_bytes_with_two_decimals(outputs):
    one, two = (outputs.figure("bars", bars(), "Two bars.")._repr_html_() for _ in range(2))
    assert one == two
    places = " ".join(
        path["d"] for path in Parts(outputs.figure("bars", bars(), "Two bars.")).of("path")
    )
    assert not re.search(r"\.\d{3}", places)


def test_two_figures_of_a_page_share_no_id(outputs):
    named = [
        {a["id"] for _, a in Parts(outputs.figure(n, bars(), n)).tags if "id" in a}
        for n in ("one", "two")
    ]
    assert all(named) and not named[0] & named[1]
    page = outputs.figure("one", bars(), "one")._repr_html_()
    assert set(re.findall(r"#([\w-]+)", " ".join(re.findall(r"url\([^)]*\)", page)))) <= named[0]


def test_texts_never_become_markup(outputs):
    figure, axes = plt.subplots()
    axes.scatter([0], [0])
    axes.set_title(HOSTILE)
    hover(axes, [HOSTILE], 0, 0, addresses=[HOSTILE])
    parts = Parts(outputs.figure("hostile", figure, HOSTILE, finding=HOSTILE))
    assert parts.titles == [HOSTILE, HOSTILE]
    assert not parts.of("script")
    assert parts.of("svg")[0]["aria-label"] == HOSTILE and parts.of("a")[0]["href"] == HOSTILE


def test_values_are_named_where_nothing_was_said(outputs):
    view = outputs.figure("bars", bars(), "Bars.")
    for drawing in (view.svg, view.narrow):
        assert Parts(drawing).titles == ["0.123: first one", "0.500: second one"]
        assert re.findall(r">([a-z ]+)</text>", drawing) == ["first one", "second one"]
    figure, axes = plt.subplots()
    axes.plot([1, 2], [0.25, np.nan], marker="o")
    _ = axes.set(xlabel="size", ylabel="nDCG")
    assert Parts(outputs.figure("line", figure, "Line.")).titles[0] == "nDCG 0.250: size 1.000"


def test_a_mark_stands_where_its_value_is_drawn(outputs):
    figure, axes = plt.subplots()
    axes.scatter([0, 1], [0, 1])
    hover(axes, ["low", "high"], [0, 1], [0, 1])
    view = outputs.figure("points", figure, "Points.")
    for drawing in (view.svg, view.narrow):
        _marks_stand_on_points(Parts(drawing))


def _marks_stand_on_points(parts):
    drawn = [(float(use["x"]), float(use["y"])) for use in parts.of("use") if "clip" not in use][
        -2:
    ]
    marks = parts.marks
    assert {float(mark[side]) for mark in marks for side in ("width", "height")} == {
        14.0
    }  # points: a finger's place
    for (x, y), mark in zip(drawn, marks, strict=True):
        middle = [float(mark[a]) + float(mark[b]) / 2 for a, b in (("x", "width"), ("y", "height"))]
        assert middle == pytest.approx([x, y], abs=0.2)


def test_an_interval_that_holds_zero_is_grey(outputs):
    frame = pd.DataFrame(
        {
            "row": ["up", "down", "none"],
            "value": [0.2, -0.2, 0.0],
            "low": [0.1, -0.3, -0.1],
            "high": [0.3, -0.1, 0.1],
        }
    )
    figure = plots.effects(frame, "change", margin=0.05)
    axes = figure.axes[0]
    assert axes.get_xlim() == pytest.approx((-axes.get_xlim()[1], axes.get_xlim()[1]))
    view = outputs.figure("effects", figure, "Effects.", frame)
    lines = re.findall(r"stroke: var\(--figure-(\w+), #\w+\); stroke-width: 3", view.svg)
    assert lines == ["blue", "orange", "grey"]


def width_of(svg):
    return float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])


def test_a_figure_is_drawn_for_a_column_and_for_a_phone(outputs):
    view = outputs.figure("bars", bars(), "Two bars.", finding="The second is larger.")
    assert width_of(view.narrow) == pytest.approx(72 * plots.WIDTH)
    assert width_of(view.svg) == pytest.approx(72 * WIDE)
    page = view._repr_html_()
    assert page.index("The second is larger.") < page.index("<svg")
    assert page.count("<svg") == 2 and page.count('class="drawing narrow" hidden') == 1
