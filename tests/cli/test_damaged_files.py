"""Damaged files of every command: one line that names the file and what is wrong."""

import pytest

from casebook.cli import main

RATINGS = "kinds: {a: 0.5}\n"
EXPLAINED = "case_id,chunk_id,explanation_text,source_chunk_text\nc1,k1,because,text\n"
FORMS = ["raters", "forms", "new", "--rater=r1:lay", "--rater=r2:lay", "--explanations"]
TABLES = ["audit", "tables", "--n=10", "--positives=8"]
GATE = ["gate", "smoke/runs/query_length-smoke", "--against", "smoke", "--gate"]
VERIFY = ["factcheck", "run", "claims.txt", "--ratings"]
REPORTED = "row,accuracy\nA,0.8\nB,{}\n"

DAMAGED = [
    (TABLES, "t.csv", REPORTED.format("inf"), "t.csv:3: table 't', row 'B': accuracy"),
    (TABLES, "t.csv", "accuracy\n0.8\n", "no column 'row': it has accuracy"),
    (VERIFY, "r.yml", "[" * 5000, "nested too deeply"),
    (VERIFY, "r.yml", "a: b\n\tc: d\n", "r.yml:2: not YAML"),
    (VERIFY, "r.yml", "1: a\nb: c\n", "field version"),
    (FORMS, "e.csv", b"\xff", "is not UTF-8"),
    (FORMS, "e.csv", None, "cannot be read: No such file"),
    (GATE, "g.yml", "rules: []", "a gate file holds rules"),
    (GATE, "g.yml", "rules: [{metric: a, margn: 1}]", "expected metric (a name) and"),
    (["raters", "audit"], "returned", ..., "returned: no forms (.xlsx, "),
]


@pytest.fixture
def casebook(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.txt").write_text("The rent is due.\n")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("command", "name", "content", "message"), DAMAGED, ids=lambda value: str(value)[:40]
)
def test_damage_is_one_line(casebook, tmp_path, command, name, content, message):
    path = tmp_path / name
    if content is ...:
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    code, out, err = casebook(*command, name)
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1
    assert name in err and message in err
    assert len(err) < 400
    assert not (tmp_path / "new").exists()


def test_columns_that_are_not_read_are_named(casebook, tmp_path):
    (tmp_path / "t.csv").write_text("row,accuracy,f2\nA,0.8,0.7\n")
    code, out, err = casebook(*TABLES, "t.csv", "--json")
    assert code == 0 and out.startswith("{")
    assert err == "note: t.csv: columns not read: f2\n"
