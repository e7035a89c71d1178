"""Applications of one's own: what they are asked, what they may reply, and what becomes of
everything else."""

import json
import math
import sys

import pytest
from cases import not_refused

from casebook.assistant.answer import ask_application, reply_columns
from casebook.assistant.log import read_log
from casebook.errors import BatchFailed, InputError

QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
OBJECTS = """
import os
import sys

def fields(question):
    return {"contexts": ["Whisk the whites."], "answer": "Whites."}

def counted(question):
    return {"answer": "Whites.", "prompt_tokens": 100, "completion_tokens": 10, "thinking": "No."}

def unsteady(question):
    if "bakes" in question and os.environ.get("OVEN") == "cold":
        raise ValueError("the oven is cold")
    return "Whites."

class Application:
    def __init__(self):
        self.asked = 0

    def __call__(self, question):
        self.asked += 1
        return {"answer": str(self.asked), "cost": 0.25}

def fails(question):
    raise ConnectionError(f"no index for {question}\\x1b[31m sk-app-secret-1")

def leaves(question):
    sys.exit("bye")

def number(question):
    return 7

number_of_pi = 3.14
"""


@pytest.fixture
def kitchen(tmp_path, monkeypatch):
    """A list of questions, and a module of applications that can be imported."""
    (tmp_path / "questions.txt").write_text("\n".join(QUESTIONS), encoding="utf-8")
    (tmp_path / "kitchen_app.py").write_text(OBJECTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("kitchen_app", None)


def ask(app, out="answers.jsonl", **settings):
    return ask_application("questions.txt", out, f"kitchen_app:{app}", report=str, **settings)


BAD = [
    ({"reply": "x"}, "mine: field answer: Field required"),
    (7, "mine: Input should be a valid dictionary"),
    ({"answer": None, "error": "no index"}, "mine: no index"),
    ({"answer": ["x"]}, "field answer: Input should be a valid string"),
    ({"answer": "x", "contexts": [[1]]}, "contexts"),
    ({"answer": "\ud800"}, "mine: "),
    ({"answer": "x", "cost": -1}, "mine: field cost: .*greater than or equal to 0"),
    ({"answer": "x", "cost": math.inf}, "mine: field cost: .*finite"),
]


def test_a_reply_that_is_no_answer_has_a_reason():
    assert not_refused(lambda reply: reply_columns("mine", reply), BAD) == []


def test_the_log_is_read_by_chapter_and_gate_and_has_a_price(kitchen):
    log = ask("counted", prices=(1.0, 2.0), system="mine")
    assert log["cost"][0] == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert json.loads((kitchen / "answers.jsonl").read_text().splitlines()[0])["thinking"] == "No."
    log = ask("fields", "b.jsonl")
    assert log["contexts"][0] == ["Whisk the whites."]
    assert len(read_log(["answers.jsonl", "b.jsonl"])) == 6
    counted = ask("Application", "c.jsonl")
    assert counted["answer"].tolist() == ["1", "2", "3"] and counted["cost"].sum() == 0.75


def test_what_an_object_of_python_does_wrong_is_a_reason(kitchen, monkeypatch):
    monkeypatch.setenv("KITCHEN_API_KEY", "sk-app-secret-1")
    missing = "3 of 3 answers are missing: kitchen_app"
    for name, reason in [
        ("fails", r"fails: raised ConnectionError: no index for .* \[31m \*\*\*"),
        ("leaves", "leaves: raised SystemExit: bye"),
        ("number", "number: Input should be a valid dictionary"),
    ]:
        with pytest.raises(BatchFailed, match=f"{missing}:{reason}"):
            ask(name, f"{name}.jsonl")
    with pytest.raises(InputError, match="has no attribute 'nothing'"):
        ask("nothing")
    with pytest.raises(InputError, match="expected a callable question"):
        ask("number_of_pi")


def test_the_command_asks_an_application(kitchen, casebook):
    words = ["answer", "questions.txt", "--out", "a.jsonl"]
    app = [*words, "--app", "kitchen_app:Application", "--system", "mine", "--json"]
    code, out, _ = casebook(*app, "--workers", "3")
    (system,) = json.loads(out)["systems"]
    assert (code, system["system"], system["answers"], system["cost"]) == (0, "mine", 3, 0.75)
    for refused, message in [
        (words, "name what is asked: a --model, or your own --app"),
        ([*words, "--app", "kitchen_app:fields", "--k=2"], "--k has no effect with --app"),
        ([*words, "--model", "m", "--system=a"], "--system has no effect with --model"),
    ]:
        code, _, err = casebook(*refused)
        assert code == 1 and err.count("\n") == 1 and message in err
