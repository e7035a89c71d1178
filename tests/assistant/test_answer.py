"""Logs made with an endpoint: a server on this machine answers well, badly, or not at all."""

import json
import math
import re
import time
from contextlib import ExitStack

import pytest
from refusals import not_refused
from serving import chatting, completion, replying, response

from casebook.assistant.answer import answer_questions, read_question_list, without_thinking
from casebook.assistant.log import read_log
from casebook.errors import BatchFailed, InputError

QUESTIONS = ["What is whisked?", "What bakes at 180 degrees?", "What rests for an hour?"]
RECIPES = [
    {
        "_id": "r1",
        "title": "Meringue",
        "text": "Whisk four egg whites with sugar until they are stiff.",
    },
    {"_id": "r2", "title": "Sponge", "text": "Bake the sponge at 180 degrees for 25 minutes."},
    {
        "_id": "r3",
        "title": "Pastry",
        "text": "Let the pastry rest for an hour in the refrigerator.",
    },
]
CHOICE = completion("Four egg whites. [1]")["choices"][0]
WELL = response(completion(choices=[CHOICE]))


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
    """Start servers that give some replies in turn, the last one forever."""
    with ExitStack() as stack:

        def start(*replies):
            left = list(replies)
            server = replying(lambda prompt: [left.pop(0) if len(left) > 1 else left[0]])
            return stack.enter_context(server)

        yield start


def ask(kitchen, url, **settings):
    settings = {
        "corpus": f"{kitchen}/my recipes",
        "mode": "bm25_stemmed",
        "report": lambda line: None,
    } | settings
    return answer_questions(
        kitchen / "questions.txt", kitchen / "answers.jsonl", "m", url=url, **settings
    )


def lines(kitchen):
    return (kitchen / "answers.jsonl").read_text(encoding="utf-8").splitlines()


def test_each_question_is_asked_with_passages_and_without(kitchen, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    url, asked = endpoint(WELL)
    log = ask(kitchen, url, prices=(1.0, 2.0))
    assert log["system"].tolist() == ["m, retrieval", "m, no retrieval"] * 3
    assert log["contexts"][0] == ["Meringue Whisk four egg whites with sugar until they are stiff."]
    assert log["context_ids"][2] == ["r2"] and log["contexts"][1] is None
    assert log["cost"][0] == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert (log["seconds"] >= 0).all()
    assert asked[0][1]["Authorization"] == "Bearer sk-secret"
    assert "[1] Meringue Whisk four egg whites" in asked[0][0] and "Whisk" not in asked[1][0]
    assert not any(
        b"sk-secret" in path.read_bytes() for path in kitchen.rglob("*") if path.is_file()
    )


def test_the_same_call_asks_only_what_is_missing(kitchen, endpoint):
    url, asked = endpoint(WELL)
    ask(kitchen, url)
    names = [(row["id"], row["system"]) for row in map(json.loads, lines(kitchen))]
    for cut in (
        "\n".join([*lines(kitchen)[:3], lines(kitchen)[3][:40]]),
        "\n".join(lines(kitchen)[:3]),
    ):
        (kitchen / "answers.jsonl").write_text(
            cut, encoding="utf-8"
        )  # killed in a line, or before its end
        asked.clear()
        assert len(ask(kitchen, url)) == 6 and len(asked) == 3
        assert [(row["id"], row["system"]) for row in map(json.loads, lines(kitchen))] == names
    with pytest.raises(
        InputError, match=r"answers\.jsonl:1: was made with another model, corpus, prompt"
    ):
        ask(kitchen, url, k=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not ours", "breaks off: remove the file"),
        ("[1, 2, 3]", "breaks off: remove the file"),
        ('{"x": 1}\nnot ours', "was made with another model"),
    ],
)
def test_a_file_that_is_no_log_of_ours_stays_as_it_is(kitchen, content, message):
    (kitchen / "answers.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        ask(kitchen, "http://127.0.0.1:9/v1", retries=0)
    assert (kitchen / "answers.jsonl").read_text() == content
    with pytest.raises(InputError, match="name another file"):
        answer_questions(
            kitchen / "questions.txt", kitchen / "corpus.jsonl", "m", corpus=kitchen, url="http://x"
        )


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (response(b"<html>"), "no chat completion"),
        (
            response({"error": {"message": "bad\nkey sk-secret"}}, status="401 No"),
            r"the server answers 401: .*key \*\*\*",
        ),
        (
            response({"detail": "temperature is not supported"}, status="422 No"),
            "answers 422: .*temperature is not supported",
        ),
        (response({}, status="429 Busy"), "the server answers 429"),
    ],
)
def test_what_fails_is_said_and_what_was_answered_is_kept(
    kitchen, endpoint, monkeypatch, reply, cause
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    url, asked = endpoint(WELL, reply)
    with pytest.raises(
        BatchFailed, match=f"5 of 6 answers are missing: m?.*({cause}).*the same command asks again"
    ):
        ask(kitchen, url, retries=0)
    assert len(asked) == 4  # one answered, three failures in a row
    assert len(lines(kitchen)) == 1
    url, _ = endpoint(WELL)
    assert len(ask(kitchen, url)) == 6


def test_a_server_that_is_not_there_is_said_before_anything_is_retrieved(kitchen):
    """F31: it took 24 s, three questions with four tries more each."""
    began = time.monotonic()
    for url in ("http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1", "https://xn--a/v1"):
        with pytest.raises(
            InputError, match=f"{url} cannot be reached .*: start the server, or check the address"
        ):
            ask(kitchen, url, retries=4)
    assert time.monotonic() - began < 12
    assert not (kitchen / "answers.jsonl").exists()


def test_an_address_is_that_of_the_environment_and_one_without_v1_is_said(
    kitchen, endpoint, monkeypatch
):
    url, _ = endpoint(response({"error": "Not Found"}, status="404 No"))
    with pytest.raises(
        BatchFailed, match=f"answers 404: .*Not Found.*; the address is {url}: most"
    ):
        ask(kitchen, url, retries=0)
    monkeypatch.delenv("CASEBOOK_LLM_URL", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint(WELL)[0])
    assert len(ask(kitchen, None)) == 6


def test_requests_at_a_time_leave_the_same_log_in_the_same_order(kitchen):
    logs = []
    with chatting("Four egg whites.", delay=0.05) as (url, asked):
        for workers in (6, 1):
            ask(kitchen, url, workers=workers)
            logs.append([json.loads(line) | {"seconds": 0} for line in lines(kitchen)])
            (kitchen / "answers.jsonl").unlink()
    assert len(asked) == 12
    assert logs[0] == logs[1]


def test_prompt_temperature_and_seed_are_those_of_the_user(kitchen, endpoint):
    prompt = kitchen / "prompt.txt"
    prompt.write_text(
        'Antworte als {"answer": ...}. {passages} Frage: {question}', encoding="utf-8"
    )
    with chatting("Vier.") as (url, asked):
        log = ask(kitchen, url, prompt=prompt, temperature=0.7, seed=3)
    assert len(log) == 6
    first = asked[0]["messages"][0]["content"]
    assert first.startswith('Antworte als {"answer": ...}. [1] Meringue') and first.endswith(
        "Frage: What is whisked?"
    )
    assert (
        "Antworte" not in asked[1]["messages"][0]["content"]
    )  # without retrieval there are no passages to give
    assert (asked[0]["temperature"], asked[0]["seed"]) == (0.7, 3)
    with pytest.raises(InputError, match="was made with another model"):
        ask(kitchen, endpoint(WELL)[0])
    prompt.write_text("Question: {question}")
    with pytest.raises(InputError, match=r"prompt\.txt: the prompt lacks \{passages\}"):
        ask(kitchen, endpoint(WELL)[0], prompt=prompt)


def test_answers_that_were_cut_off_are_counted(kitchen, endpoint):
    cut_off = response(completion(choices=[CHOICE | {"finish_reason": "length"}]))
    said = []
    ask(kitchen, endpoint(cut_off, WELL)[0], report=said.append)
    assert (
        said[-1] == "1 of 6 answers were cut off at 512 tokens (m, retrieval): raise --max-tokens"
    )


THOUGHTS = [
    ("<think>Whites?\nFour.</think>\n\nFour egg whites.", "Four egg whites.", "Whites?\nFour."),
    ("Whites?</think>Four egg whites.", "Four egg whites.", "Whites?"),
    ("<think>Whites, or", "", "Whites, or"),
    ("Four egg whites.", "Four egg whites.", None),
    ("Four <think>or five?</think>egg whites.", "Four egg whites.", "or five?"),
    ("<think>Four?</think>Four. <think>Five?</think>", "Four.", "Four?\nFive?"),
]


def test_what_a_model_thinks_is_kept_apart_from_its_answer():
    found = []
    for text, *_ in THOUGHTS:
        answer, thinking = without_thinking(text)
        found.append((text, answer, thinking or None))
    assert found == THOUGHTS


def test_reasoning_that_the_server_gives_apart_is_kept_apart(kitchen):
    for field in ("reasoning_content", "reasoning"):
        (kitchen / "answers.jsonl").unlink(missing_ok=True)
        choice = completion()["choices"][0]
        choice["message"][field] = "Whites? Four."
        body = completion(choices=[choice])
        with replying(lambda prompt, body=body: [response(body)]) as (url, _):
            assert ask(kitchen, url)["answer"][0] == "Four egg whites.", field
        assert json.loads(lines(kitchen)[0])["thinking"] == "Whites? Four.", field


def test_questions_come_with_what_a_log_may_hold(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"_id": "q1", "text": "May I?", "reference": "Yes."}\n{"_id": "q2", "text": "Must I?"}'
    )
    assert read_question_list(path) == [
        {"id": "q1", "question": "May I?", "reference": "Yes."},
        {"id": "q2", "question": "Must I?"},
    ]

    def read(content):
        path.write_text(content)
        return read_question_list(path)

    wrong = not_refused(
        read,
        [
            ('{"_id": "q1"}', r"q\.jsonl: has no question \(question, text\); it has _id"),
            (
                '{"question": "A?"}\n{"question": "A?"}',
                r"q\.jsonl:2: id 'A\?' stands in an earlier row already",
            ),
            ("\n", "holds no questions|is empty|no "),
            ('{"question": "A?", "relevant": {"d": 1}}', r"q\.jsonl:1: relevant .* is no JSON"),
        ],
    )
    assert wrong == []


def test_the_command(kitchen, endpoint, casebook, monkeypatch):
    monkeypatch.setenv("CASEBOOK_LLM_URL", endpoint(WELL)[0])
    monkeypatch.chdir(kitchen)
    words = ["answer", "questions.txt", "--model", "m", "--out"]
    found = [*words, "a.jsonl", "--corpus", "./my recipes", "--mode", "bm25_stemmed"]
    code, out, err = casebook(*found, "--price-in", "1", "--price-out", "2")
    assert code == 0 and "m, retrieval" in out and "6 of 6 answers" in err
    assert [path.name for path in kitchen.glob(".*")] == []  # no lock is left
    assert casebook(*found)[0] == 0
    for refused in (
        [*found, "--price-in", "1"],
        [*words, "b.jsonl", "--k=2"],
        [*words, "questions.txt"],
    ):
        code, _, err = casebook(*refused)
        assert code == 1 and err.count("\n") == 1
    replies = [response(completion(text)) for text in ("", "Eggs.")]
    monkeypatch.setenv("CASEBOOK_LLM_URL", endpoint(*replies)[0])
    (counts,) = json.loads(casebook(*words, "c.jsonl", "--json")[1])["systems"]
    assert (counts["answers"], counts["empty"]) == (3, 1)
    assert "--mode has no effect without --corpus" in casebook(*words, "b.jsonl", "--mode=bm25")[2]


def test_the_command_sums_up_time_tokens_and_cost_and_says_of_how_many_answers(
    kitchen, casebook, monkeypatch
):
    monkeypatch.chdir(kitchen)
    counted = {"prompt_tokens": 1000, "completion_tokens": 500}

    def reply(prompt):
        yield response(completion(usage=None if ONE in prompt else counted))

    words = ["answer", "questions.txt", "--model", "m", "--out", "a.jsonl"]
    words += ["--price-in", "1", "--price-out", "4", "--workers", "3"]
    with replying(reply) as (url, _):
        code, out, err = casebook(*words, "--url", url)
        (total,) = json.loads(casebook(*words, "--url", url, "--json")[1])["systems"]
    assert code == 0, err
    assert "tokens: of 2 of 3 answers; the others do not say" in out
    assert "cost: of 2 of 3 answers; the others do not say" in out
    assert (total["answers"], total["with tokens"], total["with cost"]) == (3, 2, 2)
    assert (total["prompt tokens"], total["answer tokens"]) == (2000, 1000)
    assert total["cost"] == pytest.approx(2 * (1000 * 1 + 500 * 4) / 1e6)
    assert total["total seconds"] == pytest.approx(read_log("a.jsonl")["seconds"].sum())


# --- replies that are no answers

ONE = QUESTIONS[1]
DEEP = b'{"choices": ' + b"[" * 100_000
HOSTILE = {
    "a list": (completion(["a"]), "content: Input should be a valid string"),
    "an object": (completion({"text": "a"}), "content: Input should be a valid string"),
    "a number": (completion(7), "content: Input should be a valid string"),
    "NaN": (completion(math.nan), "content: Input should be a valid string"),
    "half a character": (completion("\ud800"), "Invalid JSON: .*hex escape"),
    "choices are an object": (
        completion(choices={"0": CHOICE}),
        "content: Field required",
    ),
    "no choice": (completion(choices=[]), "choices"),
    "no content": (completion(choices=[{"message": {}}]), "content: Field required"),
    "deep": (DEEP, "Invalid JSON: "),
    "tokens in words": (
        completion(usage={"prompt_tokens": "ten"}),
        "prompt_tokens: Input should be a valid integer",
    ),
    "fewer tokens than none": (
        completion(usage={"prompt_tokens": -1, "completion_tokens": 1}),
        "prompt_tokens: ",
    ),
    "endless tokens": (
        completion(usage={"prompt_tokens": 1, "completion_tokens": math.inf}),
        "completion_tokens: ",
    ),
    "an error with status 200": (
        {"error": {"message": "quota, sk-secret"}},
        r"choices.*quota, \*\*\*",
    ),
}


def ask_three(kitchen, reply, **settings):
    """Ask the three questions without passages, the second of which gets a reply of its own."""
    with replying(lambda prompt: reply() if ONE in prompt else [response(completion())]) as (
        url,
        asked,
    ):
        try:
            return ask(kitchen, url, corpus=None, **({"retries": 0} | settings)), asked
        except BatchFailed as error:
            return str(error), asked


def test_a_reply_that_is_no_answer_is_a_row_with_the_reason(kitchen, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    wrong = []
    for kind, (body, reason) in HOSTILE.items():
        (kitchen / "answers.jsonl").unlink(missing_ok=True)
        said, asked = ask_three(kitchen, lambda body=body: [response(body)], prices=(1.0, 2.0))
        pattern = f"1 of 3 answers are missing: endpoint:m: no chat completion: .*{reason}"
        if len(asked) != 3 or not re.search(pattern, said):
            wrong.append((kind, said))
        log = read_log(kitchen / "answers.jsonl")
        assert log["question"].tolist() == QUESTIONS
        assert log["answer"].tolist() == ["Four egg whites.", "", "Four egg whites."]
        assert log["no_answer"].notna().tolist() == [False, True, False]
        note = log.attrs["notes"][0]
        assert note.startswith("not answered: 1 (1 × endpoint:m: no chat completion: ")
        row = json.loads(lines(kitchen)[1])
        assert row["answer"] is None and "sk-secret" not in lines(kitchen)[1]
    assert wrong == []


def test_what_had_no_answer_is_asked_again_after_what_was_never_asked(kitchen):
    nonsense = [response(completion(7))]
    ask_three(kitchen, lambda: nonsense)
    _, asked = ask_three(kitchen, lambda: nonsense)
    assert [prompt for prompt, _ in asked if ONE not in prompt] == [] and len(asked) == 1
    assert len(lines(kitchen)) == 3
    with (kitchen / "questions.txt").open("a") as stream:
        stream.write("\nWhat is new?")
    _, asked = ask_three(kitchen, lambda: nonsense)
    assert ["What is new?" in prompt for prompt, _ in asked] == [True, False]
    log, _ = ask_three(kitchen, lambda: [response(completion("The sponge."))])
    assert log["answer"].tolist() == [
        "Four egg whites.",
        "The sponge.",
        "Four egg whites.",
        "Four egg whites.",
    ]
    assert log["no_answer"].isna().all()


def test_nonsense_in_a_row_stops_nothing_and_slow_replies_in_a_row_are_got_past(kitchen):
    with chatting(raw='{"choices": 3}') as (url, asked):
        with pytest.raises(BatchFailed, match="6 of 6 answers are missing"):
            ask(kitchen, url)
        assert len(asked) == 6 and len(lines(kitchen)) == 6
    (kitchen / "answers.jsonl").unlink()
    with (
        chatting("Late.", delay=0.5) as (url, _),
        pytest.raises(BatchFailed, match=r"no answer within 0\.1 s"),
    ):
        ask(kitchen, url, timeout=0.1, retries=0)
    assert len(lines(kitchen)) == 3  # three in a row
    with (
        chatting("Late.", delay=0.5) as (url, _),
        pytest.raises(BatchFailed, match="6 of 6 answers are missing"),
    ):
        ask(kitchen, url, timeout=0.1, retries=0)
    assert len(lines(kitchen)) == 6
    with chatting("In time.") as (url, _):
        assert ask(kitchen, url)["answer"].tolist() == ["In time."] * 6


def test_a_log_whose_writer_was_killed_between_two_tries_is_read(kitchen):
    ask_three(kitchen, lambda: [response(completion(7))])
    path = kitchen / "answers.jsonl"
    again = json.loads(lines(kitchen)[1]) | {"answer": "The sponge.", "no_answer": None}
    path.write_text("\n".join([*lines(kitchen), json.dumps(again)]), encoding="utf-8")
    log = read_log(path)
    assert log["answer"].tolist() == ["Four egg whites.", "Four egg whites.", "The sponge."]
    assert len(ask_three(kitchen, list)[0]) == 3  # nothing is left to ask
    assert [json.loads(line)["answer"] for line in lines(kitchen)] == [
        "Four egg whites.", "The sponge.", "Four egg whites.",
    ]  # fmt: skip


def test_numbers_that_no_log_can_hold_are_refused_at_the_door(kitchen):
    for settings, message in [
        ({"prices": (math.inf, 1.0)}, r"prices \(inf, 1.0\): give numbers"),
        ({"prices": (1.0, math.nan)}, "give numbers from 0"),
        ({"temperature": math.nan}, "temperature nan: give a finite number"),
    ]:
        with pytest.raises(InputError, match=message):
            ask(kitchen, "http://127.0.0.1:9/v1", **settings)
    assert not (kitchen / "answers.jsonl").exists()


def test_what_was_being_asked_when_the_rest_was_given_up_is_kept(kitchen):
    (kitchen / "questions.txt").write_text("\n".join(f"Question {number}?" for number in range(12)))

    def reply(prompt):
        late = "Question 3?" in prompt
        time.sleep(0.5 if late else 0.1)
        yield response(completion()) if late else response(b"{}", status="401 No")

    with (
        replying(reply) as (url, asked),
        pytest.raises(BatchFailed, match="11 of 12 answers are missing"),
    ):
        ask(kitchen, url, corpus=None, workers=4, retries=0)
    assert len(asked) < 12
    assert [json.loads(line)["id"] for line in lines(kitchen)] == ["Question 3?"]
