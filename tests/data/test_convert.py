"""`casebook convert`: tables of any format give the folder that chapters read, with a report."""

import json

import pandas as pd
import pytest
from beir_folders import json_lines
from cases import failing

from casebook.data import load
from casebook.data.convert import convert
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.readers import read_jsonl

TABLES = {
    "corpus": [("id", "text"), ("d1", "The rent is due."), ("d2", 'No "pets".'), ("d3", "Keys.")],
    "queries": [("id", "text"), ("1", "When is rent due?"), ("2", "May I have a dog?")],
    "qrels": [("query-id", "corpus-id", "score"), ("1", "d1", 2), ("2", "d2", 1), ("2", "d3", 0)],
}
DOCUMENTS, QUERIES, QRELS = (rows[1:] for rows in TABLES.values())


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Give a function that writes tables into the folder of the test: their paths by part."""
    monkeypatch.chdir(tmp_path)

    def written(ending="csv", **tables):
        paths = {name: tmp_path / f"{name}.{ending}" for name in TABLES | tables}
        for name, path in paths.items():
            header, *rows = tables.get(name, TABLES[name])
            WRITERS[ending](pd.DataFrame(rows, columns=header), path)
        return {**paths, "qrels": {"test": paths["qrels"]}}

    return written


def contents(folder, split="test"):
    """Give what a chapter reads of a folder."""
    data = load(folder, split)
    documents = list(zip(data.documents["doc_id"], data.documents["text"], strict=True))
    queries = list(zip(data.queries["query_id"], data.queries["text"], strict=True))
    judgements = [(q, d, grade) for q, grades in data.qrels.items() for d, grade in grades.items()]
    return documents, queries, judgements


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "xlsx", "parquet"])
def test_every_kind_of_table_gives_the_same_folder(write, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    report = convert(tmp_path / "out", **write(ending))
    assert contents(tmp_path / "out") == (DOCUMENTS, QUERIES, QRELS)
    assert [report[part]["accepted"] for part in ("corpus", "queries")] == [3, 2]
    assert report["qrels"]["test"]["accepted"] == report["qrels"]["test"]["rows"] == 3


def test_the_smoke_set_comes_back_as_the_same_data(tmp_path):
    smoke = DATA / "smoke"
    for name in ("corpus", "queries"):
        rows = [row | row.pop("metadata") for _, row in read_jsonl(smoke / f"{name}.jsonl", {})]
        (tmp_path / f"{name}.jsonl").write_text(json_lines(rows))
    columns = {"corpus.id": "_id", "queries.id": "_id"}
    qrels = {"test": smoke / "qrels" / "test.tsv"}
    tables = tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", qrels
    convert(tmp_path / "smoke", *tables, columns=columns)
    assert load(tmp_path / "smoke").fingerprint == load(smoke).fingerprint
    assert load(tmp_path / "smoke").groups == load(smoke).groups


def test_ids_are_kept_as_they_are_written(write, tmp_path):
    ids = ['a"b', "007", "x y", "é,", "NA"]
    tables = write(
        corpus=[("id", "text"), *((name, "Rent.") for name in ids)],
        queries=[("id", "text"), *((name, "Rent?") for name in ids)],
        qrels=[("query-id", "corpus-id", "score"), *((name, name, 1) for name in ids)],
    )
    convert(tmp_path / "out", **tables)
    assert contents(tmp_path / "out")[2] == [(name, name, 1) for name in ids]


def test_what_is_dropped_is_counted_by_reason(write, tmp_path):
    wrong = {
        "corpus": [("d1", "The rent is due."), ("d1", "Other."), ("d4", " "), ("", "No name.")],
        "queries": [("3", "Who?"), ("4", "")],
        "qrels": [("1", "d1", 2), ("1", "d1", 0), ("1", "d9", 1), ("9", "d1", 1), ("2", "d1", "x")],
    }
    wrong["corpus"].append(("#d5", "Comment."))
    tables = write(**{name: TABLES[name] + wrong[name] for name in TABLES})
    with pytest.raises(InputError, match=r"2 of 8 judgements name .* --max-missing 0\.25"):
        convert(tmp_path / "out", **tables)
    assert not (tmp_path / "out").exists()
    report = convert(tmp_path / "out", **tables, max_missing=0.25)
    assert report["corpus"]["dropped"] == {
        "copy of another row": 1,
        "id of another row, with another content": 1,
        "no text": 1,
        "no id": 1,
        "id with a tab, a line break or # at its beginning": 1,
    }
    assert report["queries"]["dropped"] == {"no text": 1}
    assert report["qrels"]["test"]["dropped"] == {
        "copy of another row": 1,
        "query-id and corpus-id of another row, with another score": 1,
        "judgement of an unknown document": 1,
        "judgement of an unknown question": 1,
        "score that is no whole number": 1,
    }
    for part in (report["corpus"], report["queries"], report["qrels"]["test"]):
        assert part["accepted"] + sum(part["dropped"].values()) == part["rows"]
    assert report["notes"] == ["questions without a judgement: 1"]
    assert contents(tmp_path / "out") == (DOCUMENTS, QUERIES, QRELS)


def test_further_columns_stay_unless_a_reader_would_take_them_for_its_own(write, tmp_path):
    rows = [
        {"id": "d1", "doc_id": "x", "title": "", "text": "One.", "year": 2020, "place": None},
        {"id": 2.0, "title": "Two", "text": "", "metadata": "m", "tags": ["a"]},
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text(json_lines(rows))
    report = convert(tmp_path / "out", path)
    written = [row for _, row in read_jsonl(tmp_path / "out" / "corpus.jsonl", {})]
    assert written == [
        {"_id": "d1", "title": "", "text": "One.", "year": 2020},
        {"_id": "2", "title": "Two", "text": "", "tags": ["a"]},
    ]
    assert report["corpus"]["left_out"] == ["doc_id", "metadata"]
    assert report["notes"] == ["no judgements: chapters that score rankings need them"]


REFUSED = [
    ({"corpus.csv": "id,boddy\nd1,x\n"}, [], "corpus.csv: has no column 'text': it has id, boddy"),
    ({"corpus.csv": "ID,text\nd1,x\n"}, [], "is it 'ID'? say so: --columns corpus.id=ID"),
    ({"corpus.csv": "_id,text\nd1,x\n"}, [], "--columns corpus.id=_id"),
    ({"corpus.csv": "id,text\nd1\n"}, [], "corpus.csv:2: has 1 fields, the header has 2"),
    ({"corpus.csv": b"id,text\n\xff,x\n"}, [], "corpus.csv: is not UTF-8 text"),
    ({"corpus.csv": "id,text\nd1, \n"}, [], "corpus.csv: no rows are left: 1 no text"),
    ({"corpus.csv": ""}, [], "corpus.csv: is empty"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--columns", "corpus.txt=x"], "is it 'corpus.text'?"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--columns", "text=x"], "'text' is no column: "),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--columns", "corpus.title=no"], "no column 'no'"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--columns", "queries.id=x"], "'queries.id' is no column"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--columns", "text"], "form --columns TABLE.COLUMN="),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--qrels", "qrels.csv"], "--queries FILE"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--queries", "none.csv"], "none.csv: cannot be read"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--queries", "folder"], "folder: is no table"),
    ({"corpus.csv": "id,text\nd1,x\n"}, ["--corpus", "loop"], "loop"),
    ({"corpus.jsonl": "{\n"}, ["--corpus", "corpus.jsonl"], "corpus.jsonl:1: is not JSON"),
    (
        {"corpus.jsonl": '{"id": "a", "text": ["b"]}\n'},
        ["--corpus", "corpus.jsonl"],
        "corpus.jsonl: record 1: an id or text is a list",
    ),
    ({"corpus.xlsx": b"x"}, ["--corpus", "corpus.xlsx"], "is no workbook, or is damaged"),
    ({"corpus.txt": "x"}, ["--corpus", "corpus.txt"], "corpus.txt: is no table: name a .csv"),
    (
        {"corpus.csv": "id,text\nd1,x\n", "qrels.csv": "query-id,corpus-id\n1,d1\n"},
        ["--queries", "corpus.csv", "--qrels", "dev=qrels.csv"],
        "qrels.csv: has no column 'score'",
    ),
    (
        {"corpus.csv": "id,text\nd1,x\n", "qrels.csv": "query-id,corpus-id,score\nd1,d1,yes\n"},
        ["--queries", "corpus.csv", "--qrels", "qrels.csv"],
        "qrels.csv: no rows are left: 1 score that is no whole number",
    ),
]


def test_what_cannot_be_converted_is_one_line_and_leaves_nothing(
    casebook, tmp_path_factory, monkeypatch
):
    def check(files, words, message):
        folder = tmp_path_factory.mktemp("refused")
        (folder / "folder").mkdir()
        (folder / "loop").symlink_to("loop")
        for name, text in files.items():
            (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.chdir(folder)
        code, out, err = casebook("convert", "out", "--corpus", "corpus.csv", *words)
        left = {path.name for path in folder.iterdir()} - files.keys()
        assert (code, out, err.count("\n"), left) == (1, "", 1, {"folder", "loop"})
        assert message in err

    assert failing(check, REFUSED) == []


def test_parquet_without_its_package_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    path = tmp_path / "corpus.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"parquet needs the package pyarrow: pip install"):
        convert(tmp_path / "out", path)
    assert not (tmp_path / "out").exists()


def test_the_command_reports_checks_and_is_read_by_a_chapter(casebook, write, tmp_path):
    write(corpus=[("nr", "body", "year"), *((*row, 2020) for row in DOCUMENTS)])
    words = ["out", "--corpus", "corpus.csv", "--queries", "queries.csv", "--qrels", "qrels.csv"]
    words += ["--columns", "corpus.id=nr", "--columns", "corpus.text=body"]
    code, out, err = casebook("convert", *words)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "corpus: 3 of 3 rows taken from corpus.csv (id: nr, text: body)",
        "queries: 2 of 2 rows taken from queries.csv (id: id, text: text)",
        "qrels test: 3 of 3 rows taken from qrels.csv (query-id: query-id, corpus-id: corpus-id, "
        "score: score)",
        "out: next, casebook run retrieval_ablation -p dataset=./out",
    ]
    assert casebook("data", "check", "./out")[:2] == (
        0,
        "dataset split status                               detail\n"
        "    out  test     ok 3 documents, 2 queries, 3 judgements\n",
    )
    run = ["run", "retrieval_ablation", "--dry-run", "--run", "x", "-p", "dataset=./out"]
    assert casebook(*run)[0] == 0
    code, out, err = casebook("convert", *words)
    assert (code, out) == (1, "") and "out: exists: name a new folder, or replace it with" in err
    code, out, _ = casebook("convert", *words, "--force", "--json")
    assert code == 0 and json.loads(out)["corpus"]["rows"] == 3
    (tmp_path / "out" / "notes.txt").write_text("mine")
    code, _, err = casebook("convert", *words, "--force")
    assert code == 1 and "out: holds notes.txt, which no conversion wrote" in err
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_splits_are_named_and_what_is_read_is_never_replaced(casebook, write, tmp_path):
    write()
    tables = ["--corpus", "corpus.csv", "--queries", "queries.csv"]
    code, out, _ = casebook("convert", "out", *tables, "--qrels", "dev=qrels.csv")
    assert code == 0 and out.endswith("-p dataset=./out -p split=dev\n")
    assert contents(tmp_path / "out", "dev") == (DOCUMENTS, QUERIES, QRELS)
    for out in ("out", "."):
        code, _, err = casebook("convert", out, "--corpus", "out/corpus.jsonl", "--force")
        assert code == 1 and "name another folder" in err
    assert contents(tmp_path / "out", "dev") == (DOCUMENTS, QUERIES, QRELS)
