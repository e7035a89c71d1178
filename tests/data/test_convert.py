"""`casebook convert`: tables of any format give the folder that chapters read, with a report."""

import json

import pandas as pd
import pytest

from casebook.data import load
from casebook.data.folders import convert
from casebook.errors import InputError

TABLES = {
    "corpus": pd.DataFrame(
        {"id": ["d1", "d2", "d3"], "text": ["The rent is due.", 'No "pets".', "Keys."]}
    ),
    "queries": pd.DataFrame({"id": ["1", "2"], "text": ["When is rent due?", "May I have a dog?"]}),
    "qrels": pd.DataFrame(
        {"query-id": ["1", "2", "2"], "corpus-id": ["d1", "d2", "d3"], "score": [2, 1, 0]}
    ),
}
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
        for name, table in (TABLES | tables).items():
            WRITERS[ending](table, f"{name}.{ending}")
        return [f"corpus.{ending}", f"queries.{ending}", {"test": f"qrels.{ending}"}]

    return written


@pytest.mark.parametrize("ending", WRITERS)
def test_every_kind_of_table_gives_the_same_folder(write, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    readings = convert(tmp_path / "out", *write(ending))
    data = load(tmp_path / "out", "test")
    texts = [*data.documents["text"], *data.queries["text"]]
    assert texts == [*TABLES["corpus"]["text"], *TABLES["queries"]["text"]]
    assert data.qrels == {"1": {"d1": 2}, "2": {"d2": 1, "d3": 0}}
    counts = {name: len(reading.table) for name, reading in readings.items()}
    assert counts == {"corpus": 3, "queries": 2, "qrels test": 3}


def test_further_columns_are_not_read_and_groups_are_named(write, tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": 1, "doc_id": "x", "text": "One.", "year": 2020}')
    with pytest.raises(InputError, match="may each be the id: --columns corpus"):
        convert(tmp_path / "out", path)
    with pytest.raises(InputError, match=r"unknown part of --columns .*: choose from corpus"):
        convert(tmp_path / "out", path, columns={"text": "x"})
    assert not (tmp_path / "out").exists()
    reading = convert(tmp_path / "out", path, columns={"corpus.id": "id"})["corpus"]
    assert (tmp_path / "out" / "corpus.jsonl").read_text() == '{"_id":"1","text":"One."}\n'
    assert reading.unread == ["doc_id", "year"]
    paths = write(queries=TABLES["queries"].assign(contract="c1"))
    convert(tmp_path / "grouped", *paths, columns={"queries.group": "contract"})
    assert load(tmp_path / "grouped").groups == {"1": "c1", "2": "c1"}


def test_the_command_reports_checks_and_is_read_by_a_chapter(casebook, write, tmp_path):
    write(corpus=TABLES["corpus"].rename(columns={"id": "nr", "text": "body"}).assign(year=2020))
    words = ["out", "--corpus", "corpus.csv", "--queries", "queries.csv", "--qrels", "qrels.csv"]
    words += ["--columns", "corpus.id=nr", "--columns", "corpus.text=body"]
    code, out, err = casebook("convert", *words)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "corpus.csv: 3 rows; read: id = 'nr', text = 'body'; not read: year",
        "  3 of 3 rows have a text and are taken",
        "queries.csv: 2 rows; read: id, text; not read: nothing",
        "  2 of 2 rows have a text and are taken",
        "qrels.csv: 3 rows; read: query = 'query-id', document = 'corpus-id', value = 'score'; "
        "not read: nothing",
        "  2 queries",
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
    assert (code, out) == (1, "") and "out: exists: name a new folder" in err
    code, out, _ = casebook("convert", "other", *words[1:], "--json")
    assert code == 0 and json.loads(out)["corpus"]["rows"] == 3
