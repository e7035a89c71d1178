"""One's own application, which has a retrieval of its own: an address, or ``module:object``.

An address gets a POST of JSON, ``{"id": ..., "question": ...}``; an object is called with the
question's text. Both reply with a text, or with fields: ``answer`` and, if there are any,
``contexts``, ``context_ids``, ``abstained``, ``cost``, ``usage``. Names that a log may have are
read too, also within ``output`` and the like; other forms are named by ``request`` and
``columns``. Forms that were looked up: LangServe 0.3 (``/invoke``), Flowise 2 and 3
(``/prediction``), Dify 1 (``/chat-messages``), n8n 1 (webhooks).
"""

import asyncio
import inspect
import json
import math
import queue
import re
import threading
from urllib.parse import urlsplit

from pydantic import ValidationError

from casebook.assistant.log import ID_OF, LOG_ALIASES, TEXT_OF, read_row
from casebook.credentials import without_secrets
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.models.language import (
    LONGEST_REASON,
    NoAnswer,
    Server,
    Usage,
    check_address,
    event_loop,
    printable_line,
)
from casebook.plugins import callable_plugin, instance, is_plugin
from casebook.readers import spelling

APP_KEY_VARIABLE = "CASEBOOK_APP_KEY"
"""Variable whose value goes to the address as a bearer token; ``OPENAI_API_KEY`` never does."""
REPLY_COLUMNS = (
    "answer",
    "contexts",
    "context_ids",
    "abstained",
    "cost",
    "prompt_tokens",
    "completion_tokens",
    "thinking",
)
"""What a log keeps of a reply."""
_SIGNATURE = "question -> text, or a dictionary with 'answer'"
_OF = "an application"
_LANGSERVE = "/invoke"
_REQUEST = {"id": "{id}", "question": "{question}"}
_PLACEHOLDER = re.compile(r"\{(id|question)\}")
_NAMES = {
    "answer": (*LOG_ALIASES["answer"], "text", "content"),
    "contexts": LOG_ALIASES["contexts"],
    "context_ids": LOG_ALIASES["context_ids"],
    "abstained": LOG_ALIASES["abstained"],
    "cost": LOG_ALIASES["cost"],
    "thinking": ("thinking", "reasoning_content"),
    "error": ("error", "no_answer"),
}
_WRAPPERS = ("output", "outputs", "response", "result", "data", "json")
_MOST_FIELDS = 12  # of a reply, that a message names
_LONGEST_FIELD = 40  # characters of its name
_POSITION = re.compile(r"-?\d+")  # in a list, as a step of a path
# Of a request those headers remain that say what it is; what a library adds of its own goes.
_HEADERS = ("host", "accept", "accept-encoding", "authorization", "connection")
_CONTENT_HEADERS = ("content-type", "content-length", "user-agent")


class HttpApplication(Server):
    """An application behind an address."""

    expected = "JSON"
    of = _OF

    def __init__(self, url, request=None, timeout=60.0, retries=0, max_bytes=1_000_000):
        check_address(url, _OF)
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        self.system = without_secrets(f"{host}{parts.path}".rstrip("/"), url)
        self.request = request or default_request(url)
        super().__init__(self.system, url, APP_KEY_VARIABLE, timeout, retries, max_bytes)
        self._http.event_hooks = {"request": [_plain_headers]}

    def ask(self, question):
        """Give the JSON of the reply to a question; `NoAnswer` if there is none."""
        body = _filled(self.request, question)
        text = self._received(self._client.post(self._url, cast_to=str, body=body))
        self._refuse_page(text)
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            beginning = self.line(text[:LONGEST_REASON])[:80]
            text = f"; it begins {beginning}" if beginning else ": it is empty"
            raise NoAnswer("nonsense", f"{self.name}: no JSON{text}") from error


class PythonApplication:
    """A callable of the user's own, in this process.

    It is called in threads, and one that takes too long is left behind; a coroutine function has
    one event loop for all its calls.
    """

    def __init__(self, name, timeout=60.0):
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout {timeout}: give seconds, above 0")
        self.name = name
        self.system = name
        self.request = None
        self._call = callable_plugin(name, _SIGNATURE)
        if inspect.isclass(self._call):
            self._call = instance(name, self._call, _SIGNATURE)
        self._timeout = timeout

    def check(self):
        """Everything that can be known was checked when the object was imported."""

    def ask(self, question):
        """Give what the callable returns; `NoAnswer` if it raises, or takes too long."""
        results = queue.SimpleQueue()
        arguments = (results, question["question"])
        threading.Thread(target=self._work, args=arguments, daemon=True).start()
        try:
            value, error = results.get(timeout=self._timeout)
        except queue.Empty:
            raise NoAnswer(
                "timeout", f"{self.name}: no answer within {self._timeout:g} s"
            ) from None
        if error is not None:
            kind = type(error).__name__
            raise NoAnswer("broken", f"{self.name}: raised {kind}: {self.line(str(error))}")
        return value

    def line(self, text):
        """Text of a reason as one printable line without secrets."""
        return without_secrets(printable_line(text))[:LONGEST_REASON]

    def _work(self, results, text):
        try:
            value = self._call(text)
            if inspect.iscoroutine(value):
                value = asyncio.run_coroutine_threadsafe(value, event_loop()).result()
        except BaseException as error:  # also SystemExit: it ends no command
            results.put((None, error))
        else:
            results.put((value, None))


def load_application(name, request=None, *, timeout, retries, max_bytes):
    """Application by address or by ``module:object``."""
    if is_plugin(name):
        if request is not None:
            raise InputError(f"{name}: is called with a question: a request has no effect")
        return PythonApplication(name, timeout)
    if "://" not in name and ":" not in name:
        raise InputError(f"app {name!r}: give an address, http://..., or module:object")
    return HttpApplication(name, request, timeout, retries, max_bytes)


def default_request(url):
    """The JSON that an address gets: LangServe's, if it is one of its paths, else ours."""
    if urlsplit(url).path.rstrip("/").endswith(_LANGSERVE):
        return {"input": "{question}"}
    return _REQUEST


def read_request(text):
    """Read the form of a request: JSON in which ``{question}`` stands in a text."""
    try:
        request = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"request {text[:60]!r}: is no JSON: {error}") from error
    if "{question}" not in text:
        raise InputError(f"request {text[:60]!r}: write {{question}} where it is to stand")
    return request


def check_columns(columns):
    """Refuse columns that are no part of a reply."""
    for column in columns or ():
        if column not in REPLY_COLUMNS:
            raise InputError(f"column {column!r}: a reply has {', '.join(REPLY_COLUMNS)}")


def _filled(form, question):
    """Put a question and its id into the texts of a request."""
    if isinstance(form, dict):
        return {name: _filled(value, question) for name, value in form.items()}
    if isinstance(form, list):
        return [_filled(value, question) for value in form]
    if not isinstance(form, str):
        return form
    # In one go: what the question holds is not filled in again.
    return _PLACEHOLDER.sub(lambda match: question[match[1]], form)


def _refuse_constant(name):
    raise ValueError(f"holds {name}")


async def _plain_headers(request):
    """Take from a request what is meant for other servers."""
    for header in list(request.headers):
        if header.lower() not in (*_HEADERS, *_CONTENT_HEADERS):
            del request.headers[header]
    request.headers["user-agent"] = "casebook"
    if request.headers.get("authorization") == "Bearer none":
        del request.headers["authorization"]


# --- what a reply says


def reply_columns(application, question, reply, columns=None):
    """Give the columns of a log that a reply has; `NoAnswer` if it has no answer."""
    name = application.name
    if isinstance(reply, list) and len(reply) == 1:  # n8n
        reply = reply[0]
    if isinstance(reply, str):
        reply = {"answer": reply}
    if not isinstance(reply, dict):
        kind = type(reply).__name__
        raise NoAnswer("refused", f"{name}: replies with {kind}, not with a text or fields")
    try:
        values = _values(reply)
        for column, path in (columns or {}).items():
            values[column] = field_at(reply, path.split("."))
        if values["answer"] is not None:
            return _checked_columns(question, values)
    except ValidationError as error:
        problem = application.line(first_problem(error))
        raise NoAnswer("nonsense", f"{name}: {problem}") from error
    except (InputError, ValueError, RecursionError) as error:
        problem = application.line(str(error)).removeprefix("reply:1: ")  # no file and no row
        raise NoAnswer("nonsense", f"{name}: {problem}") from error
    if values["error"]:
        raise NoAnswer("nonsense", f"{name}: {application.line(str(values['error']))}")
    fields = application.line(named_fields(reply))
    message = f"{name}: no answer in the reply, which has {fields}: --columns answer=FIELD"
    raise NoAnswer("refused", message)


def named_fields(reply):
    """The first fields of a reply, in words."""
    names = [printable_line(str(field))[:_LONGEST_FIELD] for field in list(reply)[:_MOST_FIELDS]]
    return ", ".join(names) or "no fields"


def _checked_columns(question, values):
    """Check values as a log is read, so that the log can be read."""
    record = {name: question[name] for name in ("id", "question")}
    for column in ("answer", "contexts", "context_ids", "abstained", "cost"):
        record[column] = values[column]
    if isinstance(record["contexts"], list | tuple):
        record["contexts"] = [_context(each) for each in record["contexts"]]
    row = read_row(record)
    columns = {"contexts": row["contexts"]}
    if row["context_ids"] is not None:
        columns["context_ids"] = row["context_ids"]
    columns["answer"] = row["answer"]
    for column in ("abstained", "cost"):
        if values[column] is not None:
            columns[column] = row[column]
    if values["thinking"] and isinstance(values["thinking"], str):
        columns["thinking"] = values["thinking"]
    columns |= Usage.model_validate(values).model_dump(exclude_none=True)
    json.dumps(columns, ensure_ascii=False, allow_nan=False).encode()  # no half characters
    return columns


def _values(reply):
    """Give the value of each column of a reply, under the names that it may have."""
    spelled = {spelling(key): value for key, value in reply.items()}
    values = {}
    for column, names in _NAMES.items():
        candidates = (spelled.get(spelling(name)) for name in names)
        values[column] = next((value for value in candidates if value is not None), None)
    values |= _tokens(reply)
    if isinstance(values["answer"], dict):  # a wrapper
        values["answer"] = None
    wrapped = next((reply[name] for name in _WRAPPERS if isinstance(reply.get(name), dict)), None)
    if values["answer"] is None and wrapped is not None:
        for column, value in _values(wrapped).items():
            if values[column] is None:
                values[column] = value
    return values


def _tokens(reply):
    """Give the tokens that a reply says, as OpenAI, Anthropic and LangChain name them."""
    parts = (reply.get("usage"), reply.get("usage_metadata"))
    usage = next((part for part in parts if isinstance(part, dict)), reply)
    return {
        "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
    }


def _context(value):
    """Give a context as a log has it; LangChain's and LlamaIndex's objects have attributes."""
    if isinstance(value, str | int | dict):
        return value
    text = next((getattr(value, name) for name in TEXT_OF if hasattr(value, name)), value)
    name = next((getattr(value, each) for each in ID_OF if getattr(value, each, None)), None)
    return {"text": text} if name is None else {"text": text, "id": name}


def field_at(value, steps):
    """Give what stands at the end of a path, None if nothing does.

    A number is a position in a list; any other step is taken in each of a list's values.
    """
    for position, step in enumerate(steps):
        if isinstance(value, list) and _POSITION.fullmatch(step):
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else None
        elif isinstance(value, list):
            values = [field_at(each, steps[position:]) for each in value]
            return [each for each in values if each is not None]
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value
