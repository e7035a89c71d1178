"""Language models that answer with JSON: an OpenAI-compatible endpoint or a local one.

A model is never asked by default. What it cannot answer is an error with a cause, and
never a default answer: callers count it apart.
"""

import abc
import json
import os
from collections import Counter

from casebook.errors import InputError

URL_VARIABLE = "CASEBOOK_LLM_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
LOCAL = "smollm2"
_ENDPOINT = "endpoint:"
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
    """What every language model shares: JSON of a schema, with one retry.

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


class Endpoint(JsonModel):
    """A model behind an OpenAI-compatible address.

    Parameters
    ----------
    model : str
        Name that the server knows.
    url : str, optional
        Base address such as ``http://localhost:8000/v1``; by default the environment
        variable ``CASEBOOK_LLM_URL``.
    timeout : float
        Seconds to wait for one answer.

    Raises
    ------
    InputError
        If no address is given, or the package ``openai`` is not installed.

    Notes
    -----
    The key is read from the environment variable ``OPENAI_API_KEY`` and is kept out of
    every message and artefact. Answers are asked for at temperature 0 with a fixed
    seed, which a server may ignore.
    """

    def __init__(self, model, url=None, timeout=30.0):
        super().__init__()
        url = url or os.environ.get(URL_VARIABLE)
        if not url:
            raise InputError(f"no address of a language model: set {URL_VARIABLE}")
        try:
            import openai
        except ImportError as error:
            raise InputError(
                "endpoints need the package openai: pip install 'casebook[llm]'"
            ) from error
        self.name = f"{_ENDPOINT}{model}"
        self._model = model
        self._errors = openai
        key = os.environ.get(KEY_VARIABLE) or "none"
        self._client = openai.OpenAI(
            base_url=url, api_key=key, timeout=timeout, max_retries=0
        )

    def complete(self, prompt, max_tokens=512):
        """Answer a prompt with text.

        Parameters
        ----------
        prompt : str
            What is asked.
        max_tokens : int
            Length of the answer, at most.

        Returns
        -------
        str
            The answer.

        Raises
        ------
        NoAnswer
            If the server is down, slow, or answers with an error or something else.
        """
        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                temperature=0,
                seed=0,
                max_tokens=max_tokens,
            )
            return reply.choices[0].message.content or ""
        except self._errors.APITimeoutError as error:
            raise NoAnswer("timeout", f"{self.name}: no answer in time") from error
        except self._errors.APIConnectionError as error:
            raise NoAnswer("unreachable", f"{self.name}: cannot be reached") from error
        except self._errors.APIStatusError as error:
            status = f"{self.name}: the server answers {error.status_code}"
            raise NoAnswer("refused", status) from error
        except (
            self._errors.OpenAIError,
            AttributeError,
            IndexError,
            TypeError,
            ValueError,
        ) as error:
            raise NoAnswer("nonsense", f"{self.name}: no chat completion") from error


def load_language_model(name, **settings):
    """Load a language model by name.

    Parameters
    ----------
    name : str
        ``smollm2`` for the packaged model, or ``endpoint:MODEL`` for a model behind an
        OpenAI-compatible address.
    **settings
        For an endpoint, ``url`` and ``timeout``.

    Returns
    -------
    JsonModel
        Object with ``complete(prompt)`` and ``complete_json(prompt, schema)``.

    Raises
    ------
    InputError
        If there is no such model.
    """
    if name == LOCAL:
        from casebook.models.smollm import SmolLM

        return SmolLM(**settings)
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), **settings)
    raise InputError(
        f"no language model {name!r}: give {LOCAL!r} or '{_ENDPOINT}MODEL'"
    )
