"""Answers of a language model to a list of questions, with retrieval and without, as a log."""

import hashlib
import json
import math
import re
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from casebook.assistant.log import ALIASES, documents_of, read_log
from casebook.errors import BatchFailed, InputError
from casebook.files import locked, refuse_overwriting, write_text
from casebook.models.language import Endpoint, NoAnswer
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
KEPT = ("reference", "relevant", "group")  # of a question, if it has them


def read_asked(path):
    """Read questions: one a line of text, or records with ``question`` (or ``text``) and what a log may hold."""
    path = Path(path)
    if suffix_of(path) not in (".csv", ".json", ".jsonl"):
        rows = [(number, {"question": line.strip()}) for number, line in read_lines(path) if line.strip()]
    else:
        rows = read_records(path)[0]
    asked, places = [], {}
    for place, record in rows:
        record = {name: value for name, value in record.items() if value not in (None, "")}
        text = next((record[name] for name in (*ALIASES["question"], "text") if name in record), None)
        if not isinstance(text, str) or not text.strip():
            raise InputError.at(path, place, "has no question: name a field question, or text")
        name = str(next((record[key] for key in ("_id", *ALIASES["id"]) if key in record), text))
        if name in places:
            raise InputError.at(path, place, f"question {name[:60]!r} stood already in row {places[name]}: keep one")
        places[name] = place
        asked.append({"id": name, "question": text} | {key: record[key] for key in KEPT if key in record})
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
    max_tokens=512,
    temperature=0.0,
    seed=0,
    prompt=None,
    parallel=1,
    prices=None,
    report=print,
):
    """Ask a model every question, with retrieval (if there is a corpus) and without, and give the log.

    Each answer is written at once: a second call asks only what ``out`` lacks. ``prompt`` is a file that replaces the
    prompt with retrieval, or without a corpus that without: it holds ``{question}``, and ``{passages}`` where there is
    a corpus. ``parallel`` is the number of requests at a time. ``prices`` are those of a million tokens of prompt and
    of answer; the key comes from ``OPENAI_API_KEY`` and is written nowhere. What has no answer is a `BatchFailed` at
    the end.
    """
    out, asked = Path(out), read_asked(questions)
    refuse_overwriting(out, questions)
    if corpus is not None and out.name == "corpus.jsonl" and out.resolve().parent == Path(corpus).resolve():
        raise InputError(f"{out}: the folder's documents are read from a file of this name: name another file")
    endpoint = Endpoint(model.removeprefix("endpoint:"), url, timeout, retries)
    documents = None if corpus is None else documents_of(corpus)
    kinds = ["retrieval", "no retrieval"] if corpus is not None else ["no retrieval"]
    prompts = dict(PROMPTS)
    if prompt:
        prompts[kinds[0]] = read_prompt(prompt, kinds[0])
    texts = documents is not None and documents["text"].tolist()
    described = json.dumps([model, k, mode, max_tokens, temperature, seed, prompts, texts])
    settings = hashlib.sha256(described.encode()).hexdigest()[:12]
    lock = out.with_name(f".{out.name}.lock")
    with locked(lock, lambda owner: f"{out}: is being written by {owner}: wait for it"):
        try:
            done = _done(out, settings)
            left = [(one, kind) for one in asked for kind in kinds if (one["id"], f"{model}, {kind}") not in done]
            if done:
                report(f"{out}: {len(done)} answers are there, {len(left)} are left")
            sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
            hits = _found(left, documents, k, mode)
            asker = _Asker(endpoint, model, prompts, hits, settings, sampling, prices)
            causes = _ask(left, asker, out, parallel, report)
            missing = len(asked) * len(kinds) - len(_done(out, settings))
        finally:
            lock.unlink(missing_ok=True)  # while it is held: who waits for it makes a new one
    if causes:
        raise BatchFailed(
            f"{missing} of {len(asked) * len(kinds)} answers are missing: {'; '.join(causes)}; "
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
        raise InputError(f"{path}: the prompt lacks {' and '.join(missing)}: write it where that text is to stand")
    return text


def _found(left, documents, k, mode):
    """Documents for each question that is asked with retrieval."""
    texts = {one["id"]: one["question"] for one, kind in left if kind == "retrieval"}
    if not texts:
        return {}
    from casebook.retrieval.pipeline import HybridRetriever

    found = HybridRetriever(documents, mode=mode).retrieve_many(list(texts.values()), k)
    return {name: found.hits(row)[:k] for row, name in enumerate(texts)}


def _done(out, settings):
    """Questions and systems that a log has; a last line that broke off is taken out of a log of these settings."""
    content = out.read_bytes() if out.exists() else b""
    if not content:
        return set()
    if b"\n" not in content:  # nothing tells whose it is
        raise InputError.at(out, 1, "breaks off in its first line: remove the file, or name another one")
    rows, broken = read_records(out, tolerate_truncation=True)
    other = next((place for place, row in rows if row.get("settings") != settings), None)
    if other is not None:
        raise InputError.at(out, other, "was made with another model, corpus, prompt or setting: name another file")
    if broken or not content.endswith(b"\n"):
        write_text(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for _, row in rows))
    return {(row["id"], row["system"]) for _, row in rows}


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

    def row(self, question, kind):
        """Row of the log; `NoAnswer` if the model gives none."""
        hits = self.hits.get(question["id"], []) if kind == "retrieval" else []
        passages = "\n\n".join(f"[{place}] {hit.text}" for place, hit in enumerate(hits, 1))
        texts = {"passages": passages, "question": question["question"]}
        began = time.monotonic()
        reply = self.endpoint.reply(_PART.sub(lambda part: texts[part[1]], self.prompts[kind]), **self.sampling)
        answer, thinking = without_thinking(reply.text)
        row = question | {"answer": answer, "system": f"{self.model}, {kind}"}
        if thinking:
            row["thinking"] = thinking
        if kind == "retrieval":
            row |= {"contexts": [hit.text for hit in hits], "context_ids": [hit.doc_id for hit in hits]}
        row |= {
            "settings": self.settings,
            "seconds": round(time.monotonic() - began, 3),
            "cut_off": reply.cut_off,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }
        tokens = (reply.prompt_tokens, reply.completion_tokens)
        if self.prices and None not in tokens:
            costs = (price * count for price, count in zip(self.prices, tokens, strict=True))
            row["cost"] = math.fsum(costs) / 1e6
        return row


def without_thinking(text):
    """Answer, and what a reasoning model thought aloud before it; of thoughts that broke off nothing is an answer."""
    thinking, end, answer = text.rpartition("</think>")
    if end:
        return answer.strip(), thinking.replace("<think>", "", 1).strip()
    if text.lstrip().startswith("<think>"):
        return "", text.replace("<think>", "", 1).strip()
    return text.strip(), ""


def _ask(left, asker, out, parallel, report):
    """Ask what is left, write each answer in the order of the questions, and give the causes of those that failed."""
    causes = []
    in_a_row = answered = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as stream, ThreadPoolExecutor(parallel) as pool:
        waiting, running = deque(left), deque()
        for question, _ in track(left, "answers"):
            while waiting and len(running) < parallel:
                running.append(pool.submit(asker.row, *waiting.popleft()))
            try:
                row = running.popleft().result()
            except NoAnswer as error:
                causes.append(str(error))
                in_a_row += 1
                report(f"no answer to {question['id'][:60]!r}: {error}")
                if in_a_row == IN_A_ROW:
                    report(f"{IN_A_ROW} failures in a row: the rest is not asked")
                    waiting.clear()
                    break
                continue
            in_a_row = 0
            answered += 1
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()
    if left:
        report(f"{answered} of {len(left)} answers")
    if not out.stat().st_size:
        out.unlink()
    return list(dict.fromkeys(causes))
