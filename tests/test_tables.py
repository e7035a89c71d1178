import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from casebook.paths import run_dir
from casebook.tables import (
    Markup,
    Table,
    decimal,
    escape_markdown,
    p_value,
    reason_text,
    to_html,
    with_interval,
)

SETTINGS = MdParserConfig(enable_extensions={"amsmath", "colon_fence", "deflist", "dollarmath"})
MYST = create_md_parser(SETTINGS, RendererHTML)  # as the book reads it
ONE_LINE = {"inline", "text"} | {
    f"{block}_{end}"
    for block in ("bullet_list", "list_item", "paragraph")
    for end in ("open", "close")
}


class Cells(HTMLParser):
    def __init__(self, markup):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


# The texts of a page without its line ends.
def shown(page):
    return [text for text in Cells(page).text if text.strip()]


@given(st.text(max_size=40))
def test_text_never_becomes_markup(text):
    table = to_html(pd.DataFrame({"a": [text]}), "caption")
    tags = [tag for tag, _ in Cells(table).tags]
    assert tags == ["div", "table", "caption", "thead", "tr", "th", "tbody", "tr", "td"]


def test_numbers_show_rounded_and_sort_unrounded():
    frame = pd.DataFrame({"x": [0.123456, np.nan, -0.5, -1e-9], "n": [12345, 6, 7, 8]})
    markup = to_html(frame, "caption")
    assert '<td class="number" data-sort="0.123456">0.123</td>' in markup
    assert '<td class="number" data-sort="12345">12,345</td>' in markup
    assert 'aria-label="not available">–' in markup
    assert 'data-sort="-0.5">\u22120.500</td>' in markup
    assert ">0.000</td>" in markup  # a rounded zero has no minus
    assert decimal(0.884, ".0%") == "88\u00a0%"
    assert [p_value(p) for p in (0.00099, 0.001, 1)] == ["<0.001", "0.001", "1.000"]


def test_an_interval_column_sorts_by_value_shows_bounds_and_says_what_is_missing():
    frame = pd.DataFrame({"s": list("abcd"), "mean": [0.5, -1e-9, 0.5, np.nan]})
    frame = frame.assign(lo=[0.4, -0.2, np.nan, np.nan], hi=[0.6, -1e-9, np.nan, np.nan])
    joined = with_interval(frame, "mean", "lo", "hi")
    assert list(joined.columns) == ["s", "mean"]
    assert isinstance(joined["mean"][0], Markup) and pd.isna(joined["mean"][3])
    page = Table(joined, "c")._repr_html_()
    assert '<data value="0.5">0.500</data>' in page and "no interval" in page
    assert "[0.400, 0.600]" in page and "[\u22120.200, 0.000]" in page


def test_counts_are_whole_and_shares_are_not():
    frame = pd.DataFrame({"n": [17.0, np.nan], "share": [1.0, 0.0], "equal": [1.0, 0.0]})
    frame["ms"] = [2.0, 2.5]
    page = to_html(frame.assign(right=[True, False]), "caption")
    texts = ["17", "1.000", "1", "2.000", "yes", "–", "0.000", "0", "2.500", "no"]
    assert shown(page)[6:] == texts


def test_reasons_are_words_on_a_page_and_other_names_stay():
    frame = pd.DataFrame({"system": ["no_mmr", "b"], "p": ["no_variation", "x"]})
    frame["why"] = ["new_panel_ci: fewer_than_six_clusters, too_few_here", None]
    texts = shown(Table(frame, "caption")._repr_html_())
    words = "new raters: fewer than six groups, too few here"
    assert texts[4:] == ["no_mmr", "all values are equal", words, "b", "x", "–"]
    assert frame["p"][0] == "no_variation"


def test_every_reason_of_the_reference_run_has_words():
    files = [run_dir("smoke") / name for name in ("numbers.json", "contrasts.json")]
    codes = re.findall(r'"reason": ?"(\w+)"', "".join(path.read_text() for path in files))
    texts = {reason_text(code) for code in codes}
    assert len(texts) > 2 and not [text for text in texts if re.search("_|unit|cluster", text)]


@given(st.lists(st.sampled_from([*"\\`*_#|$~[](){}<>&!:-+%=^ \n", ":::{include} x", "a"])))
def test_a_text_of_others_is_no_markdown(parts):
    text = "".join(["a", *parts])
    tokens = MYST.parse(f"- {escape_markdown(text)} b")
    shown = "".join(child.content for token in tokens for child in token.children or ())
    kinds = {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or ()
    }
    assert shown == f"{' '.join(text.split())} b"
    assert kinds <= ONE_LINE
