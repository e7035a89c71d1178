"""What models answered is kept by model and question, and what it cost is counted."""

import pytest
from pydantic import BaseModel
from serving import completion, replying, response

from casebook.errors import InputError
from casebook.models.answers import PRICES_VARIABLE, CachedModel, money, prices_of_tokens
from casebook.models.language import Endpoint, NoAnswer

pytestmark = pytest.mark.usefixtures("fresh_answers")


class Stance(BaseModel):
    stance: str


def test_a_question_is_paid_for_once(monkeypatch):
    answer = response(completion('{"stance": "supports"}'))
    with replying(lambda prompt: [answer]) as (url, asked):
        models = [CachedModel(Endpoint(name, url)) for name in ("m", "m", "other")]
        for model in models:
            assert model.complete_json("Is it?", Stance) == {"stance": "supports"}
            model.complete_json("Is it?", Stance)
    assert len(asked) == 2
    first, again, _ = (model.costs for model in models)
    assert (first["questions"], first["from the cache"], first["requests"]) == (1, 0, 1)
    assert (again["questions"], again["from the cache"], again["requests"]) == (1, 1, 0)
    assert (first["prompt tokens"], first["answer tokens"]) == (100, 10)
    monkeypatch.setenv(PRICES_VARIABLE, "3, 15")
    # 100 tokens of prompt and 10 of answer, at 3 and 15 a million.
    assert money(first, prices_of_tokens()) == pytest.approx(0.00045)
    assert money(first, None) is None
    assert money({"uncounted": 1}, (3, 15)) is None


def test_a_failure_is_not_kept_and_a_refused_key_is_not_tried_again(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    refused = response({"error": {"message": "no key"}}, status="401 Unauthorized")
    replies = iter([response(completion("perhaps")), refused])
    with replying(lambda prompt: [next(replies)]) as (url, asked):
        model = CachedModel(Endpoint("m", url))
        with pytest.raises(NoAnswer, match="no JSON object"):
            model.complete_json("Is it?", Stance)
        for question in ("Is it?", "And that?"):
            with pytest.raises(
                NoAnswer, match=r"401: .*no key.*; the key is that of OPENAI_API_KEY"
            ):
                model.complete_json(question, Stance)
    assert len(asked) == 2
    assert model.costs["prompt tokens"] == 100
    assert model.costs["from the cache"] == 0


def test_prices_are_two_numbers(monkeypatch):
    for text in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "1e99,1"):
        monkeypatch.setenv(PRICES_VARIABLE, text)
        with pytest.raises(InputError, match="give two numbers"):
            prices_of_tokens()
