"""Logs made with an endpoint: a server on this machine answers well, badly, or not at all."""

import json
from contextlib import ExitStack

import pytest
from cases import not_refused
from serving import chatting, completion, replying, response

from casebook.assistant.answer import answer_questions, read_question_list, without_thinking
from casebook.assistant.log import read_log
from casebook.errors import BatchFailed, InputError

QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
ONE = QUESTIONS[1]
TEXTS = [
    "Meringue Whisk four egg whites with sugar until they are stiff.",
    "Sponge Bake the sponge at 180 degrees for 25 minutes.",
    "Pastry Let the pastry rest for an hour in the refrigerator.",
]
WELL = response(completion("Four egg whites. [1]"))


@pytest.fixture
def kitchen(tmp_path):
    """A folder of recipes and a list of questions."""
    folder = tmp_path / "my recipes"
    folder.mkdir()
    rows = [{"_id": f"r{number}", "text": text} for number, text in enumerate(TEXTS)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "questions.txt").write_text("\n".join(QUESTIONS))
    return tmp_path


@pytest.fixture
def endpoint():
    """Start servers that give some replies in turn, the last one forever."""
    with ExitStack() as stack:

        def start(*replies):
            left = list(replies)
            server = replying(lambda prompt: [left.pop(0) if len(left) > 1 else left[0]])
            return stack.enter_context(server)

        yield start


def ask(kitchen, url, **settings):
    usual = {"corpus": f"{kitchen}/my recipes", "mode": "bm25_stemmed", "report": str}
    out = kitchen / "answers.jsonl"
    return answer_questions(kitchen / "questions.txt", out, "m", url=url, **(usual | settings))


def lines(kitchen):
    return (kitchen / "answers.jsonl").read_text(encoding="utf-8").splitlines()


def test_each_question_is_asked_with_passages_and_without(kitchen, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    url, asked = endpoint(WELL)
    log = ask(kitchen, url)
    assert log["system"].tolist() == ["m, retrieval", "m, no retrieval"] * 3
    assert log["contexts"][0] == [TEXTS[0]] and log["contexts"][1] is None
    assert (log["seconds"] >= 0).all()
    assert asked[0][1]["Authorization"] == "Bearer sk-secret"
    assert f"[1] {TEXTS[0]}" in asked[0][0] and "Whisk" not in asked[1][0]
    written = [path.read_bytes() for path in kitchen.rglob("*") if path.is_file()]
    assert not any(b"sk-secret" in content for content in written)


def test_the_same_call_asks_only_what_is_missing(kitchen, endpoint):
    url, asked = endpoint(WELL)
    ask(kitchen, url)
    whole = [json.loads(line) | {"seconds": 0} for line in lines(kitchen)]
    written = lines(kitchen)
    # Killed in a line, or before its end.
    for cut in ("\n".join([*written[:3], written[3][:40]]), "\n".join(written[:3])):
        (kitchen / "answers.jsonl").write_text(cut)
        asked.clear()
        assert len(ask(kitchen, url)) == 6 and len(asked) == 3
        assert [json.loads(line) | {"seconds": 0} for line in lines(kitchen)] == whole
    with pytest.raises(InputError, match=r"answers\.jsonl:1: was made with another model"):
        ask(kitchen, url, k=1)


def test_files_of_others_stay_as_they_are(kitchen):
    path = kitchen / "answers.jsonl"
    for content, message in [
        ("not ours", "breaks off: remove the file"),
        ('{"x": 1}\nnot ours', "was made with another model"),
    ]:
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            ask(kitchen, "http://127.0.0.1:9/v1", retries=0)
        assert path.read_text() == content
    corpus = kitchen / "my recipes" / "corpus.jsonl"
    with pytest.raises(InputError, match="write to another file"):
        answer_questions(kitchen / "questions.txt", corpus, "m", corpus.parent, url="http://x")


FAILURES = [
    (response(b"<html>"), "no chat completion", 6),
    (response({"error": "bad\nkey sk-secret"}, status="401 No"), r"answers 401: .*key \*\*\*", 4),
    (response({"detail": "too warm"}, status="422 No"), "answers 422: .*too warm", 6),
    (response({"detail": "down"}, status="503 No"), "answers 503", 4),
]


def test_what_fails_is_said_and_what_was_answered_is_kept(kitchen, endpoint, monkeypatch):
    """Where the server is down or refuses the key, the rest is not asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    for reply, cause, n_asked in FAILURES:
        (kitchen / "answers.jsonl").unlink(missing_ok=True)
        url, asked = endpoint(WELL, reply)
        missing = f"5 of 6 answers are missing: .*{cause}.*the same command asks again"
        with pytest.raises(BatchFailed, match=missing):
            ask(kitchen, url, retries=0)
        assert len(asked) == n_asked, cause
        assert len(ask(kitchen, endpoint(WELL)[0])) == 6


def test_a_server_that_is_not_there_is_said_before_anything_is_retrieved(kitchen):
    for url in ("http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"):
        message = f"{url} cannot be reached .*: start the server, or check the address"
        with pytest.raises(InputError, match=message):
            ask(kitchen, url, retries=4)
    assert not (kitchen / "answers.jsonl").exists()


def test_requests_at_a_time_leave_the_same_log_in_the_same_order(kitchen):
    logs = []
    with chatting("Four egg whites.", delay=0.05) as (url, asked):
        for workers in (6, 1):
            ask(kitchen, url, workers=workers)
            logs.append([json.loads(line) | {"seconds": 0} for line in lines(kitchen)])
            (kitchen / "answers.jsonl").unlink()
    assert len(asked) == 12
    assert logs[0] == logs[1]


THOUGHTS = [
    ("<think>Whites?\nFour.</think>\n\nFour egg whites.", "Four egg whites.", "Whites?\nFour."),
    ("Whites?</think>Four egg whites.", "Four egg whites.", "Whites?"),
    ("<think>Whites, or", "", "Whites, or"),
    ("Four egg whites.", "Four egg whites.", ""),
]


def test_what_a_model_thinks_is_kept_apart_from_its_answer(kitchen):
    assert [(text, *without_thinking(text)) for text, *_ in THOUGHTS] == THOUGHTS
    choice = completion()["choices"][0]
    choice["message"]["reasoning_content"] = "Whites? Four."
    with replying(lambda prompt: [response(completion(choices=[choice]))]) as (url, _):
        assert ask(kitchen, url)["answer"][0] == "Four egg whites."
    assert json.loads(lines(kitchen)[0])["thinking"] == "Whites? Four."


def test_questions_come_with_what_a_log_may_hold(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"_id": "q1", "text": "May I?", "reference": "Yes."}')
    assert read_question_list(path) == [{"id": "q1", "question": "May I?", "reference": "Yes."}]

    def read(content):
        path.write_text(content)
        return read_question_list(path)

    repeated = '{"question": "A?"}\n{"question": "A?"}'
    refused = [
        ('{"_id": "q1"}', r"q\.jsonl: has no question \(question, text\); it has _id"),
        (repeated, r"q\.jsonl:2: id 'A\?' stands in an earlier row already"),
        ("\n", "holds no questions|is empty|no "),
    ]
    assert not_refused(read, refused) == []


def ask_three(kitchen, reply):
    """Ask the three questions without passages, the second of which gets a reply of its own."""
    with replying(lambda prompt: [reply if ONE in prompt else WELL]) as (url, asked):
        try:
            return ask(kitchen, url, corpus=None, retries=0), asked
        except BatchFailed as error:
            return str(error), asked


def test_what_had_no_answer_is_asked_again_after_what_was_never_asked(kitchen):
    nonsense = response(completion(7))
    ask_three(kitchen, nonsense)
    _, asked = ask_three(kitchen, nonsense)
    assert len(asked) == 1 and ONE in asked[0][0]
    assert len(read_log(kitchen / "answers.jsonl")) == 3  # of tries the last counts
    with (kitchen / "questions.txt").open("a") as stream:
        stream.write("\nWhat is new?")
    _, asked = ask_three(kitchen, nonsense)
    assert ["What is new?" in prompt for prompt, _ in asked] == [True, False]
    log, _ = ask_three(kitchen, response(completion("The sponge.")))
    assert log.set_index("question")["answer"][ONE] == "The sponge."
    assert log["no_answer"].isna().all() and len(log) == 4
