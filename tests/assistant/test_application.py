"""Applications of one's own, over HTTP and as objects of Python: what they are asked, what they
may reply, and what becomes of everything else."""

import json
import shlex
import sys
import time
from itertools import pairwise

import pytest
from serving import applying, response

from casebook.assistant.answer import ask_application
from casebook.assistant.application import (
    HttpApplication,
    load_application,
    read_request,
    reply_columns,
)
from casebook.assistant.log import checked_log, read_log
from casebook.errors import BatchFailed, InputError
from casebook.models.language import NoAnswer
from casebook.paths import ROOT

QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
WELL = {"answer": "Four egg whites.", "contexts": ["Whisk four egg whites until stiff."]}
OBJECTS = """
import asyncio
import sys
import time

class Document:
    def __init__(self, text):
        self.page_content = text
        self.metadata = {"page": 3}
        self.id = "r1"

def text(question):
    return f"Answer to {question}"

def fields(question):
    return {"input": question, "context": [Document("Whisk the whites.")], "answer": "Whites."}

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
    settings = {"report": lambda line: None, "retries": 0} | settings
    return ask_application(kitchen / "questions.txt", kitchen / "answers.jsonl", app, **settings)


def rows(kitchen):
    text = (kitchen / "answers.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def always(reply):
    """Serve one reply, as JSON or as the bytes that it is."""
    return applying(lambda request: [reply if isinstance(reply, bytes) else response(reply)])


def test_an_application_gets_id_and_question_and_its_reply_is_a_log(kitchen, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-openai")
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    with always(WELL | {"usage": usage, "trace": {"id": 3}}) as (url, asked):
        log = ask(kitchen, url, prices=(1.0, 2.0))
    assert [request for request, _ in asked] == [
        {"id": text, "question": text} for text in QUESTIONS
    ]
    system = url.removeprefix("http://")
    assert log["system"].tolist() == [system] * 3
    assert log["contexts"][0] == WELL["contexts"] and log["answer"][0] == "Four egg whites."
    assert log["cost"][0] == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert (log["seconds"] >= 0).all()
    assert len(checked_log(kitchen / "answers.jsonl")) == 3  # as chapter and gate read it
    headers = {name.lower(): value for name, value in asked[0][1].items()}
    assert "of-openai" not in str(headers) and "authorization" not in headers
    assert {*headers} <= {
        "host", "accept", "accept-encoding", "connection", "content-type", "content-length",
        "user-agent",
    }  # fmt: skip


def test_a_key_goes_to_the_application_and_into_no_file(kitchen, monkeypatch):
    monkeypatch.setenv("CASEBOOK_APP_KEY", "sk-app-secret")
    said = []
    refusal = response({"detail": "who is sk-app-secret?"}, status="403 No")
    with applying(lambda request: [refusal]) as (url, asked):
        with pytest.raises(BatchFailed, match=r"answers 403: who is \*\*\*\?") as error:
            ask(kitchen, f"{url}?token=hush-hush", report=said.append)
        said.append(str(error.value))
    assert asked[0][1]["Authorization"] == "Bearer sk-app-secret"
    error_of_its_own = {"error": "p4ssw0rd of hush-hush, sk-app-secret", "sk-app-secret": 1}
    for reply in (error_of_its_own, {"hush-hush": 1, "p4ssw0rd": 2}):
        with always(reply) as (url, _), pytest.raises(BatchFailed, match=r"\*\*\*") as error:
            url = url.replace("://", "://me:p4ssw0rd@")
            ask(kitchen, f"{url}?token=hush-hush", system="mine", report=said.append)
        said.append(str(error.value))
    with always(WELL) as (url, asked):
        url = url.replace("://", "://me:p4ssw0rd@")
        ask(kitchen, f"{url}?token=hush-hush", system="mine", report=said.append)
    written = "".join(p.read_text(encoding="utf-8") for p in kitchen.glob("answers*"))
    for secret in ("sk-app-secret", "hush-hush", "p4ssw0rd"):
        assert secret not in written + str(said)


REPLIES = {
    "text": ("Four.", {"answer": "Four."}),
    "LangServe, a text": ({"output": "Four.", "metadata": {"run_id": "x"}}, {"answer": "Four."}),
    "LangServe, a message": (
        {"output": {"content": "Four.", "type": "ai", "usage_metadata": {"input_tokens": 7}}},
        {"answer": "Four.", "prompt_tokens": 7},
    ),
    "LangServe, a retrieval chain": (
        {
            "output": {
                "input": "What?",
                "context": [{"page_content": "Whisk.", "metadata": {}, "type": "Document"}],
                "answer": "Four.",
            }
        },
        {"answer": "Four.", "contexts": ["Whisk."]},
    ),
    "RetrievalQA": (
        {"query": "What?", "result": "Four.", "source_documents": [{"page_content": "Whisk."}]},
        {"answer": "Four.", "contexts": ["Whisk."]},
    ),
    "Flowise": (
        {"text": "Four.", "question": "What?", "sourceDocuments": [{"pageContent": "Whisk."}]},
        {"answer": "Four.", "contexts": ["Whisk."]},
    ),
    "n8n": ([{"output": "Four."}], {"answer": "Four."}),
    "ids": (
        {"answer": "Four.", "contexts": [{"id": "r1", "text": "Whisk."}]},
        {"answer": "Four.", "contexts": ["Whisk."], "context_ids": ["r1"]},
    ),
    "no answer was given": ({"answer": ""}, {"answer": ""}),
    "its own price": ({"answer": "Four.", "cost": 0.5}, {"answer": "Four.", "cost": 0.5}),
}


@pytest.mark.parametrize("kind", REPLIES)
def test_replies_of_widely_used_servers_are_read(kind):
    reply, columns = REPLIES[kind]
    application = HttpApplication("http://127.0.0.1:9/ask")
    question = {"id": "q1", "question": "What is whisked?"}
    assert reply_columns(application, question, reply) == {"contexts": None} | columns


def test_other_forms_are_named(kitchen):
    reply = {
        "result": {"parts": [{"text": "No."}, {"text": "Four."}]},
        "hits": [{"node": {"body": "Whisk it."}}, {"node": {"body": "Bake it."}}, {}],
        "price": {"total": 0.01},
    }
    columns = {
        "answer": "result.parts.-1.text",
        "contexts": "hits.node.body",
        "cost": "price.total",
        "thinking": "result.parts.0.text",
    }
    request = {"inputs": {}, "query": "Q: {question}", "user": ["{id}"], "n": 3}
    with always(reply) as (url, asked):
        log = ask(kitchen, url, columns=columns, request=request, system="mine")
        with pytest.raises(InputError, match="was made with another model"):
            ask(kitchen, url, columns=columns, system="mine")
    first = QUESTIONS[0]
    assert asked[0][0] == {"inputs": {}, "query": f"Q: {first}", "user": [first], "n": 3}
    assert log["system"].unique().tolist() == ["mine"]
    assert log["contexts"][0] == ["Whisk it.", "Bake it."] and log["cost"][0] == 0.01
    assert rows(kitchen)[0]["answer"] == "Four." and rows(kitchen)[0]["thinking"] == "No."


def test_the_request_and_columns_of_the_methods_page_ask_dify(kitchen):
    """Dify 1, ``/chat-messages`` in blocking mode."""
    page = (ROOT / "book" / "methods" / "assistant.md").read_text(encoding="utf-8")
    words = shlex.split(page.partition("```sh\ncasebook answer")[2].partition("```")[0])
    options = {"--request": [], "--columns": []}
    for name, value in pairwise(words):
        options.get(name, []).append(value)
    usage = {"prompt_tokens": 1033, "completion_tokens": 135, "total_price": "0.0012890"}
    passage = {"position": 1, "document_id": "d1", "content": "Whisk the whites.", "score": 0.98}
    metadata = {"usage": usage, "retriever_resources": [passage]}
    with always({"mode": "chat", "answer": "Whites.", "metadata": metadata}) as (url, asked):
        columns = dict(column.split("=") for column in options["--columns"])
        log = ask(kitchen, url, request=read_request(options["--request"][0]), columns=columns)
    assert asked[0][0]["query"] == QUESTIONS[0] and asked[0][0]["response_mode"] == "blocking"
    assert log["contexts"][0] == ["Whisk the whites."]
    assert log["cost"][0] == pytest.approx(0.0012890)


def test_what_a_question_holds_is_not_filled_in_again(kitchen):
    (kitchen / "questions.jsonl").write_text('{"id": "q1", "question": "Is {id} {question}?"}')
    with always(WELL) as (url, asked):
        ask_application(
            kitchen / "questions.jsonl",
            kitchen / "answers.jsonl",
            url,
            request={"q": "{id}: {question}"},
            report=lambda line: None,
        )
    assert asked[0][0] == {"q": "q1: Is {id} {question}?"}


def test_a_path_of_langserve_gets_what_langserve_reads(kitchen):
    with applying(lambda request: [response({"output": request["input"]})], "/chain/invoke") as (
        url,
        asked,
    ):
        log = ask(kitchen, url)
    assert [request for request, _ in asked] == [{"input": text} for text in QUESTIONS]
    assert log["answer"].tolist() == QUESTIONS


BAD = {
    "a web page": (response(b"<html>Login", kind="text/html"), "no JSON, but a web page", 0),
    "an error": (response(b"", status="404 Not Found"), "the server answers 404", 0),
    "a refusal": (
        response({"detail": [{"msg": "field required", "loc": ["body", "query"]}]}, status="422 X"),
        "answers 422: .*field required",
        0,
    ),
    "moved": (
        response(b"", "Location: http://127.0.0.1:9/x", status="307 Moved"),
        "307: moved to http://127.0.0.1:9/x",
        0,
    ),
    "fields of other names": (response({"reply": "x"}), r"which has reply: --columns answer=", 0),
    "a number": (response(7), "replies with int, not with a text or fields", 0),
    "nothing": (response(b""), "no JSON: it is empty", 3),
    "a text that is no JSON": (response(b"Four."), "no JSON; it begins Four.", 3),
    "half of it": (response(b'{"answer": "Fo'), "no JSON; it begins", 3),
    "NaN": (response(b'{"answer": "x", "cost": NaN}'), "no JSON; it begins", 3),
    "deep": (response(b"[" * 1900), "no JSON; it begins", 3),
    "its own error": (response({"answer": None, "error": "no index"}), "ask: no index", 3),
    "an answer that is a number": (response({"answer": 7}), "answer: Input should be a valid", 3),
    "contexts that are numbers": (
        response({"answer": "x", "contexts": [[1]]}),
        "ask: a context is no text",
        3,
    ),
    "contexts without text": (
        response({"answer": "x", "contexts": [{"score": 1}]}),
        "a context is no text",
        3,
    ),
    "fewer ids": (
        response({"answer": "x", "contexts": ["a b", "c d"], "context_ids": ["1"]}),
        "2 contexts and 1 context ids",
        3,
    ),
    "half a character": (response({"answer": "\ud800"}), "ask: ", 3),
    "a negative price": (response({"answer": "x", "cost": -1}), "cost: Input should be greater", 3),
    "odd tokens": (response({"answer": "x", "usage": {"prompt_tokens": "a"}}), "prompt_tokens", 3),
    "huge": (response({"answer": "x" * 3000}), "more than 2,000 bytes", 3),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_reply_that_is_no_answer_is_said_once_with_its_reason(kitchen, kind):
    reply, reason, n_rows = BAD[kind]
    said = []
    with always(reply) as (url, _), pytest.raises(BatchFailed, match=reason) as error:
        ask(kitchen, url, max_bytes=2000, system="mine", report=said.append)
    assert str(error.value).startswith("3 of 3 answers are missing: 3 × ")
    assert len([line for line in said if line.startswith("no answer to ")]) == 1
    path = kitchen / "answers.jsonl"
    assert path.exists() == bool(n_rows)
    if n_rows:
        assert read_log(path)["no_answer"].str.contains(reason).tolist() == [True] * n_rows
    with always(WELL) as (url, asked):  # it moved, and is the same by its name
        assert ask(kitchen, url, system="mine")["answer"].tolist() == ["Four egg whites."] * 3
    assert len(asked) == len(rows(kitchen)) == 3


def test_a_busy_server_is_asked_again_and_a_slow_one_is_left(kitchen):
    replies = [response({}, "Retry-After: 0.01", status="503 Busy")] * 2
    with applying(lambda request: [replies.pop() if replies else response(WELL)]) as (url, asked):
        assert len(ask(kitchen, url, retries=2)) == 3
    assert len(asked) == 5

    def slow(request):
        time.sleep(0.5)
        yield response(WELL)

    with applying(slow) as (url, _), pytest.raises(NoAnswer, match=r"no answer within 0\.1 s"):
        HttpApplication(url, timeout=0.1).ask({"id": "a", "question": "b"})


def test_the_same_command_asks_only_what_is_missing(kitchen):
    broken = response(b"oops", status="500 Oh")

    def reply(request):
        yield broken if request["question"] == QUESTIONS[1] and broken else response(WELL)

    with applying(reply) as (url, asked):
        with pytest.raises(BatchFailed, match=r"1 of 3 answers are missing: .*answers 500: oops"):
            ask(kitchen, url)
        before = (kitchen / "answers.jsonl").read_text(encoding="utf-8")
        broken = None
        asked.clear()
        log = ask(kitchen, url)
    assert [request["question"] for request, _ in asked] == [QUESTIONS[1]]
    assert (kitchen / "answers.jsonl").read_text(encoding="utf-8").startswith(before)
    assert sorted(log["question"]) == sorted(QUESTIONS)


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


@pytest.mark.parametrize(
    ("app", "settings", "message"),
    [
        ("kitchen_app:nothing", {}, "has no attribute 'nothing'"),
        ("kitchen_app:number_of_pi", {}, "expected a callable question -> text.*found float"),
        ("kitchen_app:text", {"request": {"q": "{question}"}}, "a request has no effect"),
        ("kitchen_app:text", {"columns": {"reference": "x"}}, "column 'reference': a reply has"),
        ("my_app", {}, r"app 'my_app': give an address, http://\.\.\., or module:object"),
        ("localhost:8000/ask", {}, "of an application: begin it with http://"),
        ("http://127.0.0.1:9/ask", {}, "of an application: cannot be reached: start the server"),
        ("http://no-such-host.invalid/ask", {}, "of an application: no host of this name"),
        ("http://h:99999/ask", {}, "of an application: write it as http://HOST:PORT/PATH"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(kitchen, app, settings, message):
    began = time.monotonic()
    with pytest.raises(InputError, match=message):
        ask(kitchen, app, **({"retries": 4} | settings))
    assert time.monotonic() - began < 2
    assert [path.name for path in kitchen.glob("*answers*")] == []


def test_replies_without_contexts_are_told_with_the_names_that_they_have(kitchen):
    said = []
    with always({"answer": "Four.", "sources": ["Whisk."]}) as (url, _):
        ask(kitchen, url, report=said.append)
    assert "a reply has answer, sources: --columns contexts=FIELD names them" in said[-1]


def test_the_name_of_an_application_holds_no_secret():
    url = "http://me:p4ssw0rd@localhost:8000/ask?key=abc"
    application = load_application(url, timeout=1, retries=0, max_bytes=10)
    assert application.system == application.name == "localhost:8000/ask"


def test_the_command(kitchen, casebook):
    words = ["answer", "questions.txt", "--out", "a.jsonl"]
    code, out, err = casebook(*words, "--app", "kitchen_app:coroutine", "--workers", "3", "--json")
    assert code == 0 and "3 of 3 answers" in err
    (system,) = json.loads(out)["systems"]
    assert (system["system"], system["answers"], system["cost"]) == (
        "kitchen_app:coroutine", 3, 0.75,
    )  # fmt: skip
    with always({"reply": "Four."}) as (url, _):
        named = [*words[:2], "--out", "b.jsonl", "--app", url]
        code, out, err = casebook(*named, "--columns", "answer=reply", "--system", "mine")
    assert code == 0 and "mine" in out and "no reply has contexts" in err
    for refused, message in [
        (words, "name what is asked: a --model, or your own --app"),
        ([*words, "--model", "m", "--app", "http://h"], "name what is asked"),
        ([*words, "--app", "kitchen_app:text", "--k=2"], "--k has no effect with --app"),
        ([*words, "--app", "kitchen_app:text", "--retries=2"], "--retries has no effect"),
        ([*words, "--model", "m", "--system=a"], "--system has no effect with --model"),
        ([*words, "--app", "http://h/", "--request", "{"], "request '{': is no JSON"),
        ([*words, "--app", "http://h/", "--request", '{"a": 1}'], "write {question} where"),
        ([*words, "--app", "http://h/", "--columns", "answer"], "is not of the form --columns"),
    ]:
        code, _, err = casebook(*refused)
        assert code == 1 and err.count("\n") == 1 and message in err
