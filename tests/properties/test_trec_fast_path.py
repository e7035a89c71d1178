"""Files that are split at once read as line by line, which a comment makes the reader do."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.trec import read_qrels, read_run

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
    return end.join("".join(token + next(separator, " ") for token in line[:-1]) + line[-1] for line in lines)


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


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(tokens, min_size=1, max_size=8), max_size=5))
def test_anything(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "fuzzed.any"
    assert_agree(path, render(lines, [], "\n"), read_run)


def test_fields_that_only_add_up_are_refused(tmp_path):
    """Seven fields and five are twelve, as six and six are; a line that is cut shows the same way."""
    path = tmp_path / "run"
    for text in ("q Q0 a 1 2.0 t more\nq Q0 b 2 1.0\n", "q Q0 a 1 2.0\nt q Q0 b 2 1.0 t\n"):
        path.write_text(text)
        with pytest.raises(InputError, match="expected 6 fields"):
            read_run(path)


def test_files_of_many_blocks_are_read_whole(tmp_path):
    """Eight megabytes, so that a query goes on in the next block."""
    path = tmp_path / "run"
    with path.open("w") as stream:
        stream.writelines(f"q{k // 90_000} Q0 document-number-{k:06} 1 {k / 7!r} t\n" for k in range(180_000))
    found = read_run(path)
    assert [len(row) for row in found.values()] == [90_000, 90_000]
    assert found["q1"]["document-number-179999"] == 179_999 / 7
