from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from casebook.tables import (
    Markup,
    Table,
    escape_markdown,
    linked,
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


@given(st.text(max_size=40))
def test_text_never_becomes_markup(text):
    table = to_html(pd.DataFrame({"a": [text]}), "caption")
    tags = [tag for tag, _ in Cells(table).tags]
    frame = ["div", "table", "caption", "thead", "tr", "th", "tbody", "tr", "td"]
    assert tags == frame


def test_numbers_show_rounded_and_sort_unrounded():
    frame = pd.DataFrame({"x": [0.123456, np.nan], "n": [12345, 6]})
    markup = to_html(frame, "caption", digits=2)
    assert '<td class="number" data-sort="0.123456">0.12</td>' in markup
    assert '<td class="number" data-sort="12345">12,345</td>' in markup
    assert 'aria-label="not available">–' in markup


def test_interval_column_sorts_by_value_and_shows_bounds():
    frame = pd.DataFrame({"s": ["a"], "mean": [0.5], "lo": [0.4], "hi": [0.6]})
    joined = with_interval(frame, "mean", "lo", "hi", name="nDCG")
    assert list(joined.columns) == ["s", "nDCG"]
    assert isinstance(joined["nDCG"][0], Markup)
    assert '<data value="0.5">0.500</data>' in joined["nDCG"][0]
    assert "[0.400, 0.600]" in Table(joined, "c")._repr_html_()


def test_missing_interval_is_said_and_not_zero():
    frame = pd.DataFrame({"m": [0.5, np.nan], "lo": [np.nan] * 2, "hi": [np.nan] * 2})
    joined = with_interval(frame, "m", "lo", "hi")
    assert "no interval" in joined["m"][0]
    assert joined["m"][1] is None


def test_a_rounded_zero_has_no_minus():
    frame = pd.DataFrame({"x": [-1e-9], "low": [-0.2], "high": [-1e-9]})
    assert ">0.000</td>" in to_html(frame[["x"]], "caption")
    shown = with_interval(frame, "x", "low", "high")["x"][0]
    assert ">0.000</data>" in shown
    assert "[-0.200, 0.000]" in shown


def test_links_escape_texts_and_addresses():
    frame = pd.DataFrame({"row": ["hops: <1>", "b"], "n": [1, 2]})
    shown = linked(frame, "row", ["x.html#only=the hops: <1>&q=", None])
    page = to_html(shown, "Slices")
    link = '<a href="x.html#only=the hops: &lt;1&gt;&amp;q=">hops: &lt;1&gt;</a>'
    assert link in page and frame["row"][0] == "hops: <1>" and shown["row"][1] == "b"


def test_what_is_equal_in_all_rows_stands_in_the_caption():
    frame = pd.DataFrame(
        {
            "system": ["a", "b"],
            "split": ["test"] * 2,
            "unknown": [None] * 2,
            "n_kept": [1.0, np.nan],
        }
    )
    page = Table(frame, "Systems")._repr_html_()
    assert "<caption>Systems (in all rows split: test)</caption>" in page
    assert [word for word in ("split</th>", "unknown", "n kept</th>") if word in page] == [
        "n kept</th>"
    ]
    assert "<caption>Systems</caption>" in Table(frame[:1], "Systems")._repr_html_()
    names = Table(frame[["system", "split"]], "Systems")._repr_html_()
    assert "split</th>" in names  # a table of names alone says nothing


def test_counts_are_whole_and_shares_are_not():
    frame = pd.DataFrame(
        {
            "n": [17.0, np.nan],
            "share": [1.0, 0.0],
            "milliseconds": [2.0, 2.5],
            "right": [True, False],
        }
    )
    page = to_html(frame, "caption")
    shown = [text for text in Cells(page).text if text.strip()][5:]
    assert shown == ["17", "1.000", "2.000", "yes", "–", "0.000", "2.500", "no"]


def test_reasons_are_words_on_a_page_and_other_names_stay():
    frame = pd.DataFrame({"system": ["no_mmr", "b"], "p": ["no_variation", "x"]})
    frame["why"] = ["se: fewer_than_six_clusters, too_few_here", None]
    shown = Cells(Table(frame, "caption")._repr_html_()).text
    assert [text for text in ("no_mmr", "all values are equal") if text in shown] == [
        "no_mmr",
        "all values are equal",
    ]
    assert "se: fewer than six groups, too few here" in shown
    assert frame["p"][0] == "no_variation"


def test_every_reason_of_the_reference_run_has_words():
    import json

    from casebook.paths import run_dir

    def reasons(tree):
        for name, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if name == "reason" and inner:
                yield inner
            elif isinstance(inner, dict | list):
                yield from reasons(inner)

    stored = (
        json.loads((run_dir("smoke") / f"{name}.json").read_text())
        for name in ("numbers", "contrasts")
    )
    found = {reason_text(reason) for tree in stored for reason in reasons(tree)}
    assert len(found) > 2 and not [
        text for text in found if "_" in text or "unit" in text or "cluster" in text
    ]


def test_a_p_value_is_never_written_as_0():
    assert [p_value(p) for p in (1e-9, 0.00099, 0.001, 0.05, 1)] == [
        "<0.001",
        "<0.001",
        "0.001",
        "0.050",
        "1.000",
    ]


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


@pytest.mark.parametrize("start", [":::{include} x", "# a", "- a", "+ a", "% a", "(a)=", "~~~ a"])
def test_a_text_of_others_begins_nothing(start):
    kinds = {token.type for token in MYST.parse(f"- {escape_markdown(start)}")}
    assert kinds <= ONE_LINE
