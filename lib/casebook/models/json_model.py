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
    """A language model gave no usable answer; ``cause`` says which kind.

    Attributes
    ----------
    cause : {"unreachable", "timeout", "refused", "nonsense"}
        No connection; no answer in time; an error of the server; an answer that is
        not JSON of the schema, twice.
    """

    def __init__(self, cause, message):
        super().__init__(message)
        self.cause = cause


class JsonModel(abc.ABC):
    """A language model that answers with JSON of a schema, with one retry.

    Attributes
    ----------
    name : str
        What the model is, for the provenance of numbers.
    outcomes : collections.Counter
        How often calls were ``answered``, ``retried``, or failed by cause.
    """

    name = ""

    def __init__(self):
        self.outcomes = Counter()

    @abc.abstractmethod
    def complete(self, prompt, max_tokens=512):
        """Answer a prompt with text; ``NoAnswer`` if that cannot be had."""

    def complete_json(self, prompt, schema, max_tokens=512):
        """Answer a prompt with one JSON object of a schema.

        Parameters
        ----------
        prompt : str
            What is asked; the schema is appended to it.
        schema : dict
            JSON Schema of the answer.
        max_tokens : int
            Length of the answer, at most.

        Returns
        -------
        dict
            The first JSON object of the answer, valid for the schema.

        Raises
        ------
        NoAnswer
            If the model cannot be reached, or its second answer is still none.
        """
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
        problem = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schema).iter_errors(found)
        )
        return (None, problem.message[:200]) if problem else (found, None)


def first_object(text):
    """Find the first JSON object in a text.

    Parameters
    ----------
    text : str
        Answer of a model, possibly with words around the object.

    Returns
    -------
    dict or None
        The object; None if there is none, or it holds NaN or an infinity.
    """
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
