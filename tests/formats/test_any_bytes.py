"""Whatever bytes a file holds, a reader gives what it says or one clear line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.formats.ratings import read_ratings
from casebook.formats.trec import read_beir_qrels, read_qrels, read_run
from casebook.plain_json import read_json
from casebook.plain_yaml import read_yaml
from casebook.readers import read_frame, read_records

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
    "beir.tsv": read_beir_qrels,
    "x.jsonl": lambda path: read_frame(path, "_id", "doc_id"),
    "x.csv": read_records,
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
