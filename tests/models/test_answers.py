"""What models answered is kept by model and question, and what it cost is counted."""

import json

import pytest
from pydantic import BaseModel
from serving import completion, replying, response

from casebook.errors import InputError
from casebook.models.answers import (
    PRICES_VARIABLE,
    AnswerCache,
    CachedModel,
    money,
    prices_of_tokens,
)
from casebook.models.language import Endpoint, NoAnswer

pytestmark = pytest.mark.usefixtures("fresh_answers")


class Stance(BaseModel):
    stance: str


def test_answers_are_found_by_model_and_question(tmp_path):
    cache = AnswerCache(tmp_path)
    assert cache.load("m", ["a"]) == {}
    cache.store("m", {"a": {"stance": "é"}, "b": [0.5]})
    cache.store("n", {"a": 1})
    assert AnswerCache(tmp_path).load("m", ["b", "a", "c"]) == {"a": {"stance": "é"}, "b": [0.5]}


def test_a_place_that_takes_nothing_only_warns(tmp_path):
    (tmp_path / "file").write_text("")
    cache = AnswerCache(tmp_path / "file")
    with pytest.warns(UserWarning, match="answers of models are not kept"):
        cache.store("m", {"a": 1})
    assert cache.load("m", ["a"]) == {}


def test_no_question_and_no_text_is_kept(tmp_path):
    answer = response(completion('{"stance": "supports"}'))
    with replying(lambda prompt: [answer]) as (url, _):
        CachedModel(Endpoint("m", url)).complete_json("the secret claim", Stance)
    (path,) = AnswerCache().folder.rglob("*.json")
    assert json.loads(path.read_text()) == {"stance": "supports"}


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
    replies = iter(
        [
            response(completion("perhaps")),
            response(completion("perhaps")),
            response({"error": {"message": "no key"}}, status="401 Unauthorized"),
        ]
    )
    with replying(lambda prompt: [next(replies)]) as (url, asked):
        model = CachedModel(Endpoint("m", url))
        with pytest.raises(NoAnswer, match="no JSON object"):
            model.complete_json("Is it?", Stance)
        with pytest.raises(NoAnswer, match="401: no key; no key was sent: set OPENAI_API_KEY"):
            model.complete_json("Is it?", Stance)
        with pytest.raises(NoAnswer, match="401"):
            model.complete_json("And that?", Stance)
    assert len(asked) == 3
    assert model.costs["prompt tokens"] == 200
    assert model.costs["from the cache"] == 0


def test_prices_are_two_numbers(monkeypatch):
    for text in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "1e99,1"):
        monkeypatch.setenv(PRICES_VARIABLE, text)
        with pytest.raises(InputError, match="give two numbers"):
            prices_of_tokens()


def test_a_damaged_answer_is_asked_again(tmp_path):
    cache = AnswerCache(tmp_path)
    cache.store("m", {"a": 1})
    (path,) = tmp_path.rglob("*.json")
    path.write_text("{")
    assert cache.load("m", ["a"]) == {}
    cache.store("m", {"a": 2})
    assert cache.load("m", ["a"]) == {"a": 2}
