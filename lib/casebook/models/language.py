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
_BROKEN_OFF = (
    "ReadError",
    "RemoteProtocolError",
    "WriteError",
)  # of httpx, whose package has had two names


class NoAnswer(InputError):
    """A language model gave no usable answer; ``cause`` says which kind.

    ``unreachable`` and ``refused`` speak of the server, ``timeout``, ``broken`` and ``nonsense`` of one reply.
    """

    def __init__(self, cause, message):
        super().__init__(message)
        self.cause = cause


# What a model answered, the tokens that it took (None if it does not say), and whether it broke off.
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


def load_language_model(name, **settings):
    """Language model by name: ``endpoint:MODEL``, at the address that CASEBOOK_LLM_URL gives."""
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), **settings)
    raise InputError(f"no language model {name!r}: give '{_ENDPOINT}MODEL'")


def check_address(url):
    """Refuse an address that no server can have; what stands before an @ may be a password."""
    if not str(url).startswith(("http://", "https://")):
        shown = str(url).rpartition("@")[2]
        raise InputError(
            f"address {shown!r} of a language model: begin it with http:// or https://"
        )
    shown = without_secrets(url, url)
    try:
        parts = urlsplit(url)
        complete = parts.hostname and parts.port != 0  # the port is looked at only here
    except ValueError:  # whose text may repeat a part of the password
        complete = False
    if not complete or not url.isprintable() or " " in url:
        raise InputError(f"address {shown!r} of a language model: write it as http://HOST:PORT/v1")


class Endpoint:
    """A model behind an OpenAI-compatible address; ``outcomes`` counts what became of each question.

    ``timeout`` limits a reply as a whole, from the connection to its last byte, and ``max_bytes`` its size. A busy
    server and a broken connection are asked again ``retries`` times, each with a time of its own.
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
        self._key = os.environ.get(KEY_VARIABLE)
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise InputError(
                f"{KEY_VARIABLE}: holds a line end or a letter that no key has: set it again"
            )
        try:
            import openai
        except ImportError as error:
            raise InputError(
                "endpoints need the package openai: pip install 'casebook[llm]'"
            ) from error
        self.name, self.outcomes = f"{_ENDPOINT}{model}", Counter()
        self._model, self._errors, self._url = model, openai, url
        self._loop = _loop()
        try:
            self._client = openai.AsyncOpenAI(
                base_url=url,
                api_key=self._key or "none",
                timeout=None,  # it would limit each step, and so let a reply drip for ever
                max_retries=retries,
                default_headers={
                    "Accept-Encoding": "identity"
                },  # a short reply may unpack to a gigabyte
                http_client=_limited_client(openai, self.name, timeout, max_bytes),
            )
        except (
            Exception
        ) as error:  # httpx refuses addresses in words of its own, which may repeat a password
            shown = without_secrets(url, url)
            raise InputError(
                f"address {shown!r} of a language model: write it as http://HOST:PORT/v1"
            ) from error

    def complete(self, prompt):
        """Answer a prompt with text; `NoAnswer` if that cannot be had."""
        return self.reply(prompt).text

    def reply(self, prompt, max_tokens=512, temperature=0, seed=0):
        """Answer a prompt with a `Reply`; what is busy or breaks the connection is asked again ``retries`` times."""
        errors = self._errors
        request = self._client.chat.completions.with_raw_response.create(
            model=self._model,
            messages=[{"role": "user", "content": prompt}],
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
        )
        try:
            body = asyncio.run_coroutine_threadsafe(request, self._loop).result().content
        except errors.APIConnectionError as error:
            if type(error.__cause__).__name__ in _BROKEN_OFF:
                raise NoAnswer(
                    "broken", f"{self.name}: the connection broke off before a whole reply"
                ) from error
            raise NoAnswer("unreachable", f"{self.name}: cannot be reached") from error
        except errors.APIStatusError as error:
            why = f"{self.name}: the server answers {error.status_code}{self._reason(error)}"
            raise NoAnswer("refused", why) from error
        except (errors.OpenAIError, TypeError, ValueError) as error:
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
            problem = error.errors(include_input=False)[0]
            place = ".".join(map(str, problem["loc"]))
            why = f"{place}: {problem['msg']}" if place else problem["msg"]
            beginning = self._line(body[:_LONGEST_REASON].decode(errors="replace"))[:80]
            why += f"; it begins {beginning}" if beginning and len(problem["loc"]) < 2 else ""
            raise NoAnswer(
                "nonsense", f"{self.name}: no chat completion: {why}{self._hint()}"
            ) from error
        choice, usage = completion.choices[0], completion.usage or _Usage()
        cut_off = choice.finish_reason == "length"
        return Reply(
            choice.message.content or "", usage.prompt_tokens, usage.completion_tokens, cut_off
        )

    def _reason(self, error):
        """What a server says of its refusal, in one line and without the key."""
        if target := error.response.headers.get("location"):
            return f": moved to {self._line(target)}: name that address, if you trust it"
        body = error.body
        if isinstance(body, dict):
            body = body.get("message") or body.get("detail") or body.get("error")
        text = self._line(body if isinstance(body, str) else error.response.text if body else "")
        return (f": {text}" if text else "") + (
            self._hint() if error.status_code in (404, 405) else ""
        )

    def _line(self, text, most=_LONGEST_REASON):
        """Text of a server as one line that a terminal can show, without the key and what is secret in the address."""
        shown = "".join(sign if sign.isprintable() else " " for sign in text[:_LONGEST_TEXT])
        line = " ".join(shown.split())
        line = line.replace(self._key, "***") if self._key else line
        return without_secrets(line, self._url)[:most]

    def _hint(self):
        """Where an OpenAI-compatible server usually answers, if the address names another place."""
        path = without_secrets(self._url, self._url).rstrip("/")
        return "" if path.endswith("/v1") else f"; most servers answer below /v1: try {path}/v1"

    def complete_json(self, prompt, schema):
        """Answer a prompt with one JSON object of a schema; an answer that is none is refused once."""
        shape = json.dumps(schema, sort_keys=True)
        asked = (
            f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n{shape}\n"
        )
        try:
            answer, problem = _checked(self.complete(asked), schema)
            if problem:
                self.outcomes["retried"] += 1
                again = f"{asked}\nYour last answer was refused: {problem[:_LONGEST_PROBLEM]}\n"
                answer, problem = _checked(self.complete(again), schema)
            if problem:
                raise NoAnswer("nonsense", f"{self.name}: {self._line(problem, _LONGEST_PROBLEM)}")
        except NoAnswer as error:
            self.outcomes[error.cause] += 1
            raise
        self.outcomes["answered"] += 1
        return answer


def _limited_client(openai, name, seconds, max_bytes):
    """HTTP client whose every request ends in time, keeps no more than the bytes allowed, and goes nowhere else."""

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
            kept = (
                "location",
                "retry-after",
                "retry-after-ms",
                "x-should-retry",
            )  # others say how to decode
            headers = {key: value for key, value in response.headers.items() if key in kept}
            return type(response)(
                response.status_code, headers=headers, content=body, request=request
            )

    return Limited(
        follow_redirects=False, timeout=None
    )  # another host is to get neither key nor prompt


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
    """Event loop in a thread: only there can a request be limited as a whole, and a notebook's own runs already."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="language models", daemon=True).start()
    return loop


def _checked(text, schema):
    """The first object of an answer and None, or None and what is wrong with it."""
    import jsonschema

    found = first_object(text)
    if found is None:
        return None, "no JSON object in it"
    problem = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(found)
    )
    return (None, problem.message) if problem else (found, None)


def first_object(text):
    """First JSON object in a text that other readers can read too, or None."""
    decoder = json.JSONDecoder()
    text = text[:_LONGEST_ANSWER]
    start = text.find("{")
    while start >= 0:
        try:
            value = decoder.raw_decode(text, start)[0]
            json.dumps(
                value, ensure_ascii=False, allow_nan=False
            ).encode()  # neither NaN nor half a character
            return value
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
    return None
