"""Commands that write: what is there stays, and what is wrong is said before work."""

import json
import os
import subprocess
import sys

import pytest

from casebook.cli import main


@pytest.fixture
def casebook(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for system in ("a", "b"):
        rows = [
            {"item_id": f"i{n}", "prompt": f"Why {n}?", "answer": f"{system} {n}"} for n in range(6)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{system}.jsonl").write_text(text)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def study(casebook, tmp_path):
    raters = ["--rater=r1:lay", "--rater=r2:lay"]
    systems = ["--system=a=a.jsonl", "--system=b=b.jsonl"]
    code, out, _ = casebook("raters", "forms", "pilot", *systems, *raters)
    assert code == 0
    assert out.endswith("then 'casebook raters analyse FOLDER --key pilot'\n")
    return tmp_path / "pilot"


def test_a_rehearsal_never_replaces_a_form_that_came_back(casebook, study, tmp_path):
    (tmp_path / "returned").mkdir()
    form = tmp_path / "returned" / "pilot_r2.xlsx"
    form.write_bytes(b"filled by a person")
    code, out, err = casebook("raters", "simulate", "pilot", "returned")
    assert (code, out) == (1, "") and "pilot_r2.xlsx: exists" in err
    assert form.read_bytes() == b"filled by a person"
    assert [path.name for path in form.parent.iterdir()] == ["pilot_r2.xlsx"]


def test_a_folder_that_exists_is_refused_before_the_analysis(casebook, study):
    arguments = ["raters", "analyse", "absent", "--key", "pilot", "--out", "pilot"]
    code, _, err = casebook(*arguments)
    assert code == 1 and "pilot: exists: name a new folder" in err


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["seed=1", "seed=2"], "seed is given twice"),
        (["run=x"], "--run names the run"),
        (["cell=x"], "the runner sets it"),
        (["seed=.nan"], "numbers must be finite"),
        (["dataset={a: [.inf]}"], "numbers must be finite"),
    ],
)
def test_parameters_that_cannot_be_meant(casebook, pairs, message):
    options = [option for pair in pairs for option in ("-p", pair)]
    code, out, err = casebook("run", "query_length", "--dry-run", *options)
    assert (code, out) == (1, "") and message in err


def test_wrong_words_are_named_before_the_work(casebook, tmp_path):
    # The encoder does not exist either, and would be complained about first.
    options = ["--mode", "posneg", "--encoder", "/no/such/model"]
    code, _, err = casebook("shift", "train", "smoke", *options)
    assert code == 1 and "unknown mode 'posneg': choose from posneg-uniform" in err
    (tmp_path / "claims.txt").write_text("The rent is due.\n")
    code, _, err = casebook("factcheck", "run", "claims.txt", "--gate", "nothing")
    assert code == 1 and "unknown gate 'nothing': choose from none, low" in err


@pytest.mark.parametrize("command", [["runs", "list"], ["evaluate", "qrels", "run", "--per-query"]])
def test_a_reader_that_leaves_early_is_no_error(tmp_path, command):
    (tmp_path / "qrels").write_text("".join(f"q{n} 0 d 1\n" for n in range(3000)))
    lines = "".join(f"q{n} Q0 d 1 1.0 tag\n" for n in range(3000))
    (tmp_path / "run").write_text(lines)
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "casebook", *command],
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")
