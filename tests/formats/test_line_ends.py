"""Old, Windows' and Unix' line ends are line ends in every text that is read."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.formats.ratings import read_ratings
from casebook.formats.trec import read_beir_qrels, read_qrels, read_run
from casebook.measures import ranking
from casebook.readers import read_jsonl, read_lines, read_records

TEXTS = {
    "run": ("x", read_run, "q1 Q0 a 1 2.5 s\nq1 Q0 b 2 1.5 s\nq2 Q0 a 1 0.5 s\n"),
    "qrels": ("x", read_qrels, "# note\nq1 0 a 1\n\nq1 0 b 0\nq2 0 a 2\n"),
    "beir": ("x", read_beir_qrels, "query-id\tcorpus-id\tscore\nq\td\t1\nq\te\t2\n"),
    "jsonl": ("x", lambda p: list(read_jsonl(p, {"a": str})), '{"a": "1"}\n\n{"a": ""}\n'),
    "csv": ("x.csv", read_records, "id,label\n1,é\n2,b\n"),
    "json": ("x.json", read_records, '[\n{"id": 1},\n{"id": 2}\n]\n'),
    "ratings": ("x.csv", read_ratings, "item,A,B\nx,1,2\ny,2,2\n"),
}


@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
def test_line_ends_of_any_kind_are_read_alike(name, tmp_path_factory, data):
    file, read, text = TEXTS[name]
    path = tmp_path_factory.mktemp("ends") / file
    path.write_bytes(text.encode())
    expected = read(path)
    ends = st.sampled_from(["\n", "\r", "\r\n"])
    lines = text.split("\n")[:-1]
    # A CR before an empty line's LF would be one end, so a file keeps to one kind then.
    kinds = data.draw(st.lists(ends, min_size=len(lines), max_size=len(lines)))
    kinds = kinds if "" not in lines else [kinds[0]] * len(lines)
    path.write_bytes("".join(map("".join, zip(lines, kinds, strict=True))).encode())
    found = read(path)
    assert found.equals(expected) if name == "ratings" else found == expected


def test_a_run_with_old_line_ends_scores_as_the_same_with_others(tmp_path):
    qrels = {f"q{k}": {"a": 1} for k in range(8)}
    lines = [f"q{k} Q0 {'a' if k % 2 else 'b'} 1 1.0 s" for k in range(8)]
    scores = []
    for end in ("\n", "\r", "\r\n"):
        path = tmp_path / "run"
        path.write_text(end.join(lines) + end, newline="")
        scores.append(ranking.evaluate(qrels, path, ["nDCG@10"]).mean["nDCG@10"])
    assert scores == [0.5, 0.5, 0.5]


def test_the_line_of_a_defect_is_counted_by_any_end(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\r{"a": 2}\r\n{"a": \n')
    assert [number for number, _ in read_lines(path)] == [1, 2, 3]
    read = partial(read_records, path)
    with pytest.raises(Exception, match=r"x\.jsonl:3: is not JSON"):
        read()


def test_a_separator_within_a_cell_is_no_line_end(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('item,A,B\n"one\u2028two",1,2\n"three\x0cfour",2,2\n')
    assert read_ratings(path).index.to_list() == ["one\u2028two", "three\x0cfour"]
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"a": "\u2028"}, ensure_ascii=False) + "\n")
    assert list(read_jsonl(path, {})) == [(1, {"a": "\u2028"})]
