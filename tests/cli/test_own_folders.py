"""Data, models and modules of one's own, from any folder: found, refused, named, told apart."""

import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from casebook.batch.grid import Cell, load_grid, select
from casebook.batch.parameters import portable_parameters, resolved
from casebook.batch.plan import inputs_of
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.paths import DATA, NOTEBOOKS
from casebook.shift.study import run_shift_study


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Give a folder with two data sets of one name, and let outputs go beside them."""
    for place in ("a", "b"):
        shutil.copytree(DATA / "smoke", tmp_path / place / "contracts")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path / "out"))
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "out" / "results")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def elsewhere(where, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "casebook", *arguments],
        cwd=where,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


OWN = """
import json
from pathlib import Path

import pandas as pd
from casebook.data.splits import RetrievalDataset

WORDS = Path("words.txt").read_text().split()  # opened when the module is imported


def questions():
    documents = pd.read_csv("documents.csv", dtype=str)  # opened in a call
    queries = pd.DataFrame({"query_id": ["q"], "text": [WORDS[0]]})
    return RetrievalDataset("own", "test", documents, queries, {"q": {"d1": 1}})


class Search:
    def __init__(self, documents):
        self.ids = json.loads(Path("order.json").read_text())  # opened by a constructor

    def __call__(self, queries, k):
        assert Path("words.txt").is_file()
        return [self.ids[:k]] * len(queries), [[2.0, 1.0][:k]] * len(queries)
"""
PARAMETERS = """
from pathlib import Path

run = cell = dataset = retriever = ""
notes: Path = None
"""
WORK = """
from casebook.data import load
from casebook.retrieval.ablation import load_retriever

data = load(dataset)
search = load_retriever(retriever, data.documents)
text = Path(notes).read_text()
_ = Path("found.txt").write_text(f"{text} {search(['rent'], 2)}")
"""


@pytest.mark.slow
def test_modules_and_files_of_ones_own_are_found_where_the_caller_works(
    notebook_project, casebook, monkeypatch
):
    """G29: a retriever, a data set or a constructor that opened a relative path failed."""
    project = notebook_project(PARAMETERS, WORK)
    for name in ("ROOT", "OUTPUT"):
        monkeypatch.setattr(f"casebook.paths.{name}", project)
    place = project / "elsewhere"
    place.mkdir()
    (place / "own_search.py").write_text(OWN)
    (place / "words.txt").write_text("tenant landlord")
    (place / "notes.txt").write_text("a note")
    (place / "order.json").write_text('["d2", "d1"]')
    (place / "documents.csv").write_text("doc_id,title,text\nd1,,rent\nd2,,tenant\n")
    monkeypatch.chdir(place)
    words = ["run", "../notebooks/01_made.ipynb", "--run", "mine"]
    words += ["-p", "dataset=own_search:questions", "-p", "retriever=own_search:Search"]
    words += ["-p", "notes=notes.txt"]
    code, _, err = casebook(*words)
    assert code == 0, err
    assert (place / "found.txt").read_text() == "a note ([['d2', 'd1']], [[2.0, 1.0]])"
    assert casebook(*words)[2].startswith("cached")
    (place / "own_search.py").write_text(f"{OWN}\n")
    out = casebook(*words, "--dry-run")[1]
    assert out.startswith("stale") and "files, data changed" in out
    (executed,) = (project / "results" / "mine" / "notebooks").glob("*.ipynb")
    assert str(project) not in executed.read_text()
    # Jupyter and nbval work beside the executed notebook: there it finds the file again.
    cells = nbformat.read(executed, 4).cells
    (injected,) = (cell.source for cell in cells if "# Parameters" in cell.source)
    values = {}
    exec(injected, values)
    assert (executed.parent / values["notes"]).resolve() == place / "notes.txt"


def test_records_name_the_project_and_no_folder_of_the_author(folders, monkeypatch):
    monkeypatch.setattr("casebook.paths.ROOT", folders / "a")
    source = NOTEBOOKS / "01_retrieval_ablation.ipynb"
    (folders / "a" / "my.run").write_text("")
    monkeypatch.chdir(folders / "a" / "contracts")
    given = {
        "dataset": "../contracts",
        "runs": ["../my.run"],
        "encoder": "minilm",
        "corpus": "smoke",
        "reranker": "cross-encoder:../../empty",
    }
    assert portable_parameters(given, source) == {
        "dataset": "./contracts",
        "runs": ["./my.run"],
        "encoder": "minilm",
        "corpus": "smoke",
        "reranker": "cross-encoder:./empty",
    }
    assert resolved(given, source)["runs"] == [str(folders / "a" / "my.run")]
    assert given["runs"] == ["../my.run"]  # which the notebook gets


def test_two_folders_of_one_name_need_another_name(casebook, folders):
    words = ("run", "query_length", "--run", "mine", "--dry-run", "-p")
    assert casebook(*words, "dataset=./a/contracts")[0] == 0
    places = folders / "out" / "results" / "mine" / ".paths.json"
    places.parent.mkdir(parents=True)
    places.write_text(json.dumps({"contracts": str(folders / "a" / "contracts")}))
    for given in ("./a/contracts", "b/../a/contracts", "other=./b/contracts"):
        code, _, err = casebook(*words, f"dataset={given}")
        assert code == 0, err
    shutil.copytree(DATA / "smoke", folders / "smoke")
    for given, name in (("./b/contracts", "contracts"), ("./smoke", "smoke")):
        code, out, err = casebook(*words, f"dataset={given}")
        assert (code, out) == (1, "") and err.count("\n") == 1
        assert f"this run has other data of the name {name}: call it NAME=" in err


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("dataset=./none", "dataset './none': no such folder"),
        ("dataset=a", "dataset 'a': no card and no folder"),
        ("dataset=smok", "did you mean 'smoke'?"),
        ("dataset=./…", "or call it: NAME=…"),
        ("dataset=a b=./a/contracts", "no such folder"),
    ],
)
def test_data_that_are_not_there_are_refused_before_a_kernel_starts(
    casebook, folders, parameter, message
):
    code, out, err = casebook("run", "query_length", "--run", "mine", "-p", parameter)
    assert (code, out) == (1, "") and message in err and err.count("\n") == 1, err


def test_a_folder_of_data_is_written_with_a_separator(folders):
    (folders / "mine").mkdir()
    with pytest.raises(InputError, match=r"'mine' is a folder here: write \./mine"):
        load("mine")
    with pytest.raises(InputError, match="unknown dataset 'smoek': did you mean 'smoke'"):
        load("smoek")


def test_three_groups_of_questions_are_enough_to_learn_choose_and_hold_out(folders):
    for name, groups in (("alike", 1), ("pairs", 2)):
        make_linked(folders / name, groups)
        with pytest.raises(InputError, match=rf"its questions are linked to {groups} groups?:"):
            run_shift_study(load(f"./{name}"))


def make_linked(folder, groups):
    """Make a data set of six questions whose answers link them to some groups."""
    (folder / "qrels").mkdir(parents=True)
    lines = [
        json.dumps({"_id": f"{number}", "text": f"item {number}"}) + "\n" for number in range(6)
    ]
    for file in ("corpus.jsonl", "queries.jsonl"):
        (folder / file).write_text("".join(lines))
    judged = [f"{number}\t{number % groups}\t1\n" for number in range(6)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))


@pytest.fixture
def own_chapter(tmp_path):
    """Give a notebook with annotated parameters."""
    source = 'run = cell = ""\ncases: Path = None\nanswers: Path | str = "gold"\ndataset: str = "planted"\n'
    chapter = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": [source]}
    path = tmp_path / "own.ipynb"
    path.write_text(json.dumps({"cells": [chapter]}))
    return path


def test_another_content_of_a_file_is_another_input(own_chapter, tmp_path):
    mine = tmp_path / "cases.jsonl"
    mine.write_text("{}")
    cell = Cell("mine", str(own_chapter), {"cases": str(mine)})
    before = inputs_of(cell, {})
    assert inputs_of(cell, {}) == before
    mine.write_text("{ }")
    assert inputs_of(cell, {}) != before


def test_a_parameter_for_a_whole_tag_reaches_the_experiments_that_have_it():
    grid = load_grid()
    before = {cell.name: cell.parameters for cell in select(grid, tag="smoke")}
    after = {
        cell.name: cell.parameters
        for cell in select(grid, tag="smoke", overrides={"encoder": "some/model"})
    }
    changed = {name for name in before if after[name] != before[name]}
    assert "embedding_shift-smoke" in changed and "audits-smoke" not in changed
    for name in changed:
        assert after[name] == before[name] | {"encoder": "some/model"}
    with pytest.raises(InputError, match="no experiment has a parameter colour"):
        select(grid, tag="smoke", overrides={"colour": "red"})


@pytest.mark.parametrize("variable", ["CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT"])
def test_the_root_moves_outputs_and_nothing_else(folders, variable):
    moved = {"CASEBOOK_ROOT": "", variable: "elsewhere"}
    done = elsewhere(folders, "data", "list", **moved)
    assert done.returncode == 0 and "smoke" in done.stdout, done.stderr
    done = elsewhere(folders, "run", "query_length-smoke", "--dry-run", **moved)
    assert done.returncode == 0, done.stderr
    done = elsewhere(folders, "runs", "list", **moved)
    assert str(folders / "elsewhere" / "results") in done.stdout + done.stderr
