"""Objects of one's own: the page on extending works as it stands; objects of the wrong type are
refused."""

import json
import re
import shlex
import shutil
import sys

import numpy as np
import pytest
from cases import not_refused

from casebook import evaluate, load, load_encoder, run_ablation
from casebook.batch.grid import Cell
from casebook.batch.plan import inputs_of
from casebook.measures.ranking_measures import parse_measure
from casebook.paths import NOTEBOOKS, ROOT
from casebook.retrieval.ablation import load_retriever
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.rerank import load_reranker

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
MODULES = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder with the page's modules, and work there."""
    for name, text in MODULES:
        (tmp_path / name).write_text(text)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n")
    (tmp_path / "run.txt").write_text("q1 Q0 b 1 3 x\nq1 Q0 a 2 2 x\nq2 Q0 c 1 1 x\n")
    shutil.copy(NOTEBOOKS / "09_query_length.ipynb", tmp_path / "my_experiment.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path / "out"))
    before, path = set(sys.modules), list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("casebook run")])
def test_every_run_of_the_page_is_accepted(casebook, folder, command):
    code, out, err = casebook(*shlex.split(command)[1:], "--dry-run")
    assert (code, err) == (0, "") and out.startswith("run ")


def test_a_measure_of_ones_own_is_evaluated(casebook, folder):
    (command,) = (c for c in COMMANDS if c.startswith("casebook evaluate"))
    code, out, _ = casebook(*shlex.split(command)[1:], "--json")
    assert code == 0
    assert json.loads(out)["measures"]["my_measure:first_three"]["mean"] == 0.5
    qrels = {"q": {"a": 1, "b": 2, "c": 0}}
    run = {"q": {"x": 9, "c": 8, "y": 7, "b": 6}}
    body = "assert (grades, sorted(judged)) == ([None, 0, None, 2], [0, 1, 2])\n    return 4\n"
    (folder / "my_grades.py").write_text(f"def shown(grades, judged):\n    {body}")
    assert evaluate(qrels, run, ["my_grades:shown", "RR"]).mean == {
        "my_grades:shown": 4,
        "RR": 0.25,
    }


def test_a_retriever_an_encoder_and_a_reranker_take_part(folder):
    smoke = load("smoke")
    encoder = load_encoder("my_encoder:encode")
    systems = {
        "mine": load_retriever("my_search:Search", smoke.documents),
        "encoder": HybridRetriever(smoke.documents, "my_encoder:encode", mode="dense"),
        "reranker": HybridRetriever(
            smoke.documents, reranker="my_rerank:overlap", first_stage_weight=0.0
        ),
    }
    study = run_ablation(smoke, systems, ["RR@10", "my_measure:first_three"])
    texts = dict(zip(smoke.documents["doc_id"], smoke.documents["text"], strict=True))
    # The same by hand, for the first question.
    query = smoke.queries["text"].iloc[0]
    asked = set(query.lower().split())
    overlap = max(texts, key=lambda name: (len(asked & set(texts[name].lower().split())), name))
    assert next(iter(study.results["mine"].rows[0])) == overlap
    vectors = encoder.encode_documents(list(texts.values()))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    nearest = list(texts)[int(np.argmax(vectors @ encoder.encode_queries([query])[0]))]
    assert study.results["encoder"].hits(0)[0].doc_id == nearest
    from my_rerank import overlap as score

    top = study.results["reranker"].hits(0)
    read = [score(query, [hit.text])[0] for hit in top]
    assert read == sorted(read, reverse=True) and read[0] > read[-1]


WRONG = [
    (load_retriever, "my_wrong:number", r"expected a callable \(queries, k\) -> .*, found int"),
    (load_retriever, "my_wrong:none", "no attribute 'none'"),
    (load_reranker, "my_wrong:Empty", r"a callable \(query, texts\) -> scores, found Empty"),
    (load_encoder, "my_wrong:number", "expected a callable texts -> vectors"),
    (parse_measure, "my_wrong:number", r"expected a callable \(grades, judged\) -> number"),
    (load, "my_wrong:text", "expected a RetrievalDataset, found str"),
    (load, "my_wrong:fails", "raised ZeroDivisionError: division by zero"),
]


def test_an_object_of_the_wrong_type_is_one_line(folder):
    text = "number = 3\nclass Empty: pass\ndef text(): return 'a'\ndef fails(): return 1 / 0\n"
    (folder / "my_wrong.py").write_text(text)
    assert not_refused(lambda read, name: read(name), WRONG) == []


def test_another_source_and_another_model_are_another_input(folder):
    (folder / "model").mkdir()
    weights = folder / "model" / "weights"
    weights.write_text("1")
    used = {"retriever": "my_search:Search", "pipeline": {"reranker": "cross-encoder:./model"}}
    cell = Cell("mine", "01_retrieval_ablation.ipynb", {"dataset": "smoke"} | used)
    before = inputs_of(cell, {})
    assert inputs_of(cell, {}) == before
    for path in (weights, folder / "my_search.py"):
        path.write_text(path.read_text() + "\n")
        assert inputs_of(cell, {}) != before
        before = inputs_of(cell, {})
