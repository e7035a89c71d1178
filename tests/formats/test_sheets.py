"""Tables of ratings, and cells that a spreadsheet would run."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import not_refused

from casebook.errors import InputError
from casebook.measures.agreement import krippendorff_alpha
from casebook.raters.annotations import read_ratings
from casebook.sheets import (
    for_csv,
    from_csv,
    table_for_csv,
    table_from_csv,
)


@pytest.fixture
def table(tmp_path):
    def write(text, name="ratings.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_blank_is_missing_and_the_id_is_not_a_rater(table):
    frame = read_ratings(table("\ufeffitem,A,B\nx,1,\ny, 2 ,3.5\n\nz,,\n"))
    assert (frame.index.to_list(), frame.index.name) == (["x", "y", "z"], "item")
    np.testing.assert_array_equal(frame.to_numpy(), [[1, np.nan], [2, 3.5], [np.nan, np.nan]])


def test_a_header_says_which_column_names_the_items(table):
    for header in ("", "item", "Units", "case", "answer_id"):
        for mark in ",;\t":
            lines = [(header, "A", "B"), ("0", "1", "2"), ("1", "2", "2")]
            text = "\n".join(map(mark.join, lines))
            assert list(read_ratings(table(text))) == ["A", "B"], text


def test_another_first_column_is_asked_about(table):
    texts = {"A": "A;B\n1;2\n2;2\n", "what": "what,A,B\none,1,2\ntwo,2,2\n", "no": "no,yes\n1,1\n"}
    for first, text in texts.items():
        path = table(text)
        with pytest.raises(InputError, match=f"does the first column, '{first}', name the items"):
            read_ratings(path)
        assert first not in read_ratings(path, id_column=first)
        assert first in read_ratings(path, id_column="", numbers=False)


def test_the_id_can_be_named_or_denied(table):
    path = table("A,who,B\n1,x,2\n2,y,2\n")
    assert read_ratings(path, id_column="who").columns.to_list() == ["A", "B"]
    path = table("item,A\n1,2\n1,3\n")
    assert read_ratings(path, id_column="").columns.to_list() == ["item", "A"]
    with pytest.raises(InputError, match="has no column 'x': it has item, A"):
        read_ratings(path, id_column="x")


def test_a_column_that_names_the_items_is_no_rater(table):
    rated = pd.DataFrame({"A": [4, 2, 5, 3], "B": [4, 1, 5, 3], "item_id": [9, 4, 7, 2]})
    path = table(rated.to_csv(index=False))
    with pytest.raises(InputError, match="column 'item_id' looks like names of the"):
        read_ratings(path)
    assert list(read_ratings(path, id_column="item_id")) == ["A", "B"]
    with pytest.raises(InputError, match=r"ratings\.set_index"):
        krippendorff_alpha(rated)
    ratings = rated.drop(columns="item_id")
    assert krippendorff_alpha(ratings.rename(columns={"A": "no"})).n_raters == 2


DEFECTS = [
    ("", "ratings.csv: is empty"),
    ("A,B\n", "holds no records"),
    ("A\n1\n", "first row must name the raters"),
    ("A,B\n1,2\n1\n", "ratings.csv:3: has 1 fields, the header has 2"),
    ("A,A\n1,2\n", "ratings.csv:1: column 'A' stands twice"),
    ("A,\n1,2\n", "first row must name the raters"),
    ("id,A\nx,1\nx,2\n", "ratings.csv:3: id 'x' is blank, or stands in an earlier row"),
    ("id,A\nx,1\n,2\n", "ratings.csv:3: id '' is blank"),
    ("id,A\n1,2\n2,n/a\n", r"ratings.csv:3: column 'A': 'n/a' is not a number"),
    ("id,A\n1,2\n2,inf\n", "column 'A': 'inf' is not a number"),
    ("id,A\n1,2\n2,1e999\n", "ratings.csv:3: column 'A': '1e999' is not a number"),
    ('A,B\n1,2\n"3,5,1\n', r"ratings.csv:\d: is not CSV"),
]


def test_defects_are_named(table):
    assert not_refused(lambda text: read_ratings(table(text)), DEFECTS) == []


def test_labels(table):
    path = table("A,B\nja,nein\nja,\n")
    frame = read_ratings(path, id_column="")
    assert frame["A"].to_list() == ["ja", "ja"] and frame["B"].isna().to_list() == [False, True]
    with pytest.raises(InputError, match="'ja' is not a number"):
        read_ratings(path, numbers=True, id_column="")
    labels = read_ratings(table("A,B\n1,2\n1,x\n"), numbers=False, id_column="")
    assert labels.iloc[1, 1] == "x"


def test_ratings_are_labels_where_more_than_half_are_no_numbers(table):
    labels = table("A,B\n1,1\nja,ja\nja,nein\n")
    assert read_ratings(labels, id_column="").iloc[0, 0] == "1"
    halves = table("A,B\n1,1\n1,2\nja,nein\nja,ja\n")
    with pytest.raises(InputError, match="'ja' is not a number"):
        read_ratings(halves, id_column="")


def test_workbook_as_csv(tmp_path):
    frame = pd.DataFrame({"item": ["x", "y"], "A": [1, 2], "B": [None, 3.5]})
    frame.to_excel(tmp_path / "ratings.xlsx", index=False)
    frame.to_csv(tmp_path / "ratings.csv", index=False)
    book, text = (read_ratings(tmp_path / f"ratings.{x}") for x in ("xlsx", "csv"))
    pd.testing.assert_frame_equal(book, text)


def test_defects_of_a_workbook(tmp_path):
    path = tmp_path / "ratings.xlsx"
    pd.DataFrame({"id": [1, 2], "B": [1, "tie "]}).to_excel(path, index=False)
    with pytest.raises(InputError, match=r"xlsx:3: column 'B': 'tie' is not a number"):
        read_ratings(path)
    for content in (path.read_bytes()[:500], b"A,B\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"ratings\.xlsx: is no workbook"):
            read_ratings(path)


SIGNS = "=+-@＝＋－＠"
RUN = [
    *('=HYPERLINK("http://x","y")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\tx"),
    *(" =1", "\u3000=1", "\xa0@x", "\ufeff=1", "\n+1", "'=1", "＝1+1", " ＠x", "-cmd|x"),
]
cells = st.text() | st.builds(
    "".join,
    st.tuples(
        st.text("'", max_size=2),
        st.sampled_from(["", " ", "\t", "\r", "\u3000", "\ufeff"]),
        st.sampled_from(SIGNS),
        st.text(max_size=5),
    ),
)


def test_what_runs_is_marked_and_the_rest_stays_as_it_is():
    assert [text for text in RUN if for_csv(text) != f"'{text}"] == []
    plain = ["-0.5", "+3", "-1e-05", "12", "a=b", "x -1", "", "'x"]
    assert [text for text in plain if for_csv(text) != text] == []


@given(cells)
def test_every_cell_comes_back(text):
    written = for_csv(text)
    assert from_csv(written) == text
    # Nothing but blanks may stand before a sign, unless all of it is one number.
    bare = written.lstrip(" \t\r\n\u3000\ufeff\xa0\u200b")
    if bare[:1] and bare[0] in SIGNS:
        float(written)


@given(st.lists(st.tuples(cells, st.floats(allow_nan=False, allow_infinity=False))))
def test_tables_keep_their_numbers_and_their_ids(rows):
    rows = [(text.replace("\r\n", "\n").replace("\r", "\n"), n) for text, n in rows]
    frame = pd.DataFrame(rows, columns=["=id", "value"])
    text = table_for_csv(frame).to_csv(index=False)
    found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert found[0] == ["'=id", "value"]
    assert [float(row[1]) for row in found[1:]] == [value for _, value in rows]
    table = pd.DataFrame([[r[0], float(r[1])] for r in found[1:]], columns=found[0])
    assert table_from_csv(table).to_numpy().tolist() == [list(row) for row in rows]


LONG_DEFECTS = [
    ("rater,item,rating\nann,q1,4\nann,q1,5\n", ":3: ann rates q1 a second time"),
    ("rater,item,rating\nann,,4\n", ":2: names no rater or no item"),
    ("rater,item,rating\nann,q1,4\nann,q2,5\nbob,q1,x\n", ":4: column 'rating': 'x' is not"),
]


def test_defects_of_a_row_per_rating_are_named(table):
    assert not_refused(lambda text: read_ratings(table(text)), LONG_DEFECTS) == []
