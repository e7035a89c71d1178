"""BEIR folders and TREC judgements: sound ones, and every defect at its line."""

import gzip
import lzma

import pytest

from casebook.datasets.beir import load_beir, load_trec
from casebook.errors import InputError


def test_sound_folder(toy):
    dataset = load_beir(toy)
    assert list(dataset.documents["doc_id"]) == ["d1", "d2", "d3"]
    assert list(dataset.documents["title"]) == ["One", "", "Three"]
    assert list(dataset.queries["query_id"]) == ["q1", "q2"]
    assert dataset.qrels == {"q1": {"d1": 1, "d3": 0}, "q2": {"d2": 2}}
    assert list(dataset.qrels) == ["q1", "q2"]
    assert dataset.documents["year"].tolist()[0] == 2020
    assert dataset.documents["section"].isna().tolist() == [True, False, True]
    assert dataset.documents["url"].tolist()[2] == "x"
    assert dataset.candidates is None


def test_groups_come_from_the_metadata(toy):
    assert load_beir(toy).groups["q1"] == "g"
    text = (toy / "queries.jsonl").read_text().replace('"group"', '"colour"')
    (toy / "queries.jsonl").write_text(text)
    assert load_beir(toy).groups is None


def test_compressed_files_give_the_same_dataset(toy):
    plain = load_beir(toy).fingerprint
    for name in ("corpus.jsonl", "queries.jsonl"):
        data = (toy / name).read_bytes()
        (toy / name).unlink()
        (toy / f"{name}.gz").write_bytes(gzip.compress(data))
    assert load_beir(toy).fingerprint == plain


def test_byte_order_mark_and_windows_line_ends_are_read(toy):
    plain = load_beir(toy).fingerprint
    data = (toy / "corpus.jsonl").read_bytes().replace(b"\n", b"\r\n")
    (toy / "corpus.jsonl").write_bytes(b"\xef\xbb\xbf" + data)
    assert load_beir(toy).fingerprint == plain


DEFECTS = [
    ("corpus.jsonl", b'{"_id": "d1", "text": "x"}', "id 'd1' stood already in line 1"),
    ("corpus.jsonl", b"{broken", "is not JSON"),
    ("corpus.jsonl", b"[1]", "is not a JSON object"),
    ("corpus.jsonl", b'{"text": "x"}', "has no field '_id'"),
    ("corpus.jsonl", b'{"_id": 7, "text": "x"}', "field '_id' is not text"),
    ("corpus.jsonl", b'{"_id": " ", "text": "x"}', "field '_id' is empty"),
    ("corpus.jsonl", b'{"_id": "d4"}', "has no field 'text'"),
    ("corpus.jsonl", b'{"_id": "d4", "text": null}', "field 'text' is not text"),
    ("corpus.jsonl", b'{"_id": "d4", "text": "x", "title": 1}', "'title' is not text"),
    (
        "corpus.jsonl",
        b'{"_id": "d4", "text": "x", "metadata": {"title": 1}}',
        "metadata field 'title' has the name",
    ),
    (
        "corpus.jsonl",
        b'{"_id": "d4", "text": "x", "metadata": [1]}',
        "field 'metadata' is not an object",
    ),
    ("corpus.jsonl", b'{"_id": "\xff"}', "is not UTF-8 text"),
    ("queries.jsonl", b'{"_id": "q4", "text": " "}', "'q4' has no text"),
    ("queries.jsonl", b'{"_id": "q2", "text": "x"}', "'q2' stood already in line 2"),
    ("qrels/test.tsv", b"q1\td9\t1", "judges the document 'd9'"),
    ("qrels/test.tsv", b"q9\td1\t1", "judges the query 'q9'"),
    ("qrels/test.tsv", b"q1\td1\t1", ""),
    ("qrels/test.tsv", b"q1\td2\tone", ""),
    ("qrels/test.tsv", b"q1\td2", ""),
]


@pytest.mark.parametrize(("name", "line", "problem"), DEFECTS)
def test_defects_are_named_with_file_and_line(toy, name, line, problem):
    path = toy / name
    bad = path.read_bytes().count(b"\n") + 1
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(InputError) as caught:
        load_beir(toy)
    assert str(caught.value).startswith(f"{path}:{bad}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_missing_or_empty_files_are_named(toy, name):
    (toy / name).write_text("\n\n")
    with pytest.raises(InputError, match="holds no records"):
        load_beir(toy)
    (toy / name).unlink()
    with pytest.raises(InputError, match=f"is no BEIR folder: it has no {name}"):
        load_beir(toy)


def test_unknown_split_names_the_known_ones(toy):
    with pytest.raises(InputError, match="no such file; splits here: test"):
        load_beir(toy, "dev")


@pytest.mark.parametrize(
    ("suffix", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)]
)
def test_truncated_compressed_file_is_an_error(toy, suffix, compress):
    data = compress((toy / "corpus.jsonl").read_bytes())
    path = toy / f"documents.jsonl.{suffix}"
    path.write_bytes(data[:-9])
    with pytest.raises(InputError, match=f"{path.name}:.* ends early or is damaged"):
        load_trec(path, toy / "queries.jsonl", toy / "q.txt", key="t", id_field="_id")


def test_documents_with_trec_judgements(toy):
    qrels = toy / "qrels.txt"
    qrels.write_text("q2 0 d2 2\nq1 0 d1 1\nq1 0 d3 0\n")
    files = toy / "corpus.jsonl", toy / "queries.jsonl", qrels
    dataset = load_trec(*files, key="toy", id_field="_id")
    assert dataset.fingerprint == load_beir(toy).fingerprint
    qrels.write_text("q2 0 d2 2\nq1 0 d8 1\nq1 0 d9 0\n")
    with pytest.raises(
        InputError, match=r"qrels\.txt:2: judges the document 'd8'.*2 of 3"
    ):
        load_trec(*files, key="toy", id_field="_id")
