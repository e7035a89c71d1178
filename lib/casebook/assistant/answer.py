"""Answers of a language model to a list of questions, with retrieval and without, as a log."""

import hashlib
import json
import math
import os
import re
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from casebook.assistant.log import LOG_ALIASES, documents_of, read_log
from casebook.errors import BatchFailed, InputError
from casebook.files import locked, refuse_overwriting, write_text
from casebook.models.language import MAX_BYTES, Endpoint, NoAnswer
from casebook.progress import track
from casebook.readers import read_lines, read_records, suffix_of

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
_MOST_CAUSES = 5  # that the error names
_HIGHEST_PRICE = 1e12  # of a million tokens, in any currency
QUESTION_FIELDS = ("reference", "relevant", "group")  # that go into the log


def read_question_list(path):
    """Read questions: one a line, or records with ``question`` (or ``text``) and a log's fields."""
    path = Path(path)
    if suffix_of(path) in (".csv", ".json", ".jsonl"):
        rows, _ = read_records(path)
    else:
        lines = [(number, line.strip()) for number, line in read_lines(path)]
        rows = [(number, {"question": line}) for number, line in lines if line]
    questions = []
    row_of = {}
    for number, record in rows:
        record = {name: value for name, value in record.items() if value not in (None, "")}
        text = _first_field(record, [*LOG_ALIASES["question"], "text"])
        if not isinstance(text, str) or not text.strip():
            raise InputError.at(path, number, "has no question: name a field question, or text")
        name = str(_first_field(record, ["_id", *LOG_ALIASES["id"]], default=text))
        if name in row_of:
            raise InputError.at(
                path,
                number,
                f"question {name[:60]!r} stood already in row {row_of[name]}: keep one",
            )
        row_of[name] = number
        question = {"id": name, "question": text}
        question |= {field: record[field] for field in QUESTION_FIELDS if field in record}
        try:
            _line(question)
        except InputError as error:
            raise InputError.at(path, number, str(error)) from error
        questions.append(question)
    if not questions:
        raise InputError(f"{path}: holds no questions")
    return questions


def _first_field(record, names, default=None):
    return next((record[name] for name in names if name in record), default)


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
    max_bytes=MAX_BYTES,
    max_tokens=512,
    temperature=0.0,
    seed=0,
    prompt=None,
    parallel=1,
    prices=None,
    report=print,
):
    """Ask a model every question, with retrieval (if there is a corpus) and without; gives the log.

    Each answer is written at once: a second call asks only what ``out`` lacks. A reply that is no
    answer is a row with the reason as ``no_answer``; a second call asks such questions again, after
    those that were never asked. ``timeout`` limits each reply as a whole, and ``max_bytes`` its
    size. ``prompt`` is a file that replaces the prompt with retrieval, or without a corpus that
    without: it holds ``{question}``, and ``{passages}`` where there is a corpus. ``parallel`` is
    the number of requests at a time. ``prices`` are those of a million tokens of prompt and of
    answer; the key comes from ``OPENAI_API_KEY`` and is written nowhere. What has no answer is a
    `BatchFailed` at the end.
    """
    out = Path(out)
    question_list = read_question_list(questions)
    refuse_overwriting(out, questions)
    _check_settings(prices, temperature)
    if out.is_symlink():  # one file has one lock, and is replaced where it is
        out = Path(os.path.realpath(out))
    _refuse_corpus_file(out, corpus)
    endpoint = Endpoint(model.removeprefix("endpoint:"), url, timeout, retries, max_bytes)
    documents = None
    texts = False
    kinds = ["no retrieval"]
    if corpus is not None:
        documents = documents_of(corpus)
        texts = documents["text"].tolist()
        kinds = ["retrieval", "no retrieval"]
    prompts = dict(PROMPTS)
    if prompt:
        prompts[kinds[0]] = read_prompt(prompt, kinds[0])
    settings = _hash([model, k, mode, max_tokens, temperature, seed, prompts, texts])
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    pairs = [(question, kind) for question in question_list for kind in kinds]
    lock = out.with_name(f".{out.name}.lock")
    with locked(lock, lambda owner: f"{out}: is being written by {owner}: wait for it"):
        try:
            rows = _rows(out, settings)
            left = _unanswered(pairs, model, rows)
            n_answered = sum(row.get("no_answer") is None for row in rows.values())
            if n_answered:
                report(f"{out}: {n_answered} answers are there, {len(left)} are left")
            hits = _retrieve(left, documents, k, mode)
            asker = _Asker(endpoint, model, prompts, hits, settings, sampling, prices)
            causes = _ask(left, asker, out, parallel, report)
            missing = _unanswered(pairs, model, _rows(out, settings))
        finally:
            lock.unlink(missing_ok=True)  # while it is held: who waits for it makes a new one
    if causes:
        raise BatchFailed(
            f"{len(missing)} of {len(pairs)} answers are missing: {_listed(causes)}; "
            "the same command asks again"
        )
    log = read_log(out)
    _report_cut_off(out, len(log), max_tokens, report)
    return log


def _system(model, kind):
    """Name of a system in the log: a model, with retrieval or without."""
    return f"{model}, {kind}"


def _unanswered(pairs, model, rows):
    """Give the questions without an answer; those that failed come last: no call ends there."""
    never_asked = []
    failed = []
    for question, kind in pairs:
        row = rows.get((question["id"], _system(model, kind)))
        if row is None:
            never_asked.append((question, kind))
        elif row.get("no_answer") is not None:
            failed.append((question, kind))
    return never_asked + failed


def _report_cut_off(out, n_answers, max_tokens, report):
    """Say how many answers of a log break off at the greatest number of tokens."""
    records, _ = read_records(out)
    cut_off = [row for _, row in records if row.get("cut_off")]
    if cut_off:
        names = ", ".join(dict.fromkeys(row["system"] for row in cut_off))
        report(
            f"{len(cut_off)} of {n_answers} answers were cut off at {max_tokens} tokens "
            f"({names}): raise --max-tokens"
        )


def _hash(settings):
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]


def _listed(causes):
    if len(causes) > _MOST_CAUSES:
        others = f"and {len(causes) - _MOST_CAUSES} other reasons"
        causes = [*causes[:_MOST_CAUSES], others]
    return "; ".join(causes)


def _check_settings(prices, temperature):
    if not all(0 <= price <= _HIGHEST_PRICE for price in prices or ()):
        raise InputError(f"prices {prices}: give numbers from 0 to {_HIGHEST_PRICE:g}")
    if not math.isfinite(temperature):
        raise InputError(f"temperature {temperature}: give a finite number")


def _refuse_corpus_file(out, corpus):
    """Refuse to write over the documents of the folder."""
    if corpus is None or out.name != "corpus.jsonl":
        return
    if out.resolve().parent == Path(corpus).resolve():
        raise InputError(
            f"{out}: the folder's documents are read from a file of this name: name another file"
        )


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


def _retrieve(left, documents, k, mode):
    """Retrieve documents for each question that is asked with retrieval."""
    texts = {question["id"]: question["question"] for question, kind in left if kind == "retrieval"}
    if not texts:
        return {}
    from casebook.retrieval.pipeline import HybridRetriever

    retrieved = HybridRetriever(documents, mode=mode).retrieve_many(list(texts.values()), k)
    return {name: retrieved.hits(row)[:k] for row, name in enumerate(texts)}


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
    lines, broken = read_records(out, tolerate_truncation=True)
    for number, row in lines:
        if row.get("settings") != settings:
            raise InputError.at(
                out,
                number,
                "was made with another model, corpus, prompt or setting: name another file",
            )
    rows = {(row["id"], row["system"]): row for _, row in lines}  # in the order of the first
    if broken or len(rows) < len(lines) or not content.endswith(b"\n"):
        write_text(out, "".join(map(_line, rows.values())))
    return rows


def _line(row):
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise InputError(
            f"question {row['id'][:60]!r}: holds NaN or an endless number, which no log can"
        ) from error


@dataclass(frozen=True)
class _Asker:
    """Asks a model one question at a time and makes the row of the log."""

    endpoint: Endpoint
    model: str
    prompts: dict  # kind of answer: prompt
    hits: dict  # id of the question: documents found
    settings: str  # hash of all settings
    sampling: dict
    prices: tuple | None

    def ask(self, question, kind):
        """Give the row of the log, and the failure if the model gave no answer."""
        row = question | {"answer": None, "system": _system(self.model, kind)}
        hits = []
        if kind == "retrieval":
            hits = self.hits.get(question["id"], [])
            row["contexts"] = [hit.text for hit in hits]
            row["context_ids"] = [hit.doc_id for hit in hits]
        row["settings"] = self.settings
        prompt = self._prompt(question, kind, hits)
        began = time.monotonic()
        try:
            reply = self.endpoint.reply(prompt, **self.sampling)
        except NoAnswer as failure:
            return row | {"no_answer": str(failure)}, failure
        row["seconds"] = round(time.monotonic() - began, 3)
        row["answer"], thinking = without_thinking(reply.text)
        if thinking:
            row["thinking"] = thinking
        return row | self._usage(reply), None

    def _prompt(self, question, kind, hits):
        """Fill in a prompt; what passages hold is not filled in again."""
        passages = [f"[{number}] {hit.text}" for number, hit in enumerate(hits, 1)]
        texts = {"passages": "\n\n".join(passages), "question": question["question"]}
        return _PLACEHOLDER.sub(lambda match: texts[match[1]], self.prompts[kind])

    def _usage(self, reply):
        """Give what the log says of the tokens of a reply."""
        usage = {
            "cut_off": reply.cut_off,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }
        tokens = (reply.prompt_tokens, reply.completion_tokens)
        if self.prices and None not in tokens:
            costs = (price * count for price, count in zip(self.prices, tokens, strict=True))
            usage["cost"] = math.fsum(costs) / 1e6
        return usage


def without_thinking(text):
    """Give an answer, and what a reasoning model thought aloud before it.

    Of thoughts that broke off nothing is an answer.
    """
    thinking, end, answer = text.rpartition("</think>")
    if end:
        return answer.strip(), thinking.replace("<think>", "", 1).strip()
    if text.lstrip().startswith("<think>"):
        return "", text.replace("<think>", "", 1).strip()
    return text.strip(), ""


def _ask(left, asker, out, parallel, report):
    """Ask what is left, write each row in this order, and give the causes of what has no answer."""
    causes = []
    in_a_row = 0
    answered = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(parallel) as pool:
        waiting = deque(left)
        running = deque()
        for question, _ in track(left, "answers"):
            while waiting and len(running) < parallel:
                running.append(pool.submit(asker.ask, *waiting.popleft()))
            if not running:
                break
            row, failure = running.popleft().result()
            if failure is None or failure.cause not in NO_SERVER:
                stream.write(_line(row))
                stream.flush()
            if failure is None:
                in_a_row = 0
                answered += 1
                continue
            causes.append(str(failure))
            report(f"no answer to {question['id'][:60]!r}: {failure}")
            if failure.cause == "nonsense":  # who talks nonsense is there
                in_a_row = 0
            else:
                in_a_row += 1
            if in_a_row == MOST_FAILURES:
                report(f"{MOST_FAILURES} failures in a row: the rest is not asked")
                waiting.clear()  # what is being asked is waited for
    if left:
        report(f"{answered} of {len(left)} answers")
    if not out.stat().st_size:
        out.unlink()
    return list(dict.fromkeys(causes))
