import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.measures.ranking import evaluate
from casebook.trec import read_beir_qrels, read_qrels, read_run, write_qrels, write_run


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
        b"# note\n\n" + RUN_TEXT + b"  \n#q9 Q0 d 1 1 t\n",
        b"\xef\xbb\xbf" + RUN_TEXT,
        gzip.compress(RUN_TEXT, mtime=0),  # the name of a test holds no time
    ],
)
def test_every_accepted_form_gives_the_same_run(tmp_path, text):
    assert read_run(write(tmp_path, text)) == RUN_TABLE


def test_lines_of_a_query_need_not_be_together(tmp_path):
    path = write(tmp_path, b"a Q0 x 1 3 t\nb Q0 x 1 2 t\na Q0 y 2 1 t\n")
    assert read_run(path) == {"a": {"x": 3.0, "y": 1.0}, "b": {"x": 2.0}}


def test_only_a_first_character_starts_a_comment(tmp_path):
    path = write(tmp_path, b"q#1 0 #d 1\n")
    assert read_qrels(path) == {"q#1": {"#d": 1}}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"q1 Q0 d9 3 1.5", "expected 6 fields"),
        (b"q1 Q0 d9 3 nan tag", "'nan' is not a finite number"),
        (b"q1 Q0 d9 3 inf tag", "'inf' is not a finite number"),
        (b"q1 Q0 d9 3 1e999 tag", "'1e999' is not a finite number"),
        (b"q1 Q0 d9 3 1_0 tag", "'1_0' is not a finite number"),
        (b"q1 Q0 d9 3 high tag", "'high' is not a finite number"),
        (b"q1 Q0 d9 3 1.2.3 tag", "'1.2.3' is not a finite number"),
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
        (b"q 0 d 1.", "'1.' is not an integer"),
        (b"q 0 d yes", "'yes' is not an integer"),
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
    ids.filter(lambda name: not name.startswith("#")),
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


def test_judgements_read_back(tmp_path):
    qrels = {"q": {"a": 3, "b": -1}, "r": {"a": 0}}
    assert read_qrels(write_qrels(tmp_path / "qrels.gz", qrels)) == qrels


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"#q": {"d": 1.0}}, "t", "'#q' would start a comment line"),
        ({"q": {"d d": 1.0}}, "t", "'d d' is empty or holds white space"),
        ({"": {"d": 1.0}}, "t", "'' is empty or holds white space"),
        ({"q": {"d": float("nan")}}, "t", "score nan of q d is not finite"),
        ({"q": {"d": 1.0}}, "two words", "tag 'two words' is empty or holds"),
    ],
)
def test_what_would_not_read_back_is_not_written(tmp_path, run, tag, message):
    with pytest.raises(InputError, match=message):
        write_run(tmp_path / "run", run, tag)
    assert not list(tmp_path.iterdir())


def test_a_fractional_grade_is_not_written(tmp_path):
    with pytest.raises(InputError, match="not an integer"):
        write_qrels(tmp_path / "qrels", {"q": {"d": 0.5}})


def test_beir_judgements_are_known_by_their_header(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    assert evaluate(path, {"q1": {"d1": 1.0}}, ["nDCG@10"]).mean["nDCG@10"] == 1.0
