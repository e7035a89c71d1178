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
        "Answer the question from the passages below, and only from them. Give the number of each passage that you use "
        "in square brackets, such as [1]. If the passages do not answer the question, say that you do not know.\n\n"
        "{passages}\n\nQuestion: {question}\nAnswer:"
    ),
    "no retrieval": (
        "Answer the question in a few sentences. If you do not know the answer, say so.\n\n"
        "Question: {question}\nAnswer:"
    ),
}
"""What the model is asked, with passages of the collection (RAG) and without (base)."""
_PART = re.compile(r"\{(passages|question)\}")
IN_A_ROW = 3  # failures after which the rest is not tried
NO_SERVER = (
    "unreachable",
    "refused",
)  # causes that say nothing of the question, so that the log has no row of it
_CAUSES = 5  # that the error names
_DEAREST = 1e12  # of a million tokens, in any currency
KEPT = ("reference", "relevant", "group")  # of a question, if it has them


def read_asked(path):
    """Read questions: one a line of text, or records with ``question`` (or ``text``) and what a log may hold."""
    path = Path(path)
    if suffix_of(path) not in (".csv", ".json", ".jsonl"):
        rows = [
            (number, {"question": line.strip()})
            for number, line in read_lines(path)
            if line.strip()
        ]
    else:
        rows = read_records(path)[0]
    asked, places = [], {}
    for place, record in rows:
        record = {name: value for name, value in record.items() if value not in (None, "")}
        text = next(
            (record[name] for name in (*LOG_ALIASES["question"], "text") if name in record), None
        )
        if not isinstance(text, str) or not text.strip():
            raise InputError.at(path, place, "has no question: name a field question, or text")
        name = str(
            next((record[key] for key in ("_id", *LOG_ALIASES["id"]) if key in record), text)
        )
        if name in places:
            raise InputError.at(
                path, place, f"question {name[:60]!r} stood already in row {places[name]}: keep one"
            )
        places[name] = place
        question = {"id": name, "question": text} | {
            key: record[key] for key in KEPT if key in record
        }
        try:
            _line(question)
        except InputError as error:
            raise InputError.at(path, place, str(error)) from error
        asked.append(question)
    if not asked:
        raise InputError(f"{path}: holds no questions")
    return asked


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
    """Ask a model every question, with retrieval (if there is a corpus) and without, and give the log.

    Each answer is written at once: a second call asks only what ``out`` lacks. A reply that is no answer is a row with
    the reason as ``no_answer``; a second call asks such questions again, after those that were never asked. ``timeout``
    limits each reply as a whole, and ``max_bytes`` its size. ``prompt`` is a file that replaces the
    prompt with retrieval, or without a corpus that without: it holds ``{question}``, and ``{passages}`` where there is
    a corpus. ``parallel`` is the number of requests at a time. ``prices`` are those of a million tokens of prompt and
    of answer; the key comes from ``OPENAI_API_KEY`` and is written nowhere. What has no answer is a `BatchFailed` at
    the end.
    """
    out, asked = Path(out), read_asked(questions)
    refuse_overwriting(out, questions)
    if not all(0 <= price <= _DEAREST for price in prices or ()):
        raise InputError(f"prices {prices}: give numbers from 0 to {_DEAREST:g}")
    if not math.isfinite(temperature):
        raise InputError(f"temperature {temperature}: give a finite number")
    if out.is_symlink():  # one file has one lock, and is replaced where it is
        out = Path(os.path.realpath(out))
    if (
        corpus is not None
        and out.name == "corpus.jsonl"
        and out.resolve().parent == Path(corpus).resolve()
    ):
        raise InputError(
            f"{out}: the folder's documents are read from a file of this name: name another file"
        )
    endpoint = Endpoint(model.removeprefix("endpoint:"), url, timeout, retries, max_bytes)
    documents = None if corpus is None else documents_of(corpus)
    kinds = ["retrieval", "no retrieval"] if corpus is not None else ["no retrieval"]
    prompts = dict(PROMPTS)
    if prompt:
        prompts[kinds[0]] = read_prompt(prompt, kinds[0])
    texts = documents is not None and documents["text"].tolist()
    described = json.dumps([model, k, mode, max_tokens, temperature, seed, prompts, texts])
    settings = hashlib.sha256(described.encode()).hexdigest()[:12]
    pairs = [(question, kind) for question in asked for kind in kinds]

    def key(question, kind):
        return question["id"], f"{model}, {kind}"

    lock = out.with_name(f".{out.name}.lock")
    with locked(lock, lambda owner: f"{out}: is being written by {owner}: wait for it"):
        try:
            rows = _rows(out, settings)
            done = _answered(rows)
            left = [pair for pair in pairs if key(*pair) not in done]
            left.sort(
                key=lambda pair: key(*pair) in rows
            )  # what has failed comes last, so that no call ends there
            if done:
                report(f"{out}: {len(done)} answers are there, {len(left)} are left")
            sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
            hits = _found(left, documents, k, mode)
            asker = _Asker(endpoint, model, prompts, hits, settings, sampling, prices)
            causes = _ask(left, asker, out, parallel, report)
            done = _answered(_rows(out, settings))
            missing = sum(key(*pair) not in done for pair in pairs)
        finally:
            lock.unlink(missing_ok=True)  # while it is held: who waits for it makes a new one
    if causes:
        more = f"; and {len(causes) - _CAUSES} other reasons" if len(causes) > _CAUSES else ""
        raise BatchFailed(
            f"{missing} of {len(pairs)} answers are missing: {'; '.join(causes[:_CAUSES])}{more}; "
            "the same command asks again"
        )
    log = read_log(out)
    cut_off = [row for _, row in read_records(out)[0] if row.get("cut_off")]
    if cut_off:
        names = ", ".join(dict.fromkeys(row["system"] for row in cut_off))
        report(
            f"{len(cut_off)} of {len(log)} answers were cut off at {max_tokens} tokens ({names}): raise --max-tokens"
        )
    return log


def read_prompt(path, kind):
    """Read a prompt of one's own; it must say where the question stands, and the passages where there are some."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    needed = ("passages", "question") if kind == "retrieval" else ("question",)
    missing = [f"{{{name}}}" for name in needed if f"{{{name}}}" not in text]
    if missing:
        raise InputError(
            f"{path}: the prompt lacks {' and '.join(missing)}: write it where that text is to stand"
        )
    return text


def _found(left, documents, k, mode):
    """Documents for each question that is asked with retrieval."""
    texts = {one["id"]: one["question"] for one, kind in left if kind == "retrieval"}
    if not texts:
        return {}
    from casebook.retrieval.pipeline import HybridRetriever

    found = HybridRetriever(documents, mode=mode).retrieve_many(list(texts.values()), k)
    return {name: found.hits(row)[:k] for row, name in enumerate(texts)}


def _rows(out, settings):
    """Rows of a log by question and system, the last of each; what broke off or was asked again is taken out of it."""
    content = out.read_bytes() if out.exists() else b""
    if not content:
        return {}
    if b"\n" not in content:  # nothing tells whose it is
        raise InputError.at(
            out, 1, "breaks off in its first line: remove the file, or name another one"
        )
    lines, broken = read_records(out, tolerate_truncation=True)
    other = next((place for place, row in lines if row.get("settings") != settings), None)
    if other is not None:
        raise InputError.at(
            out, other, "was made with another model, corpus, prompt or setting: name another file"
        )
    rows = {(row["id"], row["system"]): row for _, row in lines}  # in the order of the first
    if broken or len(rows) < len(lines) or not content.endswith(b"\n"):
        write_text(out, "".join(map(_line, rows.values())))
    return rows


def _answered(rows):
    """Questions and systems that have an answer."""
    return {key for key, row in rows.items() if row.get("no_answer") is None}


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
        """Row of the log, and the failure if the model gave no answer."""
        hits = self.hits.get(question["id"], []) if kind == "retrieval" else []
        passages = "\n\n".join(f"[{place}] {hit.text}" for place, hit in enumerate(hits, 1))
        texts = {"passages": passages, "question": question["question"]}
        row = question | {"answer": None, "system": f"{self.model}, {kind}"}
        if kind == "retrieval":
            row |= {
                "contexts": [hit.text for hit in hits],
                "context_ids": [hit.doc_id for hit in hits],
            }
        row["settings"] = self.settings
        began = time.monotonic()
        try:
            reply = self.endpoint.reply(
                _PART.sub(lambda part: texts[part[1]], self.prompts[kind]), **self.sampling
            )
        except NoAnswer as failure:
            return row | {"no_answer": str(failure)}, failure
        row["seconds"] = round(time.monotonic() - began, 3)
        row["answer"], thinking = without_thinking(reply.text)
        if thinking:
            row["thinking"] = thinking
        return row | self._used(reply), None

    def _used(self, reply):
        """What the log says of the tokens of a reply."""
        tokens = (reply.prompt_tokens, reply.completion_tokens)
        used = {
            "cut_off": reply.cut_off,
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
        }
        if self.prices and None not in tokens:
            costs = (price * count for price, count in zip(self.prices, tokens, strict=True))
            used["cost"] = math.fsum(costs) / 1e6
        return used


def without_thinking(text):
    """Answer, and what a reasoning model thought aloud before it; of thoughts that broke off nothing is an answer."""
    thinking, end, answer = text.rpartition("</think>")
    if end:
        return answer.strip(), thinking.replace("<think>", "", 1).strip()
    if text.lstrip().startswith("<think>"):
        return "", text.replace("<think>", "", 1).strip()
    return text.strip(), ""


def _ask(left, asker, out, parallel, report):
    """Ask what is left, write each row in the order asked, and give the causes of what has no answer."""
    causes = []
    in_a_row = answered = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(parallel) as pool:
        waiting, running = deque(left), deque()
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
            in_a_row = (
                0 if failure.cause == "nonsense" else in_a_row + 1
            )  # who talks nonsense is there
            if in_a_row == IN_A_ROW:
                report(f"{IN_A_ROW} failures in a row: the rest is not asked")
                waiting.clear()  # what is being asked is waited for
    if left:
        report(f"{answered} of {len(left)} answers")
    if not out.stat().st_size:
        out.unlink()
    return list(dict.fromkeys(causes))
