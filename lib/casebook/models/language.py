"""Language models that answer with JSON of a schema, behind an OpenAI-compatible endpoint.

A model is never asked by default. What it cannot answer is an error with a cause, and never
a default answer: callers count it apart.
"""

import json
import os
from collections import Counter, namedtuple

from casebook.errors import InputError

URL_VARIABLE = "CASEBOOK_LLM_URL"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"  # read where the other is not set, as OpenAI's own tools do
KEY_VARIABLE = "OPENAI_API_KEY"
_ENDPOINT = "endpoint:"
_LONGEST_REASON = 300  # characters of a server's message
_LONGEST_ANSWER = 1_000_000  # characters; more than that is no JSON answer of ours


class NoAnswer(InputError):
    """A language model gave no usable answer; ``cause`` says which kind."""

    def __init__(self, cause, message):
        super().__init__(message)
        self.cause = cause


# What a model answered, the tokens that it took (None if it does not say), and whether it broke off.
Reply = namedtuple("Reply", "text prompt_tokens completion_tokens cut_off")


def load_language_model(name, **settings):
    """Language model by name: ``endpoint:MODEL``, at the address that CASEBOOK_LLM_URL gives."""
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), **settings)
    raise InputError(f"no language model {name!r}: give '{_ENDPOINT}MODEL'")


class Endpoint:
    """A model behind an OpenAI-compatible address; ``outcomes`` counts what became of each question."""

    def __init__(self, model, url=None, timeout=30.0, retries=0):
        url = url or os.environ.get(URL_VARIABLE) or os.environ.get(OPENAI_URL_VARIABLE)
        if not url:
            raise InputError(f"no address of a language model: set {URL_VARIABLE}, or name one (--url)")
        if not url.startswith(("http://", "https://")):
            raise InputError(f"address {url!r} of a language model: begin it with http:// or https://")
        try:
            import openai
        except ImportError as error:
            raise InputError("endpoints need the package openai: pip install 'casebook[llm]'") from error
        self.name, self.outcomes = f"{_ENDPOINT}{model}", Counter()
        self._model, self._errors, self._url = model, openai, url
        self._key = os.environ.get(KEY_VARIABLE) or "none"
        self._client = openai.OpenAI(base_url=url, api_key=self._key, timeout=timeout, max_retries=retries)

    def complete(self, prompt):
        """Answer a prompt with text; `NoAnswer` if that cannot be had."""
        return self.reply(prompt).text

    def reply(self, prompt, max_tokens=512, temperature=0, seed=0):
        """Answer a prompt with a `Reply`; what is busy or breaks the connection is asked again ``retries`` times."""
        errors = self._errors
        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                temperature=temperature,
                seed=seed,
                max_tokens=max_tokens,
            )
            choice = reply.choices[0]
            usage = getattr(reply, "usage", None)
            counts = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
            return Reply(choice.message.content or "", *counts, choice.finish_reason == "length")
        except errors.APITimeoutError as error:
            raise NoAnswer("timeout", f"{self.name}: no answer in time") from error
        except errors.APIConnectionError as error:
            raise NoAnswer("unreachable", f"{self.name}: cannot be reached") from error
        except errors.APIStatusError as error:
            why = f"{self.name}: the server answers {error.status_code}{self._reason(error)}"
            raise NoAnswer("refused", why) from error
        except (errors.OpenAIError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise NoAnswer("nonsense", f"{self.name}: no chat completion{self._hint()}") from error

    def _reason(self, error):
        """What a server says of its refusal, in one line and without the key."""
        body = error.body
        if isinstance(body, dict):
            body = body.get("message") or body.get("detail") or body.get("error")
        text = " ".join(str(body or "").split()).replace(self._key, "***")[:_LONGEST_REASON]
        return (f": {text}" if text else "") + (self._hint() if error.status_code in (404, 405) else "")

    def _hint(self):
        """Where an OpenAI-compatible server usually answers, if the address names another place."""
        path = self._url.rstrip("/")
        return "" if path.endswith("/v1") else f"; most servers answer below /v1: try {path}/v1"

    def complete_json(self, prompt, schema):
        """Answer a prompt with one JSON object of a schema; an answer that is none is refused once."""
        shape = json.dumps(schema, sort_keys=True)
        asked = f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n{shape}\n"
        try:
            answer, problem = _checked(self.complete(asked), schema)
            if problem:
                self.outcomes["retried"] += 1
                again = f"{asked}\nYour last answer was refused: {problem}\n"
                answer, problem = _checked(self.complete(again), schema)
            if problem:
                raise NoAnswer("nonsense", f"{self.name}: {problem}")
        except NoAnswer as error:
            self.outcomes[error.cause] += 1
            raise
        self.outcomes["answered"] += 1
        return answer


def _checked(text, schema):
    """The first object of an answer and None, or None and what is wrong with it."""
    import jsonschema

    found = first_object(text)
    if found is None:
        return None, "no JSON object in it"
    problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(found))
    return (None, problem.message[:200]) if problem else (found, None)


def first_object(text):
    """First JSON object in a text, or None."""

    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    decoder = json.JSONDecoder(parse_constant=refuse)
    text = text[:_LONGEST_ANSWER]
    start = text.find("{")
    while start >= 0:
        try:
            return decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
    return None
