"""Language models behind an OpenAI-compatible endpoint, asked by OpenAI's own client.

A model is never asked by default. What it cannot answer is an error with a cause, and never
a default answer: callers count it apart. A reply is read against a schema, and only what fits is
an answer.
"""

import json
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
KEY_VARIABLE = "OPENAI_API_KEY"
_ENDPOINT = "endpoint:"
_USUAL_PATH = "most servers answer at an address that ends in /v1"
#: What may help, by a server's status.
_REMEDIES = {
    401: f"; the key is that of {KEY_VARIABLE}",
    403: f"; the key is that of {KEY_VARIABLE}",
    404: f"; the address is {{address}}: {_USUAL_PATH}",
    405: f"; the address is {{address}}: {_USUAL_PATH}",
}


class NoAnswer(InputError):
    """A language model gave no usable answer; ``cause`` is the kind of failure.

    ``unreachable`` and ``refused`` are failures of the server, ``timeout``, ``broken`` and
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
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: Usage | None = None


def load_language_model(name, url=None):
    """Language model by name: ``endpoint:MODEL``, at an address or that of CASEBOOK_LLM_URL."""
    if name.startswith(_ENDPOINT) and name != _ENDPOINT:
        return Endpoint(name.removeprefix(_ENDPOINT), url)
    raise InputError(f"no language model {name!r}: give '{_ENDPOINT}MODEL'")


class Endpoint:
    """A model behind an OpenAI-compatible address.

    ``timeout`` limits each wait for the server, in seconds; a busy, slow or broken one is asked
    again ``retries`` times.
    """

    def __init__(self, model, url=None, timeout=60.0, retries=2):
        import openai

        self._openai = openai
        self._url = address_of_model(url)
        self._address = without_secrets(self._url, self._url)
        self._model = model
        self.name = f"{_ENDPOINT}{model}"
        self.identity = f"{self._address} {model}"  # what answers depend on besides the question
        self.usage = Counter()  # of `complete_json`: replies, tokens, replies that do not say them
        self._failure = None
        key = os.environ.get(KEY_VARIABLE, "").strip() or "none"
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{KEY_VARIABLE}: holds a letter that no key has: set it again")
        self._client = openai.OpenAI(
            base_url=self._url,
            api_key=key,
            timeout=timeout,
            max_retries=retries,
            # Another host is to get neither key nor prompt.
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )

    def check(self):
        """Refuse an address where nobody listens; what takes long is left to the first request."""
        client = self._client.with_options(timeout=1, max_retries=0)
        try:
            client.models.with_raw_response.list()
        except (self._openai.APITimeoutError, self._openai.APIStatusError):
            return  # somebody listens
        except self._openai.APIConnectionError as error:
            raise NoAnswer(
                "unreachable",
                f"{self.name}: {self._address} cannot be reached "
                f"({self._line(error.__cause__)}): start the server, or check the address",
                lasting=True,
            ) from error

    def reply(self, prompt, **sampling):
        """Answer a prompt with a `Reply`; `NoAnswer` if that cannot be had."""
        request = {"max_tokens": 512, "temperature": 0, "seed": 0} | sampling
        try:
            body = self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=[{"role": "user", "content": prompt}], **request
            ).content
            completion = _Completion.model_validate_json(body)
        except self._openai.APITimeoutError as error:
            wait = self._client.timeout
            raise NoAnswer("timeout", f"{self.name}: no answer within {wait:g} s") from error
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

    def complete_json(self, prompt, schema):
        """Answer a prompt with the fields of a pydantic model; `NoAnswer` if that cannot be had.

        A server that refused the key, cannot be reached, or failed at each try is not asked again.
        """
        if self._failure is not None:
            raise self._failure
        fields = schema.model_json_schema()
        try:
            reply = self.reply(
                f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n"
                f"{json.dumps(fields, sort_keys=True)}\n",
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": schema.__name__, "schema": fields},
                },
            )
        except NoAnswer as error:
            if error.lasting:
                self._failure = error
            raise
        tokens = {"prompt tokens": reply.prompt_tokens, "answer tokens": reply.completion_tokens}
        counts = {name: number or 0 for name, number in tokens.items()}
        self.usage.update(counts, requests=1, uncounted=None in tokens.values())
        try:
            # Servers that do not read the schema put words around the object.
            start = max(reply.text.find("{"), 0)
            value, _ = json.JSONDecoder().raw_decode(reply.text, start)
            found = schema.model_validate_json(json.dumps(value), strict=True)
        except (ValueError, RecursionError) as error:
            problem = self._line(first_problem(error))
            raise NoAnswer(
                "nonsense", f"{self.name}: no JSON object as asked: {problem}"
            ) from error
        return found.model_dump(mode="json")

    def _refusal(self, error):
        """The failure of a request that a server refuses."""
        status = error.status_code
        reason = error.body
        if isinstance(reason, dict):
            reason = reason.get("message") or reason.get("detail")
        if target := error.response.headers.get("location"):
            reason = f"moved to {target}: name that address, if you trust it"
        if not isinstance(reason, str):
            reason = error.response.text
        why = f"{self.name}: the server answers {status}: {self._line(reason)}"
        why += _REMEDIES.get(status, "").format(address=self._address)
        return NoAnswer("refused", why, lasting=status in (401, 403) or status >= 500)

    def _no_completion(self, body, error):
        """The failure of a reply that is no chat completion; a web page has the wrong address."""
        why = f"{self.name}: no chat completion"
        if body.lstrip().startswith(b"<"):
            return NoAnswer("refused", f"{why}, but a web page, at {self._address}: {_USUAL_PATH}")
        beginning = self._line(body.decode(errors="replace"))[:80]
        return NoAnswer("nonsense", f"{why}: {first_problem(error)}; it begins {beginning}")

    def _line(self, text):
        return printable_line(str(text), self._url)


def address_of_model(url=None, other_remedy=""):
    """An address, or that of the environment; one that no server can have is refused."""
    url = url or os.environ.get(URL_VARIABLE) or os.environ.get("OPENAI_BASE_URL")
    if not url:
        raise InputError(f"no address of a language model: set {URL_VARIABLE}{other_remedy}")
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # whose text may repeat a part of the password
        is_whole = False
    if not is_whole or not url.isprintable() or " " in url:
        address = without_secrets(url.rpartition("@")[2])  # before it may be a password
        raise InputError(
            f"address {address!r} of a language model: write it as http://HOST:PORT/v1"
        )
    return url


def printable_line(text, *addresses):
    """Text of others as one short printable line without secrets."""
    return without_secrets(printable(text[:10_000]), *addresses)[:300]
