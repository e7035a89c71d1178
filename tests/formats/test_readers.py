"""JSON, YAML and lines of others: what they say, or one clear line."""

import json

import pytest
import yaml
from cases import not_refused
from hypothesis import given
from hypothesis import strategies as st

from casebook.data.folders import read_frame
from casebook.data.tables import read_table
from casebook.errors import InputError
from casebook.raters.annotations import read_ratings
from casebook.readers import (
    parse_json,
    parse_yaml,
    read_json,
    read_yaml,
)
from casebook.trec import read_qrels, read_run

BROKEN = [
    ("", "Expecting value"),
    ("{", "Expecting property name"),
    ("[" * 100_000, "nested too deeply"),
    ("9" * 5000, "Exceeds the limit"),
    ('{"a": 1}}', "Extra data"),
    (b"\xff\xfe", "perhaps UTF-16"),
    ('{"a": 1, "b": {"c": 1, "c": 2}}', "key 'c' stands twice"),
    (r'["\ud83d"]', "surrogates not allowed"),
    (r'{"\uDC00": 1}', "surrogates not allowed"),
]


def test_plain_json_comes_back_and_all_else_is_one_line(tmp_path):
    path = tmp_path / "f.json"

    def read(content):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_json(path)

    assert read(b'\xef\xbb\xbf{"a": [1, null, "\xc3\xa9"]}') == {"a": [1, None, "é"]}
    assert read(r'["\ud83d\ude00"]') == ["\U0001f600"]
    assert not_refused(read, BROKEN) == []
    path.unlink()
    assert not_refused(read_json, [(path, r"f\.json: cannot be read: No such file")]) == []


texts = st.text(st.characters(codec="utf-8"))
plain = st.recursive(
    st.none() | st.booleans() | texts | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(plain, st.booleans())
def test_whatever_can_be_written_is_read_as_the_standard_library_does(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == json.loads(text)


@given(plain)
def test_plain_data_comes_back_from_yaml(value):
    assert parse_yaml(yaml.safe_dump(value), "f") == value


NOT_YAML = [
    ("!!python/object/apply:os.system ['true']", "f:1: not YAML: could not"),
    ("a: 1\nb: 2\na: 3", "f:1: not YAML: key 'a' stands twice"),
    ("a: [1", "f:2: not YAML: did not find expected"),
    ("d: 2020-13-45", "f: not YAML: month must be"),
    ("a\x00b", "f: not YAML: .*control characters"),
    ('"\\ud800"', "f:1: not YAML: .*invalid Unicode"),
    ("[" * 200_000, "f: not YAML: nested in more than 100 levels"),
    ("- " * 200_000, "f: not YAML: nested in more than 100 levels"),
    ("{[a]: b, ? {c: d} : e}", "f:1: not YAML: found unhashable key"),
]


def test_what_is_not_plain_yaml_is_one_clear_line(tmp_path):
    assert not_refused(lambda text: parse_yaml(text, "f"), NOT_YAML) == []
    path = tmp_path / "f.yml"
    path.write_bytes(b"\xef\xbb\xbfa: |\n  b\n")
    assert read_yaml(path) == {"a": "b\n"}
    path.write_bytes(b"a: \xff")
    unread = [(tmp_path, "cannot be read: Is a directory"), (path, "is not UTF-8")]
    assert not_refused(read_yaml, unread) == []


PARTS = {
    "run": [b"q1", b"Q0", b"d1", b"1", b"2.5", b"s", b"nan", b"-1e400"],
    "qrels": [b"q1", b"0", b"d1", b"1", b"-2", b"9" * 40],
    "beir.tsv": [b"query-id", b"corpus-id", b"score", b"q", b"d", b"1"],
    "x.jsonl": [b'{"_id"', b":", b'"a"', b",", b'"text"', b"}", rb'"\ud800"', b"null"],
    "x.csv": [b"id", b"label", b",", b'"', b"1", b";", b"a"],
    "x.json": [b"[", b"{", b'"id"', b":", b"1", b"}", b"]", b",", b"9" * 400, b"-"],
    "x.yml": [b"a", b":", b" ", b"- ", b"&a", b"*a", b'"\\ud800"', b"{", b"[", b"!!x"],
    "ratings.csv": [b"item", b"A", b"B", b",", b"1", b"x", b'"', b"1e400"],
}
READERS = {
    "run": read_run,
    "qrels": read_qrels,
    "beir.tsv": read_qrels,
    "x.jsonl": lambda path: read_frame(path, "_id", "doc_id"),
    "x.csv": read_table,
    "x.json": read_json,
    "x.yml": read_yaml,
    "ratings.csv": read_ratings,
}
NOISE = [b"\n", b"\r", b"\r\n", b" ", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", "é".encode()]


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_any_bytes_are_read_or_refused_in_one_line(name, tmp_path_factory, data):
    parts = st.sampled_from(PARTS[name] + NOISE)
    content = data.draw(st.binary(max_size=40) | st.lists(parts).map(b"".join))
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    try:
        READERS[name](path)
    except InputError as error:
        assert "\n" not in str(error) and name in str(error)
