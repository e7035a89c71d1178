"""What an application of one's own replies to a question.

It is a text, or a dictionary with ``answer`` and, if there are any, ``contexts`` (a list of
texts), ``context_ids``, ``abstained``, ``cost``, ``prompt_tokens``, ``completion_tokens`` and
``thinking``; ``error`` says why there is no answer.
"""

import json
from typing import Annotated

from pydantic import BaseModel, Field, FiniteFloat, StrictStr

from casebook.data.cards import first_problem
from casebook.models.language import NoAnswer, Tokens, printable_line


class Reply(BaseModel):
    """What is read of a reply; all else is left."""

    answer: StrictStr
    contexts: list[StrictStr] | None = None
    context_ids: list[StrictStr] | None = None
    abstained: bool | None = None
    cost: Annotated[FiniteFloat, Field(ge=0)] | None = None
    prompt_tokens: Tokens = None
    completion_tokens: Tokens = None
    thinking: StrictStr | None = None


def reply_columns(name, reply):
    """The columns of a log that an application's reply has; `NoAnswer` if it has no answer."""
    if isinstance(reply, str):
        reply = {"answer": reply}
    try:
        if isinstance(reply, dict) and reply.get("error"):
            raise ValueError(reply["error"])
        read = Reply.model_validate(reply)
        if read.context_ids and len(read.context_ids) != len(read.contexts or []):
            raise ValueError("not as many contexts as context ids")
        columns = read.model_dump(exclude_none=True)
        json.dumps(columns, ensure_ascii=False).encode()  # no half characters
    except ValueError as error:
        line = printable_line(f"{name}: {first_problem(error)}")
        raise NoAnswer("nonsense", line) from error
    return {"contexts": None} | columns
