"""Language models behind an OpenAI-compatible endpoint, asked by OpenAI's own client.

A model is never asked by default. What it cannot answer is an error, and never a default answer:
callers count it apart. A reply is read against a schema, and only what fits is an answer. Answers
are kept on disk under hashes of model and question, so that nothing is paid for twice.
"""

import hashlib
import json
import os
import re
from collections import Counter
from typing import Annotated

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    StrictInt,
    ValidationError,
)

from casebook.credentials import without_secrets
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.files import write_text
from casebook.paths import cache_dir
from casebook.text import printable

URL_VARIABLE = "CASEBOOK_LLM_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
_ENDPOINT = "endpoint:"
_ADDRESS = re.compile(
    r"https?://([^\s/@]*@)?([\w.-]+|\[[\da-fA-F:]+\])(:[1-9]\d{0,4})?(/[!-~]*)?"
)
_USUAL_PATH = "most servers answer at an address that ends in /v1"
_COUNTS = {
    "cut off": "cut off because they are longer than the model reads",
    "requests": "requests",
    "prompt tokens": "tokens of prompts",
    "answer tokens": "tokens of answers",
    "uncounted": "replies that do not say their tokens",
}
#: What may help, by a server's status.
_REMEDIES = {
    401: f"; the key is that of {KEY_VARIABLE}",
    403: f"; the key is that of {KEY_VARIABLE}",
    404: f"; the address is {{address}}: {_USUAL_PATH}",
    405: f"; the address is {{address}}: {_USUAL_PATH}",
}


class NoAnswer(InputError):
    """A language model gave no usable answer; after a ``lasting`` failure none will come."""

    def __init__(self, message, lasting=False):
        super().__init__(message)
        self.lasting = lasting


# Beyond 2**53 other readers of JSON round.
Tokens = Annotated[StrictInt, Field(ge=0, le=2**53)] | None
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
_CHOICE = ("choices", 0)
_THINKING = [
    AliasPath(*_CHOICE, "message", name) for name in ("reasoning_content", "reasoning")
]


class Reply(BaseModel):
    """A chat completion: answer, tokens, whether their limit cut it off, and reasoning apart."""

    text: Text = Field(validation_alias=AliasPath(*_CHOICE, "message", "content"))
    prompt_tokens: Tokens = Field(
        None, validation_alias=AliasPath("usage", "prompt_tokens")
    )
    completion_tokens: Tokens = Field(
        None, validation_alias=AliasPath("usage", "completion_tokens")
    )
    cut_off: Annotated[bool, BeforeValidator(lambda reason: reason == "length")] = (
        Field(False, validation_alias=AliasPath(*_CHOICE, "finish_reason"))
    )
    thinking: Text = Field("", validation_alias=AliasChoices(*_THINKING))


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
        self._model = model
        self.name = f"{_ENDPOINT}{model}"
        self._address = without_secrets(self._url, self._url)
        # What answers depend on besides the question.
        self.identity = f"{self._address} {model}"
        # Of `complete_json`: replies, tokens, replies that do not say them.
        self.usage = Counter()
        self._failure = None
        self._client = openai.OpenAI(
            base_url=self._url,
            api_key=os.environ.get(KEY_VARIABLE, "").strip() or "none",
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
            remedy = "start the server, or check the address"
            problem = f"{self._address} cannot be reached ({error.__cause__}): {remedy}"
            raise self._no_answer(problem, lasting=True) from error

    def reply(self, prompt, **sampling):
        """Answer a prompt with a `Reply`; `NoAnswer` if that cannot be had."""
        request = {"max_tokens": 512, "temperature": 0, "seed": 0} | sampling
        messages = [{"role": "user", "content": prompt}]
        create = self._client.chat.completions.with_raw_response.create
        try:
            body = create(model=self._model, messages=messages, **request).content
            return Reply.model_validate_json(body)
        except self._openai.APITimeoutError as error:
            raise self._no_answer(
                f"no answer within {self._client.timeout:g} s"
            ) from error
        except self._openai.APIConnectionError as error:
            self.check()
            raise self._no_answer("the connection broke off") from error
        except self._openai.APIStatusError as error:
            status = error.status_code
            remedy = _REMEDIES.get(status, "").format(address=self._address)
            where = error.response.headers.get("location", "")
            problem = (
                f"the server answers {status}: {error.response.text}{where}{remedy}"
            )
            lasting = status in (401, 403) or status >= 500
            raise self._no_answer(problem, lasting) from error
        except ValidationError as error:
            problem = f"no chat completion: {first_problem(error)}; it is {body[:80]!r}"
            raise self._no_answer(f"{problem}; {_USUAL_PATH}") from error

    def complete_json(self, prompt, schema):
        """Answer a prompt with the fields of a pydantic model; `NoAnswer` if that cannot be had.

        A server that refused the key, cannot be reached, or failed at each try is not asked again.
        """
        if self._failure is not None:
            raise self._failure
        fields = schema.model_json_schema()
        question = f"{prompt}\n\nAnswer with one JSON object of this schema, and nothing else:\n"
        question += f"{json.dumps(fields, sort_keys=True)}\n"
        form = {"name": schema.__name__, "schema": fields}
        try:
            reply = self.reply(
                question, response_format={"type": "json_schema", "json_schema": form}
            )
        except NoAnswer as error:
            self._failure = error if error.lasting else None
            raise
        tokens = {
            "prompt tokens": reply.prompt_tokens,
            "answer tokens": reply.completion_tokens,
        }
        self.usage.update(requests=1, uncounted=None in tokens.values())
        self.usage.update({name: count for name, count in tokens.items() if count})
        try:
            # Servers that do not read the schema put words around the object.
            start = max(reply.text.find("{"), 0)
            value, _ = json.JSONDecoder().raw_decode(reply.text, start)
            found = schema.model_validate_json(json.dumps(value), strict=True)
        except (ValueError, RecursionError) as error:
            raise self._no_answer(
                f"no JSON object as asked: {first_problem(error)}"
            ) from error
        return found.model_dump(mode="json")

    def _no_answer(self, problem, lasting=False):
        return NoAnswer(printable_line(f"{self.name}: {problem}", self._url), lasting)


class CachedModel:
    """Language model that is asked only what was not asked before, and that counts its costs.

    ``costs`` counts different questions, those that the cache held, tokens of prompts and of
    answers, and ``uncounted`` replies that did not say their tokens. Failures are not kept.
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


def costs_in_words(costs, asked="questions"):
    """How much was asked, how much of it the cache held, and what the rest cost."""
    parts = [
        f"{costs['questions']:,} {asked}",
        f"{costs['from the cache']:,} from the cache",
    ]
    for name, words in _COUNTS.items():
        if costs.get(name):
            parts.append(f"{costs[name]:,} {words}")
    return ", ".join(parts)


def address_of_model(url=None, other_remedy=""):
    """An address, or that of the environment; one that no server can have is refused."""
    url = url or os.environ.get(URL_VARIABLE) or os.environ.get("OPENAI_BASE_URL")
    if not url:
        raise InputError(
            f"no address of a language model: set {URL_VARIABLE}{other_remedy}"
        )
    if not _ADDRESS.fullmatch(url):  # which is not repeated: it may hold a password
        raise InputError("address of a language model: write it as http://HOST:PORT/v1")
    return url


def printable_line(text, *addresses):
    """Text of others as one short printable line without secrets."""
    return without_secrets(printable(text[:10_000]), *addresses)[:300]
