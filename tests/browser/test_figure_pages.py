"""Figures and tables as a page of the book shows them: light, dark, desktop, phone and print."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from tabs import SIZES

from casebook import paths, plots
from casebook.runs.outputs import RunOutputs
from casebook.tables import Table, with_interval

ROWS = pd.DataFrame(
    {
        "row": ["Full pipeline, held-out half", "BM25", "Random order of the same documents"],
        "value": [0.031, -0.02, 0.001],
        "low": [0.02, -0.03, -0.004],
        "high": [0.041, -0.01, 0.006],
        "n": [198, 198, 1198],
        "verdict": ["better", "worse", "undecided"],
        "address": ["generated/items.html#q=1", "generated/items.html#q=2", None],
    }
)
SCORES = pd.DataFrame({"Insurance": [0.5, np.nan], "Own": [-0.9, 0.6]}, ["order", "length leak"])
WIDE = pd.DataFrame(
    {
        "system": ["a", "b"],
        "nDCG@10": [0.5, 0.25],
        "nDCG@10 low": [0.4, -0.2],
        "nDCG@10 high": [0.6, 0.3],
    }
)
WIDE = WIDE.assign(
    n=[1198.0, np.nan], split="test", **{f"measure {place}": [place / 9, 1.0] for place in range(8)}
)


pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def page_of_figures(site, tmp_path_factory):
    """Give the address of a page of the book whose article holds figures and tables of ours."""
    with pytest.MonkeyPatch.context() as patch, mpl.rc_context():
        patch.setattr(paths, "RESULTS", tmp_path_factory.mktemp("results"))
        plots.use_style()
        outputs = RunOutputs("mine", "cell")
        shown = [
            outputs.figure(
                "gain",
                plots.effects(ROWS, "change in nDCG@10", margin=0.01),
                "Gains.",
                ROWS,
                finding="The full pipeline gains 0.031 nDCG@10, and a random order of the same "
                "documents nothing that can be told apart from zero.",
            ),
            outputs.figure("levels", plots.values(ROWS, "nDCG@10"), "Levels.", ROWS),
            outputs.figure(
                "scores",
                plots.matrix(SCORES),
                "Excess.",
            ),
            Table(with_interval(WIDE, "nDCG@10", "nDCG@10 low", "nDCG@10 high"), "Systems"),
            Table(WIDE[:0], "Nothing"),
        ]
    cells = "".join(
        f'<section><h2>Part {place}</h2><div class="cell docutils container"><div class="cell_output docutils '
        f'container"><div class="output text_html">{each._repr_html_()}</div></div></div></section>'
        for place, each in enumerate(shown)
    )
    page = (site / "stated.html").read_text(encoding="utf-8")
    page = page.replace("<head>", f'<head><base href="{site.as_uri()}/">', 1)
    page = re.sub(
        r"(<article class=\"bd-article\"[^>]*>).*(</article>)",
        lambda found: found[1] + cells + found[2],
        page,
        flags=re.S,
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


# Of every letter in a figure: how it stands out from the page, and how high it is in pixels.
LETTERS = """() => {
  const parse = (text) => [...text.matchAll(/[\\d.]+/g)].map((found) => Number(found[0]));
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const shade = (colour) => colour.map((v) => linear(v / 255))
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const over = (top, alpha, ground) => top.map((v, place) => alpha * v + (1 - alpha) * ground[place]);
  const paper = parse(getComputedStyle(document.body).backgroundColor).slice(0, 3);
  const texts = [...document.querySelectorAll("figure.drawn svg text")].filter((e) => e.checkVisibility());
  return texts.map((text) => {
    const box = text.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const behind = [...text.ownerSVGElement.querySelectorAll("path")].filter((path) => {
      const at = path.getBoundingClientRect();
      const style = getComputedStyle(path);
      return style.fill !== "none" && at.left < x && x < at.right && at.top < y && y < at.bottom;
    });
    const ground = behind.reduce((colour, path) => {
      const style = getComputedStyle(path);
      return over(parse(style.fill).slice(0, 3), Number(style.fillOpacity) * Number(style.opacity), colour);
    }, paper);
    const [a, b] = [shade(parse(getComputedStyle(text).fill).slice(0, 3)), shade(ground)].sort((p, q) => q - p);
    const scale = text.ownerSVGElement.getBoundingClientRect().width / text.ownerSVGElement.viewBox.baseVal.width;
    return [text.textContent, (a + 0.05) / (b + 0.05), parseFloat(getComputedStyle(text).fontSize) * scale];
  });
}"""


SIZES_OF_MARKS = """[...document.querySelectorAll("svg rect:has(title)")].filter((e) => e.checkVisibility())
  .map((e) => e.getBoundingClientRect())
  .map((e) => Math.min(e.width, e.height))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_letters_of_figures_are_legible_and_no_page_scrolls_sideways(
    page_of_figures, tab, size, scheme
):
    tab.open(page_of_figures, size=size, scheme=scheme)
    assert tab.problems + tab.faults_of_layout() == []
    letters = tab.page.evaluate(LETTERS)
    assert len(letters) > 25
    assert [each for each in letters if each[1] < 4.5 or each[2] < 10] == []


def test_a_mark_that_is_a_link_is_reached_by_keyboard_seen_and_followed(page_of_figures, tab):
    tab.open(page_of_figures)
    tab.page.locator("figure.drawn .finding").first.click()
    tab.page.keyboard.press("Tab")
    active = tab.page.evaluate(
        "(() => { const a = document.activeElement, s = getComputedStyle(a.querySelector('rect'));"
        " return [a.getAttribute('xlink:href'), s.stroke, s.strokeWidth, getComputedStyle(a).cursor]; })()"
    )
    assert active[0] == "generated/items.html#q=1"
    assert active[1] != "none" and active[2] == "2px" and active[3] == "pointer"
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/generated/items.html#q=1")


def test_marks_are_as_large_as_a_finger_and_say_what_they_are_where_nothing_hovers(
    page_of_figures, tab
):
    tab.open(page_of_figures)
    gain, _, scores = tab.page.locator("figure.drawn").all()
    assert scores.locator(".wide svg").get_attribute("aria-label") == "Excess."
    assert min(tab.page.evaluate(SIZES_OF_MARKS)) >= 14
    gain.locator("rect").last.dispatch_event("pointerdown")
    assert gain.locator("output").text_content().startswith("Random order of the same documents")
