"""What every language model shares: answers that are JSON of a schema, or an error.

What a model cannot answer is an error with a cause, and never a default answer:
callers count it apart.
"""

import abc
import json
from collections import Counter

from casebook.errors import InputError

_LONGEST_ANSWER = 1_000_000  # characters; more than that is no JSON answer of ours


class NoAnswer(InputError):
    """A language model gave no usable answer; ``cause`` says which kind."""

    def __init__(self, cause, message):
        super().__init__(message)
        self.cause = cause


class JsonModel(abc.ABC):
    """A language model that answers with JSON of a schema, with one retry."""

    name = ""

    def __init__(self):
        self.outcomes = Counter()

    @abc.abstractmethod
    def complete(self, prompt, max_tokens=512):
        """Answer a prompt with text; ``NoAnswer`` if that cannot be had."""

    def complete_json(self, prompt, schema, max_tokens=512):
        """Answer a prompt with one JSON object of a schema."""
        asked = f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing "
        asked += f"else:\n{json.dumps(schema, sort_keys=True)}\n"
        try:
            answer, problem = self._attempt(asked, schema, max_tokens)
            if problem:
                self.outcomes["retried"] += 1
                again = f"{asked}\nYour last answer was refused: {problem}\n"
                answer, problem = self._attempt(again, schema, max_tokens)
            if problem:
                raise NoAnswer("nonsense", f"{self.name}: {problem}")
        except NoAnswer as error:
            self.outcomes[error.cause] += 1
            raise
        self.outcomes["answered"] += 1
        return answer

    def _attempt(self, prompt, schema, max_tokens):
        """Give a valid object and None, or None and what is wrong with the answer."""
        import jsonschema

        found = first_object(self.complete(prompt, max_tokens))
        if found is None:
            return None, "no JSON object in it"
        problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(found))
        return (None, problem.message[:200]) if problem else (found, None)


def first_object(text):
    """Find the first JSON object in a text."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    start = text.find("{", 0, _LONGEST_ANSWER)
    while start >= 0:
        try:
            return decoder.raw_decode(text[:_LONGEST_ANSWER], start)[0]
        except (ValueError, RecursionError):
            start = text.find("{", start + 1, _LONGEST_ANSWER)
    return None


def _no_constant(name):
    raise ValueError(f"{name} is no JSON")
