"""Parameters of notebooks: names, types and files are refused at the door, contents by readers."""

import re

import pytest
from cases import failing

from casebook import paths
from casebook.batch.grid import load_grid
from casebook.batch.parameters import (
    annotations,
    check,
    check_type,
    declarations,
    defaults,
    values_of,
)
from casebook.paths import NOTEBOOKS

SOURCES = sorted(NOTEBOOKS.glob("*.ipynb"))


def test_every_parameter_has_a_type_that_its_default_and_the_grid_have():
    for source in SOURCES:
        kinds = annotations(source)
        assert set(kinds) == declarations(source).keys() - {"run", "cell"}, source.name
        for name, value in defaults(source).items():
            if name in kinds:
                check_type(name, kinds[name], value)
    for cell in load_grid():
        check(cell.source, {"run": "r", "cell": "c", **cell.parameters})


WRONG = [
    ("retrieval_ablation", "seed=many", "seed should be a valid integer, not 'many'"),
    ("retrieval_ablation", "max_missing=2", "should be less than or equal to 1, not 2"),
    ("retrieval_ablation", "pipeline=all", "pipeline should be a valid dictionary, not 'all'"),
    ("retrieval_ablation", "pipeline.mmr=true", "has no parameter pipeline.mmr"),
    ("retrieval_ablation", "modes=bm25", "modes should be a valid list, not 'bm25'"),
    ("retrieval_ablation", "dataset=privacy_qx", "did you mean 'privacy_qa'?"),
    ("retrieval_ablation", "dataset=./nope", "dataset './nope': no such folder"),
    ("retrieval_ablation", "max_missin=1", "did you mean 'max_missing'?; known: base"),
    ("blind_study", "raters={ann: nobody}", "should be 'lay' or 'expert', not {'ann'"),
    ("counterfactual_sensitivity", "systems=[]", "at least 1 item"),
    ("retrieval_ablation", f"modes={'x' * 5000}", "modes should be a valid list, not 'xxx"),
]


def test_what_is_wrong_with_a_value_is_said(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def check(experiment, given, message):
        words = ["run", f"{experiment}-smoke", "--run", "x", "--dry-run", "-p", given]
        assert len(refused(words, message)) <= 2000

    assert failing(check, WRONG) == []


def test_names_and_files_need_no_quotes(casebook, tmp_path, monkeypatch):
    """A YAML reader would take a number, a truth value, and a name cut at its ``#``."""
    monkeypatch.chdir(tmp_path)
    names = ["a #1.jsonl", "007", "yes", "2026-01-02", "a: b", "[a]", "{a: 1}", "[b].jsonl", "'c'"]
    for name in names:
        (tmp_path / name).touch()
        words = ["run", "assistant", "--run", "x", "--dry-run", "-p"]
        assert casebook(*words, f"log={name}")[0] == 0, name
        assert casebook(*words, f"focus={name}")[0] == 0, name
    source = NOTEBOOKS / "10_assistant.ipynb"
    taken = [values_of({name: text}, [source])[name] for name in ("log", "focus") for text in names]
    assert taken == [*names, *names]
    texts = {"log": "[007, no]", "focus": "null", "columns": "{id: 7}", "foreign": "2", "new": "3"}
    assert values_of(texts, [source]) == {
        "log": ["007", "no"],
        "focus": None,
        "columns": {"id": "7"},
        "foreign": 2,
        "new": 3,
    }


@pytest.mark.slow
def test_what_a_reader_refuses_is_the_line_of_the_command(casebook, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path))  # for the kernel
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text('{"id": 1, "question": "q?"}\n')
    code, _, said = casebook("run", "assistant", "--run", "mine", "-p", "log=log.jsonl")
    line = r"casebook: assistant-\w{8}: 10_assistant.ipynb: cell 4: log.jsonl: has no answer .*"
    line += r" type -p 'columns=\{\"answer\": \"COLUMN\"\}'"
    assert code == 1
    assert re.fullmatch(line, said.splitlines()[-1]), said
    assert "Traceback" not in said
