"""A judge of evidence on answers, and on the same answers in the contexts of other questions.

The judges are those of ``casebook factcheck run``: ``entailment:MODEL``, ``endpoint:MODEL``,
``public``, or ``module:object`` with a function of claim and passages.
"""

import functools
from collections import Counter

import pandas as pd

from casebook.assistant.study import JUDGED, material_of, without_references
from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.factcheck.evidence import EvidencePassage
from casebook.factcheck.judges import degree_of, judge_of, name_of_judge
from casebook.measures.faithfulness import PASSAGE_WORDS
from casebook.progress import track
from casebook.text import content_words, passages, printable, sentence_texts

load_judge = functools.cache(judge_of)  # a model is loaded once


def support(judge, answer, contexts):
    """Mean probability, over the sentences of an answer, that contexts support it.

    Contexts are cut into passages of 200 words that overlap by half. Sentences without content
    words, and passage numbers such as [1], do not count.
    """
    claims = sentence_texts(without_references(answer))
    claims = [claim for claim in claims if content_words(claim)]
    evidence = []
    for context in contexts or ():
        for text in passages(context, PASSAGE_WORDS):
            start = evidence[-1].end + 1 if evidence else 0
            evidence.append(EvidencePassage(0, start, start + len(text), text, ""))
    if not claims or not evidence:
        raise InputError("no sentence or no context to judge")
    degrees = [degree_of(judge, claim, evidence) for claim in claims]
    return sum(degrees) / len(degrees)


def judge_answers(log, name, *, foreign=3, seed=0):
    """Let a judge score every answer of a log, and the same answer in other questions' contexts.

    The baseline is the mean over ``foreign`` other questions, those of `score_answers`. An answer
    without contexts is given those of the first system that has some; one that failed is not
    judged.

    Returns
    -------
    pandas.DataFrame
        The rows of the log: ``support`` and ``support baseline``, NaN where undefined.
        ``attrs["notes"]`` says why scores are missing.
    """
    judge = load_judge(name)
    contexts, _, others = material_of(log, foreign, seed)
    reasons = Counter()

    def score(answer, contexts):
        try:
            return support(judge, answer, contexts)
        except CasebookError as error:
            reasons[printable(without_secrets(error))[:100]] += 1

    rows = []
    for row in track(log.itertuples(), "judge", len(log)):
        own = score(row.answer, row.contexts or contexts.get(row.id))
        there = [contexts[key] for key in others[row.id] if key in contexts]
        elsewhere = pd.Series([score(row.answer, texts) for texts in there], dtype=float)
        rows.append({JUDGED: own, f"{JUDGED} baseline": elsewhere.mean()})
    table = pd.DataFrame(rows, index=log.index, dtype=float)
    commonest = [f"{n} × {reason}" for reason, n in reasons.most_common(3)]
    missing = f"the judge {name_of_judge(name)} gave no score: {'; '.join(commonest)}"
    table.attrs["notes"] = [missing] if reasons else []
    return table
