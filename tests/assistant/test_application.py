"""Applications of one's own: what they are asked, what they may reply, and what becomes of
everything else."""

import json
import math
import sys

import pytest
from refusals import not_refused

from casebook.assistant.answer import ask_application
from casebook.assistant.application import reply_columns
from casebook.assistant.log import checked_log, read_log
from casebook.errors import BatchFailed, InputError

QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
OBJECTS = """
import asyncio
import os
import sys
import time

def text(question):
    return f"Answer to {question}"

def fields(question):
    return {"contexts": [{"id": "r1", "text": "Whisk the whites."}], "answer": "Whites.", "n": 1}

def counted(question):
    return {"answer": "Whites.", "prompt_tokens": 100, "completion_tokens": 10, "thinking": "No."}

def bare(question):
    return {"answer": "Four.", "sources": ["Whisk."]}

def unsteady(question):
    if "bakes" in question and os.environ.get("OVEN") == "cold":
        raise ValueError("the oven is cold")
    return "Whites."

async def coroutine(question):
    await asyncio.sleep(0.01)
    return {"answer": "Whites.", "contexts": ["Whisk the whites."], "cost": 0.25}

class Application:
    def __init__(self):
        self.asked = 0

    def __call__(self, question):
        self.asked += 1
        return {"answer": str(self.asked)}

def fails(question):
    raise ConnectionError(f"no index for {question}\\x1b[31m sk-app-secret-1")

def leaves(question):
    sys.exit("bye")

def sleeps(question):
    time.sleep(30)

def half(question):
    return {"answer": "\\ud800"}

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


def ask(kitchen, app, **settings):
    settings = {"report": lambda line: None} | settings
    return ask_application(kitchen / "questions.txt", kitchen / "answers.jsonl", app, **settings)


def rows(kitchen):
    text = (kitchen / "answers.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


QUESTION = {"id": "q1", "question": "What is whisked?"}
REPLIES = [
    ("Four.", {"answer": "Four."}),
    (
        {"answer": "Four.", "contexts": [{"id": "r1", "text": "Whisk."}]},
        {"answer": "Four.", "contexts": ["Whisk."], "context_ids": ["r1"]},
    ),
    ({"answer": ""}, {"answer": ""}),
    ({"answer": "Four.", "cost": 0.5}, {"answer": "Four.", "cost": 0.5}),
    (
        {"answer": "Four.", "prompt_tokens": 7, "thinking": "Or five?", "trace": 3},
        {"answer": "Four.", "prompt_tokens": 7, "thinking": "Or five?"},
    ),
]


def test_a_reply_is_a_text_or_has_fields_of_a_log():
    for reply, columns in REPLIES:
        assert reply_columns("mine", reply) == {"contexts": None} | columns


BAD = [
    ({"reply": "x"}, "the reply has no field 'answer', but reply"),
    ({}, "the reply has no field 'answer', but no fields"),
    (7, "replies with int, not with a text or fields"),
    (["Four."], "replies with list"),
    ({"answer": None, "error": "no index"}, "mine: no index"),
    ({"answer": ["x"]}, "field answer: Input should be a valid string"),
    ({"answer": "x", "contexts": [[1]]}, "contexts"),
    ({"answer": "x", "contexts": [{"score": 1}]}, "contexts"),
    ({"answer": "x", "contexts": [object()]}, "contexts"),
    (
        {"answer": "x", "contexts": ["a b", "c d"], "context_ids": ["1"]},
        "2 contexts and 1 context ids",
    ),
    ({"answer": "\ud800"}, "mine: "),
    ({"answer": "x", "cost": -1}, "mine: field cost: .*greater than or equal to 0"),
    ({"answer": "x", "cost": math.inf}, "mine: field cost: .*finite"),
    ({"answer": "x", "prompt_tokens": "a"}, "prompt_tokens"),
]


def test_a_reply_that_is_no_answer_has_a_reason():
    assert not_refused(lambda reply: reply_columns("mine", reply), BAD) == []


def test_the_log_is_read_by_chapter_and_gate_and_has_a_price(kitchen):
    log = ask(kitchen, "kitchen_app:counted", prices=(1.0, 2.0), system="mine")
    assert log["system"].unique().tolist() == ["mine"]
    assert log["cost"][0] == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert (log["seconds"] >= 0).all() and rows(kitchen)[0]["thinking"] == "No."
    ask_application(
        kitchen / "questions.txt", kitchen / "b.jsonl", "kitchen_app:fields", report=print
    )
    assert len(checked_log([kitchen / "answers.jsonl", kitchen / "b.jsonl"])) == 6


def test_the_same_command_asks_only_what_is_missing(kitchen, monkeypatch):
    monkeypatch.setenv("OVEN", "cold")
    with pytest.raises(BatchFailed, match=r"1 of 3 answers are missing: .*the oven is cold"):
        ask(kitchen, "kitchen_app:unsteady")
    assert read_log(kitchen / "answers.jsonl")["no_answer"].notna().tolist() == [False, True, False]
    before = [row for row in rows(kitchen) if "no_answer" not in row]
    monkeypatch.delenv("OVEN")
    log = ask(kitchen, "kitchen_app:unsteady")
    assert [row for row in rows(kitchen) if row["question"] != QUESTIONS[1]] == before
    assert log["question"].tolist() == QUESTIONS and log["no_answer"].isna().all()
    with pytest.raises(InputError, match="was made with another model"):
        ask(kitchen, "kitchen_app:unsteady", system="other")


@pytest.mark.parametrize(
    ("name", "answer", "contexts"),
    [
        ("text", f"Answer to {QUESTIONS[0]}", None),
        ("fields", "Whites.", ["Whisk the whites."]),
        ("coroutine", "Whites.", ["Whisk the whites."]),
        ("Application", "1", None),
    ],
)
def test_an_object_of_python_is_called_with_the_question(kitchen, name, answer, contexts):
    log = ask(kitchen, f"kitchen_app:{name}")
    assert (log["answer"][0], log["contexts"][0]) == (answer, contexts)
    assert log["system"].unique().tolist() == [f"kitchen_app:{name}"]
    assert log["cost"].notna().all() == (name == "coroutine")
    if name == "fields":
        assert log["context_ids"][0] == ["r1"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fails", r"kitchen_app:fails: raised ConnectionError: no index for .* \[31m \*\*\*"),
        ("leaves", "kitchen_app:leaves: raised SystemExit: bye"),
        ("sleeps", r"kitchen_app:sleeps: no answer within 0\.2 s"),
        ("half", "kitchen_app:half: "),
        ("number", "kitchen_app:number: replies with int"),
    ],
)
def test_what_an_object_of_python_does_wrong_is_a_reason(kitchen, monkeypatch, name, reason):
    monkeypatch.setenv("KITCHEN_API_KEY", "sk-app-secret-1")
    said = []
    with pytest.raises(BatchFailed, match=f"3 of 3 answers are missing: 3 × {reason}"):
        ask(kitchen, f"kitchen_app:{name}", timeout=0.2, report=said.append)
    assert len([line for line in said if line.startswith("no answer to ")]) == 1
    assert "sk-app-secret" not in str(said)


UNASKED = [
    ("kitchen_app:nothing", {}, "has no attribute 'nothing'"),
    ("kitchen_app:number_of_pi", {}, "expected a callable question -> text.*found float"),
    ("kitchen_app:text", {"timeout": math.inf}, "timeout inf: give seconds"),
    ("my_app", {}, "app 'my_app': give module:object, a callable question"),
    ("http://127.0.0.1:9/ask", {}, "app 'http://127.0.0.1:9/ask': give module:object"),
]


def test_what_cannot_be_asked_is_refused_at_once(kitchen):
    assert not_refused(lambda app, settings: ask(kitchen, app, **settings), UNASKED) == []
    assert [path.name for path in kitchen.glob("*answers*")] == []


def test_replies_without_contexts_are_told(kitchen):
    said = []
    ask(kitchen, "kitchen_app:bare", report=said.append)
    assert said[-1].endswith(
        "cannot be measured whether answers are grounded: name the texts 'contexts'"
    )


def test_the_command(kitchen, casebook):
    words = ["answer", "questions.txt", "--out", "a.jsonl"]
    code, out, err = casebook(*words, "--app", "kitchen_app:coroutine", "--workers", "3", "--json")
    assert code == 0 and "3 of 3 answers" in err
    (system,) = json.loads(out)["systems"]
    assert (system["system"], system["answers"], system["cost"]) == (
        "kitchen_app:coroutine", 3, 0.75,
    )  # fmt: skip
    named = [*words[:2], "--out", "b.jsonl", "--app", "kitchen_app:bare", "--system", "mine"]
    code, out, err = casebook(*named)
    assert code == 0 and "mine" in out and "no reply has contexts" in err
    for refused, message in [
        (words, "name what is asked: a --model, or your own --app"),
        ([*words, "--app", "kitchen_app:text", "--k=2"], "--k has no effect with --app"),
        ([*words, "--model", "m", "--system=a"], "--system has no effect with --model"),
    ]:
        code, _, err = casebook(*refused)
        assert code == 1 and err.count("\n") == 1 and message in err
