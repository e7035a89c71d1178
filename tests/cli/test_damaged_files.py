"""Damaged files of every command: one line that names the file and what is wrong."""

from pathlib import Path

from cases import failing

FORMS = ["raters", "forms", "new", "--rater=r1:lay", "--rater=r2:lay", "--explanations"]
TABLES = ["audit", "tables", "--n=10", "--positives=8"]
VERIFY = ["factcheck", "run", "claims.txt", "--ratings"]

DAMAGED = [
    (TABLES, "t.csv", b"row,accuracy\nA,0.8\nB,inf\n", "t.csv:3: table 't', row 'B': accuracy"),
    (VERIFY, "s.yml", b"1: a\nb: c\n", "field version"),
    (FORMS, "e.csv", b"\xff", "is not UTF-8"),
    (FORMS, "absent.csv", None, "cannot be read: No such file"),
    (["raters", "audit"], "returned", None, "returned: no forms (.xlsx, "),
]


def test_damage_is_one_line(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("claims.txt").write_text("The rent is due.\n")
    Path("returned").mkdir()

    def check(command, name, content, message):
        if content is not None:
            Path(name).write_bytes(content)
        code, out, err = casebook(*command, name)
        line = err.splitlines()[-1]  # what was read of a table comes before it
        assert (code, out) == (1, "") and name in line and message in line and len(line) < 400

    assert failing(check, DAMAGED) == []
    assert not Path("new").exists()
