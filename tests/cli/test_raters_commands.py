"""The group ``casebook raters`` on the command line."""

import functools
import json
import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "raters"))
from forms_as_documented import write_forms

QUICK = ("--resamples=200", "--permutations=19")
EXAMPLE = Path(__file__).parents[1] / "raters" / "documented_example.txt"


@pytest.fixture
def casebook(casebook):
    """Run commands of the group."""
    return functools.partial(casebook, "raters")


def write_answers(folder, count=20):
    for name in ("alpha", "omega"):
        lines = [
            json.dumps(
                {"item_id": f"q{n}", "prompt": f"p{n}", "answer": f"{name[0]}{n}"}
            )
            for n in range(count)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return [f"--system={n}={folder / n}.jsonl" for n in ("alpha", "omega")]


@pytest.fixture
def study(casebook, tmp_path):
    """Make a study and fill its forms, as the page for readers shows."""
    systems = write_answers(tmp_path)
    raters = ["--rater=r1:lay", "--rater=r2:lay", "--rater=r3:expert"]
    code, out, _ = casebook("forms", tmp_path / "pilot", *systems, *raters)
    assert code == 0 and "publish" in out
    code, out, _ = casebook(
        "simulate", tmp_path / "pilot", tmp_path / "back", "--blank=0.05"
    )
    assert code == 0 and "not judged" in out
    return tmp_path


def test_design_fill_analyse(casebook, study):
    code, out, err = casebook(
        "analyse", study / "back", "--key", study / "pilot", *QUICK, "--json"
    )
    assert code == 0, err
    values = json.loads(out)
    assert "3 raters and new items: alpha wins" in values["answer"][0]
    assert {row["kind"] for row in values["tables"]["defects"]} == {"blank"}
    assert values["tables"]["preference"][-1]["rater"] == "pooled"


def test_results_are_written_once_and_whole(casebook, study):
    arguments = ["analyse", study / "back", "--key", study / "pilot", *QUICK]
    code, _out, err = casebook(*arguments, "--out", study / "found")
    assert code == 0, err
    table = pd.read_csv(study / "found" / "tables" / "intervals.csv")
    assert len(table) == 8
    assert json.loads((study / "found" / "analysis.json").read_text())["answer"]
    code, _, err = casebook(*arguments, "--out", study / "found")
    assert code == 1 and "exists" in err


def test_blind_forms_stay_blind_without_key_and_until_all_are_in(casebook, study):
    code, _, err = casebook("analyse", study / "back")
    assert code == 1 and "give the sealed key" in err
    (study / "back" / "pilot_r3.xlsx").unlink()
    arguments = ["analyse", study / "back", "--key", study / "pilot", *QUICK]
    code, _, err = casebook(*arguments)
    assert code == 1 and "1 of 3 forms are not in (r3)" in err
    code, _, _ = casebook(*arguments, "--force")
    assert code == 0


def test_audit_before_and_after(casebook, study):
    forms = study / "pilot" / "for_raters"
    code, out, _ = casebook("audit", forms, "--key", study / "pilot")
    assert code == 0 and "nothing found" in out and "position" not in out
    code, out, _ = casebook("audit", study / "back", "--key", study / "pilot", "--json")
    tables = json.loads(out)
    assert code == 0 and tables["leaks"] == []
    assert tables["arm_guess"][0]["n"] == 20 and len(tables["duplicates"]) == 3


def test_documented_forms(casebook, tmp_path):
    paths = write_forms(tmp_path)
    code, out, _ = casebook("analyse", *paths, "--legacy")
    assert code == 0 and out == EXAMPLE.read_text()
    code, out, _ = casebook("analyse", tmp_path, "--legacy", "--json")
    values = json.loads(out)
    pooled = values["Pairwise preference (aggregate, per-row mapping)"]
    assert pooled["p_value_sign_test"] == 0.00020218969307107758
    code, out, err = casebook("audit", tmp_path, "--word=rag")
    assert code == 2 and "leaks besides the texts" in err and "key_column" in out
    code, _, err = casebook("analyse", *paths, "--side-col=nope")
    assert code == 1 and "no key column 'nope'" in err


def test_likert_forms(casebook, tmp_path):
    table = pd.DataFrame(
        {
            "case_id": [f"c{n}" for n in range(6)],
            "chunk_id": [f"k{n}" for n in range(6)],
            "explanation_text": "because",
            "source_chunk_text": "text",
        }
    )
    table.to_csv(tmp_path / "e.csv", index=False)
    options = ["--explanations", tmp_path / "e.csv", "--format=csv"]
    raters = ["--rater=ann:expert", "--rater=bob:expert"]
    code, _, err = casebook("forms", tmp_path / "ex", *options, *raters)
    assert code == 0, err
    for rater in ("ann", "bob"):
        path = tmp_path / "ex" / "for_raters" / f"ex_{rater}.csv"
        form = pd.read_csv(path, dtype=str)
        form[[n for n in form if n.endswith("_1_to_5")]] = "4"
        form.to_csv(tmp_path / f"back_{rater}.csv", index=False)
    back = [tmp_path / "back_ann.csv", tmp_path / "back_bob.csv"]
    code, out, _ = casebook("analyse", *back, "--key", tmp_path / "ex", "--json")
    values = json.loads(out)
    assert values["documented"]["overall"]["clarity_1_to_5"] == 4.0
    row = values["tables"]["ratings"][0]
    assert row["mean"] == 4 and row["alpha"] is None and row["reason"]
    code, _, err = casebook("analyse", *back)
    assert code == 1 and "need their sealed key" in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["forms", "x"], "name the raters"),
        (["forms", "x", "--rater=r1"], "not of the form LABEL:KIND"),
        (["forms", "x", "--rater=r1:lay", "--system=a"], "not of the form NAME=FILE"),
        (["forms", "x", "--rater=r1:lay"], "give the answers"),
        (["forms", "x", "--rater=r1:lay", "--rater=r1:lay"], "named twice"),
        (["analyse", "absent.xlsx"], "cannot be read"),
        (["analyse", "absent.xlsx", "--legacy"], "cannot be read"),
        (["simulate", "absent", "x"], "cannot be read"),
    ],
)
def test_wrong_use_is_one_clear_line(
    casebook, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, _, err = casebook(*arguments)
    assert code == 1 and message in err and err.count("\n") == 1


@pytest.mark.parametrize("command", ["forms", "simulate", "audit", "analyse"])
def test_every_command_shows_an_example(casebook, command):
    code, out, _ = casebook(command, "--help")
    assert code == 0 and "Example: casebook raters" in out
