"""The command line: what it prints, its exit codes, and how it takes bad input."""

import json
import os
import subprocess
import sys

import pytest
import typer
from cases import failing

from casebook import cli

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\nq3 0 d4 1\n"
RUN_A = "q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\nq2 Q0 d1 1 2.0 a\nq2 Q0 d3 2 1.0 a\n"
RUN_B = "q1 Q0 d2 1 2.0 b\nq1 Q0 d1 2 1.0 b\nq2 Q0 d3 1 2.0 b\nq9 Q0 d3 1 2.0 b\n"


@pytest.fixture
def files(tmp_path):
    for name, text in {"qrels": QRELS, "a.run": RUN_A, "b.run": RUN_B}.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in ("qrels", "a.run", "b.run")]


def test_evaluate_prints_means_intervals_and_the_account(casebook, files):
    code, out, _ = casebook("evaluate", *files[:2], "-m", "RR", "--json")
    found = json.loads(out)
    assert code == 0
    # q1: rank 1; q2: rank 2; q3: judged, not in the run, counted as 0.
    assert found["per_query"] == {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}, "q3": {"RR": 0.0}}
    assert found["measures"]["RR"]["mean"] == pytest.approx(0.5)
    assert found["measures"]["RR"]["n"] == 3
    assert found["measures"]["RR"]["ci"] == [None, None]
    assert found["measures"]["RR"]["reason"] == "fewer_than_six_units"
    assert found["queries"] == {
        "judged": 3,
        "retrieved": 2,
        "missing": 1,
        "extra": 0,
        "empty": 0,
        "no_relevant": 0,
    }


BAD = [
    (["evaluate", "qrels"], "Missing argument"),
    (["evaluate", "absent", "a.run"], "absent"),
    (["evaluate", "qrels", "broken"], "broken:2:"),
    (
        ["evaluate", "qrels", "a.run", "-m", "plugged_measures:text"],
        "could not convert",
    ),
    (["evaluate", "qrels", "a.run", "-m", "plugged_measures:failing"], "two lines"),
    (["evaluate", "qrels", "a.run", "-m", "nDGC@10"], "nDCG"),
    (["compare", "qrels", "a.run"], "two or more different runs"),
    (["compare", "qrels", "a.run", "a.run"], "two or more different runs"),
    (["run", "bogus"], "unknown experiment 'bogus'"),
    (["run", "retrieval_ablation", "-p", "colour=red"], "no parameter colour"),
    (["run", "retrieval_ablation", "-p", "dataset"], "not of the form name=value"),
    (["run", "retrieval_ablation", "-p", "pipeline=[1"], "not YAML"),
    (["run", "--grid", "absent.yml"], "absent.yml: cannot be read: No such file"),
    (["run", "--tag", "nightly"], "; type --tag default or --tag full or"),
    (["run", "quick"], "quick has no rows tagged 'default'; type --tag smoke\n"),
    (["run", "--run", "../x"], "not allowed"),
    (["build", "--run", "never-made"], "nothing to render"),
    (["data", "card", "bogus"], "bogus"),
    (["rnu"], "Did you mean 'run'?"),
    (["runs", "lsit"], "Did you mean 'list'?"),
    (["run", "query_lenght"], "did you mean 'query_length'?"),
    (["run", "--tag", "smoek"], "did you mean 'smoke'?"),
    (["run", "query_length", "-p", "datset=smoke"], "did you mean 'dataset'?"),
    (["run", "query_length", "--dry-run", "-p", "dataset=smoek"], "did you mean 'smoke'?"),
    (["data", "card", "smoek"], "did you mean 'smoke'?"),
    (["evaluate", "qrels", "a.run", "-m", "nDGC@10"], "did you mean 'nDCG'?"),
    (
        ["gate", "log", "a.jsonl", "--against", "b.jsonl", "--measure", "tokneF1"],
        "did you mean 'token F1'?",
    ),
    (["compare", "scores.csv", "--score", "scroe"], "did you mean 'score'?"),
]


PLUGGED = """
def text(grades, judged): return "x"
def failing(grades, judged): raise ValueError("two\\nlines")
"""


def test_bad_input_is_one_clear_line(refused, files, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugged_measures.py").write_text(PLUGGED)
    (tmp_path / "broken").write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d2\n")
    (tmp_path / "scores.csv").write_text("id,system,score\n1,bm25,1\n1,dense,0\n")
    assert failing(refused, BAD) == []


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    (tmp_path / "qrels").write_text("".join(f"q{n} 0 d 1\n" for n in range(3000)))
    (tmp_path / "run").write_text("".join(f"q{n} Q0 d 1 1.0 tag\n" for n in range(3000)))
    ours, theirs = os.pipe()
    os.close(ours)
    words = [sys.executable, "-m", "casebook", "evaluate", "qrels", "run", "--per-query"]
    done = subprocess.run(words, stdout=theirs, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")


def leaves(command, words=()):
    """Every command of the tree with the words that call it."""
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from leaves(one, (*words, name))
    if not below:
        yield words


COMMANDS = list(leaves(typer.main.get_command(cli.app)))


def test_the_help_of_every_command_is_a_screen_with_an_example(casebook):
    def check(*words):
        code, out, _ = casebook(*words, "--help")
        assert code == 0
        assert f"Example: casebook {words[0]}" in out
        assert len(out.splitlines()) <= 24 and max(map(len, out.splitlines())) <= 80

    assert failing(check, COMMANDS) == []


def test_the_commands_are_those_of_the_contract():
    contract = """init convert report run build evaluate compare gate-run gate-log gate-scores agreement answer
    data-list data-pull data-check data-card corpus-encode corpus-search audit-tables
    raters-forms raters-simulate raters-audit raters-analyse sensitivity-run sensitivity-evaluate
    explain-score shift-train shift-run shift-eval segments-compare factcheck-run factcheck-score factcheck-ablate
    runs-list runs-compare runs-active runs-history runs-verify runs-decide runs-promote runs-rollback
    runs-matrix"""
    assert {"-".join(words) for words in COMMANDS} == set(contract.split())


HEAVY = {"matplotlib", "numpy", "pandas", "pydantic", "scipy", "sklearn", "torch"}


def test_help_is_quick():
    helped = "import sys; from casebook.cli import _run; _run(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", helped], capture_output=True, text=True)
    assert "Usage" in done.stdout and not HEAVY & {*done.stdout.split()}
