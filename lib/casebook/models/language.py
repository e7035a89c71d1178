"""Language models behind an OpenAI-compatible endpoint, asked by OpenAI's own client.

A model is never asked by default. What it cannot answer is an error with a cause, and never
a default answer: callers count it apart. A reply is read against a schema, and only what fits is
an answer.
"""

import json
import math
import os
from collections import Counter, namedtuple
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

from casebook.credentials import without_secrets
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.text import printable

URL_VARIABLE = "CASEBOOK_LLM_URL"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"  # read where the other is not set, as OpenAI's own tools do
KEY_VARIABLE = "OPENAI_API_KEY"
_ENDPOINT = "endpoint:"
_USUAL_PATH = "most servers answer at an address that ends in /v1"
_CONNECT = 1.0  # seconds after which an address is left to the first request
_LONGEST_TEXT = 10_000  # characters of a server's message that are read
_LONGEST_REASON = 300  # characters of it that are shown
_LONGEST_PROBLEM = 200  # characters on what is wrong with an answer
_LONGEST_BEGINNING = 80  # characters of what is no chat completion


class NoAnswer(InputError):
    """A language model gave no usable answer; ``cause`` says which kind.

    ``unreachable`` and ``refused`` speak of the server, ``timeout``, ``broken`` and
    ``nonsense`` of one reply.
    """

    def __init__(self, cause, message, lasting=False):
        super().__init__(message)
        self.cause = cause
        self.lasting = lasting  # asking again, or something else, would fail in the same way


# A model's answer, the tokens that it took (None if the server does not say), whether the limit of
# tokens cut it off, and what the server gives apart as the model's reasoning.
Reply = namedtuple("Reply", "text prompt_tokens completion_tokens cut_off thinking")

Tokens = Annotated[StrictInt, Field(ge=0, le=2**53)] | None  # beyond it other readers of JSON round


class _Message(BaseModel):
    content: StrictStr | None
    reasoning_content: Any = None  # of DeepSeek, vLLM, SGLang and llama.cpp
    reasoning: Any = None  # of OpenRouter, Ollama and later vLLM


class _Choice(BaseModel):
    message: _Message
    finish_reason: StrictStr | None = None


class Usage(BaseModel):
    """Tokens that a reply says it took."""

    prompt_tokens: Tokens = None
    completion_tokens: Tokens = None


class _Completion(BaseModel):
    """What is read of a chat completion."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: Usage | None = None


def load_language_model(name, url=None, **settings):
    """Language model by name: ``endpoint:MODEL``, at an address or that of CASEBOOK_LLM_URL.

    ``settings`` are those of `Endpoint`.
    """
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), url, **settings)
    raise InputError(f"no language model {name!r}: give '{_ENDPOINT}MODEL'")


class Endpoint:
    """A model behind an OpenAI-compatible address.

    ``timeout`` limits each wait for the server, in seconds; a busy, slow or broken one is asked
    again ``retries`` times.
    """

    def __init__(self, model, url=None, timeout=30.0, retries=0):
        self._url = address_of_model(url)
        self._address = without_secrets(self._url, self._url)
        if not model.strip() or not model.isprintable():
            raise InputError(f"model {model!r}: give the name of a model at {self._address}")
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout {timeout}: give seconds, above 0")
        self.name = f"{_ENDPOINT}{model}"
        self.usage = Counter()  # of `complete`: replies, tokens, and replies that do not say them
        self._model = model
        self._key = _key()
        try:
            import openai
        except ImportError as error:
            raise InputError("endpoints need the package openai: pip install openai") from error
        self._openai = openai
        try:
            self._client = openai.OpenAI(
                base_url=self._url,
                api_key=self._key or "none",
                timeout=timeout,
                max_retries=retries,
                # Another host is to get neither key nor prompt.
                http_client=openai.DefaultHttpxClient(follow_redirects=False),
            )
        except Exception as error:  # httpx refuses addresses in words that may repeat a password
            raise _wrong_address(self._url) from error

    @property
    def identity(self):
        """What answers depend on besides the question: the address without secrets, the model."""
        return f"{self._address} {self._model}"

    def check(self):
        """Refuse an address where nobody listens; what takes long is left to the first request."""
        client = self._client.with_options(timeout=_CONNECT, max_retries=0)
        try:
            client.models.with_raw_response.list()
        except (self._openai.APITimeoutError, self._openai.APIStatusError):
            return  # somebody listens
        except self._openai.APIConnectionError as error:
            raise NoAnswer(
                "unreachable",
                f"{self.name}: {self._address} cannot be reached "
                f"({self.line(error.__cause__)}): start the server, or check the address",
                lasting=True,
            ) from error

    def complete(self, prompt):
        """Answer a prompt with text; `NoAnswer` if that cannot be had."""
        reply = self.reply(prompt)
        self.usage["requests"] += 1
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self.usage["uncounted"] += 1
        self.usage["prompt tokens"] += reply.prompt_tokens or 0
        self.usage["answer tokens"] += reply.completion_tokens or 0
        return reply.text

    def reply(self, prompt, max_tokens=512, temperature=0, seed=0):
        """Answer a prompt with a `Reply`; `NoAnswer` if that cannot be had."""
        try:
            body = self._client.chat.completions.with_raw_response.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                temperature=temperature,
                seed=seed,
                max_tokens=max_tokens,
            ).content
            completion = _Completion.model_validate_json(body)
        except self._openai.APITimeoutError as error:
            raise NoAnswer(
                "timeout", f"{self.name}: no answer within {self._client.timeout:g} s"
            ) from error
        except self._openai.APIConnectionError as error:
            self.check()
            raise NoAnswer("broken", f"{self.name}: the connection broke off") from error
        except self._openai.APIStatusError as error:
            raise self._refusal(error) from error
        except ValidationError as error:
            raise self._no_completion(body, error) from error
        except (self._openai.OpenAIError, TypeError, ValueError) as error:
            raise NoAnswer("nonsense", f"{self.name}: no chat completion") from error
        choice = completion.choices[0]
        usage = completion.usage or Usage()
        reasoning = choice.message.reasoning_content or choice.message.reasoning
        return Reply(
            text=choice.message.content or "",
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cut_off=choice.finish_reason == "length",
            thinking=reasoning.strip() if isinstance(reasoning, str) else "",
        )

    def _refusal(self, error):
        """The failure of a request that a server refuses."""
        why = f"{self.name}: the server answers {error.status_code}"
        if reason := self.line(_reason(error)):
            why += f": {reason}"
        if error.status_code in (404, 405):
            why += f"; the address is {self._address}: {_USUAL_PATH}"
        lasting = error.status_code in (401, 403)
        if lasting and not self._key:
            why += f"; no key was sent: set {KEY_VARIABLE}"
        return NoAnswer("refused", why, lasting)

    def _no_completion(self, body, error):
        """The failure of a reply that is no chat completion; a web page has the wrong address."""
        why = f"{self.name}: no chat completion"
        if body.lstrip().startswith(b"<"):
            return NoAnswer("refused", f"{why}, but a web page, at {self._address}: {_USUAL_PATH}")
        beginning = self.line(body.decode(errors="replace"))[:_LONGEST_BEGINNING]
        return NoAnswer("nonsense", f"{why}: {first_problem(error)}; it begins {beginning}")

    def line(self, text):
        """Text of a server as one printable line, without the key and secrets of the address."""
        text = str(text)
        if self._key:
            text = text.replace(self._key, "***")
        return printable_line(text, self._url)

    def complete_json(self, prompt, schema):
        """Answer a prompt with the fields of a pydantic model; a wrong answer is refused once."""
        shape = json.dumps(schema.model_json_schema(), sort_keys=True)
        question = (
            f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n{shape}\n"
        )
        try:
            return _checked(self.complete(question), schema)
        except _WrongAnswer as error:
            refusal = f"Your last answer was refused: {str(error)[:_LONGEST_PROBLEM]}\n"
        try:
            return _checked(self.complete(f"{question}\n{refusal}"), schema)
        except _WrongAnswer as error:
            problem = self.line(error)[:_LONGEST_PROBLEM]
            raise NoAnswer("nonsense", f"{self.name}: {problem}") from error


def address_of_model(url=None, other_remedy=""):
    """Give an address, or that of the environment, and refuse one that no server can have."""
    url = url or os.environ.get(URL_VARIABLE) or os.environ.get(OPENAI_URL_VARIABLE)
    if not url:
        raise InputError(f"no address of a language model: set {URL_VARIABLE}{other_remedy}")
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # whose text may repeat a part of the password
        complete = False
    if not complete or not url.isprintable() or " " in url:
        raise _wrong_address(url)
    return url


def _wrong_address(url):
    address = without_secrets(url.rpartition("@")[2])  # before it may be a password
    return InputError(f"address {address!r} of a language model: write it as http://HOST:PORT/v1")


def _reason(error):
    """What a server says of its refusal."""
    if target := error.response.headers.get("location"):
        return f"moved to {target}: name that address, if you trust it"
    message = error.body
    if isinstance(message, dict):
        message = message.get("message") or message.get("detail")
    return message if isinstance(message, str) else error.response.text


def printable_line(text, *addresses):
    """Text of others as one short printable line without secrets."""
    return without_secrets(printable(text[:_LONGEST_TEXT]), *addresses)[:_LONGEST_REASON]


def _key():
    """The key of the environment, or None; one that no server can have given is refused."""
    key = os.environ.get(KEY_VARIABLE)
    if key and not (key.isascii() and key.isprintable()):
        raise InputError(
            f"{KEY_VARIABLE}: holds a line end or a letter that no key has: set it again"
        )
    return key


class _WrongAnswer(ValueError):
    """A text is no answer of a schema."""


def _checked(text, schema):
    """The fields of the first JSON object in an answer."""
    start = text.find("{")
    if start < 0:
        raise _WrongAnswer("no JSON object in it")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
        return schema.model_validate_json(json.dumps(value), strict=True).model_dump(mode="json")
    except ValidationError as error:
        found = error.errors()[0]["input"]
        raise _WrongAnswer(f"{first_problem(error)}, not {found!r}") from error
    except (ValueError, RecursionError) as error:
        raise _WrongAnswer(f"no JSON object in it: {error}") from error
