"""`casebook convert`: every usual layout gives the folder that chapters read, with a report."""

import gzip
import json

import openpyxl
import pytest

from casebook.data import load
from casebook.data.convert import convert
from casebook.data.layouts import split_of
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.readers import read_jsonl

DOCUMENTS = [("d1", "The rent is due."), ("d2", 'No "pets" here.'), ("d3", "Keys cost five.")]
QUERIES = [("1", "When is rent due?"), ("2", "May I have a dog?")]
QRELS = [("1", "d1", 2), ("2", "d2", 1), ("2", "d3", 0)]


def tabbed(rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def json_lines(rows, *names):
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def csv(rows, *names):
    return ",".join(names) + "\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)


TREC_QRELS = "".join(f"{query} 0 {document} {grade}\n" for query, document, grade in QRELS)
LAYOUTS = {
    "beir": {
        "corpus.jsonl": json_lines(DOCUMENTS, "_id", "text"),
        "queries.jsonl": json_lines(QUERIES, "_id", "text"),
        "qrels/test.tsv": tabbed([("query-id", "corpus-id", "score"), *QRELS]),
        "README.md": "# About\n",
    },
    # Collections and queries of MS MARCO passage ranking have no header.
    "msmarco": {
        "collection.tsv": tabbed(DOCUMENTS),
        "queries.dev.tsv": tabbed(QUERIES),
        "qrels.dev.tsv": tabbed((query, 0, document, grade) for query, document, grade in QRELS),
    },
    # Topics as TREC 1 to 8 wrote them, documents as the TIPSTER disks.
    "trec": {
        "topics.robust04.txt": "".join(
            f"<top>\n<num> Number: {name}\n<title> {text}\n<desc> Description:\nMore.\n</top>\n\n"
            for name, text in QUERIES
        ),
        "docs.sgml": "".join(
            f"<DOC>\n<DOCNO> {name} </DOCNO>\n<TEXT>\n<P>{text}</P>\n</TEXT>\n</DOC>\n"
            for name, text in DOCUMENTS
        ),
        "qrels.robust04.txt": TREC_QRELS,
    },
    # Topics as XML, as in TREC-COVID; documents as Pyserini's JsonCollection.
    "pyserini": {
        "topics.xml": "<topics>"
        + "".join(
            f'<topic number="{name}"><query>{text}</query><narrative>x</narrative></topic>'
            for name, text in QUERIES
        )
        + "</topics>",
        "collection/docs00.jsonl": json_lines(DOCUMENTS[:2], "id", "contents"),
        "collection/docs01.jsonl": json_lines(DOCUMENTS[2:], "id", "contents"),
        "qrels.txt": TREC_QRELS,
    },
    "tables": {
        "Documents.csv": csv(
            [(n, json.dumps(t).replace('\\"', '""')) for n, t in DOCUMENTS], "DocNo", "Body"
        ),
        "questions.csv": csv(QUERIES, "Question ID", "Question"),
        "relevance.csv": csv(QRELS, "qid", "docid", "Relevance"),
    },
    "texts": {
        **{f"docs/{name}.txt": text for name, text in DOCUMENTS},
        "queries.json": json.dumps(dict(QUERIES)),
        "qrels.json": json.dumps(
            [{"qid": query, "docno": document, "label": grade} for query, document, grade in QRELS]
        ),
    },
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Give a function that writes files into a folder beside which outputs go."""
    monkeypatch.chdir(tmp_path)

    def written(files, folder="source"):
        for name, text in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / folder

    return written


def contents(folder, split="test"):
    """Give what a chapter reads of a folder."""
    data = load(folder, split)
    documents = list(zip(data.documents["doc_id"], data.documents["text"], strict=True))
    queries = list(zip(data.queries["query_id"], data.queries["text"], strict=True))
    judgements = [(q, d, grade) for q, grades in data.qrels.items() for d, grade in grades.items()]
    return documents, queries, judgements


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_folder(write, tmp_path, layout):
    report = convert(write(LAYOUTS[layout]), tmp_path / "out")
    split = "dev" if layout == "msmarco" else "test"
    assert contents(tmp_path / "out", split) == (DOCUMENTS, QUERIES, QRELS)
    assert [report[part]["accepted"] for part in ("corpus", "queries")] == [3, 2]
    assert report["qrels"][split]["accepted"] == report["qrels"][split]["rows"] == 3
    assert report["written"] == ["corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv"]
    assert report["unread"] == (["README.md"] if layout == "beir" else [])
    headerless = [note for note in report["notes"] if "without a header" in note]
    assert len(headerless) == (2 if layout == "msmarco" else 0)


def test_the_smoke_set_comes_back_byte_for_byte_the_same_data(tmp_path):
    convert(DATA / "smoke", tmp_path / "smoke")
    assert load(tmp_path / "smoke").fingerprint == load(DATA / "smoke").fingerprint
    assert load(tmp_path / "smoke").groups == load(DATA / "smoke").groups


def test_compressed_files_are_read(write, tmp_path):
    files = {
        f"{name}.gz": gzip.compress(text.encode()) for name, text in LAYOUTS["msmarco"].items()
    }
    convert(write(files), tmp_path / "out")
    assert contents(tmp_path / "out", "dev") == (DOCUMENTS, QUERIES, QRELS)


def test_a_table_of_pairs_makes_questions_documents_and_judgements(write, tmp_path):
    rows = [
        ("Question", "Passage", "Label", "Group"),
        ("Rent?", "The rent is due.", "relevant", "a"),
        ("Rent?", "No pets.", "not relevant", "a"),
        ("Dog?", "No pets.", "1.0", "b"),
        ("Dog?", "No pets.", "1", "b"),
        ("Dog?", "No pets.", "0", "b"),
        ("Dog?", " ", "1", "b"),
        ("Dog?", "Keys.", "0.5", "b"),
    ]
    report = convert(write({"faq.tsv": tabbed(rows)}) / "faq.tsv", tmp_path / "out")
    documents, queries, judgements = contents(tmp_path / "out")
    assert documents == [("d1", "The rent is due."), ("d2", "No pets.")]
    assert queries == [("q1", "Rent?"), ("q2", "Dog?")]
    assert judgements == [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d2", 1)]
    assert load(tmp_path / "out").groups == {"q1": "a", "q2": "b"}
    assert report["pairs"]["test"]["dropped"] == {
        "copy of another row": 1,
        "pair of another row, with another grade": 1,
        "no text": 1,
        "grade that is no whole number": 1,
    }


def test_splits_of_pairs_share_their_documents(write, tmp_path):
    # sentence-transformers 3 names the columns of pairs anchor and positive.
    rows = {"train": [("a?", "One.")], "test": [("b?", "One."), ("c?", "Two.")]}
    files = {
        f"data/{split}-00000-of-00001.jsonl": json_lines(pairs, "anchor", "positive")
        for split, pairs in rows.items()
    }
    report = convert(write(files), tmp_path / "out")
    # Files are read in the order of their names: the test questions first.
    assert contents(tmp_path / "out", "train")[1:] == ([("q3", "a?")], [("q3", "d1", 1)])
    assert contents(tmp_path / "out")[0] == [("d1", "One."), ("d2", "Two.")]
    assert set(report["pairs"]) == {"train", "test"}
    assert sum("each row counts as relevant" in note for note in report["notes"]) == 2


def test_what_is_dropped_is_counted_by_reason(write, tmp_path):
    documents = [
        *DOCUMENTS,
        ("d1", "The rent is due."),
        ("d1", "Other."),
        ("d4", " "),
        ("", "No name."),
        ("#d5", "Comment."),
    ]
    judgements = [
        *QRELS,
        ("1", "d1", 2),
        ("1", "d1", 0),
        ("1", "d9", 1),
        ("9", "d1", 1),
        ("2", "d1", "x"),
    ]
    files = {
        "corpus.jsonl": json_lines(documents, "_id", "text"),
        "queries.jsonl": json_lines([*QUERIES, ("3", "Who?"), ("4", "")], "_id", "text"),
        "qrels/test.csv": csv(judgements, "query-id", "corpus-id", "score"),
    }
    source = write(files)
    with pytest.raises(InputError, match=r"2 of 8 judgements name .* --max-missing 0\.25"):
        convert(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    report = convert(source, tmp_path / "out", max_missing=0.25)
    assert report["corpus"]["dropped"] == {
        "copy of another row": 1,
        "id of another row, with other content": 1,
        "no text": 1,
        "no id": 1,
        "id with a tab, a line break or # at its beginning": 1,
    }
    assert report["queries"]["dropped"] == {"no text": 1}
    assert report["qrels"]["test"]["dropped"] == {
        "copy of another row": 1,
        "pair of another row, with another grade": 1,
        "judgement of an unknown document": 1,
        "judgement of an unknown question": 1,
        "grade that is no whole number": 1,
    }
    for part in (report["corpus"], report["queries"], report["qrels"]["test"]):
        assert part["accepted"] + sum(part["dropped"].values()) == part["rows"]
    assert report["notes"] == ["questions without a judgement: 1"]
    assert contents(tmp_path / "out") == (DOCUMENTS, QUERIES, QRELS)


def test_further_columns_stay_unless_a_reader_would_take_them_for_its_own(write, tmp_path):
    row = {"_id": "d1", "doc_id": "x", "text": ["One.", "Two."], "year": 2020, "place": None}
    row |= {"score": float("inf"), "metadata": "m", "tags": ["a"]}
    nested = {"_id": "d2", "text": "Three.", "metadata": {"doc_id": "y", "year": 2021}}
    lines = [json.dumps(row).replace("Infinity", "1e999"), json.dumps(nested), ""]
    files = {"corpus.jsonl": "\n".join(lines)}
    report = convert(write(files), tmp_path / "out")
    (_, written), (_, second) = read_jsonl(tmp_path / "out" / "corpus.jsonl", {})
    assert next(iter(written)) == "_id" and second == {"_id": "d2", "text": "Three.", "year": 2021}
    assert written == {"_id": "d1", "text": "One. Two.", "year": 2020, "score": None, "tags": ["a"]}
    assert report["corpus"]["left_out"] == ["doc_id", "metadata"]


def test_documents_in_folders_are_told_apart(write, tmp_path):
    files = {"docs/a/one.txt": "One.", "docs/b/one.md": "Two."}
    convert(write(files), tmp_path / "out")
    rows = [row["_id"] for _, row in read_jsonl(tmp_path / "out" / "corpus.jsonl", {})]
    assert rows == ["a/one", "b/one"]


def test_workbooks_and_parquet(write, tmp_path):
    tables = {
        "docs": (("ID", "Contents"), *DOCUMENTS),
        "queries": (("qid", "Question"), *((int(name), text) for name, text in QUERIES)),
        "qrels": (("qid", "docid", "relevance"), *QRELS),
    }
    (tmp_path / "books").mkdir()
    for name, rows in tables.items():
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / "books" / f"{name}.xlsx")
    convert(tmp_path / "books", tmp_path / "out")
    assert contents(tmp_path / "out") == (DOCUMENTS, QUERIES, QRELS)


def test_folders_of_datasets(tmp_path):
    """Saved ones (Arrow streams), and parquet in the configurations corpus, queries, default."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def table(rows, *names):
        return arrow.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])

    parts = {
        "corpus": table(DOCUMENTS, "_id", "text"),
        "queries": table(QUERIES, "_id", "text"),
        "default": table(
            [(int(q), d, float(g)) for q, d, g in QRELS], "query-id", "corpus-id", "score"
        ),
    }
    for name, rows in parts.items():
        for folder in ("saved", "hub"):
            (tmp_path / folder / name).mkdir(parents=True)
        saved = tmp_path / "saved" / name
        (saved / "state.json").write_text("{}")
        path = str(saved / "data-00000-of-00001.arrow")
        with arrow.OSFile(path, "wb") as file, arrow.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows)
        parquet.write_table(rows, tmp_path / "hub" / name / "test-00000-of-00001.parquet")
    for folder in ("saved", "hub"):
        convert(tmp_path / folder, tmp_path / f"{folder}-out")
        assert contents(tmp_path / f"{folder}-out") == (DOCUMENTS, QUERIES, QRELS)


def test_parquet_without_its_package_is_one_line(write, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    source = write({"corpus/test.parquet": b"PAR1"})
    with pytest.raises(InputError, match=r"parquet needs the package pyarrow: pip install"):
        convert(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("qrels/test.tsv", "test"),
        ("qrels.dev.small.tsv", "dev"),
        ("qrels.txt", "test"),
        ("qrels/validation-00000-of-00002.parquet", "validation"),
        ("default/train/data-00000-of-00001.arrow", "train"),
        ("qrels.dl19-passage.txt", "dl19-passage"),
        ("qrels/val.jsonl.gz", "validation"),
    ],
)
def test_the_split_of_judgements_is_told_by_their_name(path, split):
    assert split_of(path) == split


@pytest.mark.parametrize(
    ("files", "words", "message"),
    [
        ({}, [], "no file is called corpus, collection"),
        ({"a.pdf": b"x"}, [], "there is a.pdf: name the documents: --corpus FILE"),
        ({"corpus.csv": "nr,boddy\nd1,x\n"}, [], "no column is the id of the documents: it has"),
        (
            {"corpus.csv": "id,boddy\nd1,x\n"},
            [],
            "is it 'boddy'? say so: --columns text=boddy",
        ),
        ({"corpus.csv": "id,text\nd1\n"}, [], "corpus.csv:2: has 1 fields, the header has 2"),
        ({"corpus.csv": b"id,text\n\xff,x\n"}, [], "corpus.csv:2: is not UTF-8 text"),
        ({"corpus.jsonl": "{\n"}, [], "corpus.jsonl:1: is not JSON"),
        ({"corpus.json": '["a"]'}, [], "element 1 is not an object"),
        ({"corpus.csv": "id,text\nd1, \n"}, [], "no documents are left: 1 no text"),
        ({"corpus.csv": ""}, [], "corpus.csv"),
        ({"corpus.xlsx": b"x"}, [], "is no workbook, or is damaged"),
        ({"corpus.tsv": "a\tb\tc\td\te\n"}, [], "corpus.tsv:1: has 5 fields"),
        ({"corpus.csv": "id,text\nd1,x\n", "qrels.txt": TREC_QRELS}, [], "--queries FILE"),
        (
            {"corpus.csv": "id,text\nd1,x\n"},
            ["--columns", "txt=x"],
            "'txt' is no role of a column: is it 'text'?",
        ),
        (
            {"corpus.csv": "id,text\nd1,x\n"},
            ["--columns", "title=nope"],
            "no file has a column 'nope' for title",
        ),
        (
            {"corpus.csv": "id,text\nd1,x\n"},
            ["--columns", "text"],
            "is not of the form --columns ROLE=YOURS",
        ),
        ({"corpus.csv": "id,text\nd1,x\n"}, ["--corpus", "none"], "none: no such file or folder"),
    ],
)
def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(
    casebook, write, tmp_path, files, words, message
):
    write({".keep": ""} | files)
    code, out, err = casebook("convert", "source", "out", *words)
    assert (code, out, err.count("\n")) == (1, "", 1) and message in err
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_the_command_reports_checks_and_is_read_by_a_chapter(casebook, write, tmp_path):
    write(LAYOUTS["beir"] | {"corpus.jsonl": json_lines(DOCUMENTS, "nr", "boddy")})
    columns = ["--columns=corpus.id=nr", "--columns=corpus.text=boddy"]
    code, out, err = casebook("convert", "source", "out", *columns)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "corpus: 3 of 3 rows taken from corpus.jsonl (id: nr, text: boddy)",
        "queries: 2 of 2 rows taken from queries.jsonl (id: _id, text: text)",
        "qrels test: 3 of 3 rows taken from test.tsv (query: query-id, document: corpus-id, "
        "grade: score)",
        "not read: README.md",
        "out: corpus.jsonl, queries.jsonl, qrels/test.tsv",
        "next, casebook run retrieval_ablation -p dataset=./out",
    ]
    assert casebook("data", "check", "./out")[:2] == (
        0,
        "dataset split status                               detail\n"
        "    out  test     ok 3 documents, 2 queries, 3 judgements\n",
    )
    run = ["run", "retrieval_ablation", "--dry-run", "--run", "x", "-p", "dataset=./out"]
    assert casebook(*run)[0] == 0
    code, out, err = casebook("convert", "source", "out", *columns)
    assert (code, out) == (1, "") and "out: exists: name a new folder, or replace it with" in err
    code, out, _ = casebook("convert", "source", "out", *columns, "--force", "--json")
    assert code == 0 and json.loads(out)["corpus"]["rows"] == 3
    (tmp_path / "out" / "notes.txt").write_text("mine")
    code, _, err = casebook("convert", "source", "out", *columns, "--force")
    assert code == 1 and "out: holds notes.txt, which no conversion wrote" in err
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_named_files_need_no_source_and_sources_are_never_replaced(casebook, write, tmp_path):
    write(LAYOUTS["tables"])
    words = ["--corpus", "source/Documents.csv", "--queries", "source/questions.csv"]
    code, _, err = casebook("convert", "out", *words, "--qrels", "source/relevance.csv")
    assert (code, err) == (0, "")
    assert contents(tmp_path / "out") == (DOCUMENTS, QUERIES, QRELS)
    assert casebook("convert", "out")[2].endswith("or the documents: --corpus FILE\n")
    assert (
        "name a file of documents by --corpus"
        in casebook("convert", "source/Documents.csv", "new")[2]
    )
    for source, out in (("out", "out"), ("source", "."), ("out/corpus.jsonl", "out")):
        code, _, err = casebook("convert", source, out, "--force")
        assert code == 1 and "name another folder" in err
    assert contents(tmp_path / "out") == (DOCUMENTS, QUERIES, QRELS)


def test_data_check_names_what_is_wrong_with_a_folder(casebook, write):
    write(LAYOUTS["beir"] | {"qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\td9\t1\n"})
    code, out, err = casebook("data", "check", "./source")
    assert code == 2 and "judges the document 'd9'" in out and "correct your folder" in err
