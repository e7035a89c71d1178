"""Answers of a language model, or of one's own application, to a list of questions, as a log."""

import hashlib
import json
import math
import os
import re
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.assistant.application import Application
from casebook.assistant.log import documents_of, read_log
from casebook.data.tables import ENDINGS, read_roles, read_table, refusal
from casebook.errors import BatchFailed, InputError
from casebook.files import locked, refuse_overwriting, write_text
from casebook.models.language import Endpoint, NoAnswer, address_of_model
from casebook.progress import track
from casebook.readers import read_jsonl, read_lines, read_text, suffix_of

PROMPTS = {
    "retrieval": (
        "Answer the question from the passages below, and only from them. Give the number of each "
        "passage that you use in square brackets, such as [1]. If the passages do not answer the "
        "question, say that you do not know.\n\n{passages}\n\nQuestion: {question}\nAnswer:"
    ),
    "no retrieval": (
        "Answer the question in a few sentences. If you do not know the answer, say so.\n\n"
        "Question: {question}\nAnswer:"
    ),
}
"""What the model is asked, with passages of the collection (RAG) and without (base)."""
MOST_FAILURES = 3  # in a row, after which the rest is not asked
# Causes that say nothing of the question, so that the log has no row of it.
NO_SERVER = ("unreachable", "refused")
HIGHEST_PRICE = 1e12  # of a million tokens, in any currency
QUESTION_FIELDS = ("id", "question", "reference", "relevant", "group")  # that go into the log
TOTALS = {  # columns of which a summary has the sum, and its title there
    "seconds": "total seconds",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "answer tokens",
    "cost": "cost",
}
_PLACEHOLDER = re.compile(r"\{(passages|question)\}")
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)


def read_question_list(path):
    """Questions, one a line, or a table with ``question`` (or ``text``) and a log's columns."""
    path = Path(path)
    if suffix_of(path) in ENDINGS:
        table = read_table(path)
    else:
        lines = {number: line.strip() for number, line in read_lines(path)}
        table = pd.DataFrame({"question": pd.Series(lines, dtype=object)})
        table = table[table["question"] != ""]
        table.attrs["path"] = path
    reading = read_roles(table, "questions", ["question"])
    if not len(table):
        raise refusal(path, "holds no questions")
    rows = reading.table
    rows["question"] = reading.texts("question")
    rows["id"] = reading.texts("id" if "id" in reading else "question")
    reading.refuse_repeats("id")
    rows["relevant"] = reading.lists("relevant")
    rows = rows[[name for name in QUESTION_FIELDS if name in rows]].to_dict("records")
    return [{name: cell for name, cell in row.items() if cell not in ("", None)} for row in rows]


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
    prompt=None,
    workers=1,
    prices=None,
    report=print,
):
    """Ask a model every question, with retrieval (if there is a corpus) and without; gives the log.

    Each answer is written at once: a second call asks only what ``out`` lacks. A reply that is no
    answer is a row with the reason as ``no_answer``; a second call asks such questions again, after
    those that were never asked. ``timeout`` limits each wait for the server. ``prompt`` is a file
    that replaces the prompt with retrieval, or without a corpus that without: it holds
    ``{question}``, and ``{passages}`` where there is a corpus. ``workers`` is the number of
    requests at a time. ``prices`` are those of a million tokens of prompt and of answer; the key
    comes from ``OPENAI_API_KEY`` and is written nowhere. What has no answer is a `BatchFailed` at
    the end.
    """
    out = Path(out)
    question_list = read_question_list(questions)
    refuse_overwriting(out, questions)
    if not math.isfinite(temperature):
        raise InputError(f"temperature {temperature}: give a finite number")
    if corpus is not None and out.resolve() == Path(corpus).resolve() / "corpus.jsonl":
        raise InputError(f"{out}: the documents are read from this file: name another file")
    url = address_of_model(url, ", or name one (--url)")
    documents = None if corpus is None else documents_of(corpus)
    kinds = ["no retrieval"] if corpus is None else list(PROMPTS)
    prompts = PROMPTS | ({kinds[0]: read_prompt(prompt, kinds[0])} if prompt else {})
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    texts = documents is not None and documents["text"].tolist()
    asked = _Model(
        Endpoint(model.removeprefix("endpoint:"), url, timeout, retries),
        systems={f"{model}, {kind}": kind for kind in kinds},
        settings=_hash([model, k, mode, *sampling.values(), prompts, texts]),
        prompts=prompts,
        sampling=sampling,
        retrieval=(documents, mode, k),
    )
    log = _complete_log(out, question_list, asked, workers, prices, report)
    cut_off = [row["system"] for _, row in read_jsonl(out) if row.get("cut_off")]
    if cut_off:
        report(
            f"{len(cut_off)} of {len(log)} answers were cut off at {max_tokens} tokens "
            f"({', '.join(dict.fromkeys(cut_off))}): raise --max-tokens"
        )
    return log


def ask_application(
    questions, out, app, *, system=None, timeout=60.0, workers=1, prices=None, report=print
):
    """Ask an application of one's own every question; gives the log, as `answer_questions` does.

    ``app`` is ``module:object``, see `casebook.assistant.application` for what it is given and what
    it replies; ``system`` is its name in the log.
    """
    out = Path(out)
    question_list = read_question_list(questions)
    refuse_overwriting(out, questions)
    asked = _Application(Application(app, timeout), system or app)
    log = _complete_log(out, question_list, asked, workers, prices, report)
    if log["contexts"].isna().all() and log["context_ids"].isna().all():
        report(
            "no reply has contexts, so it cannot be measured whether answers are grounded: "
            "name the texts 'contexts'"
        )
    return log


class _Model:
    """A model that is asked with passages of a corpus and without."""

    def __init__(self, endpoint, systems, settings, prompts, sampling, retrieval):
        self.systems = systems  # name in the log: key of the prompts
        self.settings = settings
        self._endpoint = endpoint
        self._prompts = prompts
        self._sampling = sampling
        self._retrieval = retrieval
        self._hits = {}  # id of a question: documents retrieved for it

    def prepare(self, left):
        """Refuse an address where nobody listens, and retrieve for what is asked."""
        self._endpoint.check()
        documents, mode, k = self._retrieval
        texts = {question["id"]: question["question"] for question, _ in left}
        if documents is not None:
            from casebook.retrieval.pipeline import HybridRetriever

            retriever = HybridRetriever(documents, mode=mode)
            retrieved = retriever.retrieve_many(list(texts.values()), k)
            for row, name in enumerate(texts):
                self._hits[name] = retrieved.hits(row)[:k]

    def contexts(self, question, system):
        """The columns of a log that say what the model is given."""
        if self.systems[system] != "retrieval":
            return {}
        hits = self._hits[question["id"]]
        ids = [hit.doc_id for hit in hits]
        return {"contexts": [hit.text for hit in hits], "context_ids": ids}

    def ask(self, question, system):
        """The columns of a log that the reply has."""
        hits = self._hits.get(question["id"], [])
        passages = [f"[{number}] {hit.text}" for number, hit in enumerate(hits, 1)]
        texts = {"passages": "\n\n".join(passages), "question": question["question"]}
        # What passages hold is not filled in again.
        prompt = self._prompts[self.systems[system]]
        prompt = _PLACEHOLDER.sub(lambda match: texts[match[1]], prompt)
        columns = self._endpoint.reply(prompt, **self._sampling).model_dump()
        answer, aloud = without_thinking(columns.pop("text"))
        thinking = filter(None, [columns.pop("thinking"), aloud])
        return columns | {"answer": answer, "thinking": "\n".join(thinking) or None}


class _Application:
    """An application, which says itself what it was given."""

    def __init__(self, application, system):
        self.systems = [system]
        self.settings = _hash(["app", system])
        self._application = application

    def prepare(self, _):
        """Everything that can be known was checked when the object was imported."""

    def contexts(self, *_):
        """Nothing is known before the reply."""
        return {}

    def ask(self, question, _):
        """The columns of a log that the reply has."""
        return self._application.ask(question["question"])


# --- the log


def _complete_log(out, question_list, asked, workers, prices, report):
    """Ask what a log lacks; `BatchFailed` if something is missing at the end."""
    if not all(0 <= price <= HIGHEST_PRICE for price in prices or ()):
        raise InputError(f"prices {prices}: give numbers from 0 to {HIGHEST_PRICE:g}")
    out = Path(os.path.realpath(out))  # one file has one lock, and is replaced where it is
    pairs = [(question, system) for question in question_list for system in asked.systems]
    lock = out.with_name(f".{out.name}.lock")
    with locked(lock, lambda owner: f"{out}: is being written by {owner}: wait for it"):
        try:
            rows = _rows(out, asked.settings)
            left = _unanswered(pairs, rows)
            n_answered = sum(row["answer"] is not None for row in rows.values())
            if n_answered:
                report(f"{out}: {n_answered} answers are there, {len(left)} are left")
            if left:
                asked.prepare(left)
            failures = _ask(left, asked, out, workers, prices, report)
            missing = _unanswered(pairs, _rows(out, asked.settings))
        finally:
            lock.unlink(missing_ok=True)  # while it is held: who waits for it makes a new one
    if failures:
        counts = Counter(failure.cause for failure in failures)
        first = {failure.cause: str(failure) for failure in reversed(failures)}
        reasons = [
            f"{n} × {first[cause]}" if n > 1 else first[cause] for cause, n in counts.items()
        ]
        raise BatchFailed(
            f"{len(missing)} of {len(pairs)} answers are missing: {'; '.join(reasons)}; "
            "the same command asks again"
        )
    return read_log(out)


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
            problem = "was made with another model, corpus, prompt, application or setting"
            raise refusal(out, f"{problem}: name another file", number)
        rows[row["id"], row["system"]] = row
    text = "".join(map(_line, rows.values()))
    if text.encode() != content:
        write_text(out, text)
    return rows


def _unanswered(pairs, rows):
    """The questions without an answer; those that failed come last: no call ends there."""
    left = []
    for question, system in pairs:
        row = rows.get((question["id"], system), {})
        if row.get("answer") is None:
            left.append((question, system))
    return sorted(left, key=lambda pair: (pair[0]["id"], pair[1]) in rows)


def _ask(left, asked, out, workers, prices, report):
    """Ask what is left, write each row in this order, and give what failed."""
    failures = []
    in_a_row = 0
    n_answered = 0
    waiting = deque(left)
    running = deque()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(workers) as pool:
        for _ in track(left, "answers"):
            while waiting and len(running) < workers:
                running.append(pool.submit(_row, asked, prices, *waiting.popleft()))
            if not running:
                break
            row = running.popleft().result()
            failure = row.pop("failure")
            if failure is None or failure.cause not in NO_SERVER:
                stream.write(_line(row))
                stream.flush()
            if failure is None:
                in_a_row = 0
                n_answered += 1
                continue
            if failure.cause not in [known.cause for known in failures]:
                report(f"no answer to {row['id'][:60]!r}: {failure}")
            failures.append(failure)
            in_a_row = 0 if failure.cause == "nonsense" else in_a_row + 1  # it is there
            if in_a_row == MOST_FAILURES:
                report(f"{MOST_FAILURES} failures in a row: the rest is not asked")
                waiting.clear()  # what is being asked is waited for
    if left:
        report(f"{n_answered} of {len(left)} answers")
    if not out.stat().st_size:
        out.unlink()
    return failures


def _row(asked, prices, question, system):
    """The row of the log, with the failure if there is no answer."""
    row = question | {"answer": None, "system": system, "settings": asked.settings}
    row |= asked.contexts(question, system)
    began = time.monotonic()
    try:
        columns = asked.ask(question, system)
    except NoAnswer as failure:
        return row | {"no_answer": str(failure), "failure": failure}
    row["seconds"] = round(time.monotonic() - began, 3)
    row |= {name: cell for name, cell in columns.items() if cell is not None}
    tokens = [row.get("prompt_tokens"), row.get("completion_tokens")]
    if prices and "cost" not in row and None not in tokens:
        row["cost"] = float(np.dot(prices, tokens)) / 1e6
    return row | {"failure": None}


def _line(row):
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _hash(settings):
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]


def summarise_log(out):
    """Time, tokens and cost of each system of a log that was made here, with their n.

    Seconds, tokens and cost are totals over the answers that have them; ``with tokens`` and ``with
    cost`` count these.
    """
    rows = pd.DataFrame([row for _, row in read_jsonl(out)])
    rows = rows.reindex(columns=[*TOTALS, "id", "system", "answer", "no_answer"])
    rows = rows[rows["no_answer"].isna()].astype(dict.fromkeys(TOTALS, float))
    by_system = rows.assign(empty=rows["answer"] == "").groupby("system", sort=False)
    table = by_system.agg(answers=("id", "size"), empty=("empty", "sum"))
    table["median seconds"] = by_system["seconds"].median()
    table[list(TOTALS.values())] = by_system[list(TOTALS)].sum(min_count=1)
    table["with tokens"] = by_system["completion_tokens"].count()
    table["with cost"] = by_system["cost"].count()
    table = table.astype({"prompt tokens": "Int64", "answer tokens": "Int64"})
    return table.reset_index()


# --- prompts and thoughts


def read_prompt(path, kind):
    """A user's prompt, which must say where question and passages (if there are any) go."""
    text = read_text(path)
    needed = ("passages", "question") if kind == "retrieval" else ("question",)
    missing = [f"{{{name}}}" for name in needed if f"{{{name}}}" not in text]
    if missing:
        names = " and ".join(missing)
        raise refusal(path, f"the prompt lacks {names}: write it where that text is to go")
    return text


def without_thinking(text):
    """An answer, and what a reasoning model thought aloud before it or in between.

    Of thoughts that broke off nothing is an answer.
    """
    if text.lstrip().startswith("<think>") and "</think>" not in text:
        return "", text.replace("<think>", "", 1).strip()
    if "</think>" in text.partition("<think>")[0]:  # the prompt opened the thought
        text = f"<think>{text}"
    thoughts = [thought.strip() for thought in _THOUGHT.findall(text)]
    return _THOUGHT.sub("", text).strip(), "\n".join(filter(None, thoughts))
