"""JSON of others: one kind of error, whatever is wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.readers import parse_json, read_json

BROKEN = ["", "{", "[" * 100_000, "9" * 5000, '{"a": 1}}', b"\xff\xfe"]
BROKEN += ["1" * 400, '{"a": 1, "b": {"c": 1, "c": 2}}', r'["\ud83d"]', r'{"\uDC00": 1}']


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_whatever_is_wrong_is_one_kind_of_error(text, tmp_path):
    with pytest.raises(json.JSONDecodeError) as error:
        parse_json(text)
    assert error.value.lineno == 1
    path = tmp_path / "f.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=r"f\.json: is not JSON in UTF-8: ") as error:
        read_json(path)
    assert "\n" not in str(error.value)


def test_plain_data_come_back(tmp_path):
    path = tmp_path / "f.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, null, "\xc3\xa9"]}')
    assert read_json(path) == {"a": [1, None, "é"]}
    with pytest.raises(InputError, match=r"none\.json: cannot be read: No such file"):
        read_json(tmp_path / "none.json")


texts = st.text(st.characters(codec="utf-8"))
plain = st.recursive(
    st.none() | st.booleans() | texts | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(plain, st.booleans())
def test_whatever_can_be_written_is_read_as_the_standard_library_does(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == parse_json(text.encode()) == json.loads(text)


def test_the_key_that_stands_twice_and_the_half_character_are_told():
    with pytest.raises(json.JSONDecodeError, match="key 'c' stands twice"):
        parse_json('{"a": 1, "b": {"c": 1, "c": 2}}')
    with pytest.raises(json.JSONDecodeError, match="a lone surrogate"):
        parse_json(r'["\ud83d\ude00 \ud83d"]')
    assert parse_json(r'["\ud83d\ude00"]') == ["\U0001f600"]
    with pytest.raises(json.JSONDecodeError, match="a number of 400 digits"):
        parse_json('{"age": %s}' % ("1" * 400))
