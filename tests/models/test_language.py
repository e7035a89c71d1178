"""Language models against a local server that behaves well, badly, or not at all."""

import asyncio
import json
import math
import time

import pytest
from pydantic import BaseModel
from serving import completion, replying, response

from casebook.errors import InputError
from casebook.models.language import Endpoint, NoAnswer, load_language_model


class Plausibility(BaseModel):
    plausible: bool


HALF = [
    '{"plausible": true, "why": "\\ud800"}',
    '{"plausible": true, "share": 1e999}',
]  # no file could hold them
GOOD = 'Certainly: {"plausible": true}.'


def test_an_answer_is_the_object_within_the_words(endpoint):
    url, asked = endpoint(GOOD)
    model = Endpoint("m", url)
    assert model.complete_json("Is it?", Plausibility) == {"plausible": True}
    assert model.outcomes == {"answered": 1}
    assert asked[0]["temperature"] == 0
    assert asked[0]["messages"][0]["content"].startswith("Is it?")


@pytest.mark.parametrize(
    "bad", ["perhaps", '{"plausible": "yes"}', "{}", '{"plausible": NaN}', "{" * 5000, *HALF]
)
def test_one_retry_tells_what_was_wrong(endpoint, bad):
    url, asked = endpoint(bad, GOOD)
    model = Endpoint("m", url)
    assert model.complete_json("Is it?", Plausibility) == {"plausible": True}
    assert model.outcomes == {"answered": 1, "retried": 1}
    assert "was refused" in asked[1]["messages"][0]["content"]


def test_nonsense_twice_is_no_answer(endpoint):
    url, asked = endpoint("perhaps")
    model = Endpoint("m", url)
    with pytest.raises(NoAnswer, match="no JSON object") as error:
        model.complete_json("Is it?", Plausibility)
    assert error.value.cause == "nonsense"
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        ({"status": 500, "raw": "oops"}, "refused"),
        ({"status": 401, "raw": "{}"}, "refused"),
        ({"raw": "<html>"}, "refused"),  # the address is not that of a model
        ({"raw": "{}"}, "nonsense"),
        ({"raw": '{"choices": []}'}, "nonsense"),
        ({"delay": 0.5}, "timeout"),
    ],
)
def test_bad_servers_are_named(endpoint, behaviour, cause, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    url, _ = endpoint(GOOD, **behaviour)
    model = Endpoint("m", url, timeout=0.2 if cause == "timeout" else 60)
    with pytest.raises(NoAnswer) as error:
        model.complete_json("Is it?", Plausibility)
    assert error.value.cause == cause
    assert "sk-secret" not in str(error.value)
    assert model.outcomes[cause] == 1


@pytest.mark.parametrize("value", ["sk-secret-key", "p%40ss-word", "p@ss-word", "bWU6cEBzcy13b3Jk"])
def test_a_wrong_answer_that_repeats_key_or_password_is_told_without(endpoint, monkeypatch, value):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    url, _ = endpoint(json.dumps({"plausible": f"{'x' * 120} {value}"}))
    with pytest.raises(NoAnswer, match=r"xx \*\*\*") as error:
        Endpoint("m", url.replace("://", "://me:p%40ss-word@")).complete_json(
            "Is it?", Plausibility
        )
    assert value not in str(error.value)


@pytest.mark.parametrize(
    "url", ["me:hunter22@host/v1", "http://me:hunter22/x@host/v1", "http://[::1"]
)
def test_what_is_no_address_is_one_line_without_the_password(url):
    with pytest.raises(InputError, match="of a language model: ") as error:
        Endpoint("m", url)
    assert "hunter22" not in str(error.value)


def test_a_server_that_is_down():
    with pytest.raises(NoAnswer) as error:
        Endpoint("m", "http://127.0.0.1:9/v1").complete_json("Is it?", Plausibility)
    assert error.value.cause == "unreachable"


def test_unknown_names_and_missing_settings(monkeypatch):
    monkeypatch.delenv("CASEBOOK_LLM_URL", raising=False)
    with pytest.raises(InputError, match="no language model 'gpt'"):
        load_language_model("gpt")
    # Notebooks and most commands have no --url.
    with pytest.raises(InputError, match=r"no address of a language model: set CASEBOOK_LLM_URL$"):
        load_language_model("endpoint:m")


def test_a_dripping_reply_ends_in_time():
    def drip(prompt):
        yield b"HTTP/1.1 200 OK\r\n\r\n{"
        while True:
            time.sleep(0.05)
            yield b" "

    with replying(drip) as (url, _):
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=r"endpoint:m: no answer within 0\.5 s") as error:
            Endpoint("m", url, timeout=0.5, retries=4).complete_json("Is it?", Plausibility)
    assert time.monotonic() - began < 3
    assert error.value.cause == "timeout"


def test_a_busy_server_is_asked_again_and_each_try_has_its_own_time():
    replies = [response({}, "Retry-After: 0.01", status="429 Busy")] * 2 + [response(completion())]

    def busy(prompt):
        time.sleep(0.4)
        yield replies.pop(0)

    with replying(busy) as (url, asked):
        assert Endpoint("m", url, timeout=1.0, retries=2).complete("Is it?") == "Four egg whites."
    assert len(asked) == 3


def test_neither_key_nor_prompt_goes_to_another_host(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with (
        replying(lambda prompt: [response(completion())]) as (elsewhere, asked),
        replying(lambda prompt: [response(b"", f"Location: {elsewhere}", status="307 Moved")]) as (
            url,
            _,
        ),
        pytest.raises(
            NoAnswer, match=f"the server answers 307: moved to {elsewhere}: name that address"
        ),
    ):
        Endpoint("m", url).complete("Is it?")
    assert asked == []


def test_a_notebook_whose_event_loop_runs_can_ask(endpoint):
    url, _ = endpoint(GOOD)

    async def cell():
        return Endpoint("m", url).complete("Is it?")

    assert asyncio.run(cell()) == GOOD


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1},
        {"prompt_tokens": "7"},
        {"completion_tokens": 1.5},
        {"completion_tokens": 2**70},
        3,
        [],
    ],
)
def test_tokens_are_counts_or_the_reply_is_no_answer(usage):
    server = replying(lambda prompt: [response(completion(usage=usage))])
    with server as (url, _), pytest.raises(NoAnswer, match="no chat completion: usage"):
        Endpoint("m", url).complete("Is it?")


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "other": math.nan}])
def test_a_server_need_not_count_tokens(usage):
    with replying(lambda prompt: [response(completion(usage=usage))]) as (url, _):
        assert Endpoint("m", url).reply("Is it?") == (
            "Four egg whites.",
            None,
            None,
            False,
            "",
        )


def test_a_reply_has_a_largest_size():
    with replying(lambda prompt: [response(completion("x" * 3000))]) as (url, _):
        assert len(Endpoint("m", url).complete("Is it?")) == 3000
        with pytest.raises(NoAnswer, match="the reply has more than 2,000 bytes"):
            Endpoint("m", url, max_bytes=2000).complete("Is it?")


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://",
        "http://:80",
        "http://h:99999/v1",
        "http://h:x",
        "http://a b/v1",
        "http://a\x00b",
        "http://\u2028",
    ],
)
def test_a_malformed_address_is_one_line(url):
    with pytest.raises(InputError, match=r"address .* of a language model: ") as error:
        load_language_model("endpoint:m", url=url)
    assert "\n" not in str(error.value)


def test_settings_that_no_request_can_have(monkeypatch):
    for timeout in (0, -1, math.nan, math.inf):
        with pytest.raises(InputError, match=r"timeout .*: give seconds"):
            Endpoint("m", "http://h/v1", timeout=timeout)
    with pytest.raises(InputError, match="give the name of a model"):
        Endpoint("\udcff", "http://h/v1")
    for key in ("sk\nX: y", "schl\u00fcssel"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match=r"^OPENAI_API_KEY: holds") as error:
            Endpoint("m", "http://h/v1")
        assert key not in str(error.value)
