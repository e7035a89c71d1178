"""The door for tables: what is read by exact names or as told, and what is asked about instead."""

import json
import time

import pandas as pd
import pytest
from cases import not_refused

from casebook.data.tables import read_roles, read_table
from casebook.errors import InputError


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_numbers_and_parts_of_json_are_read_as_they_are_written(tmp_path):
    lines = '{"id": 1.50, "text": true}\n\n{"id": 12, "text": null}\n'
    table = read_table(write(tmp_path / "a.jsonl", lines))
    rows = read_roles(table, "corpus", ["id"]).table.to_dict("index")
    assert rows == {1: {"id": "1.50", "text": "true"}, 3: {"id": "12", "text": ""}}
    record = {"run": {"id": 5, "a.b": "dotted"}, "messages": [{"text": "one"}, {"text": "two"}]}
    path = write(tmp_path / "a.json", json.dumps({"meta": {"rows": [record]}, "other": 1}))
    columns = {"id": "run.id", "question": "messages.0.text", "answer": "messages.-1.text"}
    columns |= {"contexts": "messages.*.text", "group": "run.a.b"}
    reading = read_roles(read_table(path, rows="meta.rows"), "log", ["question"], columns)
    (row,) = reading.table.to_dict("records")
    assert [row[role] for role in columns] == ["5", "one", "two", ["one", "two"], "dotted"]
    assert reading.unread == []


LATIN = "id,text\n1,café\n".encode("cp1252")
FILES = [
    ("a.csv", "output_id,text\n1,x\n", r"has no id \(id, _id, doc_id\); it has output_id, text: "
     "type --columns id=output_id$"),
    ("a.csv", "Id,body\n1,x\n", "it has Id, body: type --columns id=Id --columns text=COLUMN$"),
    ("a.jsonl", '{"doc": {"Id": 1, "body": {"text": "x"}}}',
     "it has doc.Id, doc.body.text: type --columns id=doc.Id --columns text=COLUMN$"),
    ("a.csv", "id,doc_id,text\n1,2,x\n",
     "id, doc_id may each be the id: --columns id=id or --columns id=doc_id$"),
    ("a.csv", "id,text\n1,x,y\n", "a.csv:2: has 3 cells, the header 2: .* in quotes, a decimal"),
    ("a.csv", "id,id\n1,x\n", "column 'id' is twice in the header: rename one"),
    ("a.csv", "id,text\n", "has no rows, or no header above them"),
    ("a.csv", "", "has no rows, or no header above them"),
    ("a.csv", "id;a,b\n1;x,y\n", "header has ',' and ';': put sep=, or sep=; into a line before"),
    ("a.csv", 'id,text\n1,"x\n', "is not CSV, is damaged or cut"),
    ("a.csv", LATIN, "perhaps WINDOWS-1252: save it as 'CSV UTF-8', or type iconv -f WINDOWS-1252"),
    ("a.csv", "id,text\n1,x\n".encode("utf-16"), "perhaps UTF-16: .* iconv -f UTF-16 -t UTF-8"),
    ("a.csv", ",".join(f"c{n}" for n in range(200_000)) + "\n" + "," * 199_999 + "1\n",
     "has 200,000 columns, more than 10,000"),
    ("a.jsonl", json.dumps({f"c{n}": n for n in range(200_000)}), "has 200,000 columns, more than 10,000"),
    ("a.jsonl", "", "has no rows"),
    ("a.jsonl", '{"id": 1}\n[2]\n', "a.jsonl:2: is not a JSON object"),
    ("a.jsonl", '{"id": 1}\n{"id": \n', "a.jsonl:2: is not JSON"),
    ("a.jsonl", '{"id": 1, "id": 2}\n', "key 'id' stands twice"),
    ("a.json", '{"meta": {"rows": [{"id": 1}]}, "more": [{"a": 1}]}',
     "is no list of rows: type --rows PATH; its lists: more, meta.rows$"),
    ("a.json", '[{"id": 1}, 3]', "a.json:2: is no object: '3'"),
    ("a.json", "[1", "a.json: is not JSON"),
    ("a.parquet", b"PAR1", "is no parquet file, or is damaged|needs the package pyarrow"),
    ("a.xlsx", b"PK", "cannot be read: is damaged"),
    ("a.doc", "x", "is no table: name a .csv, .tsv, .json, .jsonl"),
    ("a.gz", b"x", "is no table"),
    ("a.csv.gz", b"x", "cannot be read: is damaged: Not a gzipped file"),
]  # fmt: skip


def test_files_that_are_asked_about(tmp_path):
    def read(name, content):
        read_roles(read_table(write(tmp_path / name, content)), "corpus", ["id", "text"])

    started = time.process_time()
    assert not_refused(read, FILES) == []
    assert time.process_time() - started < 4
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"):
        read_table(tmp_path / "none.csv")


def test_workbooks_name_their_sheet_and_need_values_of_formulas(tmp_path):
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"x": ["y"]}).to_excel(book, sheet_name="notes", index=False)
        pd.DataFrame({"id": [7, "=1+1"]}).to_excel(book, sheet_name="rows", index=False)
    cases = [(None, "the sheets notes, rows: type --rows SHEET"), ("rows", "=1\\+1")]
    assert not_refused(lambda rows: read_table(path, rows), cases) == []
    assert read_table(path, "notes")["x"].to_dict() == {2: "y"}


SAID = [
    ({"columns": {"ident": "id"}}, "unknown role of a column 'ident': choose from id, text, title"),
    ({"columns": {"text": "boddy"}}, "has no column 'boddy': did you mean 'body'.; it has id, "),
    ({"columns": {"text": "body.0.x"}}, "has no column 'body.0.x'"),
    ({"further": ["tone"]}, "has no column 'tone'; it has id, body"),
]


def test_what_is_told_must_be_there(tmp_path):
    table = read_table(write(tmp_path / "a.csv", "id,body\n1,x\n"))
    assert not_refused(lambda said: read_roles(table, "corpus", ["id"], **said), SAID) == []


CELLS = [
    ("labels", "yes\nN/A\nYes\nyes \n", r"a.csv:3: a: what do these words mean. "
     "type --values N/A= --values Yes=yes --values 'yes =yes' .WORD= is missing; WORD=WO"),
    ("labels", "none\nmild\n", "type --values none= "),
    ("labels", "no\nNo\nNO\nn/a\nno \n", "type --values No=no --values NO=no --values n/a= "
     "--values 'no =no' .WORD= is"),
    ("numbers", '1\n"0,5"\n', "a.csv:3: a '0,5' is no number: write a decimal point instead"),
    ("numbers", "1\nhigh\n", "'high' is no number: --values high= if it is missing, else high=NUM"),
    ("numbers", "1\nnan\n", "'nan' is no number: --values nan= if it is missing"),
    ("names", "gpt-4o\nGPT-4o \n", "a.csv:3: a 'GPT-4o ' is a name above but for case or blanks"),
    ("texts", 'x\n" "\n', "a.csv:3: a .column 'a'. is empty"),
    ("lists", '"[""x""]"\nx|y\n', r"a.csv:3: a 'x\|y' is no JSON list of texts: type --lists one"),
    ("lists", "['x' 'y']\n", "is no JSON list of texts"),
]  # fmt: skip


def reading_of(tmp_path, cells, **said):
    path = write(tmp_path / "a.csv", "a\n" + cells)
    return read_roles(read_table(path), "corpus", [], further=["a"], **said)


def test_cells_that_are_asked_about(tmp_path):
    def read(kind, cells):
        return getattr(reading_of(tmp_path, cells), kind)("a").tolist()

    assert not_refused(read, CELLS) == []


def test_the_option_of_a_refusal_answers_it(tmp_path):
    values = {"N/A": "", "Yes": "yes", "yes ": "yes", "none": "none", "x": "1"}
    labels = reading_of(tmp_path, "yes\nN/A\nYes\nyes \nnone\n", values=values).labels("a")
    assert labels.tolist() == ["yes", "", "yes", "yes", "none"]
    numbers = reading_of(tmp_path, "x\nN/A\n-.5\n1e3\n", values=values).numbers("a")
    assert numbers.fillna(7).tolist() == [1, 7, -0.5, 1000]
    for lists_as, cell, texts in (
        ("json", '"[""x"", ""y""]"', ["x", "y"]),
        ("python", "\"['x', 'y']\"", ["x", "y"]),
        ("|", "x|y", ["x", "y"]),
        ("one", "x|y", ["x|y"]),
    ):
        assert reading_of(tmp_path, f"{cell}\n", lists=lists_as).lists("a").tolist() == [texts]


def test_only_labels_that_are_allowed_come_through(tmp_path):
    allowed = ("SUPPORTED", "REFUTED")

    def labels(cells, others=False, **values):
        return reading_of(tmp_path, cells, values=values).labels("a", allowed, others).tolist()

    both = "supported\nnei\n"
    cases = [
        (both, {}, "mean. type --values supported=SUPPORTED --values nei=LABEL"),
        (both, {"supported": "SUPPORTED", "nei": "odd"}, "mean. type --values nei=LABEL"),
        ("refuted\nmaybe\n", {"others": True}, "mean. type --values refuted=REFUTED "),
    ]
    assert not_refused(lambda cells, said: labels(cells, **said), cases) == []
    # Of many or long words only whole options are proposed, and a long path gives way to them.
    table = read_table(write(tmp_path / f"{'x' * 140}.csv", f"a\nyes\n{'y' * 60}\n{'z' * 60}\n"))
    with pytest.raises(
        InputError, match=r"^\.\.\.x+.csv:2: a: .* yes=LABEL --values y{60}=LABEL .W"
    ):
        read_roles(table, "corpus", [], further=["a"]).labels("a", allowed)
    assert labels("REFUTED\nmaybe\n", others=True) == ["REFUTED", "maybe"]
    assert labels(both, supported="SUPPORTED", nei="") == ["SUPPORTED", ""]
