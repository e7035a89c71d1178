"""Exit codes of the gate on logs, the workflow of the methods page, and the chapter on one's own
log."""

import json

import nbformat

from casebook.paths import DATA, NOTEBOOKS

LOG = DATA / "assistant" / "answers.jsonl"


def changed(path, change):
    rows = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(json.dumps(row | change(row)) for row in rows), encoding="utf-8")
    return path


def test_exit_codes_of_the_gate(casebook, tmp_path):
    assert casebook("gate", "log", LOG, "--against", LOG)[0] == 0
    worse = changed(tmp_path / "worse.jsonl", lambda row: {"answer": "It depends."})
    code, out, err = casebook("gate", "log", worse, "--against", LOG, "--json")
    assert code == 2
    assert json.loads(out)["verdict"] == "fail"
    assert err.strip() == "casebook: gate: fail"
    other = changed(tmp_path / "other.jsonl", lambda row: {"question": row["question"] + "!"})
    assert casebook("gate", "log", other, "--against", LOG)[0] == 5
    unsure = changed(
        tmp_path / "unsure.jsonl",
        lambda row: {"answer": row["reference"] if row["id"] < "sq06" else row["answer"]},
    )
    assert casebook("gate", "log", LOG, "--against", unsure, "-m", "token F1")[0] == 4
    renamed = changed(tmp_path / "renamed.jsonl", lambda row: {"reply": row["answer"]})
    as_reply = ("gate", "log", renamed, "--against", renamed, "--columns", "answer=reply")
    assert casebook(*as_reply)[0] == 0
    assert casebook(*as_reply[:-1], "answer=replies")[0] == 1


MEASURED = {
    "question": "Who pays?",
    "answer": "The tenant pays.",
    "contexts": ["The tenant pays the rent."],
    "id": "q0",
}
OTHERS = ("boiler", "garden", "deposit", "bicycle", "cellar", "notice", "window")


def own_log(path, **fields):
    rows = [
        MEASURED
        | {
            "id": f"q{number}",
            "question": f"Who looks after the {thing}?",
            "answer": f"The {thing} is ours.",
        }
        | {"contexts": [f"The {thing} is ours, and the landlord looks after it."]}
        for number, thing in enumerate(OTHERS)
    ]
    path.write_text("".join(json.dumps(row | fields) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_level_of_agreement_gives_the_verdict_that_nothing_else_gives(tmp_path, monkeypatch):
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    path = own_log(tmp_path / "a.jsonl", reference="The landlord looks after it, by the agreement.")
    assert not [each for each in answers_to(path) if "wanted" in each["question"]]
    (each,) = [
        each for each in answers_to(path, agreement_level=0.8) if "wanted" in each["question"]
    ]
    assert (each["decision"], each["null"]) == ("worse", 0.8)


def test_templates_have_no_headline(tmp_path, monkeypatch):
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    assert answers_to(None, dataset="smoke") == []


def test_two_logs_are_given_as_a_list_and_the_answers_name_them(tmp_path, monkeypatch):
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    own_log(tmp_path / "a.jsonl")
    own_log(tmp_path / "b.jsonl", answer="Nobody knows the pudding.", faithfulness=0.5)
    first = answers_to(["a.jsonl", "b.jsonl"])
    assert first[0]["question"] == "Does a have a higher share of grounded sentences than b?"
    assert (first[0]["dataset"], first[0]["system"]) == ("log a.jsonl, b.jsonl", "a")
    assert (first[0]["value"], first[0]["n"]) == (1, 7)
    assert first[1]["against"] == "contexts of other questions"


def answers_to(log, **parameters):
    """Answers of the chapter on a log."""
    chapter = cells_of("10_assistant.ipynb", run="t", log=log, n_resamples=200, **parameters)
    outputs = chapter["chapter"].outputs
    path = outputs.folder / "headlines" / f"{outputs.cell}.json"
    return json.loads(path.read_text()) if path.is_file() else []


def cells_of(notebook, **parameters):
    """Execute the code of a notebook in this process, with other parameters."""
    values = {"display": lambda *_: None}
    for cell in nbformat.read(NOTEBOOKS / notebook, 4).cells:
        if cell.cell_type == "code":
            exec(cell.source, values)
            values |= parameters if "parameters" in cell.metadata.get("tags", []) else {}
    return values
