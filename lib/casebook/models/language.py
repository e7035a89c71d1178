"""Language models that answer with JSON of a schema, behind an OpenAI-compatible endpoint.

A model is never asked by default. What it cannot answer is an error with a cause, and never
a default answer: callers count it apart. A server may send anything: a reply has a limit of time
and of size, is read against a schema, and only what fits is an answer.
"""

import asyncio
import json
import math
import os
import threading
from collections import Counter, namedtuple
from functools import cache
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

from casebook.credentials import without_secrets
from casebook.errors import InputError

URL_VARIABLE = "CASEBOOK_LLM_URL"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"  # read where the other is not set, as OpenAI's own tools do
KEY_VARIABLE = "OPENAI_API_KEY"
MAX_BYTES = 1_000_000  # of a reply
_ENDPOINT = "endpoint:"
_LONGEST_REASON = 300  # characters of a server's message
_LONGEST_TEXT = 10_000  # characters of it that are read
_LONGEST_PROBLEM = 200  # characters on what is wrong with an answer
_LONGEST_ANSWER = 50_000  # characters that are searched for JSON: braces without end take long
# Exceptions of httpx, by name, because its package has had two names.
_BROKEN_OFF = ("ReadError", "RemoteProtocolError", "WriteError")
# Headers of a reply that are passed on; others say how to decode.
_KEPT_HEADERS = ("location", "retry-after", "retry-after-ms", "x-should-retry")


class NoAnswer(InputError):
    """A language model gave no usable answer; ``cause`` says which kind.

    ``unreachable`` and ``refused`` speak of the server, ``timeout``, ``broken`` and
    ``nonsense`` of one reply.
    """

    def __init__(self, cause, message):
        super().__init__(message)
        self.cause = cause


# A model's answer, the tokens that it took (None if the server does not say), and whether the
# limit of tokens cut it off.
Reply = namedtuple("Reply", "text prompt_tokens completion_tokens cut_off")

Tokens = Annotated[StrictInt, Field(ge=0, le=2**53)] | None  # beyond it other readers of JSON round


class _Message(BaseModel):
    content: StrictStr | None


class _Choice(BaseModel):
    message: _Message
    finish_reason: StrictStr | None = None


class _Usage(BaseModel):
    prompt_tokens: Tokens = None
    completion_tokens: Tokens = None


class _Completion(BaseModel):
    """What is read of a chat completion."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


def load_language_model(name, url=None):
    """Language model by name: ``endpoint:MODEL``, at an address or that of CASEBOOK_LLM_URL."""
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), url)
    raise InputError(f"no language model {name!r}: give '{_ENDPOINT}MODEL'")


def check_address(url):
    """Refuse an address that no server can have; what stands before an @ may be a password."""
    if not str(url).startswith(("http://", "https://")):
        address = str(url).rpartition("@")[2]
        raise InputError(
            f"address {address!r} of a language model: begin it with http:// or https://"
        )
    try:
        parts = urlsplit(url)
        complete = parts.hostname and parts.port != 0  # the port is looked at only here
    except ValueError:  # whose text may repeat a part of the password
        complete = False
    if not complete or not url.isprintable() or " " in url:
        raise _wrong_address(url)


def _wrong_address(url):
    address = without_secrets(url, url)
    return InputError(f"address {address!r} of a language model: write it as http://HOST:PORT/v1")


class Endpoint:
    """A model behind an OpenAI-compatible address; ``outcomes`` counts the questions by outcome.

    ``timeout`` limits a reply as a whole, from the connection to its last byte, and
    ``max_bytes`` its size. A busy server and a broken connection are asked again ``retries``
    times, each with a time of its own.
    """

    def __init__(self, model, url=None, timeout=30.0, retries=0, max_bytes=MAX_BYTES):
        url = url or os.environ.get(URL_VARIABLE) or os.environ.get(OPENAI_URL_VARIABLE)
        if not url:
            raise InputError(
                f"no address of a language model: set {URL_VARIABLE}, or name one (--url)"
            )
        check_address(url)
        if not model.strip() or not model.isprintable():
            raise InputError(
                f"model {model!r}: give the name of a model at {without_secrets(url, url)}"
            )
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout {timeout}: give seconds, above 0")
        self._key = _key()
        self._openai = _openai_package()
        self.name = f"{_ENDPOINT}{model}"
        self.outcomes = Counter()
        self._model = model
        self._url = url
        self._loop = _loop()
        try:
            self._client = self._openai.AsyncOpenAI(
                base_url=url,
                api_key=self._key or "none",
                timeout=None,  # it would limit each step, and so let a reply drip for ever
                max_retries=retries,
                # A short reply may unpack to a gigabyte.
                default_headers={"Accept-Encoding": "identity"},
                http_client=_limited_client(self._openai, self.name, timeout, max_bytes),
            )
        # httpx refuses addresses in words of its own, which may repeat a password.
        except Exception as error:
            raise _wrong_address(url) from error

    def complete(self, prompt):
        """Answer a prompt with text; `NoAnswer` if that cannot be had."""
        return self.reply(prompt).text

    def reply(self, prompt, max_tokens=512, temperature=0, seed=0):
        """Answer a prompt with a `Reply`; a busy server is asked again ``retries`` times."""
        request = self._client.chat.completions.with_raw_response.create(
            model=self._model,
            messages=[{"role": "user", "content": prompt}],
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
        )
        try:
            body = asyncio.run_coroutine_threadsafe(request, self._loop).result().content
        except self._openai.APIConnectionError as error:
            if type(error.__cause__).__name__ in _BROKEN_OFF:
                raise NoAnswer(
                    "broken", f"{self.name}: the connection broke off before a whole reply"
                ) from error
            raise NoAnswer("unreachable", f"{self.name}: cannot be reached") from error
        except self._openai.APIStatusError as error:
            why = f"{self.name}: the server answers {error.status_code}{self._reason(error)}"
            raise NoAnswer("refused", why) from error
        except (self._openai.OpenAIError, TypeError, ValueError) as error:
            raise NoAnswer("nonsense", f"{self.name}: no chat completion{self._hint()}") from error
        return self._read(body)

    def _read(self, body):
        """The reply that a body holds."""
        if body.lstrip().startswith(b"<"):  # the address is that of something else
            raise NoAnswer(
                "refused", f"{self.name}: no chat completion, but a web page{self._hint()}"
            )
        try:
            completion = _Completion.model_validate_json(body)
        except ValidationError as error:
            problem = f"{self._first_problem(error, body)}{self._hint()}"
            raise NoAnswer("nonsense", f"{self.name}: no chat completion: {problem}") from error
        choice = completion.choices[0]
        usage = completion.usage or _Usage()
        return Reply(
            text=choice.message.content or "",
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cut_off=choice.finish_reason == "length",
        )

    def _first_problem(self, error, body):
        """The first field of a body that is wrong; of no object at all how it begins."""
        problem = error.errors(include_input=False)[0]
        text = problem["msg"]
        if field := ".".join(map(str, problem["loc"])):
            text = f"{field}: {text}"
        beginning = self._line(body[:_LONGEST_REASON].decode(errors="replace"))[:80]
        if beginning and len(problem["loc"]) < 2:
            text += f"; it begins {beginning}"
        return text

    def _reason(self, error):
        """What a server says of its refusal, in one line and without the key."""
        if target := error.response.headers.get("location"):
            return f": moved to {self._line(target)}: name that address, if you trust it"
        message = error.body
        if isinstance(message, dict):
            message = message.get("message") or message.get("detail") or message.get("error")
        if message and not isinstance(message, str):
            message = error.response.text
        reason = ""
        if line := self._line(message or ""):
            reason = f": {line}"
        if error.status_code in (404, 405):
            reason += self._hint()
        return reason

    def _line(self, text, limit=_LONGEST_REASON):
        """Text of a server as one printable line, without the key and secrets of the address."""
        characters = [sign if sign.isprintable() else " " for sign in text[:_LONGEST_TEXT]]
        line = " ".join("".join(characters).split())
        if self._key:
            line = line.replace(self._key, "***")
        return without_secrets(line, self._url)[:limit]

    def _hint(self):
        """Where an OpenAI-compatible server usually answers, if the address names another place."""
        path = without_secrets(self._url, self._url).rstrip("/")
        return "" if path.endswith("/v1") else f"; most servers answer below /v1: try {path}/v1"

    def complete_json(self, prompt, schema):
        """Answer a prompt with one JSON object of a schema; a wrong answer is refused once."""
        shape = json.dumps(schema, sort_keys=True)
        question = (
            f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n{shape}\n"
        )
        try:
            answer, problem = _checked(self.complete(question), schema)
            if problem:
                self.outcomes["retried"] += 1
                refusal = f"Your last answer was refused: {problem[:_LONGEST_PROBLEM]}\n"
                answer, problem = _checked(self.complete(f"{question}\n{refusal}"), schema)
            if problem:
                raise NoAnswer("nonsense", f"{self.name}: {self._line(problem, _LONGEST_PROBLEM)}")
        except NoAnswer as error:
            self.outcomes[error.cause] += 1
            raise
        self.outcomes["answered"] += 1
        return answer


def _key():
    """The key of the environment, or None; one that no server can have given is refused."""
    key = os.environ.get(KEY_VARIABLE)
    if key and not (key.isascii() and key.isprintable()):
        raise InputError(
            f"{KEY_VARIABLE}: holds a line end or a letter that no key has: set it again"
        )
    return key


def _openai_package():
    try:
        import openai
    except ImportError as error:
        raise InputError(
            "endpoints need the package openai: pip install 'casebook[llm]'"
        ) from error
    return openai


def _limited_client(openai, name, seconds, max_bytes):
    """HTTP client that limits the time and bytes of each request, and follows no redirect."""

    class Limited(openai.DefaultAsyncHttpxClient):
        async def send(self, request, *, stream=False, **options):
            try:
                async with asyncio.timeout(seconds):
                    response = await super().send(request, stream=True, **options)
                    try:
                        body = await _body(response, name, max_bytes)
                    finally:
                        await response.aclose()
            except TimeoutError as error:
                raise NoAnswer("timeout", f"{name}: no answer within {seconds:g} s") from error
            headers = {}
            for header, value in response.headers.items():
                if header in _KEPT_HEADERS:
                    headers[header] = value
            return type(response)(
                response.status_code, headers=headers, content=body, request=request
            )

    # No redirect, because another host is to get neither key nor prompt.
    return Limited(follow_redirects=False, timeout=None)


async def _body(response, name, max_bytes):
    """Bytes of a reply; of a refusal the first ones, which say why."""
    packing = response.headers.get("content-encoding", "identity")
    if packing != "identity" and response.is_success:
        raise NoAnswer(
            "nonsense",
            f"{name}: the reply is compressed with {packing[:20]!a}, which nobody asked for",
        )
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > max_bytes:
            if response.is_success:
                raise NoAnswer("nonsense", f"{name}: the reply has more than {max_bytes:,} bytes")
            break
    return bytes(body[:max_bytes])


@cache
def _loop():
    """Event loop in a thread of its own: it can limit a request as a whole, also in a notebook."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="language models", daemon=True).start()
    return loop


def _checked(text, schema):
    """The first object of an answer and None, or None and what is wrong with it."""
    import jsonschema

    answer = first_object(text)
    if answer is None:
        return None, "no JSON object in it"
    errors = jsonschema.Draft202012Validator(schema).iter_errors(answer)
    problem = jsonschema.exceptions.best_match(errors)
    if problem:
        return None, problem.message
    return answer, None


def first_object(text):
    """First JSON object in a text that other readers can read too, or None."""
    decoder = json.JSONDecoder()
    text = text[:_LONGEST_ANSWER]
    start = text.find("{")
    while start >= 0:
        try:
            value = decoder.raw_decode(text, start)[0]
            # Refuses NaN and half a character.
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
            return value
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
    return None
