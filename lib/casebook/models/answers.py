"""What models answered, kept on disk by model and question, so that nothing is paid for twice.

Names are hashes: neither questions nor texts are kept, only answers. Any number of processes may
read and write, and be killed. What is damaged is asked again.
"""

import contextlib
import hashlib
import json
import os
import warnings
from pathlib import Path
from time import perf_counter

from casebook.errors import InputError
from casebook.files import write_text
from casebook.models.language import load_language_model
from casebook.paths import cache_dir

PRICES_VARIABLE = "CASEBOOK_LLM_PRICES"
HIGHEST_PRICE = 1e9
TIMEOUT = 60.0  # seconds of a reply to a judge's question
RETRIES = 4  # of a busy server


class AnswerCache:
    """Answers of models by model and question, one JSON file each; an answer is what JSON can hold.

    A file's name is the hash of model and question.
    """

    def __init__(self, folder=None):
        self.folder = cache_dir("answers") if folder is None else Path(folder)

    def load(self, model, questions):
        """Give the answers that are kept, by question."""
        answers = {}
        for question in questions:
            with contextlib.suppress(OSError, ValueError):
                answers[question] = json.loads(self._path(model, question).read_text("utf-8"))
        return answers

    def store(self, model, answers):
        """Keep answers by question; a place that takes nothing only warns."""
        try:
            for question, answer in answers.items():
                text = json.dumps(answer, allow_nan=False)
                write_text(self._path(model, question), text)
        except OSError as error:
            warnings.warn(f"answers of models are not kept: {error}", stacklevel=2)

    def _path(self, model, question):
        key = hashlib.sha256(json.dumps([model, question]).encode()).hexdigest()
        return self.folder / key[:2] / f"{key}.json"


class CachedModel:
    """Language model that is asked only what its cache does not hold, and that counts its cost.

    ``costs`` counts different questions, those that the cache held, tokens of prompts and of
    answers, seconds of waiting, and ``uncounted`` replies that did not say their tokens. Only
    answers are kept, never failures. Once a server has refused the key, or cannot be reached, it is
    not asked again.
    """

    def __init__(self, model, cache=None):
        self.model = model
        self.name = model.name
        self.costs = model.usage  # which counts requests and tokens
        self._cache = cache or AnswerCache()
        self._answers = {}
        self._failure = None

    def complete_json(self, prompt, schema):
        """Answer a prompt with one object of a pydantic model, see `Endpoint.complete_json`."""
        question = json.dumps([prompt, schema.model_json_schema()], sort_keys=True)
        if question not in self._answers:
            self.costs["questions"] += 1
            answers = self._cache.load(self.model.identity, [question])
            self.costs["from the cache"] += len(answers)
            if not answers:
                answers = {question: self._ask(prompt, schema)}
                self._cache.store(self.model.identity, answers)
            self._answers |= answers
        return self._answers[question]

    def _ask(self, prompt, schema):
        if self._failure is not None:
            raise self._failure
        start = perf_counter()
        try:
            return self.model.complete_json(prompt, schema)
        except InputError as error:
            if getattr(error, "lasting", False):
                self._failure = error
            raise
        finally:
            self.costs["seconds"] += perf_counter() - start


def load_judging_model(name):
    """Language model that judges, by name: ``endpoint:MODEL``, patient, and cached on disk."""
    return CachedModel(load_language_model(name, timeout=TIMEOUT, retries=RETRIES))


def prices_of_tokens():
    """Give the prices of a million tokens of prompt and of answer that the user set, or None."""
    text = os.environ.get(PRICES_VARIABLE)
    if not text:
        return None
    try:
        prices = tuple(map(float, text.split(",")))
    except ValueError:
        prices = ()
    if len(prices) != 2 or not all(0 <= price <= HIGHEST_PRICE for price in prices):
        raise InputError(
            f"{PRICES_VARIABLE} {text[:40]!r}: give two numbers, of a million tokens of prompt and "
            "of answer, such as 0.15,0.6"
        )
    return prices


def money(costs, prices):
    """Give what tokens cost; None without prices, or where a reply did not say its tokens."""
    if prices is None or costs.get("uncounted"):
        return None
    tokens = (costs.get("prompt tokens", 0), costs.get("answer tokens", 0))
    return sum(price * n for price, n in zip(prices, tokens, strict=True)) / 1e6


def costs_in_words(costs, prices=None, asked="questions"):
    """Say how much was asked, how much of it the cache held, and what the rest cost."""
    words = f"{costs['questions']:,} {asked}, {costs['from the cache']:,} from the cache"
    if costs.get("cut off"):
        words += f", {costs['cut off']:,} cut off because they are longer than the model reads"
    if costs.get("requests"):
        words += (
            f", {costs['requests']:,} requests, {costs['prompt tokens']:,} tokens of prompts and "
            f"{costs['answer tokens']:,} of answers"
        )
        if costs.get("uncounted"):
            words += f", without those of {costs['uncounted']:,} replies that do not say"
        cost = money(costs, prices)
        if cost is not None:
            words += f", cost {cost:.4g}"
    return words
