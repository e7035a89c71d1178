"""Data and models of one's own, from any folder: found, refused, named, told apart."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from casebook.batch.grid import Cell, load_grid, select
from casebook.batch.parameters import check_names, path_parameters, with_absolute_paths
from casebook.batch.plan import inputs_of
from casebook.batch.run_folder import stored_record
from casebook.book.chapters import command
from casebook.book.results import read_chapters
from casebook.errors import InputError
from casebook.paths import DATA, NOTEBOOKS, data_folder


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Give a folder with two data sets of one name, and let outputs go beside them."""
    for place in ("a", "b"):
        shutil.copytree(DATA / "smoke", tmp_path / place / "contracts")
    questions = tmp_path / "b" / "contracts" / "queries.jsonl"
    questions.write_text(questions.read_text().replace(" the ", " this "))
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path / "out"))
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


RUN = ("run", "query_length", "--run", "mine", "-p", "n_resamples=1000")


@pytest.mark.slow
def test_two_folders_of_one_name_are_found_named_and_told_apart(
    casebook, quick_kernels, folders, monkeypatch
):
    results = folders / "out" / "results"
    monkeypatch.setattr("casebook.paths.RESULTS", results)

    def in_folder(name, *words):
        monkeypatch.chdir(folders / name)
        return casebook(*words)

    for where, name in (("a", "./contracts"), ("b", "contracts")):
        code, _, err = in_folder(where, *RUN, "-p", f"dataset={name}")
        assert code == 0, err
    # The same folder by another path is the same data set, and unchanged.
    assert in_folder(".", *RUN, "-p", "dataset=b/../b/contracts")[2].startswith("cached")
    merged = json.loads((results / "mine" / "numbers.json").read_text())
    numbers = merged["query_length"]
    assert set(numbers) == {"contracts", "contracts-2"}
    assert numbers["contracts"] != numbers["contracts-2"]
    cells = [path.stem for path in (results / "mine/notebooks").glob("[!.]*.ipynb")]
    named = {chapter.cell: chapter.title for chapter in read_chapters("mine", sorted(cells))}
    assert set(named.values()) == {"Query length: contracts", "Query length: contracts-2"}
    for path in (results / "mine").rglob("*"):  # which are published
        if path.is_file() and not path.name.startswith("."):
            assert str(folders).encode() not in path.read_bytes(), path
    (second,) = (cell for cell in cells if "contracts-2" in named[cell])
    # Pasted elsewhere, the reproduce line runs the same cell on the same data.
    line = shlex.split(command(stored_record("mine", second), "mine"))
    err = in_folder("empty", *line[1:])[2]
    assert err.startswith(f"running {second} (forced)"), err


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("dataset=./none", "dataset './none': no such folder"),
        ("dataset=./empty", "is no BEIR folder: it has no corpus.jsonl"),
        ("dataset=nowhere", "dataset 'nowhere': no card and no folder"),
        ("dataset=./…", "or call it: NAME=…"),
        ("dataset=a b=./a/contracts", "no such folder"),
        ("encoder=./none", "does not exist"),
        ("encoder=./empty", "is no model folder"),
        ("encoder=nobody/none", "CASEBOOK_ALLOW_DOWNLOAD=1 and HF_HUB_OFFLINE=0"),
        ("reranker=cross-encoder:./none", "does not exist"),
        ("split=none", "none.tsv: no such file; splits here: test"),
        ("n_resamples=99", "at least 100"),
        ("seed=-1", "seed: give a whole number of at least 0"),
        ("k=1.5", "k: give a whole number of at least 1"),
        ("dataset=[a]", "a'] is no name"),
        ("encoder=3", "encoder: 3 is no name"),
        ("reranker=true", "reranker: True is no name"),
        ("retriever=bm25", "retriever: 'bm25' is no module:object"),
        ("retriever=leaving:search", "importing it raised SystemExit: 7"),
        ("measures=[nonsense]", "unknown measure 'nonsense'"),
        ("modes=bm25", "modes: give a list: modes=[bm25]"),
        ("modes=[]", "modes: give a list such as"),
        ("modes=[none]", "unknown mode 'none'"),
        ("dataset=null", "dataset: None is no name"),
        ("encoder=null", "encoder: None is no name"),
    ],
)
def test_what_is_not_there_is_refused_before_a_kernel_starts(
    casebook, folders, monkeypatch, parameter, message
):
    monkeypatch.chdir(folders)
    (folders / "leaving.py").write_text("raise SystemExit(7)")
    data = [] if parameter.startswith("dataset") else ["-p", "dataset=a/contracts"]
    arguments = ["retrieval_ablation", "--run", "mine", *data, "-p", parameter]
    code, out, err = casebook("run", *arguments)
    assert (code, out) == (1, "")
    assert message in err and err.count("\n") == 1 and err.startswith("casebook: ")
    assert not list(folders.glob("out/results/mine/notebooks/*"))


@pytest.mark.parametrize(
    ("experiment", "parameters", "message"),
    [
        ("embedding_shift", ["dataset=smoke", "split=zz"], "smoke has no split 'zz'"),
        (
            "embedding_shift",
            ["dataset=smoke", "folds=1"],
            "folds: give a whole number of at least 2",
        ),
        ("retrieval_ablation", ["dataset=pdpabench_votes"], "holds votes data, not retrieval data"),
        ("assistant", ["log=[]"], "log: [] is no name"),
        ("rater_agreement", ["log=[]"], "log: [] is no name"),
        ("query_length", ["dataset=./alike"], "no question is longer than the others"),
        ("embedding_shift", ["dataset=./alike"], "its questions are linked to 1 group:"),
        ("embedding_shift", ["dataset=./pairs"], "its questions are linked to 2 groups:"),
    ],
)
def test_hopeless_questions_are_refused(
    casebook, folders, monkeypatch, experiment, parameters, message
):
    monkeypatch.chdir(folders)
    make_linked(folders / "alike", 1)
    make_linked(folders / "pairs", 2)
    code, out, err = casebook(
        "run", experiment, "--run", "mine", *(f"-p{each}" for each in parameters)
    )
    assert (code, out) == (1, "") and message in err and err.count("\n") == 1


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


def test_three_groups_of_questions_are_enough_to_learn_choose_and_hold_out(
    casebook, folders, monkeypatch
):
    monkeypatch.chdir(folders)
    make_linked(folders / "triples", 3)
    assert (
        casebook("run", "embedding_shift", "--dry-run", "--run", "mine", "-p", "dataset=./triples")[
            0
        ]
        == 0
    )


def test_reported_tables_are_read_before_a_kernel_starts(casebook, folders, monkeypatch):
    monkeypatch.chdir(folders)
    (folders / "scores.csv").write_text("row,acc\nfull,0.9\n")
    for name, message in (
        ("scores.csv", "none of the columns accuracy"),
        ("none.csv", "no such file"),
    ):
        code, _, err = casebook("run", "audits", "-p", f"reported={name}")
        assert code == 1 and message in err and err.count("\n") == 1


def test_forms_and_keys_count_from_the_callers_folder(casebook, folders, monkeypatch):
    monkeypatch.chdir(folders)
    paths = path_parameters(NOTEBOOKS / "06_rater_agreement.ipynb")
    found = with_absolute_paths({"forms": ["a/contracts"], "key": "b", "seed": 3}, {}, paths)
    assert found == {"forms": [str(folders / "a/contracts")], "key": str(folders / "b"), "seed": 3}
    code, _, err = casebook("run", "rater_agreement", "-p", "forms=[./none]")
    assert code == 1 and "forms './none': no such file or folder" in err


@pytest.fixture
def own_chapter(tmp_path):
    """Give a notebook with annotated parameters."""
    source = 'run = cell = ""\ncases: Path = None\nanswers: Path | str = "gold"\ndataset: str = "planted"\n'
    chapter = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": [source]}
    path = tmp_path / "own.ipynb"
    path.write_text(json.dumps({"cells": [chapter]}))
    return path


def test_a_parameter_annotated_as_a_path_counts_from_the_callers_folder(
    own_chapter, tmp_path, monkeypatch
):
    (tmp_path / "a folder").mkdir()
    mine = tmp_path / "a folder" / "fälle.jsonl"
    mine.write_text("{}")
    monkeypatch.chdir(tmp_path)
    paths = path_parameters(own_chapter)
    assert paths == {"cases": False, "answers": True}
    given = {"cases": "a folder/fälle.jsonl", "answers": "gold", "k": "b"}
    assert with_absolute_paths(given, {}, paths) == given | {"cases": str(mine)}
    for name, value in (("cases", "gold"), ("answers", "none.jsonl"), ("answers", "a folder/none")):
        with pytest.raises(InputError, match=f"{name} '{value}': no such file or folder"):
            with_absolute_paths({name: value}, {}, paths)
    with pytest.raises(
        InputError, match=r"takes no folder as dataset.*your own files: cases=, answers="
    ):
        check_names(own_chapter, {"dataset": str(tmp_path)})


def test_another_content_of_a_file_is_another_input(own_chapter, tmp_path):
    mine = tmp_path / "cases.jsonl"
    mine.write_text("{}")
    cell = Cell("mine", str(own_chapter), {"cases": str(mine)})
    before = inputs_of(cell, {})
    assert inputs_of(cell, {}) == before
    mine.write_text("{ }")
    assert inputs_of(cell, {}) != before


def test_a_folder_of_a_cards_name_is_not_the_card(folders, monkeypatch):
    shutil.copytree(DATA / "smoke", folders / "smoke")
    monkeypatch.chdir(folders)
    assert with_absolute_paths({"dataset": "smoke"}, {}) == {"dataset": "smoke"}
    (value,) = with_absolute_paths({"datasets": ["./smoke"]}, {})["datasets"]
    assert data_folder(value) == ("smoke-2", folders / "smoke")


def test_models_are_found_from_the_callers_folder(folders, monkeypatch):
    (folders / "model").mkdir()
    (folders / "model" / "config.json").write_text("{}")
    monkeypatch.chdir(folders)
    place = str(folders / "model")
    for given, expected in (
        ("./model", place),
        ("model", place),
        ("cross-encoder:./model", f"cross-encoder:{place}"),
        ("query=model,context=some/name", f"query={place},context=some/name"),
        ("minilm", "minilm"),
        ("BAAI/bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
    ):
        assert with_absolute_paths({"encoder": given}, {}) == {"encoder": expected}


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
