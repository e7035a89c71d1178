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
from typing import Annotated

from pydantic import (
    AliasChoices,
    BaseModel,
    Field,
    FiniteFloat,
    StrictStr,
    ValidationError,
    model_validator,
)

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.models.language import NoAnswer, Tokens, printable_line
from casebook.plugins import callable_plugin, is_plugin

_SIGNATURE = "question -> text, or a dictionary with 'answer'"


class Passage(BaseModel):
    """A context that is an object."""

    text: StrictStr
    id: StrictStr | None = Field(None, validation_alias=AliasChoices("id", "doc_id"))


class Reply(BaseModel):
    """What is read of an application's reply; all else is left."""

    answer: StrictStr
    contexts: list[StrictStr] | list[Passage] | None = None
    context_ids: list[StrictStr] | None = None
    abstained: bool | None = None
    cost: Annotated[FiniteFloat, Field(ge=0)] | None = None
    prompt_tokens: Tokens = None
    completion_tokens: Tokens = None
    thinking: StrictStr | None = None

    @model_validator(mode="after")
    def passages(self):
        """Texts and ids of contexts that are objects; as many ids as texts."""
        if self.contexts and isinstance(self.contexts[0], Passage):
            ids = [passage.id for passage in self.contexts]
            self.context_ids = ids if None not in ids else self.context_ids
            self.contexts = [passage.text for passage in self.contexts]
        if self.context_ids is not None and len(self.context_ids) != len(self.contexts or []):
            counts = f"{len(self.contexts or [])} contexts and {len(self.context_ids)} context ids"
            raise ValueError(counts)
        return self


class Application:
    """A callable in this process.

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
        """The columns of the reply; `NoAnswer` if it has no answer, fails, or takes too long."""
        results = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(results, question), daemon=True).start()
        try:
            reply, error = results.get(timeout=self._timeout)
        except queue.Empty:
            late = f"{self.name}: no answer within {self._timeout:g} s"
            raise NoAnswer("timeout", late) from None
        if error is not None:
            kind = type(error).__name__
            raise NoAnswer("broken", f"{self.name}: raised {kind}: {printable_line(str(error))}")
        return reply_columns(self.name, reply)

    def _work(self, results, question):
        try:
            value = self._call(question)
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


def reply_columns(name, reply):
    """The columns of a log that an application's reply has; `NoAnswer` if it has no answer."""
    if isinstance(reply, str):
        reply = {"answer": reply}
    if not isinstance(reply, dict):
        kind = type(reply).__name__
        raise NoAnswer("refused", f"{name}: replies with {kind}, not with a text or fields")
    if reply.get("answer") is None and reply.get("error"):
        raise NoAnswer("nonsense", f"{name}: {printable_line(str(reply['error']))}")
    if reply.get("answer") is None:
        fields = printable_line(", ".join(map(str, reply))) or "no fields"
        raise NoAnswer("refused", f"{name}: the reply has no field 'answer', but {fields}")
    try:
        columns = Reply.model_validate(reply).model_dump(exclude_none=True)
        json.dumps(columns, ensure_ascii=False).encode()  # no half characters
    except (ValidationError, UnicodeError) as error:
        raise NoAnswer("nonsense", f"{name}: {printable_line(first_problem(error))}") from error
    return {"contexts": None} | columns
