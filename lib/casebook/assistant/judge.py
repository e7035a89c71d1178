"""A judge on answers, and on the same answers in foreign contexts.

It is an object of the user's own, ``module:object``, or one that judges evidence, as in
``casebook factcheck run``: ``entailment:MODEL``, ``endpoint:MODEL``, ``public``.
"""

import functools
import numbers
from collections import Counter
from typing import NamedTuple

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
from casebook.factcheck.evidence import EvidencePassage
from casebook.factcheck.judges import (
    cost_of_judge,
    degree_of,
    judge_of,
    name_of_judge,
)
from casebook.factcheck.stance import CAUTION, PublicJudge
from casebook.measures.faithfulness import PASSAGE_WORDS
from casebook.plugins import PREFIXES, callable_plugin, is_plugin
from casebook.progress import track
from casebook.text import content_words, printable, sentence_texts
from casebook.text import passages as windows

SUPPORT = "support by the contexts"
SIGNATURE = "(row) -> number from 0 to 1, or {name: number}"
MOST_REASONS = 3  # that a note names


class Case(NamedTuple):
    """What a judge sees of an answer; which system gave it is not in it: the judge is blind."""

    question: str
    answer: str
    contexts: tuple
    reference: str | None


class Judge:
    """Scores by a user's own function or class, which is called with a `Case` as a dictionary."""

    of_evidence = None

    def __init__(self, name):
        self.title = name.partition(":")[2]
        self._score = callable_plugin(name, SIGNATURE)

    @functools.cache  # noqa: B019  # judges are few, and live as long as the process
    def scores(self, case):
        """Scores by name, and why some are missing (None if none is)."""
        try:
            value = self._score(case._asdict() | {"contexts": list(case.contexts)})
        except (Exception, SystemExit) as error:  # whatever the user's judge raises
            return {}, _line(f"raised {type(error).__name__}: {error}")
        if not isinstance(value, dict):
            value = {self.title: value}
        scores = {}
        reason = None
        for name, number in value.items():
            if isinstance(number, numbers.Real | np.bool_) and 0 <= number <= 1:
                scores[str(name)] = float(number)
            else:
                reason = _line(f"gave {number!r}, which is no number from 0 to 1")
        return scores, reason


class SupportJudge:
    """Scores by a judge of evidence: the mean over the answer's sentences of their support.

    With the contexts cut into passages of 200 words that overlap by half, the support of a sentence
    is the probability that they support it (`casebook.factcheck.judges.degree_of`). Sentences
    without content words, and passage numbers such as [1], do not count. Nothing to judge, and a
    sentence that the judge fails on, leave the case without a score.
    """

    def __init__(self, name):
        if not name.startswith(("public", "placeholder", *(f"{prefix}:" for prefix in PREFIXES))):
            known = "entailment:MODEL, endpoint:MODEL, public"
            raise InputError(f"judge {name!r}: give {known}, or your own module:object")
        self.of_evidence = judge_of(name)

    @functools.cache  # noqa: B019
    def scores(self, case):
        """Scores by name, and why some are missing (None if none is)."""
        claims = _claims_of(case.answer)
        evidence = _passages_of(case.contexts)
        if not claims or not evidence:
            lacking = "sentence" if not claims else "context"
            return {}, f"no {lacking} to judge"
        try:
            degrees = [degree_of(self.of_evidence, claim, evidence) for claim in claims]
        except CasebookError as error:
            return {}, _line(error)
        return {SUPPORT: sum(degrees) / len(degrees)}, None


@functools.cache
def load_judge(name):
    """A judge, once, so that a cell that runs again asks it nothing twice."""
    return Judge(name) if is_plugin(name) else SupportJudge(name)


def _claims_of(answer):
    """The sentences of an answer that have content words."""
    claims = sentence_texts(without_references(answer))
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


def _line(text):
    return printable(without_secrets(text))[:100]


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
    references = log.dropna(subset="reference").set_index("id")["reference"].to_dict()
    foreign_ids = draw_other_questions(log, foreign, seed)
    cases_of = []
    for row in log.itertuples():
        cases = []
        if row.answer.strip() and not isinstance(getattr(row, "no_answer", None), str):
            shown = row.contexts or contexts.get(row.id) or ()
            cases.append(Case(row.question, row.answer, tuple(shown), references.get(row.id)))
            others = [(contexts.get(key), references.get(key)) for key in foreign_ids[row.id]]
            cases += filter(None, (_in_foreign_material(cases[0], *other) for other in others))
        cases_of.append(cases)
    every = [case for cases in cases_of for case in cases]
    reasons = Counter()
    rows = []
    for cases in track(cases_of, "judge", len(log)):
        row = {}
        found = [judge.scores(case) for case in cases]
        reasons.update(reason for _, reason in found if reason)
        if found:
            scores = pd.DataFrame([scores for scores, _ in found], dtype=float)
            scores = scores.add_prefix(JUDGE_SCORE)
            baselines = scores.iloc[1:].mean().add_suffix(" baseline")
            row = {**scores.iloc[0].dropna(), **baselines}
        rows.append(row)
    table = pd.DataFrame(rows, index=log.index, dtype=float)
    table.attrs["notes"] = _notes(name, every, reasons, judge.of_evidence)
    return table


def _in_foreign_material(case, contexts, reference):
    """A case with the contexts and the reference of another question, where it has its own.

    None if the other question lacks something of it, or there is nothing to exchange.
    """
    if case.contexts:
        case = case._replace(contexts=tuple(contexts or ()))
        if not case.contexts:
            return None
    elif case.reference is None:
        return None
    if case.reference is None:
        return case
    return None if reference is None else case._replace(reference=reference)


def _notes(name, cases, reasons, evidence_judge):
    """How often the judge was called, what it cost, and why scores are missing."""
    calls = f"{len(cases)} inputs in {len(set(cases))} calls; equal ones are asked once"
    notes = [f"the judge {name_of_judge(name)} was given {calls}"]
    cost = cost_of_judge(evidence_judge)
    if cost:
        notes.append(f"it was asked {cost}")
    if isinstance(evidence_judge, PublicJudge):
        notes.append(CAUTION)
    if reasons:
        said = [f"{count} × {reason}" for reason, count in reasons.most_common(MOST_REASONS)]
        more = len(reasons) - MOST_REASONS
        said += [f"and {more} other reasons"] if more > 0 else []
        notes.append(f"the judge gave no score {reasons.total()} times: {'; '.join(said)}")
    return notes
