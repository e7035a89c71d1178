"""Data, models and modules of one's own, from any folder: found, refused, named, told apart."""

import os
import subprocess
import sys

import nbformat
import pytest

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
    assert out.startswith("stale") and "data, files changed" in out
    (executed,) = (project / "results" / "mine" / "notebooks").glob("*.ipynb")
    assert str(project) not in executed.read_text()
    # Jupyter and nbval work beside the executed notebook: there it finds the file again.
    cells = nbformat.read(executed, 4).cells
    (injected,) = (cell.source for cell in cells if "# Parameters" in cell.source)
    values = {}
    exec(injected, values)
    assert (executed.parent / values["notes"]).resolve() == place / "notes.txt"


@pytest.mark.parametrize("variable", ["CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT"])
def test_the_root_moves_outputs(tmp_path, variable):
    environment = os.environ | {"CASEBOOK_ROOT": "", variable: "elsewhere"}
    words = [sys.executable, "-m", "casebook", "runs", "list"]
    told = {"env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run(words, check=False, **told)
    assert str(tmp_path / "elsewhere" / "results") in done.stdout + done.stderr
