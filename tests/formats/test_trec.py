"""TREC files: every accepted form, every refusal with its line, and both ways of reading agree."""

import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.trec import read_beir_qrels, read_qrels, read_run, write_run


def write(folder, data, name="file.txt"):
    path = folder / name
    path.write_bytes(data)
    return path


RUN_TEXT = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 -1e-3 tag\nq2 Q0 d1 1 7 tag\n"
RUN_TABLE = {"q1": {"d1": 2.5, "d2": -1e-3}, "q2": {"d1": 7.0}}


@pytest.mark.parametrize(
    "text",
    [
        RUN_TEXT,
        RUN_TEXT.rstrip(),
        RUN_TEXT.replace(b"\n", b"\r\n"),
        RUN_TEXT.replace(b" ", b"\t"),
        RUN_TEXT.replace(b" ", b" \t "),
        RUN_TEXT.replace(b"tag", b"tag and more"),
        b"# note\n\n" + RUN_TEXT + b"  \n# 9 Q0 d 1 1 t\n#q9 Q0 d 1 no t\n#q9 Q0 d 1 1\n",
        b"\xef\xbb\xbf" + RUN_TEXT,
        gzip.compress(RUN_TEXT, mtime=0),  # the name of a test holds no time
    ],
)
def test_every_accepted_form_gives_the_same_run(tmp_path, text):
    assert read_run(write(tmp_path, text)) == RUN_TABLE


def test_lines_of_a_query_need_not_be_together(tmp_path):
    path = write(tmp_path, b"a Q0 x 1 3 t\nb Q0 x 1 2 t\na Q0 y 2 1 t\n")
    assert read_run(path) == {"a": {"x": 3.0, "y": 1.0}, "b": {"x": 2.0}}


@pytest.mark.parametrize("before", [b"", b"# note\n"])  # read at once, and line by line
def test_an_id_with_a_hash_is_an_id_where_its_fields_are_there(tmp_path, before):
    path = write(tmp_path, before + b"q#1 0 #d 1\n#7 0 e -1\n")
    assert read_qrels(path) == {"q#1": {"#d": 1}, "#7": {"e": -1}}
    path = write(tmp_path, before + b"#7 Q0 e 1 2.5 tag\n")
    assert read_run(path) == {"#7": {"e": 2.5}}
    path = write(tmp_path, b"query-id\tcorpus-id\tscore\n#7\te\t1\n")
    assert read_beir_qrels(path) == {"#7": {"e": 1}}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"q1 Q0 d9 3 1.5", "expected 6 fields"),
        (b"q1 Q0 d9 3 nan tag", "'nan' is not a finite number"),
        (b"q1 Q0 d9 3 inf tag", "'inf' is not a finite number"),
        (b"q1 Q0 d9 3 1e999 tag", "'1e999' is not a finite number"),
        (b"q1 Q0 d9 3 1_0 tag", "'1_0' is not a finite number"),
        (b"q1 Q0 d9 3 - tag", "'-' is not a finite number"),
        (b"q1 Q0 d1 3 1.5 tag", "document 'd1' appears twice for query 'q1'"),
        (b"q1 Q0 d\xff 3 1.5 tag", "not valid UTF-8"),
    ],
)
def test_a_bad_run_line_is_named(tmp_path, line, problem):
    path = write(tmp_path, RUN_TEXT + line + b"\n")
    with pytest.raises(InputError, match=re.escape(problem)) as error:
        read_run(path)
    assert str(error.value).startswith(f"{path}:4: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"q 0 d", "expected 4 fields"),
        (b"q 0 d 1 more", "expected 4 fields"),
        (b"q 0 d 1.0", "'1.0' is not an integer"),
        (b"q 0 d 99999999999", "is not an integer"),
        (b"q 0 old 1", "appears twice"),
    ],
)
def test_a_bad_judgement_is_named(tmp_path, line, problem):
    path = write(tmp_path, b"# pool\nq 0 old 1\n" + line + b"\n")
    with pytest.raises(InputError, match=problem) as error:
        read_qrels(path)
    assert f"{path}:3: " in str(error.value)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only a comment\n"])
def test_a_file_without_data_is_refused(tmp_path, text):
    with pytest.raises(InputError, match="no data line"):
        read_run(write(tmp_path, text))


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_run(tmp_path / "absent")
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path)
    damaged = gzip.compress(RUN_TEXT)[:-9]
    with pytest.raises(InputError, match="damaged gzip"):
        read_run(write(tmp_path, damaged))


def test_beir_judgements_need_their_header(tmp_path):
    rows = b"q 1\td 1\t2\nq 1\td2\t0\n"
    header = b"query-id\tcorpus-id\tscore\n"
    path = write(tmp_path, header + rows)
    assert read_beir_qrels(path) == {"q 1": {"d 1": 2, "d2": 0}}
    with pytest.raises(InputError, match=":1: expected the header"):
        read_beir_qrels(write(tmp_path, rows))
    with pytest.raises(InputError, match=":2: expected 3 fields"):
        read_beir_qrels(write(tmp_path, header + b"q\td\n"))


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


def test_a_written_run_is_ranked(tmp_path):
    write_run(tmp_path / "run", {"q": {"a": 1, "c": 1, "b": 2}}, tag="me")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == ["q Q0 b 1 2.0 me", "q Q0 c 2 1.0 me", "q Q0 a 3 1.0 me"]


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"#": {"d": 1.0}}, "t", "'#' would start a comment line"),
        (
            {"q": {"d d": 1.0}},
            "t",
            "'d d' .* cannot hold white space .*: rename it in the collection",
        ),
        ({"": {"d": 1.0}}, "t", "'' is empty or holds white space"),
        ({"q": {"d": float("nan")}}, "t", "score nan of q d is not finite"),
        ({"q": {"d": 1.0}}, "two words", "tag 'two words' is empty or holds"),
    ],
)
def test_what_would_not_read_back_is_not_written(tmp_path, run, tag, message):
    with pytest.raises(InputError, match=message):
        write_run(tmp_path / "run", run, tag)
    assert not list(tmp_path.iterdir())


blank = st.sampled_from([" ", " ", " ", "\t", "  ", "\r", "\x0b", "\x00", ""])
tokens = st.one_of(
    st.sampled_from(["q1", "q1", "q2", "d1", "d2", "#", "é", "\ud800", "0", "1_0", "nan"]),
    st.text("ab0", max_size=20),
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.text("0123456789.-+e_", max_size=22),
)
decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=6).map(str),
    st.text("0123456789.-+e_", min_size=1, max_size=22),
)


@st.composite
def regular_lines(draw, numbers):
    """Lines of the right shape, now and then spoilt."""
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        query = draw(st.sampled_from(["q1", "q2", "a-much-longer-query-id"]))
        document = draw(st.text("ab", min_size=1, max_size=18))
        lines.append([query, "0", document, *draw(numbers)])
    return lines


def render(lines, separators, end):
    separator = iter(separators)
    return end.join(
        "".join(token + next(separator, " ") for token in line[:-1]) + line[-1] for line in lines
    )


def outcome(read, path, text, before):
    path.write_bytes(before + text.encode("utf-8", "surrogatepass"))
    try:
        return read(path)
    except InputError as error:
        line = re.search(r":(\d+): ", str(error))
        return re.sub(r":\d+: ", ": ", str(error)), line and int(line[1]) - before.count(b"\n")


def assert_agree(path, text, read):
    assert outcome(read, path, text, b"") == outcome(read, path, text, b"# note\n")


@settings(max_examples=150, deadline=None)
@given(
    lines=regular_lines(st.tuples(st.just("1"), decimals, st.just("tag"))),
    separators=st.lists(blank, max_size=8),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n#\n"]),
)
def test_runs(tmp_path_factory, lines, separators, end):
    path = tmp_path_factory.getbasetemp() / "fuzzed.run"
    assert_agree(path, render(lines, separators, end), read_run)


@settings(max_examples=150, deadline=None)
@given(lines=regular_lines(st.tuples(tokens)), separators=st.lists(blank, max_size=8))
def test_judgements(tmp_path_factory, lines, separators):
    path = tmp_path_factory.getbasetemp() / "fuzzed.qrels"
    assert_agree(path, render(lines, separators, "\n"), read_qrels)


def test_fields_that_only_add_up_are_refused(tmp_path):
    """Seven fields and five are twelve, as six and six are; a line that is cut shows the
    same way."""
    path = tmp_path / "run"
    for text in ("q Q0 a 1 2.0 t more\nq Q0 b 2 1.0\n", "q Q0 a 1 2.0\nt q Q0 b 2 1.0 t\n"):
        path.write_text(text)
        with pytest.raises(InputError, match="expected 6 fields"):
            read_run(path)
