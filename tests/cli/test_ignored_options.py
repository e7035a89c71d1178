"""An option that changes nothing is refused: whoever gave it believes that it counts."""

import json

import pytest

LIKERT = "case_id,chunk_id,explanation_text,source_chunk_text\nc1,k1,because,text\n"
RATERS = ["--rater=r1:lay", "--rater=r2:lay"]
SENSITIVITY = ["sensitivity", "run", "case.txt", "smoke"]
EVALUATE = ["sensitivity", "evaluate", "case.json", "--corpus", "corpus"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.txt").write_text(
        "Tan, aged 30, v State. A delay of 40 days; section 302 IPC; a fine."
    )
    (tmp_path / "case.json").write_text(json.dumps({"case_id": "c1"}))
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text("water")
    (tmp_path / "e.csv").write_text(LIKERT)
    (tmp_path / "claims.jsonl").write_text(
        '{"id": 1, "claim": "Rent is due.", "label": "SUPPORTED"}\n'
    )
    (tmp_path / "t.csv").write_text("row,accuracy,n,positives\nA,0.8,10,8\n")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ([*SENSITIVITY, "--mode", "bm25", "--encoder", "nope"], "--encoder"),
        ([*SENSITIVITY, "--mode", "my:search", "--encoder", "nope"], "--encoder"),
        ([*EVALUATE, "--mode", "bm25_stemmed", "--encoder", "nope"], "--encoder"),
        (["raters", "forms", "s", *RATERS, "--explanations", "e.csv", "--common"], "--common"),
        (["raters", "forms", "s", *RATERS, "--explanations", "e.csv", "--seed", "3"], "--seed"),
        (
            ["raters", "forms", "s", *RATERS, "--explanations", "e.csv", "--id-field", "x"],
            "--id-field",
        ),
        (["factcheck", "ablate", "--rate", "0", "--seeds", "5"], "--seeds"),
        (
            [
                "factcheck",
                "run",
                "claims.jsonl",
                "--original",
                "--mode",
                "full",
                "--stance",
                "public",
            ],
            "--stance",
        ),
        (["audit", "tables", "t.csv", "--n", "12"], "--n"),
        (["audit", "tables", "t.csv", "--positives", "9"], "--positives"),
        (["run", "./mine.ipynb", "--dry-run", "--tag", "full"], "--tag"),
        (["evaluate", "q", "r", "--json", "--per-query"], "--per-query"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_an_option_without_effect_is_refused(casebook, words, option):
    code, out, err = casebook(*words)
    assert (code, out) == (1, ""), err
    assert err.startswith("casebook: ") and err.count("\n") == 1
    assert option in err and ("has no effect" in err or "sets" in err)


def test_an_option_that_counts_is_taken(casebook):
    code, _, err = casebook(*SENSITIVITY, "--mode", "dense", "--encoder", "./nope")
    assert code == 1 and "nope" in err and "no effect" not in err


@pytest.mark.parametrize("option", ["--against=a", "--permutations=19", "--seed=1"])
def test_an_audit_of_blank_forms_takes_no_option_of_judgements(casebook, tmp_path, option):
    for system in ("left", "right"):
        rows = [
            {"item_id": f"i{n}", "prompt": f"Why {n}?", "answer": f"{system} {n}"} for n in range(4)
        ]
        (tmp_path / f"{system}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    systems = ["--system=left=left.jsonl", "--system=right=right.jsonl"]
    assert casebook("raters", "forms", "pilot", *RATERS, *systems)[0] == 0
    code, out, err = casebook("raters", "audit", "pilot/for_raters", option)
    assert (code, out) == (1, "") and f"{option.partition('=')[0]} has no effect" in err
    assert casebook("raters", "audit", "pilot/for_raters")[0] == 0
