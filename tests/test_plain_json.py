"""JSON of others: one kind of error, whatever is wrong."""

import json

import pytest

from casebook.errors import InputError
from casebook.plain_json import parse_json, read_json

BROKEN = ["", "{", "[" * 100_000, "9" * 5000, '{"a": 1}}', b"\xff\xfe"]


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
