"""Logs made with an endpoint: a server on this machine answers well, late, badly, or not at all."""

import json

import pytest
from serving import _Quiet, answering

from casebook.assistant.answer import answer_questions, read_asked
from casebook.errors import BatchFailed, InputError

QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
RECIPES = [
    {"_id": "r1", "title": "Meringue", "text": "Whisk four egg whites with sugar until they are stiff."},
    {"_id": "r2", "title": "Sponge", "text": "Bake the sponge at 180 degrees for 25 minutes."},
    {"_id": "r3", "title": "Pastry", "text": "Let the pastry rest for an hour in the refrigerator."},
]


@pytest.fixture
def kitchen(tmp_path):
    """A folder of recipes and a list of questions."""
    folder = tmp_path / "my recipes"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, RECIPES)), encoding="utf-8")
    (tmp_path / "questions.txt").write_text("\n".join(QUESTIONS), encoding="utf-8")
    return tmp_path


@pytest.fixture
def endpoint():
    """Start servers that deal with each request by the next of some behaviours, the last one again and again."""
    servers = []

    def start(*behaviours):
        asked = []

        class Handler(_Quiet):
            def do_POST(self):  # noqa: N802
                asked.append(
                    (json.loads(self.rfile.read(int(self.headers["Content-Length"]))), self.headers["Authorization"])
                )
                behaviours[min(len(asked), len(behaviours)) - 1](self, asked[-1][0])

        server = answering(Handler)
        servers.append(server)
        return f"{server.__enter__()}/v1", asked

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def send(handler, body, status=200, length=None, **headers):
    data = body if isinstance(body, bytes) else body.encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(length or len(data)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def well(handler, asked, finish="stop"):
    passages = "[1]" in asked["messages"][0]["content"].split("Question:")[0].split("such as [1]")[-1]
    text = "Four egg whites. [1]" if passages else "Eggs, I think."
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    send(handler, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}))


def busy(handler, asked):
    send(handler, '{"error": "slow down"}', 429, Retry_After="0.01")


def nonsense(handler, asked):
    send(handler, "<html>")


def refused(handler, asked):
    send(handler, '{"error": {"message": "bad key"}}', 401)


def cut_off(handler, asked):
    send(handler, '{"choices": [{"mess', length=500)
    handler.close_connection = True


def slow(handler, asked):
    import time

    time.sleep(0.6)
    well(handler, asked)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ask(kitchen, url, **settings):
    settings = {"corpus": f"{kitchen}/my recipes", "mode": "bm25_stemmed", "report": lambda line: None} | settings
    return answer_questions(kitchen / "questions.txt", kitchen / "answers.jsonl", "m", url=url, **settings)


def test_each_question_is_asked_with_passages_and_without(kitchen, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    url, asked = endpoint(well)
    log = ask(kitchen, url, prices=(1.0, 2.0))
    assert log["system"].tolist() == ["m, retrieval", "m, no retrieval"] * 3
    assert log["contexts"][0] == ["Meringue Whisk four egg whites with sugar until they are stiff."]
    assert log["context_ids"][2] == ["r2"]
    assert log["contexts"][1] is None
    assert log["cost"][0] == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert (log["seconds"] >= 0).all()
    assert asked[0][1] == "Bearer sk-secret"
    assert "Whisk four egg whites" in asked[0][0]["messages"][0]["content"]
    assert "Whisk" not in asked[1][0]["messages"][0]["content"]
    assert not any(b"sk-secret" in path.read_bytes() for path in kitchen.rglob("*") if path.is_file())


def test_the_same_call_asks_only_what_is_missing(kitchen, endpoint):
    url, asked = endpoint(well)
    ask(kitchen, url)
    whole = (kitchen / "answers.jsonl").read_text(encoding="utf-8")
    rows = whole.splitlines(keepends=True)
    (kitchen / "answers.jsonl").write_text("".join(rows[:3]) + rows[3][:40], encoding="utf-8")  # killed in a line
    ask(kitchen, url)
    assert len(asked) == 6 + 3
    again = lines(kitchen / "answers.jsonl")
    assert [(row["id"], row["system"]) for row in again] == [
        (row["id"], row["system"]) for row in map(json.loads, rows)
    ]
    with pytest.raises(InputError, match=r"answers\.jsonl:1: was made with another model, corpus, prompt"):
        ask(kitchen, url, k=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not ours", "breaks off in its first line"),
        ("[1, 2, 3]", "breaks off in its first line"),
        ('{"x": 1}\nnot ours', "was made with another model"),
    ],
)
def test_a_file_that_is_no_log_of_ours_stays_as_it_is(kitchen, content, message):
    (kitchen / "answers.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        ask(kitchen, "http://127.0.0.1:9/v1", retries=0)
    assert (kitchen / "answers.jsonl").read_text() == content


def test_an_answer_without_its_line_end_is_no_part_of_the_next(kitchen, endpoint):
    url, _ = endpoint(well)
    ask(kitchen, url)
    rows = (kitchen / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    (kitchen / "answers.jsonl").write_text("\n".join(rows[:3]), encoding="utf-8")
    assert len(ask(kitchen, url)) == len(lines(kitchen / "answers.jsonl")) == 6


def test_a_log_is_not_written_as_the_documents_of_a_folder(kitchen):
    with pytest.raises(InputError, match="name another file"):
        answer_questions(kitchen / "questions.txt", kitchen / "corpus.jsonl", "m", corpus=kitchen, url="http://x")


@pytest.mark.parametrize(
    ("behaviour", "settings", "cause"),
    [
        (nonsense, {}, "no chat completion"),
        (refused, {}, "the server answers 401"),
        (cut_off, {}, "cannot be reached|no chat completion"),
        (slow, {"timeout": 0.2}, "no answer in time"),
        (busy, {}, "the server answers 429"),
    ],
)
def test_what_fails_is_said_and_what_was_answered_is_kept(kitchen, endpoint, behaviour, settings, cause):
    url, asked = endpoint(well, behaviour)
    with pytest.raises(BatchFailed, match=f"5 of 6 answers are missing: m?.*({cause}).*the same command asks again"):
        ask(kitchen, url, retries=0, **settings)
    assert len(asked) == 4  # one answered, three failures in a row
    assert len(lines(kitchen / "answers.jsonl")) == 1
    url, _ = endpoint(well)
    assert len(ask(kitchen, url)) == 6


def test_a_server_that_is_down(kitchen):
    with pytest.raises(BatchFailed, match="6 of 6 answers are missing: endpoint:m: cannot be reached"):
        ask(kitchen, "http://127.0.0.1:9/v1", retries=0)
    assert not (kitchen / "answers.jsonl").exists()


def test_questions_come_with_what_a_log_may_hold(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"_id": "q1", "text": "May I?", "reference": "Yes."}\n{"_id": "q2", "text": "Must I?"}')
    assert read_asked(path) == [
        {"id": "q1", "question": "May I?", "reference": "Yes."},
        {"id": "q2", "question": "Must I?"},
    ]
    for content, message in [
        ('{"_id": "q1"}', r"q\.jsonl:1: has no question"),
        ('{"question": "A?"}\n{"question": "A?"}', r"q\.jsonl:2: question 'A\?' stood already in row 1"),
    ]:
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            read_asked(path)


def test_the_command(kitchen, endpoint, casebook, monkeypatch):
    monkeypatch.setenv("CASEBOOK_LLM_URL", endpoint(well)[0])
    monkeypatch.chdir(kitchen)
    words = ["answer", "questions.txt", "--corpus", "./my recipes", "--model", "m"]
    words += ["--out", "a.jsonl", "--mode", "bm25_stemmed"]
    code, out, err = casebook(*words, "--price-in", "1", "--price-out", "2")
    assert code == 0
    assert "m, retrieval" in out
    assert "6 of 6 answers" in err
    assert casebook(*words)[0] == 0
    assert casebook(*words, "--price-in", "1")[0] == 1
    assert [path.name for path in kitchen.glob(".*")] == []  # no lock is left
    for option in ("--k=2", "--mode=bm25"):
        code, _, err = casebook("answer", "questions.txt", "--model", "m", "--out", "b.jsonl", option)
        assert code == 1 and f"{option.split('=')[0]} has no effect without --corpus" in err
    assert casebook("answer", "questions.txt", "--model", "m", "--out", "questions.txt")[0] == 1
