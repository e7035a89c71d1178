"""What models answered is kept by model and question, and what it cost is counted."""

import json
import sqlite3
from multiprocessing import get_context

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


class Stance(BaseModel):
    stance: str


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_answers_are_found_by_model_and_question(tmp_path):
    cache = AnswerCache(tmp_path)
    assert cache.load("m", ["a"]) == {}
    cache.store("m", {"a": {"stance": "é"}, "b": [0.5]})
    cache.store("n", {"a": 1})
    assert AnswerCache(tmp_path).load("m", ["b", "a", "c"]) == {"a": {"stance": "é"}, "b": [0.5]}
    many = {f"question {n}": n for n in range(1200)}
    cache.store("m", many)
    assert cache.load("m", many) == many


def _store_some(folder, number):
    for n in range(50):
        AnswerCache(folder).store("m", {f"{number} {n}": number})


def test_several_processes_write_one_file(tmp_path):
    processes = [
        get_context("spawn").Process(target=_store_some, args=(tmp_path, number))
        for number in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    questions = [f"{number} {n}" for number in range(2) for n in range(50)]
    assert len(AnswerCache(tmp_path).load("m", questions)) == 100


def test_a_place_that_takes_nothing_only_warns(tmp_path):
    (tmp_path / "file").write_text("")
    cache = AnswerCache(tmp_path / "file")
    with pytest.warns(UserWarning, match="answers of models are not kept"):
        cache.store("m", {"a": 1})
    assert cache.load("m", ["a"]) == {}


def test_no_question_and_no_text_is_kept(tmp_path):
    pytest.importorskip("openai")
    answer = response(completion('{"stance": "supports"}'))
    with replying(lambda prompt: [answer]) as (url, _):
        CachedModel(Endpoint("m", url)).complete_json("the secret claim", Stance)
    kept = AnswerCache().path.read_bytes()
    assert b"supports" in kept
    assert b"secret claim" not in kept
    assert url.encode() not in kept


def test_a_question_is_paid_for_once(monkeypatch):
    pytest.importorskip("openai")
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


def test_a_failure_is_not_kept_and_a_refused_key_is_not_tried_again():
    pytest.importorskip("openai")
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


@pytest.mark.parametrize("text", ["1", "1,2,3", "a,b", "-1,2", "nan,1", "1e99,1"])
def test_prices_are_two_numbers(monkeypatch, text):
    monkeypatch.setenv(PRICES_VARIABLE, text)
    with pytest.raises(InputError, match="give two numbers"):
        prices_of_tokens()


def test_an_answer_that_is_no_json_any_more_is_asked_again(tmp_path):
    cache = AnswerCache(tmp_path)
    cache.store("m", {"a": 1, "b": 2})
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE answers SET answer = '{' WHERE answer = ?", [json.dumps(1)])
    assert cache.load("m", ["a", "b"]) == {"b": 2}
