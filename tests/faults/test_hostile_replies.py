"""A server may answer anything: every question gets an answer or a reason, and the log can be read
again."""

import gzip
import json
import math
import re
import time
from collections import Counter

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import completion, replying, response

from casebook.assistant.answer import reply_columns
from casebook.assistant.log import read_log
from casebook.cli import main
from casebook.models.language import NoAnswer

pytest.importorskip("openai")  # here, so that no limit of time includes it
QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
WELL = response(completion())
SECONDS = 1.0  # limit of one answer
SLOWEST = 6.0  # for one such question and two others
COUNTED = "hostile reply of a language model"
EVERY = list(HealthCheck)
FIXED = settings(derandomize=True, database=None, suppress_health_check=EVERY, deadline=None)


@pytest.fixture
def kitchen(tmp_path, monkeypatch):
    (tmp_path / "questions.txt").write_text("\n".join(QUESTIONS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(url):
    """Run the command and give its exit code."""
    words = f"answer questions.txt --model m --out answers.jsonl --url {url} --retries 0".split()
    with pytest.raises(SystemExit) as stop:
        main([*words, "--timeout", str(SECONDS), "--price-in", "1", "--price-out", "2"])
    return stop.value.code


def survives(kitchen, url, asked, capsys):
    """Ask twice, and say whether the question that has a hostile reply was answered."""
    path = kitchen / "answers.jsonl"
    path.unlink(missing_ok=True)
    asked.clear()
    began = time.monotonic()
    code = answer(url)
    assert time.monotonic() - began < SLOWEST
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert all(sign.isprintable() or sign == "\n" for sign in said)
    assert len(asked) == len(QUESTIONS)  # every other question is asked
    log = read_log(path).set_index("question")
    assert (log["answer"].drop(QUESTIONS[1]) == "Four egg whites.").all()
    answered = pd.isna(log.loc[QUESTIONS[1], "no_answer"])
    assert code == (0 if answered else 3)
    assert answered or "1 of 3 answers are missing: endpoint:m: " in said
    asked.clear()
    assert answer(url) == code
    assert len(asked) == (0 if answered else 1)
    assert len(read_log(path)) == len(log)
    return answered


# --- bodies around the schema

TEXTS = [
    "",
    "NaN",
    "null",
    "[1]",
    "<think>",
    "</think>",
    "\ud800",
    "\udfff x",
    "\x00\x1b[31m",
    "\u2028\x85\r",
    "\u202e",
    "[{'a': 1}]",
]
NUMBERS = [
    -1,
    -(10**30),
    10**30,
    10**400,
    2**63,
    1.5,
    1e308,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    True,
]
LONG = "5000 digits"  # which Python refuses to write
DEEP = [f"deep {depth}" for depth in (50, 300, 2000, 100_000)]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from([*TEXTS, *NUMBERS, *DEEP, LONG]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
PLACES = [
    (),
    ("choices",),
    ("choices", 0),
    ("choices", 0, "message"),
    ("choices", 0, "message", "content"),
    ("choices", 0, "message", "role"),
    ("choices", 0, "finish_reason"),
    ("usage",),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("id",),
    ("something else",),
]


def replaced(whole, path, value):
    """A body with another value at a path."""
    if not path:
        return value
    step, *rest = path
    changed = whole.copy()
    inner = whole[step] if isinstance(whole, list) else whole.get(step)
    changed[step] = replaced(inner, rest, value)
    return changed


@st.composite
def bodies(draw):
    """The body of a chat completion in which something is wrong."""
    whole = replaced(completion(), draw(st.sampled_from(PLACES)), draw(values))
    data = json.dumps(whole, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    data = data.replace(f'"{LONG}"'.encode(), b"1" * 5000)
    for depth in DEEP:
        brackets = int(depth.removeprefix("deep "))
        data = data.replace(f'"{depth}"'.encode(), b"[" * brackets + b"]" * brackets)
    damaged = (data[: len(data) // 2], b"\xef\xbb\xbf" + data, data * 2, data + b"\x00")
    return draw(st.sampled_from([data] * 8 + [*damaged]))


def test_any_body_is_an_answer_or_a_reason(kitchen, capsys, count):
    tried = []
    results = Counter()

    def reply(prompt):
        yield response(tried[-1]) if QUESTIONS[1] in prompt else WELL

    with replying(reply) as (url, asked):

        @settings(FIXED, max_examples=100)
        @given(bodies())
        def check(body):
            tried.append(body)
            results[survives(kitchen, url, asked, capsys)] += 1
            count(COUNTED)

        check()
    assert results.total() >= 100
    assert min(results[True], results[False]) > 10, results


# --- what is no body


def silent():
    time.sleep(2 * SECONDS)
    yield b""


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = json.dumps(completion()).encode()
TRANSPORTS = {
    "silence": (silent, "no answer within 1 s"),
    "an error in colours": (
        lambda: [response(b"\x1b[31mno\x07", status="400 Oh")],
        "the server answers 400: .*no",
    ),
    "an error 100,000 deep": (
        lambda: [response(b"[" * 100_000, status="400 Oh")],
        r"the server answers 400: \[\[",
    ),
    "honest gzip": (
        lambda: [response(gzip.compress(BODY), "Content-Encoding: gzip")],
        None,
    ),
    "an odd charset": (lambda: [response(BODY, kind="application/json; charset=zlib")], None),
    "an answer as text/plain": (lambda: [response(BODY, kind="text/plain")], None),
    "events": (
        lambda: [response(b"data: " + BODY + b"\n\n", kind="text/event-stream")],
        "no chat completion",
    ),
    "a web page": (
        lambda: [response(b"<!doctype html><p>Hello", kind="text/html")],
        "no chat completion.*<!doctype",
    ),
    "nothing": (lambda: [response(b"")], "no chat completion"),
    "204": (lambda: [b"HTTP/1.1 204 No Content\r\n\r\n"], "no chat completion"),
    "half of it": (lambda: [response(BODY[: len(BODY) // 2])], "no chat completion"),
    "less than stated": (lambda: [response(BODY)[:-9]], "the connection broke off"),
    "garbage chunks": (lambda: [CHUNKED + b"zz\r\n\xff\xff"], "the connection broke off"),
    "no HTTP": (lambda: [b"\x00\xff" * 99 + b"\r\n\r\n"], "the connection broke off"),
    "closed at once": (lambda: [], "the connection broke off"),
    "status 999": (lambda: [response(BODY, status="999 Oh")], "the server answers 999"),
    "101": (
        lambda: [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
        "answers 101|broke off",
    ),
    "moved": (
        lambda: [response(b"", "Location: http://127.0.0.1:9/\x1b[31m", status="307 Moved")],
        "the server answers 307: http://127.0.0.1:9/",
    ),
    "moved to itself": (
        lambda: [response(b"", "Location: /v1/chat/completions", status="308 M")],
        "answers 308: /v1",
    ),
    "come back in a year": (
        lambda: [response(b"{}", "Retry-After: 1e9", status="429 Oh")],
        "the server answers 429",
    ),
}


def test_any_transport_is_an_answer_or_a_reason(kitchen, capsys, count):
    wrong = []
    for kind, (make, reason) in TRANSPORTS.items():

        def reply(prompt, make=make):
            return make() if QUESTIONS[1] in prompt else [WELL]

        with replying(reply) as (url, asked):
            answered = survives(kitchen, url, asked, capsys)
            capsys.readouterr()
            answer(url)
            said = capsys.readouterr().err
        count(COUNTED)
        if answered is not (reason is None) or not re.search(reason or "", said):
            wrong.append((kind, said))
    assert wrong == []


# --- an application

FIELDS = ["answer", "contexts", "abstained", "cost", "prompt_tokens", "thinking", "error", "text"]
replies = values | st.dictionaries(st.sampled_from(FIELDS), values | st.text(), max_size=5)


def test_any_reply_of_an_application_can_be_read_again_or_has_a_reason(tmp_path, count):
    """A row that `read_log` refuses would take all other rows with it."""
    path = tmp_path / "answers.jsonl"
    results = Counter()

    @settings(FIXED, max_examples=500)
    @given(replies)
    def check(reply):
        try:
            columns = reply_columns("mine", reply)
        except NoAnswer as error:
            assert all(sign.isprintable() for sign in str(error))
            results["refused"] += 1
        else:
            row = {"id": "q1", "question": QUESTIONS[0]} | columns
            path.write_text(json.dumps(row, ensure_ascii=False, allow_nan=False), encoding="utf-8")
            assert read_log(path)["answer"].tolist() == [row["answer"]]
            results["read"] += 1
        count("hostile reply of an application")

    check()
    assert min(results["refused"], results["read"]) > 10, results
