"""A figure as a notebook shows it: parsed by another parser, against what was drawn."""

from html.parser import HTMLParser

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from casebook import paths, plots
from casebook.figures import WIDE, hover
from casebook.runs.outputs import RunOutputs

HOSTILE = '"><script>window.ran = 1</script>'


# Tags with their attributes, and the texts of titles, of a view or of one of its drawings.
class Parts(HTMLParser):
    def __init__(self, view):
        super().__init__()
        self.tags = []
        self.titles = []
        self.feed(view if isinstance(view, str) else view._repr_html_())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.tags[-1][0] == "title":
            self.titles.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    plots.use_style()
    yield RunOutputs("mine", "cell")
    plt.close("all")


def points(link=None):
    figure, axes = plt.subplots()
    axes.scatter([0, 1], [0, 1])
    hover(axes, ["low", "high"], [0, 1], [0, 1], [0, 1], [None, link])
    return figure


def test_what_a_cell_shows_is_kept_linked_closed_and_the_same_again(outputs):
    others = plt.get_fignums()  # of tests before this one
    view = outputs.figure("points", points(), "Two points.", pd.DataFrame({"x": [1 / 3]}))
    assert plt.get_fignums() == others
    kept = outputs.folder / "figures"
    links = [link["href"] for link in Parts(view).of("a")]
    assert links == ["../../figures/cell.points.svg", "../../figures/cell.points.csv"]
    assert (kept / "cell.points.csv").read_text() == "x\n0.333333\n"
    bytes_kept = (kept / "cell.points.svg").read_bytes()
    outputs.figure("points", points(), "Two points.")
    assert (kept / "cell.points.svg").read_bytes() == bytes_kept
    assert bytes_kept.startswith(b"<?xml")


def test_texts_never_become_markup(outputs):
    figure, axes = plt.subplots()
    axes.set_title(HOSTILE)
    hover(axes, [HOSTILE], [0], [0], [0], [HOSTILE])
    parts = Parts(outputs.figure("hostile", figure, HOSTILE, finding=HOSTILE))
    assert parts.titles == [HOSTILE, HOSTILE]
    assert not parts.of("script")
    assert parts.of("svg")[0]["aria-label"] == parts.of("a")[0]["xlink:href"] == HOSTILE
    assert parts.of("svg")[0]["role"] == "group"  # a picture hides its links


# JupyterLab assigns to the href of each link that has one, which SVG refuses.
@pytest.mark.parametrize(("run", "counts"), [("mine", [2, 1, 1]), ("scratch", [0, 0, 0])])
def test_marks_and_files_are_linked_but_not_where_a_notebook_is_run_by_hand(outputs, run, counts):
    page = RunOutputs(run, "cell").figure("points", points("items.html"), "Two.")._repr_html_()
    assert [page.count(part) for part in ("<a xlink:href=", "<a href=", "Click a mark")] == counts


def test_a_mark_is_where_its_value_is_drawn_for_a_column_and_for_a_phone(outputs):
    view = outputs.figure("points", points(), "Points.", finding="The second is larger.")
    for drawing, inches in ((view.svg, WIDE), (view.narrow, plots.WIDTH)):
        parts = Parts(drawing)
        width = float(parts.of("svg")[0]["viewbox"].split()[2])
        assert width == pytest.approx(72 * inches)
        assert parts.titles == ["low", "high"]
        drawn = [(float(use["x"]), float(use["y"])) for use in parts.of("use")[-2:]]
        for (x, y), mark in zip(drawn, parts.of("rect")[-2:], strict=True):
            left, top, *size = (float(mark[side]) for side in ("x", "y", "width", "height"))
            assert size == [14, 14]  # points: a finger's place
            assert (left + 7, top + 7) == pytest.approx((x, y), abs=0.2)
    page = view._repr_html_()
    assert page.index("The second is larger.") < page.index("<svg")
    assert page.count("<svg") == 2 and page.count('class="drawing narrow" hidden') == 1
