"""Cells that a spreadsheet would run."""

import csv
import io

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from casebook.sheets import (
    for_csv,
    from_csv,
    table_for_csv,
    table_from_csv,
)

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
@example([("\r", 0.0)])
def test_tables_keep_their_numbers_and_their_ids(rows):
    frame = pd.DataFrame(rows, columns=["=id", "value"])
    text = table_for_csv(frame).to_csv(index=False)
    rows = [(text.replace("\r\n", "\n").replace("\r", "\n"), n) for text, n in rows]
    found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert found[0] == ["'=id", "value"]
    assert [float(row[1]) for row in found[1:]] == [value for _, value in rows]
    table = pd.DataFrame([[r[0], float(r[1])] for r in found[1:]], columns=found[0])
    assert table_from_csv(table).to_numpy().tolist() == [list(row) for row in rows]
