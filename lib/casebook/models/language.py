"""Language models behind an OpenAI-compatible endpoint.

A model is never asked by default. What it cannot answer is an error with a cause, and never
a default answer: callers count it apart. A server may send anything: a reply has a limit of time
and of size, is read against a schema, and only what fits is an answer.
"""

import asyncio
import json
import math
import os
import re
import socket
import threading
from collections import Counter, namedtuple
from functools import cache
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

from casebook.credentials import without_secrets
from casebook.errors import InputError
from casebook.text import printable

URL_VARIABLE = "CASEBOOK_LLM_URL"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"  # read where the other is not set, as OpenAI's own tools do
KEY_VARIABLE = "OPENAI_API_KEY"
MAX_BYTES = 1_000_000  # of a reply
_ENDPOINT = "endpoint:"
_COMPLETIONS = "/chat/completions"
_VERSION = re.compile(r"/v\d+[a-z0-9]*(/|$)")  # in the path of an address: /v1, /v1beta/openai
_CONNECT = 1.0  # seconds after which an address is left to the first request
LONGEST_REASON = 300  # characters of a server's message
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

    def __init__(self, cause, message, lasting=False):
        super().__init__(message)
        self.cause = cause
        self.lasting = lasting  # asking again, or something else, would fail in the same way


class _Elsewhere(NoAnswer):
    """What is asked for is not at this address: 404, 405, or a web page."""

    def __init__(self, message):
        super().__init__("refused", message)


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


def check_reachable(url):
    """Refuse an address where nobody listens, within a second.

    What takes longer, and what a proxy reaches, is left to the first request.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(parts.hostname):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    where = f"address {without_secrets(url, url)!r} of a language model"
    connection = _connect(parts.hostname, port)
    try:
        asyncio.run_coroutine_threadsafe(connection, event_loop()).result()
    except TimeoutError:
        return
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(f"{where}: no host of this name: check the address") from error
    except OSError as error:
        raise InputError(
            f"{where}: cannot be reached: start the server, or check the address"
        ) from error


async def _connect(host, port):
    async with asyncio.timeout(_CONNECT):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()


class Endpoint:
    """A model behind an OpenAI-compatible address; ``outcomes`` counts the questions by outcome.

    ``timeout`` limits a reply as a whole, from the connection to its last byte, and
    ``max_bytes`` its size. A busy server and a broken connection are asked again ``retries``
    times, each with a time of its own. An address that lacks ``/v1``, or names a path below it, is
    mended where ``report`` can say so.
    """

    def __init__(self, model, url=None, timeout=30.0, retries=0, max_bytes=MAX_BYTES, report=None):
        url = address_of_model(url)
        if not model.strip() or not model.isprintable():
            raise InputError(
                f"model {model!r}: give the name of a model at {without_secrets(url, url)}"
            )
        if report and urlsplit(url).path.rstrip("/").endswith(_COMPLETIONS):
            url = _with_path(url, _base_path(url))
            report(f"the address is read as {without_secrets(url, url)}, without {_COMPLETIONS}")
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout {timeout}: give seconds, above 0")
        self.name = f"{_ENDPOINT}{model}"
        self.outcomes = Counter()
        self.usage = Counter()  # of `complete`: replies, tokens, and replies that do not say them
        self._model = model
        self._report = report
        self._key = _key(KEY_VARIABLE)
        self._openai = _openai_package()
        self._url = url
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

    @property
    def identity(self):
        """What answers depend on besides the question: the address without secrets, the model."""
        return f"{without_secrets(self._url, self._url)} {self._model}"

    def check(self):
        """Refuse an address where nobody listens."""
        check_reachable(self._url)

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
        """Answer a prompt with a `Reply`; a busy server is asked again ``retries`` times."""
        request = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
        }
        try:
            return self._completion(self._client, request)
        except _Elsewhere as failure:
            below = _below_v1(self._url)
            if below == self._url or not self._report:
                raise
            client = self._client.with_options(base_url=below)
            try:
                reply = self._completion(client, request)
            except _Elsewhere:
                raise failure from None
        if self._url != below:  # one of several requests at a time says it
            self._url = below
            self._client = client
            self._report(f"the server answers below /v1: {without_secrets(below, below)} is asked")
        return reply

    def _completion(self, client, request):
        """Ask for a chat completion and read it."""
        body = self._received(client.chat.completions.with_raw_response.create(**request)).content
        self._refuse_page(body)
        try:
            completion = _Completion.model_validate_json(body)
        except ValidationError as error:
            problem = f"{self._first_problem(error, body)}{self._hint()}"
            raise NoAnswer("nonsense", f"{self.name}: no chat completion: {problem}") from error
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

    def _first_problem(self, error, body):
        """The first field of a body that is wrong; of no object at all how it begins."""
        problem = error.errors(include_input=False)[0]
        text = problem["msg"]
        if field := ".".join(map(str, problem["loc"])):
            text = f"{field}: {text}"
        beginning = self.line(body[:LONGEST_REASON].decode(errors="replace"))[:80]
        if beginning and len(problem["loc"]) < 2:
            text += f"; it begins {beginning}"
        return text

    def _hint(self):
        """Where an OpenAI-compatible server usually answers, if the address names another place."""
        below = _below_v1(self._url)
        if urlsplit(self._url).path.rstrip("/").endswith(_COMPLETIONS):
            return f"; leave {_COMPLETIONS} out of the address"
        if below == self._url:
            return ""
        return f"; most servers answer below /v1: try {without_secrets(below, below)}"

    def _received(self, request):
        """Wait for what a request gives; `NoAnswer` if that cannot be had."""
        try:
            return asyncio.run_coroutine_threadsafe(request, event_loop()).result()
        except self._openai.APIConnectionError as error:
            if type(error.__cause__).__name__ in _BROKEN_OFF:
                raise NoAnswer(
                    "broken", f"{self.name}: the connection broke off before a whole reply"
                ) from error
            why = f"{self.name}: cannot be reached"
            raise NoAnswer("unreachable", why, lasting=True) from error
        except self._openai.APIStatusError as error:
            why = f"{self.name}: the server answers {error.status_code}{self._reason(error)}"
            if error.status_code in (404, 405):
                raise _Elsewhere(f"{why}{self._hint()}") from error
            lasting = error.status_code in (401, 403)
            if lasting and not self._key:
                why += f"; no key was sent: set {KEY_VARIABLE}"
            raise NoAnswer("refused", why, lasting) from error
        except (self._openai.OpenAIError, TypeError, ValueError) as error:
            raise NoAnswer("nonsense", f"{self.name}: no chat completion{self._hint()}") from error

    def _refuse_page(self, body):
        """Refuse a web page: the address is that of something else."""
        if body.lstrip().startswith(b"<"):
            raise _Elsewhere(f"{self.name}: no chat completion, but a web page{self._hint()}")

    def _reason(self, error):
        """What a server says of its refusal, in one line and without the key."""
        if target := error.response.headers.get("location"):
            return f": moved to {self.line(target)}: name that address, if you trust it"
        message = error.body
        if isinstance(message, dict):
            message = message.get("message") or message.get("detail") or message.get("error")
        if message and not isinstance(message, str):
            message = error.response.text
        line = self.line(message or "")
        return f": {line}" if line else ""

    def line(self, text, limit=LONGEST_REASON):
        """Text of a server as one printable line, without the key and secrets of the address."""
        line = printable_line(text)
        if self._key:
            line = line.replace(self._key, "***")
        return without_secrets(line, self._url)[:limit]

    def complete_json(self, prompt, schema):
        """Answer a prompt with one object of a pydantic model; a wrong answer is refused once."""
        shape = json.dumps(schema.model_json_schema(), sort_keys=True)
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
                raise NoAnswer("nonsense", f"{self.name}: {self.line(problem, _LONGEST_PROBLEM)}")
        except NoAnswer as error:
            self.outcomes[error.cause] += 1
            raise
        self.outcomes["answered"] += 1
        return answer


def address_of_model(url=None, other_remedy=""):
    """Give an address, or that of the environment, and refuse one that no server can have."""
    url = url or os.environ.get(URL_VARIABLE) or os.environ.get(OPENAI_URL_VARIABLE)
    if not url:
        raise InputError(f"no address of a language model: set {URL_VARIABLE}{other_remedy}")
    check_address(url)
    return url


def _base_path(url):
    return urlsplit(url).path.rstrip("/").removesuffix(_COMPLETIONS)


def _with_path(url, path):
    return urlunsplit(urlsplit(url)._replace(path=path))


def _below_v1(url):
    """The address of a model below /v1, or the same one where its path names a version."""
    path = _base_path(url)
    return url if _VERSION.search(path) else _with_path(url, f"{path}/v1")


def printable_line(text):
    """Text of others as one printable line, of its beginning if it is very long."""
    return printable(text[:_LONGEST_TEXT])


def _key(variable):
    """The key of the environment, or None; one that no server can have given is refused."""
    key = os.environ.get(variable)
    if key and not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable}: holds a line end or a letter that no key has: set it again")
    return key


def _openai_package():
    try:
        import openai
    except ImportError as error:
        raise InputError("endpoints need the package openai: pip install openai") from error
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
def event_loop():
    """Event loop in a thread of its own: it can limit a request as a whole, also in a notebook."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="language models", daemon=True).start()
    return loop


def _checked(text, schema):
    """The first object of an answer and None, or None and what is wrong with it."""
    answer = first_object(text)
    if answer is None:
        return None, "no JSON object in it"
    try:
        schema.model_validate_json(json.dumps(answer), strict=True)
    except ValidationError as error:
        return None, _problem(error)
    return answer, None


def _problem(error):
    """The first field of an answer that is wrong, and what it holds."""
    problem = error.errors()[0]
    field = ".".join(map(str, problem["loc"]))
    return f"{field}: {problem['msg']}, not {problem['input']!r}"


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
