"""Language models against a local server that behaves well, badly, or not at all."""

import pytest

from casebook.errors import InputError
from casebook.models.language import Endpoint, NoAnswer, load_language_model

SCHEMA = {"type": "object", "properties": {"plausible": {"type": "boolean"}}, "required": ["plausible"]}
GOOD = 'Certainly: {"plausible": true}.'


def test_an_answer_is_the_object_within_the_words(endpoint):
    url, asked = endpoint(GOOD)
    model = Endpoint("m", url)
    assert model.complete_json("Is it?", SCHEMA) == {"plausible": True}
    assert model.outcomes == {"answered": 1}
    assert asked[0]["temperature"] == 0
    assert asked[0]["messages"][0]["content"].startswith("Is it?")


@pytest.mark.parametrize("bad", ["perhaps", '{"plausible": "yes"}', "{}", '{"plausible": NaN}', "{" * 5000])
def test_one_retry_tells_what_was_wrong(endpoint, bad):
    url, asked = endpoint(bad, GOOD)
    model = Endpoint("m", url)
    assert model.complete_json("Is it?", SCHEMA) == {"plausible": True}
    assert model.outcomes == {"answered": 1, "retried": 1}
    assert "was refused" in asked[1]["messages"][0]["content"]


def test_nonsense_twice_is_no_answer(endpoint):
    url, asked = endpoint("perhaps")
    model = Endpoint("m", url)
    with pytest.raises(NoAnswer, match="no JSON object") as error:
        model.complete_json("Is it?", SCHEMA)
    assert error.value.cause == "nonsense"
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("behaviour", "cause"),
    [
        ({"status": 500, "raw": "oops"}, "refused"),
        ({"status": 401, "raw": "{}"}, "refused"),
        ({"raw": "<html>"}, "nonsense"),
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
        model.complete_json("Is it?", SCHEMA)
    assert error.value.cause == cause
    assert "sk-secret" not in str(error.value)
    assert model.outcomes[cause] == 1


def test_a_server_that_is_down():
    with pytest.raises(NoAnswer) as error:
        Endpoint("m", "http://127.0.0.1:9/v1").complete_json("Is it?", SCHEMA)
    assert error.value.cause == "unreachable"


def test_unknown_names_and_missing_settings(monkeypatch):
    monkeypatch.delenv("CASEBOOK_LLM_URL", raising=False)
    with pytest.raises(InputError, match="no language model 'gpt'"):
        load_language_model("gpt")
    with pytest.raises(InputError, match="CASEBOOK_LLM_URL"):
        load_language_model("endpoint:m")
