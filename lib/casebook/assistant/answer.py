"""Answers of a language model, or of one's own application, to a list of questions, as a log."""

import hashlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, FiniteFloat, StrictStr

from casebook.assistant.log import ASSISTANT_WORDS, documents_of, read_log
from casebook.data.cards import first_problem
from casebook.data.tables import ENDINGS, read_roles, read_table, refusal
from casebook.errors import BatchFailed, InputError
from casebook.files import refuse_overwriting, write_text
from casebook.models.language import (
    Endpoint,
    NoAnswer,
    Tokens,
    address_of_model,
    printable_line,
)
from casebook.plugins import callable_plugin, called
from casebook.progress import track
from casebook.readers import read_jsonl, read_lines, suffix_of

PROMPTS = ASSISTANT_WORDS["prompts"]
MOST_FAILURES = 3  # in a row, after which the rest is not asked
_PLACEHOLDER = re.compile(r"\{(passages|question)\}")


def read_question_list(path):
    """Questions, one a line, or a table with ``question`` (or ``text``) and a log's columns."""
    path = Path(path)
    if suffix_of(path) in ENDINGS:
        table = read_table(path)
    else:
        lines = pd.Series(dict(read_lines(path)), dtype=object).str.strip()
        table = lines[lines != ""].to_frame("question")
        table.attrs["path"] = path
    reading = read_roles(table, "questions", ["question"])
    if table.empty:
        raise refusal(path, "holds no questions")
    rows = reading.table
    rows["question"] = reading.texts("question")
    rows["id"] = reading.texts("id" if "id" in reading else "question")
    reading.refuse_repeats("id")
    of_log = rows.columns.intersection(["id", "question", "reference", "group"])
    return rows[of_log].to_dict("records")


def answer_questions(
    questions,
    out,
    model,
    corpus=None,
    *,
    url=None,
    k=3,
    mode="full",
    timeout=60.0,
    retries=4,
    max_tokens=512,
    temperature=0.0,
    seed=0,
    **options,
):
    """Ask a model every question, with retrieval (if there is a corpus) and without; gives the log.

    ``timeout`` limits each wait for the server. The key comes from ``OPENAI_API_KEY`` and is
    written nowhere. The other options are those of `complete_log`.
    """
    refuse_overwriting(out, corpus)
    url = address_of_model(url, ", or name one (--url)")
    documents = None if corpus is None else documents_of(corpus)
    prompts = {kind: PROMPTS[kind] for kind in PROMPTS if corpus or kind != "retrieval"}
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    endpoint = Endpoint(model.removeprefix("endpoint:"), url, timeout, retries)
    texts = [] if documents is None else documents["text"].tolist()
    settings = [model, k, mode, *sampling.values(), prompts, texts]

    def prepare(asked):
        endpoint.check()
        hits = {} if documents is None else _hits(asked, documents, mode, k)

        def ask(question, system):
            kind = system.removeprefix(f"{model}, ")
            found = hits[question["id"]] if kind == "retrieval" else []
            passages = [f"[{number}] {hit.text}" for number, hit in enumerate(found, 1)]
            parts = {
                "passages": "\n\n".join(passages),
                "question": question["question"],
            }
            # What passages hold is not filled in again.
            filled = _PLACEHOLDER.sub(lambda match: parts[match[1]], prompts[kind])
            columns = endpoint.reply(filled, **sampling).model_dump()
            columns["answer"], aloud = without_thinking(columns.pop("text"))
            columns["thinking"] = (
                "\n".join(filter(None, [columns["thinking"], aloud])) or None
            )
            if kind == "retrieval":
                columns["contexts"] = [hit.text for hit in found]
            return columns

        return ask

    systems = [f"{model}, {kind}" for kind in prompts]
    return complete_log(questions, out, systems, settings, prepare, **options)


def _hits(asked, documents, mode, k):
    """Passages that are retrieved for questions, by their ids."""
    from casebook.retrieval.pipeline import HybridRetriever

    retriever = HybridRetriever(documents, mode=mode)
    retrieved = retriever.retrieve_many([question["question"] for question in asked], k)
    return {
        question["id"]: retrieved.hits(row)[:k] for row, question in enumerate(asked)
    }


def ask_application(questions, out, app, *, system=None, **options):
    """Ask an application of one's own every question; gives the log, as `answer_questions` does.

    ``app`` is ``module:object``, which is called with the question's text and gives a text, or the
    fields of `Reply`; ``system`` is its name in the log.
    """
    call = callable_plugin(app, "question -> text, or a dictionary with 'answer'")

    def prepare(_):
        def ask(question, _):
            return reply_columns(app, called(app, call, question["question"]))

        return ask

    system = system or app
    return complete_log(questions, out, [system], ["app", system], prepare, **options)


class Reply(BaseModel):
    """What is read of an application's reply; all else is left. ``error`` says why it has none."""

    answer: StrictStr
    contexts: list[StrictStr] | None = None
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
        columns = Reply.model_validate(reply).model_dump(exclude_none=True)
        json.dumps(columns, ensure_ascii=False).encode()  # no half characters
    except ValueError as error:
        line = printable_line(f"{name}: {first_problem(error)}")
        raise NoAnswer(line) from error
    return {"contexts": None} | columns


# --- the log


def complete_log(
    questions, out, systems, settings, prepare, *, workers=1, prices=None, report=print
):
    """Ask what a log lacks; `BatchFailed` if something is missing at the end.

    Each answer is written at once: a second call asks only what ``out`` lacks. A reply that is no
    answer is a row with the reason as ``no_answer``; a second call asks such questions again, after
    those that were never asked. ``prepare`` gives the function that asks. ``workers`` is the
    number of requests at a time. ``prices`` are those of a million tokens of prompt and of answer.
    """
    out = Path(out)
    asked = read_question_list(questions)
    refuse_overwriting(out, questions)
    settings = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]
    rows = _rows(out, settings)
    pairs = list(product(asked, systems))
    answered = {key for key, row in rows.items() if row["answer"] is not None}
    left = [pair for pair in pairs if _key(*pair) not in answered]
    left.sort(key=lambda pair: _key(*pair) in rows)  # no call ends at those that failed
    if not left:
        return read_log(out)
    report(f"{out}: {len(answered)} answers are there, {len(left)} are left")
    ask = prepare([question for question, _ in left])

    def row_of(pair):
        question, system = pair
        row = question | {"answer": None, "system": system, "settings": settings}
        began = time.monotonic()
        try:
            columns = ask(question, system)
        except InputError as failure:
            return row | {"no_answer": printable_line(str(failure))}, failure
        row["seconds"] = round(time.monotonic() - began, 3)
        row |= {name: cell for name, cell in columns.items() if cell is not None}
        tokens = [row.get("prompt_tokens"), row.get("completion_tokens")]
        if prices and "cost" not in row and None not in tokens:
            row["cost"] = float(np.dot(prices, tokens)) / 1e6
        return row, None

    missing = len(left)
    last = None
    in_a_row = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(workers) as pool:
        for start in track(range(0, len(left), workers), "answers"):
            for row, failure in pool.map(row_of, left[start : start + workers]):
                stream.write(_line(row))
                stream.flush()
                missing -= failure is None
                last = failure or last
                # Of a server that is down or refuses the key.
                in_a_row = in_a_row + 1 if getattr(failure, "lasting", False) else 0
            if in_a_row >= MOST_FAILURES:
                break
    if missing:
        reason = f"{printable_line(str(last))}; the same command asks again"
        raise BatchFailed(f"{missing} of {len(pairs)} answers are missing: {reason}")
    return read_log(out)


def _key(question, system):
    return question["id"], system


def _rows(out, settings):
    """The rows of a log by question and system, the last of each.

    What broke off or was asked again is taken out of the file.
    """
    content = out.read_bytes() if out.exists() else b""
    if not content:
        return {}
    if b"\n" not in content:  # nothing tells whose it is
        raise refusal(out, "breaks off: remove the file, or name another one", 1)
    rows = {}  # in the order of the first
    for number, row in read_jsonl(out, may_be_cut=True):
        if row.get("settings") != settings:
            problem = (
                "was made with another model, corpus, prompt, application or setting"
            )
            raise refusal(out, f"{problem}: name another file", number)
        rows[_key(row, row["system"])] = row
    write_text(out, "".join(map(_line, rows.values())))
    return rows


def _line(row):
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def without_thinking(text):
    """An answer, and what a reasoning model thought aloud before it; a thought may break off."""
    if "<think>" in text and "</think>" not in text:
        return "", text.replace("<think>", "").strip()
    thinking, _, answer = text.rpartition("</think>")
    return answer.strip(), thinking.replace("<think>", "").strip()
