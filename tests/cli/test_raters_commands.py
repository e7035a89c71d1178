"""The group ``casebook raters`` on the command line."""

import functools
import json
import os
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from cases import failing

from casebook.paths import NOTEBOOKS
from casebook.raters.unblinding import read_key

sys.path.insert(0, str(Path(__file__).parents[1] / "raters"))
from forms_as_documented import write_forms

RATERS = ("--rater=r1:lay", "--rater=r2:lay", "--rater=r3:expert")
QUICK = ("--resamples=200", "--permutations=19")
EXAMPLE = Path(__file__).parents[1] / "raters" / "documented_example.txt"


@pytest.fixture
def casebook(casebook):
    """Run commands of the group."""
    return functools.partial(casebook, "raters")


@pytest.fixture
def study(casebook, tmp_path):
    """Make a study and fill its forms, as the page for readers shows."""
    files = []
    for name in ("alpha", "omega"):
        files.append(tmp_path / f"{name}.jsonl")
        lines = [{"question": f"p{n}", "answer": f"{name[0]}{n}"} for n in range(20)]
        files[-1].write_text("\n".join(map(json.dumps, lines)))
    logs = [f"--log={path}" for path in files]
    code, out, err = casebook("forms", tmp_path / "pilot", *logs, *RATERS)
    assert code == 0 and "hand out" in out
    assert "omega.jsonl: 20 rows; read: question, answer; not read" in err
    code, out, _ = casebook("simulate", tmp_path / "pilot", tmp_path / "back")
    assert code == 0 and "not judged" in out
    return tmp_path


def test_results_are_written_once_and_whole(casebook, study):
    arguments = ["analyse", study / "back", "--key", study / "pilot", *QUICK]
    code, out, err = casebook(*arguments, "--out", study / "found", "--json")
    assert code == 0, err
    values = json.loads(out)
    assert "of alpha is" in values["answer"][0] and values["tables"]["defects"] == []
    assert len(pd.read_csv(study / "found" / "tables" / "win_rates.csv")) == 5
    assert json.loads((study / "found" / "analysis.json").read_text())["answer"]
    code, _, err = casebook(*arguments, "--out", study / "found")
    assert code == 1 and "exists" in err


def write_log(path, says="", count=12):
    """Write a log of two systems in RAGAS's columns; the first may name itself in every answer."""
    lines = []
    for n in range(count):
        question = f"May I keep Spätzle no. {n}?"
        lines.append({"user_input": question, "response": f"{says}yes, {n} days", "system": "rag"})
        lines.append(
            {
                "user_input": question,
                "response": f"yes, {n + 1} days" if n else "",
                "system": "base",
            }
        )
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def executed_until(name, notebook, **parameters):
    """Execute the code of a notebook in this process, with other parameters, until a name
    is there."""
    values = {"display": lambda *_: None}
    for cell in nbformat.read(NOTEBOOKS / notebook, 4).cells:
        if cell.cell_type == "code" and name not in values:
            exec(cell.source, values)
            values |= parameters if "parameters" in cell.metadata.get("tags", []) else {}
    return values


def test_a_rehearsed_chapter_tells_nothing_of_the_forms_that_are_handed_out(tmp_path, monkeypatch):
    """Its rows and its page of items, which are published, hold sides and places: not those of the
    real study."""
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    log = write_log(tmp_path / "log.jsonl")
    before = os.umask(0)
    options = {"cell": "mine", "log": str(log), "panels": 1, "n_resamples": 100}
    values = executed_until("the end", "19_blind_study.ipynb", run="t", **options)
    os.umask(before)
    studies = tmp_path / "results/t/studies"
    rights = {
        path.name: path.stat().st_mode & 0o777
        for path in (studies, *studies.glob("mine/sealed/**/*"))
    }
    assert rights == {"studies": 0o700, "key.json": 0o600, "report.json": 0o600}
    sealed = [
        (rater, row["item"], row["left"], place)
        for rater, form in read_key(studies / "mine")["forms"].items()
        for place, row in enumerate(form["rows"], start=1)
    ]
    shown = values["votes"].frame[["rater", "item_id", "left", "place"]]
    told = set(shown.itertuples(index=False, name=None))
    assert {row[:2] for row in told} == {row[:2] for row in sealed}
    assert len(told & {*sealed}) < len(sealed) / 2  # by chance one in 24


def test_documented_forms(casebook, tmp_path):
    code, out, _ = casebook("analyse", *write_forms(tmp_path), "--original")
    assert code == 0 and out == EXAMPLE.read_text()
    code, out, _ = casebook("analyse", tmp_path, "--original", "--json")
    pooled = json.loads(out)["Pairwise preference (aggregate, per-row mapping)"]
    assert pooled["p_value_sign_test"] == 0.00020218969307107758
    code, out, err = casebook("audit", tmp_path, "--word=rag", "--permutations=20")
    assert code == 2 and "leaks besides the texts" in err and "extra_column" in out


def test_a_likert_study_is_analysed(casebook, tmp_path):
    known = {"case_id": [f"c{n}" for n in range(6)], "chunk_id": [f"k{n}" for n in range(6)]}
    table = pd.DataFrame(known | {"explanation_text": "because", "source_chunk_text": "text"})
    table.to_csv(tmp_path / "e.csv", index=False)
    raters = ["--rater=ann:expert", "--rater=bob:expert", "--format=csv"]
    casebook("forms", tmp_path / "study", "--explanations", tmp_path / "e.csv", *raters)
    for path in (tmp_path / "study/for_raters").glob("*.csv"):
        form = pd.read_csv(path)
        form[[name for name in form if name.endswith("1_to_5")]] = 4
        form.to_csv(path, index=False)
    forms = tmp_path / "study/for_raters"
    code, out, err = casebook("analyse", forms, "--key", tmp_path / "study", "--json")
    assert code == 0, err
    assert [row["ratings"] for row in json.loads(out)["tables"]["ratings"]] == [12, 12, 12]
    assert "Likert forms need their sealed key: --key FILE" in casebook("analyse", forms)[2]


WRONG = [
    ("forms x", "Missing option '--rater'"),
    ("analyse nothing --out=.", "exists: name a new folder"),
    ("forms x --rater=r1", "not of the form LABEL:KIND"),
    ("forms x --rater=r1:lay", "give the answers"),
    ("forms x --log=one.jsonl {raters}", "a comparison needs at least two systems"),
    ("forms x --log=log.jsonl --system=gpt {raters}", "of 'gpt'; its systems are rag, base"),
    ("forms x --log=log.jsonl --stratify=topic {raters}", "has no column 'topic'"),
    ("forms x --log=none.jsonl {raters}", "cannot be read"),
    ("forms x --log=log.jsonl --rater=r1:judge", "raters.r1: Input should be 'lay' or 'expert'"),
    ("analyse back", "give the sealed key"),
    ("analyse back/pilot_r1.xlsx --key pilot", "2 of 3 forms are not in (r2, r3)"),
    ("analyse absent.xlsx", "cannot be read"),
    ("simulate absent x", "cannot be read"),
    ("analyse back --key pilot --side-col=nope", "--side-col has no effect"),
    ("analyse back --key pilot --last-column", "--last-column has no effect"),
    ("audit back --key pilot --side-col=nope", "--side-col has no effect"),
    ("simulate pilot back", "exists"),
]


def test_wrong_use_is_one_clear_line(refused, study, monkeypatch):
    monkeypatch.chdir(study)
    Path("one.jsonl").write_text(write_log(Path("log.jsonl")).read_text().splitlines()[0])
    before = {path: path.read_bytes() for path in Path("back").iterdir()}
    rows = [(words.format(raters=" ".join(RATERS)), message) for words, message in WRONG]
    assert failing(refused, rows) == []
    assert not Path("x").exists()
    assert {path: path.read_bytes() for path in Path("back").iterdir()} == before
