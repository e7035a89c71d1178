"""A judge on answers, and on the same answers in foreign contexts.

It is an object of the user's own, ``module:object``, or one that judges evidence, as in
``casebook factcheck run``: ``entailment:MODEL``, ``endpoint:MODEL``, ``public``.
"""

import functools
import inspect
import numbers
from collections import Counter

import numpy as np
import pandas as pd

from casebook.assistant.study import (
    JUDGE_SCORE,
    draw_other_questions,
    first_contexts,
    without_references,
)
from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.factcheck.model_judges import cost_of_judge, degree_of, seconds_of_preparing
from casebook.factcheck.pipeline import EvidencePassage, judge_of, name_of_judge
from casebook.factcheck.stance import CAUTION, PublicJudge
from casebook.measures.faithfulness import PASSAGE_WORDS
from casebook.plugins import PREFIXES, callable_plugin, is_plugin
from casebook.progress import track
from casebook.text import content_words, printable, sentence_texts
from casebook.text import passages as windows

_MODELS = tuple(f"{prefix}:" for prefix in PREFIXES)
SUPPORT = "support by the contexts"
SIGNATURE = "(row) -> number from 0 to 1, or {name: number}"


class _AnswerJudge:
    """Score rows; equal ones are scored once."""

    judge = None  # of evidence, where there is one

    def __init__(self):
        self._memory = {}

    def prepare(self, rows):
        """Compute what all new rows need in full batches, where a judge can."""

    def __call__(self, row):
        """Give scores by name, and why some are missing (None if none is)."""
        key = _key(row)
        if key not in self._memory:
            self._memory[key] = self._scores(row)
        return self._memory[key]


class Judge(_AnswerJudge):
    """Score rows by a user's own function or class.

    A row is a dictionary with ``question``, ``answer``, ``contexts`` (list of texts) and
    ``reference`` (text or None). Which system answered is not in it: the judge is blind.
    """

    def __init__(self, name):
        super().__init__()
        score = callable_plugin(name, SIGNATURE)
        _check_signature(name, score)
        self.title = name.partition(":")[2]
        self._score = score

    def _scores(self, row):
        try:
            value = self._score(row | {"contexts": list(row["contexts"])})
        except (Exception, SystemExit) as error:  # whatever the user's judge raises
            return {}, _line(f"raised {type(error).__name__}: {error}")
        if not isinstance(value, dict):
            value = {self.title: value}
        scores = {}
        reason = None
        for name, number in value.items():
            if _is_score(number):
                scores[str(name)] = float(number)
            else:
                reason = _line(f"gave {number!r}, which is no number from 0 to 1")
        return scores, reason


class SupportJudge(_AnswerJudge):
    """Score rows by a judge of evidence: the mean over the answer's sentences of their support.

    With the contexts cut into passages of 200 words that overlap by half, the support of a sentence
    is the probability that they support it (`casebook.factcheck.model_judges.degree_of`). Sentences
    without content words, and passage numbers such as [1], do not count. Nothing to judge, and a
    sentence that the judge fails on, leave the row without a score.
    """

    def __init__(self, name):
        super().__init__()
        if not (name in ("public", "placeholder") or name.startswith(_MODELS)):
            raise InputError(
                f"judge {name!r}: give entailment:MODEL, endpoint:MODEL, public, or your own "
                "module:object"
            )
        self.judge = judge_of(name, None)

    def _scores(self, row):
        claims = _claims_of(row["answer"])
        evidence = _passages_of(row["contexts"])
        if not claims or not evidence:
            lacking = "sentence" if not claims else "context"
            return {}, f"no {lacking} to judge"
        try:
            degrees = [degree_of(self.judge, claim, evidence) for claim in claims]
        except CasebookError as error:
            return {}, _line(error)
        return {SUPPORT: sum(degrees) / len(degrees)}, None

    def prepare(self, rows):
        """Let the judge compute what all new rows need in full batches."""
        claims = []
        evidence = []
        for row in rows:
            passages = _passages_of(row["contexts"])
            if passages and _key(row) not in self._memory:
                texts = _claims_of(row["answer"])
                claims += texts
                evidence += [passages] * len(texts)
        seconds_of_preparing(self.judge, claims, evidence)


def _claims_of(answer):
    """The sentences of an answer that have content words."""
    text = without_references(answer)
    claims = sentence_texts(text)
    return [claim for claim in claims if content_words(claim)]


def _passages_of(contexts):
    """Contexts in overlapping passages, as those of one document."""
    passages = []
    start = 0
    for context in contexts:
        for text in windows(context, PASSAGE_WORDS):
            passages.append(EvidencePassage(0, start, start + len(text), text, ""))
            start += len(text) + 1
    return passages


def _key(row):
    return (row["question"], row["answer"], tuple(row["contexts"]), row["reference"])


def _check_signature(name, score):
    """Refuse what cannot be called with a row, or has to be awaited."""
    if any(map(inspect.iscoroutinefunction, (score, type(score).__call__))):
        raise InputError(f"{name}: is asynchronous: give a plain callable {SIGNATURE}")
    try:
        inspect.signature(score).bind({})
    except TypeError as error:
        raise InputError(f"{name}: {error}: expected a callable {SIGNATURE}") from None
    except ValueError:  # of a builtin, which has no signature
        return


def _is_score(value):
    return isinstance(value, numbers.Real | np.bool_) and 0 <= value <= 1


def _line(text):
    return printable(without_secrets(text))[:100]


@functools.cache
def load_judge(name):
    """Load a judge once, so that a cell that runs again asks it nothing twice."""
    return Judge(name) if is_plugin(name) else SupportJudge(name)


def judge_answers(log, name, *, foreign=3, seed=0):
    """Let a judge score every answer of a log, and the same answer among other questions' material.

    The baseline is the mean over ``foreign`` other questions, those of `score_answers`: the answer
    to its own question, with their contexts and references. An answer without contexts is given
    those of the first system that has some; one that failed is not judged.

    Returns
    -------
    pandas.DataFrame
        The rows of the log: ``judge: <score>`` and ``judge: <score> baseline``, NaN where
        undefined. ``attrs["notes"]`` says how often the judge was called, and why scores are
        missing.
    """
    judge = load_judge(name)
    log = log.reset_index(drop=True)
    contexts = first_contexts(log)
    references = {row.id: row.reference for row in log.itertuples() if row.reference is not None}
    foreign_ids = draw_other_questions(log, foreign, seed)
    cases_of = []
    for row in log.itertuples():
        if isinstance(getattr(row, "no_answer", None), str) or not row.answer.strip():
            cases_of.append([])
            continue
        material = (row.contexts or contexts.get(row.id), references.get(row.id))
        foreign_material = [
            _alike(material, contexts.get(key), references.get(key)) for key in foreign_ids[row.id]
        ]
        every_material = [material, *filter(None, foreign_material)]
        cases_of.append([_case(row, *each) for each in every_material])
    inputs = [_key(case) for cases in cases_of for case in cases]
    judge.prepare([case for cases in cases_of for case in cases])
    reasons = Counter()
    rows = []
    for cases in track(cases_of, "judge", len(log)):
        verdicts = [judge(case) for case in cases]
        reasons.update(reason for _, reason in verdicts if reason)
        scores = [scores for scores, _ in verdicts]
        rows.append(_scores_and_baselines(scores) if scores else {})
    table = pd.DataFrame(rows, index=log.index, dtype=float)
    table.attrs["notes"] = _notes(name, inputs, reasons, judge.judge)
    return table


def _alike(material, contexts, reference):
    """Give of another question's contexts and reference what the answer's question has.

    None if the other question lacks something of it, or there is nothing to exchange.
    """
    has_contexts = bool(material[0])
    has_reference = material[1] is not None
    is_complete = (contexts or not has_contexts) and (reference is not None or not has_reference)
    if not is_complete or not (has_contexts or has_reference):
        return None
    return (contexts if has_contexts else None, reference if has_reference else None)


def _case(row, contexts, reference):
    """Give what the judge sees."""
    return {
        "question": row.question,
        "answer": row.answer,
        "contexts": list(contexts or ()),
        "reference": reference,
    }


def _scores_and_baselines(scores):
    """Join the scores of an answer, the first ones, with the means of its baselines."""
    answer, *baselines = (
        {f"{JUDGE_SCORE}{name}": number for name, number in each.items()} for each in scores
    )
    means = pd.DataFrame(baselines, dtype=float).mean().add_suffix(" baseline")
    return answer | means.to_dict()


def _notes(name, inputs, reasons, evidence_judge):
    """Say how often the judge was called, what it cost, and why scores are missing."""
    notes = [
        f"the judge {name_of_judge(name)} was given {len(inputs)} inputs in {len(set(inputs))} "
        "calls; equal ones are asked once"
    ]
    cost = cost_of_judge(evidence_judge)
    if cost:
        notes.append(f"it was asked {cost}")
    if isinstance(evidence_judge, PublicJudge):
        notes.append(CAUTION)
    if reasons:
        examples = [f"{count} × {reason}" for reason, count in reasons.most_common(3)]
        more = f" and {len(reasons) - 3} other reasons" if len(reasons) > 3 else ""
        notes.append(
            f"the judge gave no score {reasons.total()} times: {'; '.join(examples)}{more}"
        )
    return notes
