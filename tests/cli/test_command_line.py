"""The command line: what it prints, its exit codes, and how it takes bad input."""

import importlib
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest
import typer
from interrupts import interruptible

from casebook import cli
from casebook.data.sources import Absent
from casebook.errors import InputError

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


def test_names_of_measures_in_every_command(casebook, files):
    plain = ("evaluate", *files[:2], "--json", "-m")
    code, out, err = casebook(*plain, "MAP", "-m", "ndcg@10", "-m", "recall@10")
    assert code == 0 and err == ""
    assert list(json.loads(out)["measures"]) == ["MAP", "ndcg@10", "recall@10"]
    code, out, err = casebook(*plain, "map@1", "-m", "original:map@1")
    means = {n: m["mean"] for n, m in json.loads(out)["measures"].items()}
    # AP@1: q1 alone has its document at rank 1; RR: 1, 1/2, 0.
    assert means == pytest.approx({"map@1": 1 / 3, "original:map@1": 0.5})
    assert err == ("note: map@1 is AP@1; EmbeddingShift's map@1 is original:map@1, which is RR\n")
    code, out, err = casebook("compare", *files, "-m", "NDCG@3")
    assert code == 0 and err.count("original:NDCG@3") == 1 and "original" not in out


def test_policies_of_evaluate(casebook, files, tmp_path):
    (tmp_path / "tied").write_text("q1 Q0 d1 1 1.0 t\nq1 Q0 d2 2 1.0 t\n")
    arguments = ["evaluate", files[0], tmp_path / "tied", "-m", "RR", "--skip-missing"]
    code, out, _ = casebook(*arguments, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["measures"]["RR"] | {"ci": 0, "reason": 0} == {
        "mean": 0.5,  # ties by document id descending: d2 comes first
        "n": 1,
        "ci": 0,
        "reason": 0,
    }
    (tmp_path / "more").write_text("q1 Q0 d9 1 9.0 t\nq1 Q0 d1 2 1.0 t\n")
    options = ["-m", "RR", "--skip-missing", "--judged-only", "--json"]
    code, out, _ = casebook("evaluate", files[0], tmp_path / "more", *options)
    assert json.loads(out)["measures"]["RR"]["mean"] == 1.0


def test_compare_as_json_and_markdown(casebook, files):
    code, out, _ = casebook("compare", *files, "-m", "RR", "--json")
    found = json.loads(out)["RR"]
    assert code == 0
    assert {row["system"] for row in found["systems"]} == {"a", "b"}
    (pair,) = found["pairs"]
    assert pair["difference"] == pytest.approx(0.0)
    assert 0 < pair["p_holm"] <= 1
    assert "| system" in casebook("compare", *files, "-m", "RR", "--markdown")[1]


def test_undefined_values_are_dashes_beside_their_reason(casebook, files):
    qrels, run, _ = files
    for form in ([], ["--markdown"]):
        code, out, _ = casebook("compare", qrels, run, files[2], "-m", "R@9", *form)
        assert code == 0
        assert "no_unit_differs" in out
        assert "nan" not in out.lower() and "-0.0000" not in out and "None" not in out


BAD = [
    (["bogus"], "No such command"),
    (["evaluate", "qrels"], "Missing argument"),
    (["evaluate", "{dir}/absent", "{dir}/a.run"], "absent"),
    (["evaluate", "{dir}/qrels", "{dir}/broken"], "broken:2:"),
    (["evaluate", "{dir}/qrels", "{dir}/twice"], "twice:2:"),
    (["evaluate", "{dir}/qrels", "{dir}/a.run", "-m", "nDGC@10"], "nDCG"),
    (["compare", "{dir}/qrels", "{dir}/a.run"], "two or more runs"),
    (["compare", "{dir}/qrels", "{dir}/a.run", "{dir}/a.run"], "given twice"),
    (["run", "bogus"], "unknown experiment 'bogus'"),
    (["run", "retrieval_ablation", "-p", "colour=red"], "no parameter colour"),
    (["run", "retrieval_ablation", "-p", "dataset"], "expected name=value"),
    (["run", "retrieval_ablation", "-p", "k=[1"], "not YAML"),
    (["run", "--grid", "{dir}/absent.yml"], "no such grid file"),
    (["run", "--tag", "nightly"], "tags: "),
    (["run", "--run", "../x"], "not allowed"),
    (["build", "--run", "never-made"], "nothing to render"),
    (["data", "card", "bogus"], "bogus"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_clear_line(casebook, files, tmp_path, arguments, message):
    (tmp_path / "broken").write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d2\n")
    (tmp_path / "twice").write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d1 2 1.0 a\n")
    code, out, err = casebook(*[a.replace("{dir}", str(tmp_path)) for a in arguments])
    assert code == 1
    assert out == ""
    assert err.startswith("casebook: ") and err.count("\n") == 1
    assert message in err


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Give a folder that outputs go to."""
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path))
    return tmp_path


SMOKE = [sys.executable, "-m", "casebook", "run", "retrieval_ablation-smoke"]


@pytest.mark.slow
def test_data_that_only_the_notebook_can_refuse_fail_the_batch(project):
    command = [
        sys.executable,
        "-m",
        "casebook",
        "run",
        "counterfactual_sensitivity-smoke",
        "-p",
        "dataset=smoke",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "smoke" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not list(project.glob("results/*/notebooks/[!.]*"))


@pytest.mark.slow
def test_interrupted_run_leaves_nothing_under_its_final_name(project):
    process = interruptible(SMOKE)
    process.stderr.readline()  # "running ...": the notebook has started
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "carries on" in err
    assert not list(project.glob("results/*/notebooks/[!.]*"))
    assert not list(project.glob("results/*/runs/*/run.json"))


def leaves(command, words=()):
    """Every command of the tree with the words that call it."""
    below = getattr(command, "commands", {})
    for name, one in below.items():
        yield from leaves(one, (*words, name))
    if not below:
        yield words


COMMANDS = list(leaves(typer.main.get_command(cli.app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_an_example(casebook, words):
    code, out, _ = casebook(*words, "--help")
    assert code == 0 and f"Example: casebook {words[0]}" in out


def test_the_commands_are_those_of_the_contract():
    contract = """init convert report run build publish evaluate compare gate agreement answer
    data-list data-pull data-check data-card corpus-encode corpus-search audit-tables
    raters-forms raters-simulate raters-audit raters-analyse sensitivity-run sensitivity-evaluate sensitivity-report
    explain-score shift-train shift-run shift-eval segments-compare factcheck-run factcheck-score factcheck-ablate
    runs-list runs-compare runs-best runs-active runs-history runs-verify runs-decide runs-promote runs-rollback
    runs-matrix"""
    assert {"-".join(words) for words in COMMANDS} == set(contract.split())


def test_a_report_fetches_the_data_of_its_cells_and_what_stands_in_for_answers(
    casebook, tmp_path, monkeypatch
):
    """Published answers are in mirrors alone; the questions of the same set are fetched like any
    other."""
    cells = {"assistant": ("10_assistant", "pdpabench"), "smoke": ("10_assistant", "smoke")}
    pulled = []

    def stop(names):
        pulled.extend(names)
        raise InputError("stopped")

    monkeypatch.setattr("casebook.data.registry.pull", stop)
    for more, expected in (
        ({}, ["consumer_contracts_qa", "smoke"]),
        (
            {"ablation": ("01_retrieval_ablation", "pdpabench")},
            ["consumer_contracts_qa", "pdpabench", "smoke"],
        ),
    ):
        lines = [
            f"- {{name: {name}, notebook: {notebook}.ipynb, parameters: {{dataset: {dataset}}}, tags: [mine]}}"
            for name, (notebook, dataset) in (cells | more).items()
        ]
        (tmp_path / "grid.yml").write_text("\n".join(lines))
        pulled.clear()
        assert casebook("report", "--grid", tmp_path / "grid.yml", "--tag", "mine")[0] == 1
        assert pulled == expected


def test_a_report_goes_on_without_answers_that_are_nowhere_and_says_what_stands_in(
    casebook, tmp_path, monkeypatch
):
    def absent(card):
        raise Absent(f"cannot get {card.key}")

    def stop(*_, **__):
        raise InputError("stopped")

    monkeypatch.setattr("casebook.data.registry.pull", lambda names: [])
    monkeypatch.setattr("casebook.data.sources.pull", absent)
    monkeypatch.setattr("casebook.batch.run.run_batch", stop)
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path)
    cell = "{name: mine, notebook: 10_assistant.ipynb, parameters: {dataset: pdpabench}, tags: [a]}"
    (tmp_path / "grid.yml").write_text(f"- {cell}\n")
    code, _, err = casebook("report", "--grid", tmp_path / "grid.yml", "--tag", "a")
    warning = "warning: cannot get pdpabench; templates on consumer_contracts_qa stand in"
    assert code == 1 and err.splitlines()[:1] == [warning] and err.endswith("stopped\n")


def test_help_is_quick():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "casebook", "--help"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Far above the 0.2 s it takes, far below what one heavy import would cost.
    assert after.ru_utime - before.ru_utime < 0.5


@pytest.mark.parametrize(
    ("command", "module", "name", "options"),  # an option by its own name, or option=parameter
    [
        ("run", "batch.run", "run_batch", "workers retries"),
        ("report", "batch.run", "run_batch", "workers retries"),
        ("agreement", "measures.agreement", "krippendorff_alpha", "resamples=n_resamples"),
        (
            "answer",
            "assistant.answer",
            "answer_questions",
            "k timeout retries max_tokens workers",
        ),
        ("explain score", "explain.study", "score_explanations", "foreign resamples=n_resamples"),
        ("factcheck run", "factcheck.score", "as_report", "resamples=n_resamples"),
        ("corpus search", "retrieval.encoded", "search_folder", "mode encoder filters"),
        ("raters analyse", "raters.analysis", "analyse", "resamples=n_resamples permutations"),
        ("raters audit", "raters.analysis", "validity", "permutations"),
        ("raters forms", "raters.forms", "Plan", "margin win_rate"),
        ("raters simulate", "raters.simulate", "Truth", "effect ties blank"),
        ("runs decide", "runs.decide", "decide", "eps"),
        ("sensitivity evaluate", "sensitivity.study", "run_sensitivity_study", "k"),
        (
            "sensitivity evaluate",
            "sensitivity.evaluation",
            "evaluate_sensitivity",
            "resamples=n_resamples",
        ),
        ("sensitivity evaluate", "sensitivity.tree", "TreeSettings", "placebos=placebo_draws"),
        ("shift eval", "shift.gate", "run_evaluators", "shift baseline"),
        ("sensitivity run", "sensitivity.report", "run_case", "k"),
        ("sensitivity run", "sensitivity.tree", "CaseSearch", "k"),
        ("sensitivity run", "sensitivity.tree", "TreeSettings", "depth=max_depth children budget"),
        ("sensitivity run", "sensitivity.tree", "TreeSettings", "placebos=placebo_draws"),
    ],
)
def test_a_command_without_options_does_what_the_function_behind_it_does(
    command, module, name, options
):
    of_function = inspect.signature(
        getattr(importlib.import_module(f"casebook.{module}"), name)
    ).parameters
    found = typer.main.get_command(cli.app)
    for word in command.split():
        found = found.commands[word]
    of_command = {one.name: one.default for one in found.params}
    for pair in options.split():
        option, _, parameter = pair.partition("=")
        assert of_command[option] == of_function[parameter or option].default, option
