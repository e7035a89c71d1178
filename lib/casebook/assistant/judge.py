"""A judge of the user's own, ``module:object``, on answers and on those in foreign contexts."""

import functools
import inspect
import numbers
from collections import Counter

import numpy as np
import pandas as pd

from casebook.assistant.study import JUDGE_SCORE, draw_other_questions, first_contexts
from casebook.credentials import without_secrets
from casebook.errors import InputError
from casebook.plugins import callable_plugin, instance
from casebook.progress import track
from casebook.text import printable

SIGNATURE = "(row) -> number from 0 to 1, or {name: number}"


class Judge:
    """Score rows by a user's own function or class; equal rows are scored once.

    A row is a dictionary with ``question``, ``answer``, ``contexts`` (list of texts) and
    ``reference`` (text or None). Which system answered is not in it: the judge is blind.
    """

    def __init__(self, name):
        score = callable_plugin(name, SIGNATURE)
        if isinstance(score, type):
            score = instance(name, score, SIGNATURE)
        _check_signature(name, score)
        self.title = name.partition(":")[2]
        self._score = score
        self._memory = {}

    def __call__(self, row):
        """Give scores by name, and why some are missing (None if none is)."""
        key = _key(row)
        if key not in self._memory:
            self._memory[key] = self._scores(row)
        return self._memory[key]

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
    return Judge(name)


def check_judge(name):
    """Load a judge that a parameter names; an error says so."""
    try:
        load_judge(name)
    except InputError as error:
        raise InputError(f"judge {error}") from error


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
    reasons = Counter()
    inputs = []
    rows = []
    for row in track(log.itertuples(), "judge", len(log)):
        if isinstance(getattr(row, "no_answer", None), str) or not row.answer.strip():
            rows.append({})
            continue
        material = (row.contexts or contexts.get(row.id), references.get(row.id))
        foreign_material = [
            _alike(material, contexts.get(key), references.get(key)) for key in foreign_ids[row.id]
        ]
        cases = [_case(row, *each) for each in [material, *filter(None, foreign_material)]]
        inputs += map(_key, cases)
        verdicts = [judge(case) for case in cases]
        reasons.update(reason for _, reason in verdicts if reason)
        rows.append(_scores_and_baselines([scores for scores, _ in verdicts]))
    table = pd.DataFrame(rows, index=log.index, dtype=float)
    table.attrs["notes"] = _notes(name, inputs, reasons)
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


def _notes(name, inputs, reasons):
    """Say how often the judge was called, and why scores are missing."""
    notes = [
        f"the judge {name} was given {len(inputs)} inputs in {len(set(inputs))} calls; equal ones "
        "are asked once"
    ]
    if reasons:
        examples = [f"{count} × {reason}" for reason, count in reasons.most_common(3)]
        more = f" and {len(reasons) - 3} other reasons" if len(reasons) > 3 else ""
        notes.append(
            f"the judge gave no score {reasons.total()} times: {'; '.join(examples)}{more}"
        )
    return notes
