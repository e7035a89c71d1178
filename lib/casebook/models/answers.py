"""What models answered, kept on disk by model and question, so that nothing is paid for twice.

Names are hashes: neither questions nor texts are kept, only answers. Any number of processes may
read and write, and be killed. What is damaged is asked again.
"""

import hashlib
import json
import os
import re

from casebook.errors import InputError
from casebook.files import write_text
from casebook.models.language import load_language_model
from casebook.paths import cache_dir

PRICES_VARIABLE = "CASEBOOK_LLM_PRICES"
_COUNTS = {
    "cut off": "cut off because they are longer than the model reads",
    "requests": "requests",
    "prompt tokens": "tokens of prompts",
    "answer tokens": "tokens of answers",
    "uncounted": "replies that do not say their tokens",
}


class CachedModel:
    """Language model that is asked only what was not asked before, and that counts its cost.

    ``costs`` counts different questions, those that the cache held, tokens of prompts and of
    answers, and ``uncounted`` replies that did not say their tokens. Only answers are kept, never
    failures.
    """

    def __init__(self, model):
        self.model = model
        self.name = model.name
        self.costs = model.usage  # which counts requests and tokens
        self.folder = cache_dir("answers")
        self._answers = {}

    def complete_json(self, prompt, schema):
        question = json.dumps([prompt, schema.model_json_schema()], sort_keys=True)
        if question not in self._answers:
            self.costs["questions"] += 1
            content = json.dumps([self.model.identity, question])
            key = hashlib.sha256(content.encode()).hexdigest()
            path = self.folder / key[:2] / f"{key}.json"
            try:
                self._answers[question] = json.loads(path.read_text("utf-8"))
                self.costs["from the cache"] += 1
            except (OSError, ValueError):  # not there, or damaged
                self._answers[question] = self.model.complete_json(prompt, schema)
                write_text(path, json.dumps(self._answers[question], allow_nan=False))
        return self._answers[question]


def load_judging_model(name):
    """Language model that judges, by name: ``endpoint:MODEL``, cached on disk."""
    return CachedModel(load_language_model(name))


def prices_of_tokens():
    """Prices of a million tokens of prompt and of answer, from the environment, or None."""
    text = os.environ.get(PRICES_VARIABLE)
    if not text:
        return None
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d*)?)\s*,\s*(\d{1,9}(?:\.\d*)?)\s*", text)
    if match is None:
        raise InputError(
            f"{PRICES_VARIABLE} {text[:40]!r}: give two numbers, of a million tokens of prompt and "
            "of answer, such as 0.15,0.6"
        )
    return float(match[1]), float(match[2])


def money(costs, prices):
    """Cost of tokens; None without prices, or where a reply did not say its tokens."""
    if prices is None or costs.get("uncounted"):
        return None
    of_prompts = prices[0] * costs.get("prompt tokens", 0)
    return (of_prompts + prices[1] * costs.get("answer tokens", 0)) / 1e6


def costs_in_words(costs, prices=None, asked="questions"):
    """How much was asked, how much of it the cache held, and what the rest cost."""
    parts = [f"{costs['questions']:,} {asked}", f"{costs['from the cache']:,} from the cache"]
    counts = {words: costs.get(name) for name, words in _COUNTS.items()}
    parts += [f"{count:,} {words}" for words, count in counts.items() if count]
    cost = money(costs, prices)
    if cost:
        parts.append(f"cost {cost:.4g}")
    return ", ".join(parts)
