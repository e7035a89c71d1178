"""An option that changes nothing is refused: whoever gave it believes that it counts."""

import json
from pathlib import Path

from cases import failing

CASE = "Tan, aged 30, v State. A delay of 40 days; section 302 IPC; a fine."
FORMS = "raters forms s --rater=r1:lay --rater=r2:lay --explanations e.csv"
EVALUATE = "sensitivity evaluate case.json --corpus corpus"

IGNORED = [
    ("sensitivity run case.txt smoke --mode bm25 --encoder nope", "--encoder"),
    ("sensitivity run case.txt smoke --mode my:search --encoder nope", "--encoder"),
    (f"{EVALUATE} --mode bm25_stemmed --encoder nope", "--encoder"),
    ("sensitivity run case.txt smoke --original --placebos 3", "--placebos"),
    (f"{FORMS} --common", "--common"),
    (f"{FORMS} --seed 3", "--seed"),
    ("raters analyse f --original --out x", "--out"),
    ("factcheck run claims.jsonl --original --mode full --stance public", "--stance"),
    ("run --workers 2 --scheduler tcp://x", "--workers"),
    ("evaluate q r --json --per-query", "--per-query"),
    ("compare q a b --json --markdown", "--markdown"),
]


def test_an_option_without_effect_is_refused(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("case.txt").write_text(CASE)
    Path("case.json").write_text(json.dumps({"case_id": "c1"}))
    Path("corpus").mkdir()
    Path("corpus", "a.txt").write_text("water")
    Path("e.csv").write_text(
        "case_id,chunk_id,explanation_text,source_chunk_text\nc1,k1,because,text\n"
    )
    Path("claims.jsonl").write_text('{"id": 1, "claim": "Rent is due.", "label": "SUPPORTED"}\n')
    Path("t.csv").write_text("row,accuracy,n,positives\nA,0.8,10,8\n")

    def check(words, option):
        code, out, err = casebook(*words.split())
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert option in err
        assert "has no effect" in err or "sets" in err

    assert failing(check, IGNORED) == []
