"""One's own application, which has a retrieval of its own: ``module:object``.

It is called with the question's text. It returns the answer's text, or a dictionary with
``answer`` and, if there are any, ``contexts`` (a list of texts, or of objects with ``text`` and
``id``), ``context_ids``, ``abstained``, ``cost``, ``prompt_tokens``, ``completion_tokens`` and
``thinking``; ``error`` says why there is no answer.
"""

import asyncio
import inspect
import json
import math
import queue
import threading
from functools import cache
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

from casebook.assistant.log import log_of
from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.models.language import NoAnswer, Usage, printable_line
from casebook.plugins import callable_plugin, is_plugin
from casebook.readers import parse_cells

_SIGNATURE = "question -> text, or a dictionary with 'answer'"
_MOST_FIELDS = 12  # of a reply, that a message names
_LONGEST_FIELD = 40  # characters of its name


class Application:
    """A callable of the user's own, in this process.

    It is called in threads, and one that takes too long is left behind; a coroutine function has
    one event loop for all its calls.
    """

    def __init__(self, name, timeout=60.0):
        if not is_plugin(name):
            raise InputError(f"app {name!r}: give module:object, a callable {_SIGNATURE}")
        if not 0 < timeout < math.inf:
            raise InputError(f"timeout {timeout}: give seconds, above 0")
        self.name = name
        self._call = callable_plugin(name, _SIGNATURE)
        self._timeout = timeout

    def ask(self, question):
        """What the callable returns; `NoAnswer` if it raises, or takes too long."""
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
            raise NoAnswer("broken", f"{self.name}: raised {kind}: {printable_line(str(error))}")
        return value

    def _work(self, results, text):
        try:
            value = self._call(text)
            if inspect.iscoroutine(value):
                value = asyncio.run_coroutine_threadsafe(value, _event_loop()).result()
        except BaseException as error:  # also SystemExit: it ends no command
            results.put((None, error))
        else:
            results.put((value, None))


@cache
def _event_loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="applications", daemon=True).start()
    return loop


def reply_columns(name, question, reply):
    """The columns of a log that an application's reply has; `NoAnswer` if it has no answer."""
    if isinstance(reply, str):
        reply = {"answer": reply}
    if not isinstance(reply, dict):
        kind = type(reply).__name__
        raise NoAnswer("refused", f"{name}: replies with {kind}, not with a text or fields")
    if reply.get("answer") is None and reply.get("error"):
        raise NoAnswer("nonsense", f"{name}: {printable_line(str(reply['error']))}")
    if reply.get("answer") is None:
        message = f"{name}: the reply has no field 'answer', but {named_fields(reply)}"
        raise NoAnswer("refused", message)
    try:
        return _checked_columns(question, reply)
    except ValidationError as error:
        raise NoAnswer("nonsense", f"{name}: {printable_line(first_problem(error))}") from error
    except (InputError, ValueError, TypeError, RecursionError) as error:
        problem = printable_line(str(error)).removeprefix("reply:1: ")  # no file and no row
        raise NoAnswer("nonsense", f"{name}: {problem}") from error


def named_fields(reply):
    """The first fields of a reply, in words."""
    names = [printable_line(str(field))[:_LONGEST_FIELD] for field in list(reply)[:_MOST_FIELDS]]
    return printable_line(", ".join(names)) or "no fields"


def _checked_columns(question, reply):
    """The columns of a reply, checked as a log is read, so that the log can be read."""
    record = {name: question[name] for name in ("id", "question")}
    for column in ("answer", "contexts", "context_ids", "abstained", "cost"):
        record[column] = reply.get(column)
    content = parse_cells(json.dumps(record, allow_nan=False))
    table = pd.DataFrame([content], [1], dtype=object)
    table.attrs["path"] = Path("reply")
    log, _ = log_of(table, columns=_parts_of(record["contexts"]))
    row = log.iloc[0]
    columns = {"contexts": row["contexts"]}
    if row["context_ids"] is not None:
        columns["context_ids"] = row["context_ids"]
    columns["answer"] = row["answer"]
    for column in ("abstained", "cost"):
        if reply.get(column) is not None:
            columns[column] = row[column]
    thinking = reply.get("thinking")
    if thinking and isinstance(thinking, str):
        columns["thinking"] = thinking
    columns |= Usage.model_validate(reply).model_dump(exclude_none=True)
    json.dumps(columns, ensure_ascii=False, allow_nan=False).encode()  # no half characters
    return columns


def _parts_of(contexts):
    """Where the texts and ids of contexts are that are objects."""
    parts = {}
    if isinstance(contexts, list) and contexts and isinstance(contexts[0], dict):
        parts["contexts"] = "contexts.*.text"
        if "id" in contexts[0]:
            parts["context_ids"] = "contexts.*.id"
    return parts
