"""Language models against a local server that behaves well, badly, or not at all."""

import pytest
from pydantic import BaseModel
from serving import completion, replying, response

from casebook.models.language import CachedModel, Endpoint, NoAnswer

pytestmark = pytest.mark.usefixtures("fresh_answers")


class Plausibility(BaseModel):
    plausible: bool


GOOD = 'Certainly: {"plausible": true, "why": "it is"}.'


def test_an_answer_is_the_object_within_the_words(endpoint):
    url, asked = endpoint(GOOD)
    assert Endpoint("m", url).complete_json("Is it?", Plausibility) == {"plausible": True}
    assert asked[0]["temperature"] == 0
    assert asked[0]["messages"][0]["content"].startswith("Is it?")
    schema = {"name": "Plausibility", "schema": Plausibility.model_json_schema()}
    assert asked[0]["response_format"] == {"type": "json_schema", "json_schema": schema}


def test_what_does_not_fit_is_no_answer_and_says_what_was_wrong(endpoint):
    wrong = []
    for bad, problem in [
        ("perhaps", "Expecting value"),
        ('{"plausible": "yes"}', "field plausible: Input should be a valid boolean"),
        ("{}", "field plausible: Field required"),
        ('{"plausible": NaN}', "field plausible: Input should be a valid boolean"),
        ("{" * 5000, "no JSON object as asked"),
        ('{"plausible": true, "why": "\\ud800"}', "Invalid JSON"),
    ]:
        url, asked = endpoint(bad)
        with pytest.raises(NoAnswer, match="no JSON object as asked") as error:
            Endpoint("m", url).complete_json("Is it?", Plausibility)
        if problem not in str(error.value) or len(asked) != 1:
            wrong.append((bad, str(error.value)))
    assert wrong == []


def test_bad_servers_are_named(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    wrong = []
    for behaviour, message in [
        ({"status": 500, "raw": "oops"}, "the server answers 500: oops"),
        ({"status": 401, "raw": '"bad sk-secret"'}, 'the server answers 401: "bad ***"'),
        ({"status": 404, "raw": "{}"}, "most servers answer at an address that ends"),
        ({"raw": "<html>"}, "it is b'<html>'; most servers answer at an address"),
        ({"raw": '{"choices": []}'}, "choices.0.message.content: Field required"),
        ({"delay": 0.5}, "endpoint:m: no answer within 0.2 s"),
    ]:
        url, _ = endpoint(GOOD, **behaviour)
        model = Endpoint("m", url, timeout=0.2 if "delay" in behaviour else 60, retries=0)
        with pytest.raises(NoAnswer) as error:
            model.complete_json("Is it?", Plausibility)
        text = str(error.value)
        if message not in text or "sk-secret" in text:
            wrong.append((behaviour, text))
    assert wrong == []


def test_neither_key_nor_prompt_goes_to_another_host(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with replying(lambda prompt: [response(completion())]) as (elsewhere, asked):
        moved = response(b"", f"Location: {elsewhere}", status="307 Moved")
        with (
            replying(lambda prompt: [moved]) as (url, _),
            pytest.raises(NoAnswer, match=f"answers 307: {elsewhere}"),
        ):
            Endpoint("m", url).reply("Is it?")
    assert asked == []


# --- what is kept on disk, and what it cost


def test_a_question_is_paid_for_once():
    answer = response(completion('{"plausible": true}'))
    with replying(lambda prompt: [answer]) as (url, asked):
        models = [CachedModel(Endpoint(name, url)) for name in ("m", "m", "other")]
        for model in models:
            for _ in range(2):
                assert model.complete_json("Is it?", Plausibility) == {"plausible": True}
    assert len(asked) == 2
    first, again, _ = (model.costs for model in models)
    assert (first["questions"], first["from the cache"], first["requests"]) == (1, 0, 1)
    assert (again["questions"], again["from the cache"], again["requests"]) == (1, 1, 0)
    assert (first["prompt tokens"], first["answer tokens"]) == (100, 10)


def test_a_failure_is_not_kept_and_a_refused_key_is_not_tried_again():
    refused = response({"error": {"message": "no key"}}, status="401 Unauthorized")
    replies = iter([response(completion("perhaps")), refused])
    refusal = r"401: .*no key.*; the key is that of OPENAI_API_KEY"
    with replying(lambda prompt: [next(replies)]) as (url, asked):
        model = CachedModel(Endpoint("m", url))
        for question, message in [("a?", "no JSON"), ("a?", refusal), ("b?", refusal)]:
            with pytest.raises(NoAnswer, match=message):
                model.complete_json(question, Plausibility)
    assert len(asked) == 2
    assert (model.costs["prompt tokens"], model.costs["from the cache"]) == (100, 0)


def test_a_busy_server_is_asked_again():
    replies = [response({}, "Retry-After: 0.01", status="429 Busy")] * 2 + [response(completion())]
    with replying(lambda prompt: [replies.pop(0)]) as (url, asked):
        assert Endpoint("m", url, retries=2).reply("Is it?").text == "Four egg whites."
    assert len(asked) == 3
