"""YAML that is plain data, and the ways in which it is not."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.readers import LARGEST, parse_yaml, read_yaml

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@given(PLAIN)
def test_plain_data_comes_back(value):
    assert parse_yaml(yaml.safe_dump(value), "f") == value


def test_anchors_serve_for_what_they_are_meant(tmp_path):
    path = tmp_path / "f.yml"
    path.write_bytes(b"\xef\xbb\xbfbase: &b {k: 1}\nrows: [*b, *b]\nmore: {<<: *b, n: 2}\n")
    assert read_yaml(path)["rows"] == [{"k": 1}, {"k": 1}]
    assert read_yaml(path)["more"] == {"k": 1, "n": 2}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, "f:2: not YAML: an anchor within an anchor"),
        ("a: &a 1\nb: [" + "*a, " * 200 + "]", "too many of them"),
        ("!!python/object/apply:os.system ['true']", "f:1: not YAML: could not"),
        ("a: 1\nb: 2\na: 3", "f:3: not YAML: key 'a' stands twice"),
        ("[" * 5000, "nested too deeply"),
        ("a: [1", "not YAML: expected"),
        ("d: 2020-13-45", "not YAML: month must be"),
        ("a\x00b", "not YAML: .*special characters"),
        ("{[a]: b, ? {c: d} : e}", "not YAML: found unhashable key"),
    ],
)
def test_what_is_not_plain_is_one_clear_line(text, problem):
    with pytest.raises(InputError, match=problem) as error:
        parse_yaml(text, "f")
    assert "\n" not in str(error.value)


def test_files_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match="no such gate file"):
        read_yaml(tmp_path / "none.yml", "gate file")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)
    path = tmp_path / "f.yml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(InputError, match="byte 3 is not UTF-8"):
        read_yaml(path)
    with path.open("wb") as stream:
        stream.truncate(LARGEST + 1)
    with pytest.raises(InputError, match="no YAML file is so large"):
        read_yaml(path)
