"""BEIR folders, TREC judgements and the Mini-Insurance layout: sound ones, and every defect."""

import json
import runpy

import pytest
from beir_folders import write_beir
from refusals import not_refused

from casebook import paths
from casebook.data import load
from casebook.data.folders import load_folder, load_trec, read_mini_insurance
from casebook.errors import InputError
from casebook.retrieval.ablation import data_table, retrieve, score
from casebook.retrieval.pipeline import HybridRetriever

WRITE = runpy.run_path(str(paths.DATA / "make" / "mini_insurance.py"))["write"]


def test_sound_folder(toy):
    dataset = load_folder(toy)
    assert list(dataset.documents["doc_id"]) == ["d1", "d2", "d3"]
    assert list(dataset.documents["title"]) == ["One", "", "Three"]
    assert list(dataset.queries["query_id"]) == ["q1", "q2"]
    assert dataset.qrels == {"q1": {"d1": 1, "d3": 0}, "q2": {"d2": 2}}
    assert list(dataset.qrels) == ["q1", "q2"]
    assert dataset.documents["year"].tolist()[0] == 2020
    assert dataset.documents["section"].isna().tolist() == [True, False, True]
    assert dataset.documents["url"].tolist()[2] == "x"
    assert dataset.candidates is None and dataset.groups["q1"] == "g"


DEFECTS = [
    ("corpus.jsonl", b'{"_id": "d1", "text": "x"}', ":4: id 'd1' stood above with other"),
    ("corpus.jsonl", b"{broken", ":4: is not JSON"),
    ("corpus.jsonl", b'{"_id": " ", "text": "x"}', ":4: .*an empty '_id'"),
    (
        "corpus.jsonl",
        b'{"_id": "d4", "text": "x", "metadata": {"title": 1}}',
        ":4: a field of metadata has the name",
    ),
    ("queries.jsonl", b'{"_id": "q4", "text": " "}', ":4: 'q4' has no text"),
    ("corpus.jsonl", b'{"text": "x"}', ":4: has no field '_id' that is text"),
    ("corpus.jsonl", b'{"_id": "d4", "text": "x", "a": 1, "metadata": {"a": 2}}', ":4: a field"),
    ("qrels/test.tsv", b"q1\td9\t1", "judges the document 'd9' for the query 'q1'"),
    ("qrels/test.tsv", b"q9\td1\t1", "for the query 'q9'"),
    ("qrels/test.tsv", b"q1\td2", ":5: "),
]


def test_defects_are_named_with_file_and_line(toy):
    def read(name, line):
        path = toy / name
        content = path.read_bytes()
        path.write_bytes(content + line + b"\n")
        try:
            return load_folder(toy)
        finally:
            path.write_bytes(content)

    cases = [(name, line, f"{name}.*{problem}") for name, line, problem in DEFECTS]
    assert not_refused(read, cases) == []


def test_missing_or_empty_files_are_named(toy):
    with pytest.raises(InputError, match=r"no such file: judgements are in .*there are test\.tsv"):
        load_folder(toy, "dev")
    (toy / "corpus.jsonl").write_text("\n\n")
    with pytest.raises(InputError, match="holds no records"):
        load_folder(toy)
    (toy / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match="it has no corpus"):
        load_folder(toy)


def test_documents_with_trec_judgements(toy):
    qrels = toy / "qrels.txt"
    qrels.write_text("q2 0 d2 2\nq1 0 d1 1\nq1 0 d3 0\n")
    files = toy / "corpus.jsonl", toy / "queries.jsonl", qrels
    dataset = load_trec(*files, key="toy", id_field="_id")
    assert dataset.fingerprint == load_folder(toy).fingerprint
    qrels.write_text("q2 0 d2 2\nq1 0 d8 1\nq1 0 d9 0\n")
    with pytest.raises(InputError, match=r"qrels\.txt: judges the document 'd8'.*2 of 3"):
        load_trec(*files, key="toy", id_field="_id")


@pytest.fixture
def incomplete(tmp_path):
    """Give 50 judged queries of which two judge a document that is not there."""
    texts = [{"_id": f"d{n}", "text": f"clause number w{n}"} for n in range(50)]
    queries = [{"_id": f"q{n}", "text": f"w{n}" + " and" * (n % 2)} for n in range(50)]
    judged = {"test": [(f"q{n}", f"d{n}", 1) for n in range(50)]}
    return write_beir(tmp_path / "incomplete", texts[:48], queries, judged)


def test_a_few_missing_documents_are_counted_and_cannot_be_found(incomplete):
    data = load(incomplete, max_missing=0.04)
    assert data.lacking == {"d48", "d49"} and data.counts["judgements"] == 50
    message = "2 of 50 judgements name documents that the collection lacks"
    assert message in data_table(data)["value"].astype(str).str.cat()
    rankings = {"bm25": retrieve(data, HybridRetriever(data.documents, mode="bm25"))}
    # As trec_eval counts them: relevant, and found by nobody.
    assert score(data, rankings, ["R@10"])["R@10"]["bm25"].mean() == 48 / 50


def test_too_many_missing_ids_are_refused_above_a_share_that_can_be_set(incomplete):
    with (incomplete / "qrels/test.tsv").open("a") as stream:
        stream.writelines(f"gone{n}\td1\t1\n" for n in range(4))
    with pytest.raises(InputError, match=r"'d48'.*6 of 54 .*11.1%.*max_missing=0.12"):
        load(incomplete)
    left_out = "4 judgements of queries without a text are left out"
    assert left_out in load(incomplete, max_missing=1).missing


BOM = "\ufeff".encode()
ROW = {"id": "q1", "text": "a fire?", "relevantDocId": "policy-fire"}


@pytest.fixture
def folder(tmp_path):
    """Give a sound folder of two policies and one query, with marks and CRLF."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "queries").mkdir()
    (tmp_path / "policies" / "policy-fire.txt").write_bytes(BOM + b"Fire.\r\nSmoke.")
    (tmp_path / "policies" / "Policy-Flood.txt").write_bytes(b"Flood.")
    (tmp_path / "queries" / "queries.json").write_bytes(BOM + json.dumps([ROW]).encode())
    return tmp_path


def rewrite(folder, rows):
    text = rows if isinstance(rows, str) else json.dumps(rows)
    (folder / "queries" / "queries.json").write_text(text)


def test_what_the_script_writes_reads_back(tmp_path):
    insurance = load("insurance")
    WRITE(insurance, tmp_path)
    back = read_mini_insurance(tmp_path)
    assert (back.qrels, back.groups) == (insurance.qrels, insurance.groups)
    texts = insurance.documents.set_index("doc_id")["text"]
    assert back.documents.set_index("doc_id")["text"].to_dict() == texts.to_dict()
    columns = ["query_id", "text", "line", "wording", "group"]
    assert back.queries[columns].equals(insurance.queries[columns])


ROWS = [
    ("[{", r"queries\.json: is not JSON"),
    ("{}", "is no list of rows"),
    ([], "has no rows"),
    ([3], ":1: is no object"),
    ([ROW, {"id": "q2", "text": "x"}], ":2: lacks 'relevantDocId'"),
    ([ROW, ROW], "query_id 'q1' occurs more than once"),
    ([ROW | {"relevantDocId": "theft"}], ":1: lacks 'theft', a field or the file of a policy"),
    ([ROW | {"relevant": ["policy-fire"]}], ":1: lacks"),
    ([ROW | {"relevant": {"policy-fire": 0.5}}], ":1: lacks"),
    ([ROW | {"text": 3}], ":1: lacks"),
]


def test_defects_of_a_folder_of_policies_are_named(folder):
    def read(rows):
        rewrite(folder, rows)
        return read_mini_insurance(folder)

    assert not_refused(read, ROWS) == []
    with pytest.raises(InputError, match="holds no policy"):
        read_mini_insurance(folder / "absent")
    duplicate = folder / "policies" / "POLICY-FIRE.txt"
    duplicate.write_bytes(b"Again.")
    with pytest.raises(InputError, match="differ in case alone"):
        read_mini_insurance(folder)
