"""BEIR folders: sound ones, and every defect."""

import pytest
from beir_folders import write_beir
from cases import not_refused

from casebook.data import load
from casebook.data.folders import load_folder, read_collection
from casebook.errors import InputError


def test_sound_folder(toy):
    dataset = load_folder(toy)
    documents = dataset.documents.set_index("doc_id").astype(object).fillna("")
    assert documents["title"].to_dict() == {"d1": "One", "d2": "", "d3": "Three"}
    assert documents.loc["d1", ["year", "section", "url"]].tolist() == [2020, "", ""]
    assert list(dataset.queries["query_id"]) == list(dataset.qrels) == ["q1", "q2"]
    assert dataset.qrels == {"q1": {"d1": 1, "d3": 0}, "q2": {"d2": 2}}
    assert dataset.candidates is None and dataset.groups["q1"] == "g"


DEFECTS = [
    ("corpus.jsonl", b'{"_id": "d1", "text": "x"}', ":4: _id 'd1' is empty or stands above"),
    ("corpus.jsonl", b"{broken", ":4: is not JSON"),
    ("corpus.jsonl", b'{"_id": " ", "text": "x"}', ":4: _id ' ' is empty"),
    (
        "corpus.jsonl",
        b'{"_id": "d4", "text": "x", "metadata": {"title": 1}}',
        ":4: a field of metadata has the name",
    ),
    ("queries.jsonl", b'{"_id": "q4", "text": " "}', ": 'q4' has no text"),
    ("corpus.jsonl", b'{"text": "x"}', ":4: has no field '_id' that is text"),
    ("corpus.jsonl", b'{"_id": "d4", "text": "x", "a": 1, "metadata": {"a": 2}}', ":4: a field"),
    ("qrels/test.tsv", b"q1\td9\t1", "such as 'd9' for 'q1'"),
    ("qrels/test.tsv", b"q9\td1\t1", "for 'q9'"),
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
    with pytest.raises(InputError, match=r"has no corpus.*documents without questions; .*qrels/"):
        load_folder(toy)


def test_texts_of_any_folder_are_its_documents(tmp_path):
    for name, text in {"a.txt": "one", "b/c.md": "two", "d.txt": " ", "e.pdf": "three"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read_collection(tmp_path).to_numpy().tolist() == [["a.txt", "one"], ["b/c.md", "two"]]


def test_a_few_missing_documents_are_counted_and_more_are_refused(tmp_path):
    """Of 50 judged documents two are not there; then four questions are not there either."""
    texts = [{"_id": f"d{n}", "text": f"clause number w{n}"} for n in range(50)]
    queries = [{"_id": f"q{n}", "text": f"w{n}"} for n in range(50)]
    judged = {"test": [(f"q{n}", f"d{n}", 1) for n in range(50)]}
    folder = write_beir(tmp_path / "incomplete", texts[:48], queries, judged)
    data = load(folder, max_missing=0.04)
    assert data.lacking == {"d48", "d49"} and data.counts["judgements"] == 50
    assert data.missing == "2 of 50 judgements name documents that the collection lacks"
    with (folder / "qrels/test.tsv").open("a") as stream:
        stream.writelines(f"gone{n}\td1\t1\n" for n in range(4))
    with pytest.raises(InputError, match=r"6 of 54 .*'d48' for 'q48'.*max_missing=0.12"):
        load(folder)
    left_out = "4 judgements of queries without a text are left out"
    assert left_out in load(folder, max_missing=1).missing
