"""What is measured of an assistant's answers: scores, levels, contrasts."""

import re
import string
from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import pandas as pd

from casebook.assistant.log import ASSISTANT_WORDS
from casebook.data.cards import card_of
from casebook.errors import InputError
from casebook.explain.study import Explained
from casebook.frames import OTHER, PLANNED, areas, interval_verdicts
from casebook.measures.faithfulness import documented_faithfulness, faithfulness
from casebook.measures.mentions import share_named
from casebook.measures.quotations import bracket_references, share_quoted_rightly
from casebook.progress import track
from casebook.scores import LEVEL, Scores
from casebook.stats.samples import generator
from casebook.text import UNSPACED
from casebook.verdicts import MARGINS

ANSWER_MEASURES = ASSISTANT_WORDS["measures"]
"""Key of a measure to the name that readers see."""
BASELINES = ASSISTANT_WORDS["baselines"]
GROUNDED = "faithfulness"
LOG_SCORE = "score in the log: "
JUDGED = "support"
PEOPLE = "rating of people"
QUESTION = "question repeated"
AGREEMENT = "AUROC with people's ratings"
CHANCE = 0.5
ABOUT = ["id", "system", "group", "abstained", "closed"]
NUMBERS = [
    QUESTION,
    *ANSWER_MEASURES,
    *(f"{measure} baseline" for measure in ANSWER_MEASURES),
]
EMPTY = ["dataset", "measure", "quantity", "system", "value", "n"]


# --- scores of single answers

_ABSTAINS = re.compile("|".join(ASSISTANT_WORDS["abstentions"]), re.IGNORECASE)
_REFERENCES = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。！？；：、（）")


def abstains(answer):
    """Whether an answer is empty or declines to answer in its first 200 characters.

    This is a rule of thumb over phrases.
    """
    return not answer.strip() or bool(_ABSTAINS.search(answer[:200].replace("’", "'")))


def squad_text(text):
    """Text as SQuAD compares it: lower case, no punctuation, articles or spare blanks.

    Where a script has no blanks between words, each character counts as a word, as in MLQA's
    evaluation.
    """
    text = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
    return " ".join(UNSPACED.sub(r" \g<0> ", text).split())


def token_f1(answer, reference):
    """F1 of the words that answer and reference share, as SQuAD defines it."""
    words = Counter(squad_text(answer).split())
    others = Counter(squad_text(reference).split())
    if not words or not others:
        return float(words == others)
    shared = words & others
    return 2 * shared.total() / (words.total() + others.total())


def without_references(answer):
    """An answer without passage numbers such as [1] or [2, 3], which are no words."""
    return _REFERENCES.sub("", answer)


def agreement(answer, references):
    """Agreement of an answer with the closest of some references, as SQuAD counts several."""
    if not references:
        return {}
    return {"token F1": max(token_f1(answer, reference) for reference in references)}


def grounding(answer, contexts, judge=None):
    """Scores of an answer against contexts; one is None where there is nothing to judge."""
    if contexts is None:
        return {}
    numbers = bracket_references(answer)
    existing = [number for number in numbers if number in range(len(contexts))]
    answer = without_references(answer)
    scores = {
        GROUNDED: faithfulness(answer, contexts).score,
        "mentions": share_named(answer, "\n\n".join(contexts)),
        "quotations": share_quoted_rightly(answer, contexts),
    }
    if contexts:
        scores["original:faithfulness"] = documented_faithfulness(answer, contexts)
    if numbers:
        scores["citations"] = len(existing) / len(numbers)
    if judge is not None:
        scores[JUDGED] = judge(answer, contexts)
    return scores


# --- scores of a log


def material_of(log, n_others, seed):
    """Contexts and references of each question, and others whose material is a baseline.

    Contexts are those of the first system that has some. Others are of other groups, unless there
    is one group only.
    """
    material = []
    for column in ("contexts", "references"):
        filled = log[log[column].map(bool)].drop_duplicates("id")
        material.append(dict(zip(filled["id"], filled[column], strict=True)))
    groups = dict(zip(log["id"], log["group"], strict=True))
    rng = generator(seed, "other questions")
    others = {}
    for question, group in groups.items():
        candidates = [key for key in groups if groups[key] != group]
        if not candidates:
            candidates = [key for key in groups if key != question]
        order = rng.permutation(len(candidates))[:n_others]
        others[question] = [candidates[place] for place in order]
    return *material, others


def score_answers(log, *, foreign=3, seed=0, judge=None):
    """Score every answer of a log, and the same answer against what belongs to other questions.

    Parameters
    ----------
    log : pandas.DataFrame
        As `casebook.assistant.log.read_log` gives it.
    foreign : int, default 3
        Other questions whose contexts and references serve as the baseline of each answer.
    seed : int, default 0
        Seed of the draw of other questions.
    judge : casebook.assistant.judge.AnswerJudge, optional
        What scores the support of answers by contexts, too.

    Returns
    -------
    pandas.DataFrame
        A row per answer: ``id``, ``system``, ``group``, ``abstained``, ``closed`` (the system saw
        no contexts and is scored against those of the first system that did), ``question repeated``
        (faithfulness of the question itself), each key of `ANSWER_MEASURES`, with its value on
        what belongs to other questions as ``<key> baseline``, and the scores of the log as they
        are. NaN: undefined.

    Raises
    ------
    InputError
        If contexts are no texts, but ids.

    Examples
    --------
    >>> from casebook.assistant.published import shipped_log
    >>> rows = score_answers(shipped_log("smoke")[0])
    >>> sorted(rows["system"].unique()), "faithfulness" in rows
    (['No retrieval', 'Retrieval'], True)
    """
    log = log.reset_index(drop=True)
    contexts = log["contexts"].explode().dropna()
    # Texts have a blank between words, or are of a script that needs none.
    is_text = contexts.str.contains(rf"\S +\S|{UNSPACED.pattern}")
    if len(contexts) and not is_text.any():
        first = f"{contexts.iloc[0][:40]!r} of {log['id'][contexts.index[0]]!r:.60}"
        raise InputError(
            f"the log: contexts such as {first} are no texts: name the collection that "
            "they are ids of: --collection FOLDER, or -p collection=FOLDER"
        )
    material = material_of(log, foreign, seed)
    answers = track(log.itertuples(), "answers", len(log))
    rows = [_scored(row, *material, judge) for row in answers]
    frame = pd.DataFrame(rows).reindex(columns=[*ABOUT, *NUMBERS])
    others = pd.DataFrame(log["scores"].tolist(), dtype=float).add_prefix(LOG_SCORE)
    others[PEOPLE] = log["human"]
    return frame.astype(dict.fromkeys(NUMBERS, float)).join(others)


def measures_of(rows):
    """Measures that some answer has, first ours, then scores of the log and of people."""
    names = [name for name in rows if name in ANSWER_MEASURES]
    names += [name for name in rows if name.startswith((LOG_SCORE, PEOPLE))]
    return rows[names].dropna(axis=1, how="all").columns.tolist()


def _scored(row, contexts, references, others, judge):
    """Scores of an answer against its own material, and their means against that of others."""
    shown = contexts.get(row.id) if row.contexts is None else row.contexts
    # Of an answer that failed there is no text that could be right or wrong.
    failed = row.no_answer is not None
    abstained = failed or row.abstained
    if abstained is None:
        abstained = abstains(row.answer)
    scores = {name: getattr(row, name) for name in ("id", "system", "group")}
    scores |= {
        "abstained": abstained,
        "answered": not abstained,
        "closed": row.contexts is None,
    }
    if shown:
        scores[QUESTION] = faithfulness(row.question, shown).score
    if not abstained:
        scores |= grounding(row.answer, shown, judge)
    if not failed:
        scores |= agreement(row.answer, row.references)
    elsewhere = []
    for key in others[row.id]:
        of_other = grounding(row.answer, contexts.get(key), judge)
        elsewhere.append(of_other | agreement(row.answer, references.get(key)))
    means = pd.DataFrame(elsewhere, dtype=float).mean()
    return scores | means.add_suffix(" baseline").to_dict()


# --- levels and contrasts


def scores_of(rows, measure, systems, **about):
    """Scores of systems on the questions on which all of them have a value.

    ``about`` are fields of `casebook.scores.Scores`. A difference of shares below 0.05 does not
    matter; of other scores no margin is stated, and of those of others not whether more is better.
    """
    table = rows.pivot_table(measure, "id", "system", sort=False)
    values = table.reindex(rows["id"].unique(), columns=systems).dropna()
    return _scores(rows, values, measure, about)


def _scores(rows, values, measure, about):
    groups = rows.drop_duplicates("id").set_index("id")["group"].loc[values.index]
    is_share = rows[measure].dropna().between(0, 1).all()
    given = {
        "quantity": "" if is_share else "points",
        "clusters": None if groups.is_unique else groups,
        "margin": MARGINS["share"] if is_share else 0.0,
        "neutral": measure.startswith((LOG_SCORE, PEOPLE)),
    }
    return Scores(values, ANSWER_MEASURES.get(measure, measure), **given | about)


def joined(tables):
    """One frame of all rows; without any, an empty one that can be chosen from."""
    return (
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=EMPTY)
    )


def levels(rows, measures, null=None, **about):
    """Mean of every system and measure, its baseline, and how many answers have no value."""
    tables = []
    for measure, (system, answers) in product(
        measures, rows.groupby("system", sort=False)
    ):
        judged = answers.dropna(subset=measure)
        if len(judged):
            row = scores_of(judged, measure, [system], **about).estimates(null)
            row["control"] = judged.get(
                f"{measure} baseline", pd.Series(dtype=float)
            ).mean()
            row["control_name"] = BASELINES.get(measure)
            row["undefined"] = len(answers) - len(judged)
            tables.append(row)
    return joined(tables)


def pair_contrasts(rows, measures, planned, **about):
    """Contrasts of all pairs of systems, each on the questions where both have a value.

    Intervals of one measure hold for all planned pairs together, and for all others (Bonferroni).
    """
    pairs = combinations(rows["system"].unique(), 2)
    known = [set(pair) for pair in planned]
    families = {
        PLANNED: planned,
        OTHER: [pair for pair in pairs if set(pair) not in known],
    }
    tables = []
    for measure, (family, pairs) in product(measures, families.items()):
        every = [scores_of(rows, measure, pair, **about) for pair in pairs]
        every = [scores for scores in every if len(scores.values)]
        for scores in every:
            scores = replace(scores, coverage=1 - (1 - LEVEL) / len(every))
            row = scores.contrasts([tuple(scores.values)], family)
            row["p_adjusted"] = (row["p"] * len(every)).clip(upper=1)
            tables.append(row.assign(comparisons=len(every)))
    return joined(tables)


def foreign_contrasts(rows, system, **about):
    """Contrasts of a system's scores with those of the same answers in foreign contexts.

    Faithfulness is also held against that of the question repeated as an answer.
    """
    answers = rows[rows["system"] == system].set_index("id")
    foreign = BASELINES[GROUNDED]
    phrases = {foreign: f"the same answers in {foreign}"}
    tables = []
    for measure, column, name in (
        (GROUNDED, f"{GROUNDED} baseline", foreign),
        (GROUNDED, QUESTION, "the question repeated"),
        (JUDGED, f"{JUDGED} baseline", foreign),
    ):
        values = answers[[measure, column]].dropna().set_axis([system, name], axis=1)
        if len(values):
            scores = _scores(rows, values, measure, about | {"phrases": phrases})
            tables.append(scores.contrasts([(system, name)]))
    return joined(tables)


def people_agreement(rows, measures, **about):
    """How each measure agrees with people's ratings, by system: AUROC, of which chance is 0.5.

    It is the probability that an answer which people rate above their mean has a higher score than
    one which they rate below.
    """
    tables = []
    for measure in [name for name in measures if name != PEOPLE]:
        rated = rows.dropna(subset=[measure, PEOPLE])
        for system, answers in rated.groupby("system", sort=False):
            is_good = answers[PEOPLE] > answers[PEOPLE].mean()
            name = f"{ANSWER_MEASURES.get(measure, measure)} of {system}"
            clusters = None if answers["group"].is_unique else answers["group"]
            row = areas(is_good, answers[[measure]].set_axis([name], axis=1), clusters)
            tables.append(row.assign(verdict=interval_verdicts(row, CHANCE)))
    if not tables:
        return joined(tables)
    return Scores(rows, AGREEMENT, **about).described(
        joined(tables).assign(null=CHANCE, margin=0)
    )


def explained_answers(log, system, name):
    """Answers of a system as explanations of their contexts, for `casebook.explain.defects`."""
    answers = log[(log["system"] == system) & log["contexts"].map(bool)].set_index("id")
    is_answer = ~answers["answer"].map(abstains).astype(bool)
    answers = answers[is_answer].head(150)  # each is copied several times
    return Explained(
        name,
        kind="answers",
        explanations=answers["answer"].map(without_references).to_dict(),
        sources=answers["contexts"].map("\n\n".join).to_dict(),
        source_of={key: key for key in answers.index},
        left_out={},
        card=card_of(name),
    )
