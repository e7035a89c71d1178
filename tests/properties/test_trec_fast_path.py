"""The vectorised tokeniser agrees with the line parser or declines."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.formats import trec_columns
from casebook.formats.trec import load
from casebook.formats.trec_columns import Columns
from casebook.formats.trec_lines import parse_lines
from casebook.formats.trec_text import QRELS, RUN, read_bytes
from casebook.formats.trec_tokens import tokenise
from casebook.formats.trec_words import PAD, decimal_parts, parse_decimals

blank = st.sampled_from([" ", " ", " ", "\t", "  ", "\r", "\x0b", "\x00", ""])
tokens = st.one_of(
    st.sampled_from(["q1", "q1", "q2", "d1", "d2", "#", "é", "\ud800", "0"]),
    st.text("ab0", max_size=20),
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.text("0123456789.-+e_", max_size=22),
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


def outcome(parse):
    try:
        return parse()
    except InputError as error:
        return str(error)


def assert_agree(path, text, layout):
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    strict = outcome(lambda: parse_lines(path, read_bytes(path), layout))
    columns = tokenise(read_bytes(path), layout)
    if columns is not None:
        assert columns.to_dict() == strict
    loaded = outcome(lambda: load(path, layout))
    if isinstance(loaded, Columns):
        loaded = loaded.to_dict()
    assert loaded == strict


decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=6).map(str),
    st.text("0123456789.-+e_", min_size=1, max_size=22),
)


@settings(max_examples=150, deadline=None)
@given(
    lines=regular_lines(st.tuples(st.just("1"), decimals, st.just("tag"))),
    separators=st.lists(blank, max_size=8),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n#\n"]),
)
def test_runs(tmp_path_factory, lines, separators, end):
    path = tmp_path_factory.getbasetemp() / "fuzzed.run"
    assert_agree(path, render(lines, separators, end), RUN)


@settings(max_examples=150, deadline=None)
@given(lines=regular_lines(st.tuples(tokens)), separators=st.lists(blank, max_size=8))
def test_judgements(tmp_path_factory, lines, separators):
    path = tmp_path_factory.getbasetemp() / "fuzzed.qrels"
    assert_agree(path, render(lines, separators, "\n"), QRELS)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(tokens, min_size=1, max_size=8), max_size=5))
def test_anything(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "fuzzed.any"
    assert_agree(path, render(lines, [], "\n"), RUN)


def fields(texts):
    data = b" ".join(text.encode() for text in texts)
    sizes = np.array([len(text.encode()) for text in texts])
    start = PAD + np.cumsum(sizes + 1) - sizes - 1
    buffer = np.frombuffer(bytes(PAD) + data + bytes(PAD), np.uint8)
    return buffer, start, start + sizes


@settings(max_examples=200, deadline=None)
@given(st.lists(decimals, min_size=1, max_size=30))
def test_decimals_are_exact_or_declined(texts):
    values, exact = parse_decimals(*fields(texts))
    for text, value, certain in zip(texts, values, exact, strict=True):
        if certain:
            assert value == float(text)


def test_long_decimals_round_as_float_does():
    """Near-halfway mantissas of 16 to 18 digits, where double rounding would err."""
    rng = np.random.default_rng(7)
    texts = [
        f"{rng.integers(10**15, 10**18)}"[:cut] + "." + f"{rng.integers(1, 999)}" for cut in rng.integers(0, 16, 20_000)
    ]
    texts += [str(2**53 + odd) for odd in range(1, 2001)]
    texts += [repr(value) for value in (rng.random(20_000) * 100).tolist()]
    values, exact = parse_decimals(*fields(texts))
    assert exact.mean() > 0.9
    truth = np.array([float(text) for text in texts])
    assert (values[exact] == truth[exact]).all()


def test_a_plain_decimal_is_recognised():
    texts = ["0.5", "-12.25", "7", ".5", "5.", "1e3", "-", ".", "1.2.3", "+1", "1/2"]
    mantissa, places, negative, plain = decimal_parts(*fields(texts))
    assert plain.tolist() == [True] * 5 + [False] * 6
    assert mantissa[:5].tolist() == [5, 1225, 7, 5, 5]
    assert places[:5].tolist() == [1, 2, 0, 1, 0]
    assert negative[:5].tolist() == [False, True, False, False, False]


def test_colliding_hashes_change_nothing(tmp_path, monkeypatch):
    """With every hash equal, repeats are still told from collisions by the bytes."""

    def constant(text, start, length):
        return np.zeros(len(start), dtype=np.uint64)

    monkeypatch.setattr("casebook.formats.trec_tokens.hash_fields", constant)
    monkeypatch.setattr(trec_columns, "hash_fields", constant)
    path = tmp_path / "run"
    path.write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    assert load(path, RUN) == {"q": {"a": 2.0, "b": 1.0}}
    path.write_text("q Q0 a 1 2.0 t\nr Q0 b 1 1.0 t\n")
    run = load(path, RUN)
    wanted = Columns.from_dict({"q": {"b": 1, "a": 1}}, np.array([1, 1]))
    assert run.find(np.array([0, 0]), wanted).tolist() == [-1, 0]
