"""Answers of a language model, or of one's own application, to a list of questions, as a log."""

import hashlib
import json
import math
import os
import re
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd

from casebook.assistant.application import Application, named_fields, reply_columns
from casebook.assistant.log import documents_of, read_log
from casebook.data.tables import ENDINGS, read_roles, read_table, refusal
from casebook.errors import BatchFailed, InputError
from casebook.files import locked, refuse_overwriting, write_text
from casebook.models.language import Endpoint, NoAnswer, address_of_model
from casebook.progress import track
from casebook.readers import read_jsonl, read_lines, suffix_of

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
_PLACEHOLDER = re.compile(r"\{(passages|question)\}")
MOST_FAILURES = 3  # in a row, after which the rest is not asked
# Causes that say nothing of the question, so that the log has no row of it.
NO_SERVER = ("unreachable", "refused")
_MOST_CAUSES = 5  # that are printed as they come, and that the error names
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_SHORTEST_QUOTED = 8  # characters: a shorter question may stand in any reason
_VARYING = re.compile(r"\S*\d\S*")  # words of a reason that differ from question to question
_HIGHEST_PRICE = 1e12  # of a million tokens, in any currency
QUESTION_FIELDS = ("reference", "relevant", "group")  # that go into the log
_SUMMARY = {  # columns of which a summary has the sum, and its title there
    "seconds": "total seconds",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "answer tokens",
    "cost": "cost",
}


def read_question_list(path):
    """Questions, one a line, or a table with ``question`` (or ``text``) and a log's columns."""
    path = Path(path)
    if suffix_of(path) in ENDINGS:
        table = read_table(path)
    else:
        lines = {number: line.strip() for number, line in read_lines(path)}
        lines = {number: line for number, line in lines.items() if line}
        table = pd.DataFrame({"question": pd.Series(lines, dtype=object)})
        table.attrs["path"] = path
    reading = read_roles(table, "questions", ["question"])
    if not len(table):
        raise refusal(path, "holds no questions")
    reading.table["id"] = reading.texts("id" if "id" in reading else "question")
    reading.texts("question")
    reading.refuse_repeats("id")
    reading.table["relevant"] = reading.lists("relevant")
    columns = [name for name in ("id", "question", *QUESTION_FIELDS) if name in reading.table]
    rows = reading.table[columns].to_dict("records")
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
    _check_settings(prices, temperature)
    if corpus is not None and out.resolve() == Path(corpus).resolve() / "corpus.jsonl":
        raise InputError(
            f"{out}: the folder's documents are read from this file: name another file"
        )
    url = address_of_model(url, ", or name one (--url)")
    endpoint = Endpoint(model.removeprefix("endpoint:"), url, timeout, retries)
    documents = None if corpus is None else documents_of(corpus)
    kinds = ["no retrieval"] if corpus is None else list(PROMPTS)
    prompts = dict(PROMPTS)
    if prompt:
        prompts[kinds[0]] = read_prompt(prompt, kinds[0])
    asker = _ModelAsker(
        endpoint,
        model,
        kinds,
        prompts,
        documents,
        k=k,
        mode=mode,
        sampling={"max_tokens": max_tokens, "temperature": temperature, "seed": seed},
    )
    _complete_log(out, question_list, asker, workers, prices, report)
    log = read_log(out)
    cut_off = [row["system"] for _, row in read_jsonl(out) if row.get("cut_off")]
    if cut_off:
        report(
            f"{len(cut_off)} of {len(log)} answers were cut off at {max_tokens} tokens "
            f"({', '.join(dict.fromkeys(cut_off))}): raise --max-tokens"
        )
    return log


def ask_application(
    questions,
    out,
    app,
    *,
    system=None,
    timeout=60.0,
    workers=1,
    prices=None,
    report=print,
):
    """Ask an application of one's own every question; gives the log, as `answer_questions` does.

    ``app`` is ``module:object``, see `casebook.assistant.application` for what it is given and what
    it replies; ``system`` is its name in the log.
    """
    out = Path(out)
    question_list = read_question_list(questions)
    refuse_overwriting(out, questions)
    _check_settings(prices)
    asker = _ApplicationAsker(Application(app, timeout), system or app)
    _complete_log(out, question_list, asker, workers, prices, report)
    log = read_log(out)
    if asker.fields and log["contexts"].isna().all() and log["context_ids"].isna().all():
        report(
            "no reply has contexts, so it cannot be measured whether answers are grounded; "
            f"a reply has {asker.fields}: name the texts 'contexts'"
        )
    return log


def _complete_log(out, question_list, asker, workers, prices, report):
    """Ask what a log lacks; `BatchFailed` if something is missing at the end."""
    if out.is_symlink():  # one file has one lock, and is replaced where it is
        out = Path(os.path.realpath(out))
    pairs = [(question, system) for question in question_list for system in asker.systems]
    lock = out.with_name(f".{out.name}.lock")
    with locked(lock, lambda owner: f"{out}: is being written by {owner}: wait for it"):
        try:
            rows = _rows(out, asker.settings)
            left = _unanswered(pairs, rows)
            n_answered = sum(row.get("no_answer") is None for row in rows.values())
            if n_answered:
                report(f"{out}: {n_answered} answers are there, {len(left)} are left")
            if left:
                asker.prepare(left)
            failures = _Failures(report)
            n_asked = _ask(left, partial(_row, asker, prices), failures, out, workers, report)
            missing = _unanswered(pairs, _rows(out, asker.settings))
        finally:
            lock.unlink(missing_ok=True)  # while it is held: who waits for it makes a new one
    if failures.kinds:
        not_asked = len(left) - n_asked
        rest = f"; {not_asked} were not asked" if not_asked else ""
        raise BatchFailed(
            f"{len(missing)} of {len(pairs)} answers are missing: {failures}{rest}; "
            "the same command asks again"
        )


def _unanswered(pairs, rows):
    """Give the questions without an answer; those that failed come last: no call ends there."""
    left = []
    for question, system in pairs:
        row = rows.get((question["id"], system), {})
        if row.get("answer") is None:
            left.append((question, system))
    return sorted(left, key=lambda pair: (pair[0]["id"], pair[1]) in rows)


def summarise_log(out):
    """Give time, tokens and cost of each system of a log that was made here, with their n.

    Seconds, tokens and cost are totals over the answers that have them; how many these
    are stands in ``with tokens`` and ``with cost``.
    """
    rows = pd.DataFrame([row for _, row in read_jsonl(out)])
    rows = rows.reindex(columns=[*_SUMMARY, "id", "system", "answer", "no_answer"])
    rows = rows[rows["no_answer"].isna()].astype(dict.fromkeys(_SUMMARY, float))
    by_system = rows.assign(empty=rows["answer"] == "").groupby("system", sort=False)
    table = by_system.agg(answers=("id", "size"), empty=("empty", "sum"))
    table["median seconds"] = by_system["seconds"].median()
    table[list(_SUMMARY.values())] = by_system[list(_SUMMARY)].sum(min_count=1)
    table["with tokens"] = by_system["completion_tokens"].count()
    table["with cost"] = by_system["cost"].count()
    table = table.astype({"prompt tokens": "Int64", "answer tokens": "Int64"})
    return table.reset_index()


def _hash(settings):
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]


class _Failures:
    """Counts failures by kind, and says the reason of each kind once."""

    def __init__(self, report):
        self.kinds = {}  # reason without its numbers: the first reason, and how often
        self._report = report

    def add(self, question, failure):
        """Count a failure."""
        text = str(failure)
        if len(question["question"]) >= _SHORTEST_QUOTED:
            text = text.replace(question["question"], "#")
        kind = _VARYING.sub("#", text)
        reason, count = self.kinds.get(kind, (str(failure), 0))
        self.kinds[kind] = (reason, count + 1)
        if count == 0 and len(self.kinds) <= _MOST_CAUSES:
            self._report(f"no answer to {question['id'][:60]!r}: {failure}")

    def __str__(self):
        counted = list(self.kinds.values())
        reasons = [reason if n == 1 else f"{n} × {reason}" for reason, n in counted[:_MOST_CAUSES]]
        if len(counted) > _MOST_CAUSES:
            reasons.append(f"and {len(counted) - _MOST_CAUSES} other reasons")
        return "; ".join(reasons)


def _check_settings(prices, temperature=0.0):
    if not all(0 <= price <= _HIGHEST_PRICE for price in prices or ()):
        raise InputError(f"prices {prices}: give numbers from 0 to {_HIGHEST_PRICE:g}")
    if not math.isfinite(temperature):
        raise InputError(f"temperature {temperature}: give a finite number")


def read_prompt(path, kind):
    """Read a user's prompt, which must say where question and passages (if there are any) stand."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    needed = ("passages", "question") if kind == "retrieval" else ("question",)
    missing = [f"{{{name}}}" for name in needed if f"{{{name}}}" not in text]
    if missing:
        raise InputError(
            f"{path}: the prompt lacks {' and '.join(missing)}: write it where that text is to "
            "stand"
        )
    return text


def _rows(out, settings):
    """Read the rows of a log by question and system, the last of each.

    What broke off or was asked again is taken out of the file.
    """
    content = out.read_bytes() if out.exists() else b""
    if not content:
        return {}
    if b"\n" not in content:  # nothing tells whose it is
        raise InputError.at(
            out, 1, "breaks off in its first line: remove the file, or name another one"
        )
    rows = {}  # in the order of the first
    for number, row in read_jsonl(out, may_be_cut=True):
        if row.get("settings") != settings:
            raise InputError.at(
                out,
                number,
                "was made with another model, corpus, prompt, application or setting: name "
                "another file",
            )
        rows[row["id"], row["system"]] = row
    text = "".join(map(_line, rows.values()))
    if text.encode() != content:
        write_text(out, text)
    return rows


def _line(row):
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise InputError(
            f"question {row['id'][:60]!r}: holds NaN or an endless number, which no log can"
        ) from error


class _ModelAsker:
    """Asks a model, with passages of a corpus and without."""

    def __init__(self, endpoint, model, kinds, prompts, documents, *, k, mode, sampling):
        texts = documents is not None and documents["text"].tolist()
        self.systems = {f"{model}, {kind}": kind for kind in kinds}  # by name in the log
        self.settings = _hash([model, k, mode, *sampling.values(), prompts, texts])
        self._endpoint = endpoint
        self._prompts = prompts  # kind of answer: prompt
        self._documents = documents
        self._k = k
        self._mode = mode
        self._sampling = sampling
        self._hits = {}  # id of a question: documents retrieved for it

    def prepare(self, left):
        """Refuse an address where nobody listens, and retrieve for what is asked."""
        self._endpoint.check()
        texts = {}
        for question, system in left:
            if self.systems[system] == "retrieval":
                texts[question["id"]] = question["question"]
        if texts:
            from casebook.retrieval.pipeline import HybridRetriever

            retriever = HybridRetriever(self._documents, mode=self._mode)
            retrieved = retriever.retrieve_many(list(texts.values()), self._k)
            for row, name in enumerate(texts):
                self._hits[name] = retrieved.hits(row)[: self._k]

    def contexts(self, question, system):
        """Give the columns of a log that say what the model is given."""
        if self.systems[system] != "retrieval":
            return {}
        hits = self._hits.get(question["id"], [])
        return {
            "contexts": [hit.text for hit in hits],
            "context_ids": [hit.doc_id for hit in hits],
        }

    def ask(self, question, system):
        """Give the columns of a log that the reply has."""
        reply = self._endpoint.reply(self._prompt(question, system), **self._sampling)
        return {
            "answer": reply.text,
            "thinking": reply.thinking,
            "cut_off": reply.cut_off,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }

    def _prompt(self, question, system):
        """Fill in a prompt; what passages hold is not filled in again."""
        hits = self._hits.get(question["id"], [])
        passages = [f"[{number}] {hit.text}" for number, hit in enumerate(hits, 1)]
        texts = {"passages": "\n\n".join(passages), "question": question["question"]}
        prompt = self._prompts[self.systems[system]]
        return _PLACEHOLDER.sub(lambda match: texts[match[1]], prompt)


class _ApplicationAsker:
    """Asks an application, which says itself what it was given."""

    def __init__(self, application, system):
        self.systems = [system]
        self.settings = _hash(["app", system])
        self.fields = None  # names in a reply
        self._application = application

    def prepare(self, _):
        """Everything that can be known was checked when the object was imported."""

    def contexts(self, *_):
        """Nothing is known before the reply."""
        return {}

    def ask(self, question, _):
        """Give the columns of a log that the reply has."""
        reply = self._application.ask(question)
        columns = reply_columns(self._application.name, question, reply)
        if isinstance(reply, dict):
            self.fields = named_fields(reply)
        return columns


def _row(asker, prices, question, system):
    """Give the row of the log, and the failure if there is no answer."""
    row = question | {"answer": None, "system": system}
    row |= asker.contexts(question, system) | {"settings": asker.settings}
    began = time.monotonic()
    try:
        columns = asker.ask(question, system)
    except NoAnswer as failure:
        return row | {"no_answer": str(failure)}, failure
    row["seconds"] = round(time.monotonic() - began, 3)
    row["answer"], aloud = without_thinking(columns.pop("answer"))
    thinking = [text for text in (columns.pop("thinking", ""), aloud) if text]
    if thinking:
        row["thinking"] = "\n".join(thinking)
    row |= columns
    tokens = (row.get("prompt_tokens"), row.get("completion_tokens"))
    if prices and "cost" not in row and None not in tokens:
        costs = (price * count for price, count in zip(prices, tokens, strict=True))
        row["cost"] = math.fsum(costs) / 1e6
    return row, None


def without_thinking(text):
    """Give an answer, and what a reasoning model thought aloud before it or in between.

    Of thoughts that broke off nothing is an answer.
    """
    if text.lstrip().startswith("<think>") and "</think>" not in text:
        return "", text.replace("<think>", "", 1).strip()
    if "</think>" in text.partition("<think>")[0]:  # the prompt opened the thought
        text = f"<think>{text}"
    thoughts = [thought.strip() for thought in _THOUGHT.findall(text)]
    return _THOUGHT.sub("", text).strip(), "\n".join(filter(None, thoughts))


def _ask(left, ask, failures, out, workers, report):
    """Ask what is left, write each row in this order, and give how many were asked."""
    in_a_row = 0
    n_answered = 0
    n_asked = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(workers) as pool:
        waiting = deque(left)
        running = deque()
        for question, _ in track(left, "answers"):
            while waiting and len(running) < workers:
                running.append(pool.submit(ask, *waiting.popleft()))
            if not running:
                break
            row, failure = running.popleft().result()
            n_asked += 1
            if failure is None or failure.cause not in NO_SERVER:
                stream.write(_line(row))
                stream.flush()
            if failure is None:
                in_a_row = 0
                n_answered += 1
                continue
            failures.add(question, failure)
            if failure.cause == "nonsense":  # who talks nonsense is there
                in_a_row = 0
            else:
                in_a_row += 1
            if in_a_row == MOST_FAILURES:
                report(f"{MOST_FAILURES} failures in a row: the rest is not asked")
                waiting.clear()  # what is being asked is waited for
    if left:
        report(f"{n_answered} of {len(left)} answers")
    if not out.stat().st_size:
        out.unlink()
    return n_asked
