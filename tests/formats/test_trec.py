"""TREC files: every accepted form, every refusal with its line, and what others read of them."""

import gzip

import pytest
from cases import failing, not_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.trec import read_qrels, read_run, write_run


def write(folder, data, name="file.txt"):
    path = folder / name
    path.write_bytes(data)
    return path


RUN_TEXT = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 -1e-3 tag\nq2 Q0 d1 1 7 tag\n"
RUN_TABLE = {"q1": {"d1": 2.5, "d2": -1e-3}, "q2": {"d1": 7.0}}


def test_every_accepted_form_gives_the_same_run(tmp_path):
    forms = [
        RUN_TEXT,
        RUN_TEXT.rstrip(),
        RUN_TEXT.replace(b"\n", b"\r\n"),
        RUN_TEXT.replace(b" ", b"\t"),
        RUN_TEXT.replace(b" ", b" \t "),
        RUN_TEXT.replace(b"tag", b"tag and more"),
        b"# note\n\n" + RUN_TEXT + b"  \n# 9 Q0 d 1 1 t\n#q9 Q0 d 1 no t\n#q9 Q0 d 1 1\n",
        b"\xef\xbb\xbf" + RUN_TEXT,
    ]
    assert not [text for text in forms if read_run(write(tmp_path, text)) != RUN_TABLE]
    assert read_run(write(tmp_path, gzip.compress(RUN_TEXT), "run.gz")) == RUN_TABLE


HASHES = [
    (read_qrels, b"q#1 0 #d 1\n#7 0 e -1\n", {"q#1": {"#d": 1}, "#7": {"e": -1}}),
    (read_run, b"#7 Q0 e 1 2.5 tag\n", {"#7": {"e": 2.5}}),
    (read_qrels, b"query-id\tcorpus-id\tscore\n#7\te\t1\n", {"#7": {"e": 1}}),
]


def test_an_id_with_a_hash_is_an_id_where_its_fields_are_there(tmp_path):
    """In files that are read at once, and line by line, as those with a comment."""
    for read, text, expected in HASHES:
        for before in (b"", b"# note\n"):
            if not (before and text.startswith(b"query-id")):
                assert read(write(tmp_path, before + text)) == expected


QRELS_TEXT = b"q 0 d1 1\nq 0 d2 1\nq 0 d 0\n"
HEADER = b"query-id\tcorpus-id\tscore\n"
# Reader, sound lines, and lines after them with what is said of each.
BAD_LINES = [
    (read_run, RUN_TEXT, b"q1 Q0 d9 3 1.5", "expected 6 fields"),
    (read_run, RUN_TEXT, b"q1 Q0 d9 3 nan tag", "'nan' is not a finite number"),
    (read_run, RUN_TEXT, b"q1 Q0 d9 3 inf tag", "'inf' is not a finite number"),
    (read_run, RUN_TEXT, b"q1 Q0 d9 3 1e999 tag", "'1e999' is not a finite number"),
    (read_run, RUN_TEXT, b"q1 Q0 d9 3 1_0 tag", "'1_0' is not a finite number"),
    (read_run, RUN_TEXT, b"q1 Q0 d9 3 - tag", "'-' is not a finite number"),
    (read_run, RUN_TEXT, b"q1 Q0 d1 3 1.5 tag", "document 'd1' appears twice for query 'q1'"),
    (read_qrels, QRELS_TEXT, b"q 0 d", "expected 4 fields"),
    (read_qrels, QRELS_TEXT, b"q 0 d 1 more", "expected 4 fields"),
    (read_qrels, QRELS_TEXT, b"q 0 d 1.5", "'1.5' is not a whole number"),
    (read_qrels, QRELS_TEXT, b"q 0 d1 1", "appears twice"),
    (read_qrels, HEADER + b"q 1\td 1\t2\nq 1\td2\t0\n", b"q\td", "expected 3 fields"),
]


def test_a_bad_line_is_named(tmp_path):
    """In one line, after a comment and without one: other lines are read another way."""

    def check(read, text, line, problem):
        for start, place in ((b"", 4), (b"# note\n", 5)):
            path = write(tmp_path, start + text + line + b"\n")
            with pytest.raises(InputError, match=problem) as error:
                read(path)
            assert str(error.value).startswith(f"{path}:{place}: ")

    assert failing(check, BAD_LINES) == []
    path = write(tmp_path, HEADER + b"q 1\td 1\t2\nq 1\td2\t0\n")
    assert read_qrels(path) == {"q 1": {"d 1": 2, "d2": 0}}


UNREADABLE = {
    "a": (b"", "no data line"),
    "b": (b"\n\n", "no data line"),
    "c": (b"# only a comment\n", "no data line"),
    "d": (RUN_TEXT + b"q1 Q0 d\xff 3 1.5 tag\n", "is not UTF-8"),
    "e.gz": (gzip.compress(RUN_TEXT)[:-9], "damaged"),
}


def test_unreadable_files_are_refused(tmp_path):
    cases = [(write(tmp_path, data, name), text) for name, (data, text) in UNREADABLE.items()]
    cases += [(tmp_path / "absent", "No such file"), (tmp_path, "cannot be read")]
    assert not_refused(read_run, cases) == []


ids = st.text("abc#é-9\U0001f4c4", min_size=1, max_size=20)
scores = st.floats(allow_nan=False, allow_infinity=False)
runs = st.dictionaries(
    ids.filter(lambda name: name != "#"),
    st.dictionaries(ids, scores, min_size=1, max_size=8),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(run=runs, suffix=st.sampled_from(["", ".gz"]))
def test_a_written_run_reads_back_exactly(tmp_path_factory, run, suffix):
    path = tmp_path_factory.mktemp("run") / f"run{suffix}"
    write_run(path, run)
    assert read_run(path) == run


def test_a_written_run_is_ranked_and_what_would_not_read_back_is_refused(tmp_path):
    write_run(tmp_path / "run", {"q": {"a": 1, "c": 1, "b": 2}}, tag="me")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == ["q Q0 b 1 2.0 me", "q Q0 c 2 1.0 me", "q Q0 a 3 1.0 me"]
    names = [("#", "d", 1.0), ("q", "d d", 1.0), ("", "d", 1.0), ("q", "d", float("nan"))]
    wrong = [
        ({q: {d: score}}, "tag", "white space or is '#', or .* not fin") for q, d, score in names
    ]
    wrong.append(
        ({"q": {"d": 1.0}}, "two words", "'q Q0 d 1 1.0 two words' is no line .*: rename it")
    )
    assert not_refused(lambda run, tag: write_run(tmp_path / "new", run, tag), wrong) == []
    assert not (tmp_path / "new").exists()


tokens = st.one_of(
    st.sampled_from(["q1", "q2", "d1", "d2", "#", "é", "0", "1", "nan", "a-much-longer-id"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text("0123456789.-+e", min_size=1, max_size=22),
)
lines = st.lists(st.lists(tokens, min_size=3, max_size=7), min_size=1, max_size=4)
blanks = st.sampled_from([" ", " ", "\t", "  "])


@settings(max_examples=200, deadline=None)
@given(lines=lines, blank=blanks, kind=st.sampled_from([(read_run, 6, 4), (read_qrels, 4, 3)]))
def test_a_file_is_what_its_blanks_part_or_is_refused(tmp_path_factory, lines, blank, kind):
    """The fields are those of `str.split`, the number is Python's."""
    read, n_fields, place = kind
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_text("".join(f"{blank.join(fields)}\n" for fields in lines))
    try:
        found = read(path)
    except InputError as error:
        assert "\n" not in str(error)
        return
    expected = {}
    for fields in lines:
        if not fields[0].startswith("#"):
            expected.setdefault(fields[0], {})[fields[2]] = float(fields[place])
            assert len(fields) >= n_fields
    assert found == expected
