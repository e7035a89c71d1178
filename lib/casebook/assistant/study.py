"""What is measured of an assistant's answers: scores, estimates, contrasts, planted defects."""

import math
import os
import re
import string
from collections import Counter
from itertools import combinations
from pathlib import Path

import pandas as pd

from casebook.assistant import ANSWERED, TEMPLATES
from casebook.assistant.log import (
    ASSISTANT_WORDS,
    read_log,
)
from casebook.data.registry import load
from casebook.data.sources import MIRROR_VARIABLE
from casebook.errors import InputError
from casebook.explain.defects import both_scored, corrupt, detected, detector_scores, drops
from casebook.explain.defects import scored_copies as scores_of_copies
from casebook.explain.study import explain_dataset
from casebook.frames import contrasts, estimates
from casebook.measures.faithfulness import (
    documented_faithfulness,
    faithfulness,
    inverse_frequency,
)
from casebook.measures.mentions import share_named
from casebook.measures.quotations import bracket_references, share_quoted_rightly
from casebook.measures.ranking import evaluate
from casebook.paths import DATA
from casebook.progress import track
from casebook.readers import read_jsonl
from casebook.stats.samples import clusters_of, generator, of_another_group
from casebook.text import UNSPACED
from casebook.verdicts import MARGINS, margin_of

ANSWER_MEASURES = {key: words["name"] for key, words in ASSISTANT_WORDS["measures"].items()}
"""Key in the files to the name that readers see."""
BASELINE_NAMES = {key: words.get("baseline") for key, words in ASSISTANT_WORDS["measures"].items()}
DEFECT_NAMES = ASSISTANT_WORDS["defects"]
DETECTOR_NAMES = ASSISTANT_WORDS["detectors"]
COMPARISONS = ASSISTANT_WORDS["comparisons"]
REPORTED_DETECTOR = "faithfulness"  # of the detectors the measure that the chapter itself reports


# --- logs that are shipped or published

GOLD_TEMPLATE = "Template, gold clause quoted"
BM25_TEMPLATE = "Template, first clause of BM25 quoted"
_QUOTED = re.compile(r"“[^“”]*”$")


def shipped_log(name):
    """Give the log of a data set and its name.

    That is our own on ``smoke``, PDPABench's published answers, else templates. Where no mirror has
    PDPABench's answers, templates on ConsumerContractsQA stand in for them.
    """
    if name == "smoke":
        return read_log(DATA / "assistant" / "answers.jsonl"), name
    folder = Path(os.environ.get(MIRROR_VARIABLE) or ".") / ANSWERED / "generation"
    if name == ANSWERED and folder.is_dir():
        return _published_answers(folder), name
    if name == ANSWERED:
        name = TEMPLATES
    return _template_answers(name), name


def demonstration(name):
    """Say what wrote the answers of a shipped log, where no language model did; else None."""
    if name == ANSWERED:
        return None
    sentences = ASSISTANT_WORDS["demonstrations"]
    return sentences.get(name, sentences["templates"])


def _published_answers(folder):
    """Read PDPABench's answers to its test questions, with the passages that the model saw."""
    data = load(ANSWERED, "test", titles=False)
    passages = {
        row["doc_id"]: f"{row['citation']}: {row['text']}"
        for row in data.documents.to_dict("records")
    }
    fields = {"qid": str, "query": str, "prediction": dict, "reranking": dict, "gold": dict}
    runs = []
    for system, run in ASSISTANT_WORDS["published"].items():
        rows = [row for _, row in read_jsonl(folder / run / "detailed_results.jsonl", fields)]
        runs.append(pd.json_normalize(rows).assign(system=system))
    log = pd.concat(runs, ignore_index=True)
    passage_ids = [
        [doc_id for doc_id in ids if doc_id in passages] for ids in log["reranking.used_ids_r3"]
    ]
    sections = log["gold.canonical_sections"].str[0].str.extract(r"(\d+[A-Z]*)")[0]
    return pd.DataFrame(
        {
            "id": log["qid"],
            "question": log["query"],
            "seconds": log["metrics.latency_s"],
            "reference": log["gold.gold_answer_extended"],
            "abstained": log["prediction.abstained"],
            "system": log["system"],
            "answer": log["prediction.answer_text"].fillna(""),
            "contexts": pd.Series(
                [[passages[doc_id] for doc_id in ids] or None for ids in passage_ids]
            ),
            "context_ids": pd.Series([ids or None for ids in passage_ids]),
            "relevant": [list(data.qrels.get(question_id, {})) for question_id in log["qid"]],
            "group": "section " + sections.fillna("none"),
            "cost": math.nan,
        }
    )


def _template_answers(name):
    """Quote the clause that answers each question, and the first clause that BM25 finds."""
    from casebook.retrieval.pipeline import HybridRetriever

    data = load(name, titles=False)
    explained = explain_dataset(data)
    clauses = dict(zip(data.documents["doc_id"], data.documents["text"], strict=True))
    questions = data.queries.set_index("query_id")["text"].to_dict()
    retriever = HybridRetriever(data.documents, mode="bm25")
    retrieved = retriever.retrieve_many([questions[key] for key in explained.explanations], 3)
    groups = data.groups or {}
    rows = []
    for number, (key, text) in enumerate(explained.explanations.items()):
        gold_clause = explained.source_of[key]
        row = {
            "id": key,
            "question": questions[key],
            "reference": None,
            "relevant": [gold_clause],
            "abstained": None,
            "group": groups.get(key, key),
            "seconds": math.nan,
            "cost": math.nan,
        }
        # Without what stands before the quotation: the question is no claim about the clause.
        quotation = _QUOTED.search(text).group()
        rows.append(row | _template(GOLD_TEMPLATE, quotation, [gold_clause], clauses))
        hits = [hit.doc_id for hit in retrieved.hits(number)]
        opening = " ".join(clauses[hits[0]].split()[:60]) if hits else ""
        rows.append(row | _template(BM25_TEMPLATE, opening, hits, clauses))
    return pd.DataFrame(rows)


def _template(system, answer, clause_ids, clauses):
    return {
        "system": system,
        "answer": answer,
        "contexts": [clauses[clause_id] for clause_id in clause_ids],
        "context_ids": clause_ids,
    }


def with_reasons(rows, columns=None):
    """Rows as a frame in which a missing reason is None, whatever type pandas infers."""
    table = pd.DataFrame(rows, columns=columns)
    for name in table.columns.intersection(["reason", "noticed_reason"]):
        table[name] = pd.Series([row.get(name) for row in rows], dtype=object)
    return table


# --- scores of single answers

_ABSTAINS = re.compile(
    "|".join(part for parts in ASSISTANT_WORDS["abstentions"].values() for part in parts),
    re.IGNORECASE,
)
_REFERENCES = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。！？；：、（）")


def abstains(answer):
    """Say whether an answer is empty or declines to answer in its first 200 characters.

    This is a rule of thumb over phrases.
    """
    return not answer.strip() or bool(_ABSTAINS.search(answer[:200].replace("’", "'")))


def squad_text(text):
    """Give a text as SQuAD compares it: lower case, no punctuation, articles or spare blanks.

    Where a script has no blanks between words, each character counts as a word, as in MLQA's
    evaluation.
    """
    return " ".join(_words(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))))


def _words(text):
    return UNSPACED.sub(r" \g<0> ", text).split()


def token_f1(answer, reference):
    """F1 of the words that answer and reference share, as SQuAD defines it."""
    answer_words = squad_text(answer).split()
    reference_words = squad_text(reference).split()
    if not answer_words or not reference_words:
        return float(answer_words == reference_words)
    shared = sum((Counter(answer_words) & Counter(reference_words)).values())
    return 2 * shared / (len(answer_words) + len(reference_words))


def without_references(answer):
    """Take passage numbers such as [1] or [2, 3], which are no words, out of an answer."""
    return _REFERENCES.sub("", answer)


def grounding(answer, contexts):
    """Score an answer against contexts; a score is None where there is nothing to judge."""
    passage_numbers = bracket_references(answer)
    answer = without_references(answer)
    documented = None
    if contexts:
        documented = documented_faithfulness(answer, contexts)
    citations = None
    if passage_numbers:
        existing = [number for number in passage_numbers if number in range(len(contexts))]
        citations = len(existing) / len(passage_numbers)
    return {
        "faithfulness": faithfulness(answer, contexts).score,
        "original:faithfulness": documented,
        "mentions": share_named(answer, "\n\n".join(contexts)),
        "quotations": share_quoted_rightly(answer, contexts),
        "citations": citations,
    }


def score_answers(log, *, foreign=3, seed=0):
    """Score every answer of a log, and the same answer against what belongs to other questions.

    Parameters
    ----------
    log : pandas.DataFrame
        As `casebook.assistant.log.read_log` gives it.
    foreign : int, default 3
        Other questions whose contexts and references serve as the baseline of each answer.
    seed : int, default 0
        Seed of the draw of other questions.

    Returns
    -------
    pandas.DataFrame
        A row per answer: ``id``, ``system``, ``group``, ``abstained``, ``closed`` (the system saw
        no contexts and is scored against those of the first system that did), ``question repeated``
        (faithfulness of the question itself), and each key of `ANSWER_MEASURES`, with its value on
        what belongs to other questions as ``<key> baseline``. NaN: undefined.

    Raises
    ------
    InputError
        If the log has no rows.

    Examples
    --------
    >>> from casebook.assistant.study import score_answers, shipped_log
    >>> rows = score_answers(shipped_log("smoke")[0])
    >>> sorted(rows["system"].unique()), "faithfulness" in rows
    (['No retrieval', 'Retrieval'], True)
    """
    if not len(log):
        raise InputError("the log has no answers")
    log = log.reset_index(drop=True)
    contexts = first_contexts(log)
    references = {row.id: _references(row) for row in log.itertuples() if row.reference is not None}
    foreign_ids = draw_other_questions(log, foreign, seed)
    rows = [
        _score_answer(row, contexts, references, foreign_ids[row.id])
        for row in track(log.itertuples(), "answers", len(log))
    ]
    frame = pd.DataFrame(rows).reindex(columns=_SCORE_COLUMNS)
    frame = pd.concat([frame, _retrieval_scores(log, foreign_ids)], axis=1)
    return frame.astype(dict.fromkeys(frame.columns[5:], float))


RANKING_MEASURES = ["nDCG@10", "R@10"]
_SCORE_COLUMNS = ["id", "system", "group", "abstained", "closed", "seconds", "question repeated"]
for _measure in ANSWER_MEASURES:
    if _measure not in RANKING_MEASURES:
        _SCORE_COLUMNS += [_measure, f"{_measure} baseline"]


def first_contexts(log):
    """Give the contexts of each question: those of the first system that has some."""
    contexts = {}
    for row in log.itertuples():
        if row.contexts:
            contexts.setdefault(row.id, row.contexts)
    return contexts


def draw_other_questions(log, n_questions, seed):
    """Draw for each question some of other groups; of all others where there is one group."""
    groups = dict(zip(log["id"], log["group"], strict=True))
    rng = generator(seed, "other questions")
    foreign_ids = {}
    for question in groups:
        candidates = [key for key in groups if groups[key] != groups[question]]
        if not candidates:
            candidates = [key for key in groups if key != question]
        order = rng.permutation(len(candidates))[:n_questions]
        foreign_ids[question] = [candidates[index] for index in order]
    return foreign_ids


def _score_answer(row, contexts, references, foreign_ids):
    """Score an answer against its contexts and references, and against those of other questions."""
    shown_contexts = row.contexts
    if shown_contexts is None:
        shown_contexts = contexts.get(row.id)
    # Of an answer that failed there is no text that could be right or wrong.
    failed = isinstance(getattr(row, "no_answer", None), str)
    abstained = row.abstained
    if failed:
        abstained = True
    elif abstained is None:
        abstained = abstains(row.answer)
    scores = {
        "id": row.id,
        "system": row.system,
        "group": row.group,
        "abstained": abstained,
        "closed": row.contexts is None,
        "seconds": row.seconds,
        "question repeated": None,
        "answered": not abstained,
        "words": None if failed else len(_words(row.answer)),
    }
    if shown_contexts:
        scores["question repeated"] = faithfulness(row.question, shown_contexts).score
    if shown_contexts is not None and not abstained:
        scores |= grounding(row.answer, shown_contexts)
        scores |= _mean_baselines(
            [grounding(row.answer, contexts[key]) for key in foreign_ids if key in contexts]
        )
    if row.reference is not None and not failed:
        scores |= _agreement(row.answer, _references(row))
        scores |= _mean_baselines(
            [_agreement(row.answer, references[key]) for key in foreign_ids if key in references]
        )
        scores["words baseline"] = len(_words(row.reference))
    return scores


def _references(row):
    """Give all reference answers to a question; logs of our own making have one."""
    return getattr(row, "references", None) or [row.reference]


def _agreement(answer, references):
    """Agreement with the reference that is closest, as SQuAD counts several."""
    exact = any(squad_text(answer) == squad_text(reference) for reference in references)
    return {
        "token F1": max(token_f1(answer, reference) for reference in references),
        "exact": float(exact),
    }


def _mean_baselines(scores):
    return pd.DataFrame(scores, dtype=float).mean().add_suffix(" baseline").to_dict()


def _retrieval_scores(log, foreign_ids):
    """Ranking measures of the contexts, and of those of other questions."""
    tables = [pd.DataFrame(columns=RANKING_MEASURES, dtype=float)]
    for _, answers in log.groupby("system", sort=False):
        answers = answers[answers["relevant"].notna() & answers["context_ids"].notna()]
        if answers.empty:
            continue
        lists = dict(zip(answers["id"], answers["context_ids"], strict=True))
        foreign_lists = {}
        for question in lists:
            candidates = [lists[key] for key in foreign_ids[question] if key in lists]
            foreign_lists[question] = candidates[0] if candidates else []
        table = _ranking_scores(answers, lists)
        if any(foreign_lists.values()):
            baseline = _ranking_scores(answers, foreign_lists)
            table = table.join(baseline.add_suffix(" baseline"))
        tables.append(table.set_index(answers.index))
    columns = RANKING_MEASURES + [f"{measure} baseline" for measure in RANKING_MEASURES]
    return pd.concat(tables).reindex(index=log.index, columns=columns)


def _ranking_scores(answers, lists):
    """Ranking measures of lists of documents, a row per question."""
    qrels = {row.id: dict.fromkeys(row.relevant, 1) for row in answers.itertuples()}
    runs = {
        key: {doc_id: -float(rank) for rank, doc_id in enumerate(ids)} for key, ids in lists.items()
    }
    return evaluate(qrels, runs, RANKING_MEASURES).frame().loc[answers["id"], RANKING_MEASURES]


# --- means and differences


def defined_measures(rows, measures=ANSWER_MEASURES):
    """Keep the measures that some answer has."""
    return [measure for measure in measures if rows[measure].notna().any()]


LOG_SCORE = "log: "
JUDGE_SCORE = "judge: "
PEOPLE = "people"


def tool_measures(rows):
    """Name the columns with scores of a tool or a judge, and with people's ratings."""
    prefixes = (LOG_SCORE, JUDGE_SCORE)
    columns = [name for name in rows if name == PEOPLE or name.startswith(prefixes)]
    return defined_measures(rows, [name for name in columns if not name.endswith(" baseline")])


def answer_means(rows, measures=ANSWER_MEASURES, *, n_resamples=10_000, seed=0):
    """Mean of every system and measure, with its baseline and the number of undefined scores."""
    means = []
    for measure in defined_measures(rows, measures):
        for system, answers in rows.groupby("system", sort=False):
            defined = answers.dropna(subset=[measure])
            if defined.empty:
                continue
            mean = estimates(
                defined[[measure]],
                clusters_of(defined["group"]),
                n_resamples=n_resamples,
                seed=seed,
            )
            baseline = defined.get(f"{measure} baseline", pd.Series(dtype=float))
            row = {
                "system": system,
                "measure": measure,
                "control": baseline.mean(),
                "control_name": BASELINE_NAMES.get(measure),
                "undefined": len(answers) - len(defined),
            }
            means.append(mean.iloc[0].to_dict() | row)
    return with_reasons(means)


def paired_contrast(scores, groups, *, margin, level=0.95, seed=0):
    """Contrast of the first of two columns of scores with the second, and the means of both."""
    system, against = scores.columns
    clusters = clusters_of(groups.loc[scores.index])
    contrast = contrasts(
        scores, [(system, against)], clusters, margin=margin, level=level, seed=seed
    )
    row = contrast.iloc[0].to_dict()
    row["level"] = scores[system].mean()
    row["baseline"] = scores[against].mean()
    return row


def against_foreign(rows, system, *, seed=0):
    """Contrasts of one system's faithfulness with simple baselines on the same answers.

    The first is faithfulness to the contexts of other questions. The others are the question
    repeated as an answer, and the answers of each system that saw no contexts. A baseline that no
    answer has is left out.
    """
    answers = rows[rows["system"] == system].set_index("id")
    baselines = {
        BASELINE_NAMES["faithfulness"]: answers["faithfulness baseline"],
        "the question repeated": answers["question repeated"],
    }
    without_contexts = rows[rows["closed"] & (rows["system"] != system)]
    for name, closed in without_contexts.groupby("system", sort=False):
        scores = closed.set_index("id")["faithfulness"]
        baselines[f"{name} (answers without contexts)"] = scores
    comparisons = []
    for name, scores in baselines.items():
        pair = pd.DataFrame({system: answers["faithfulness"], name: scores}).dropna()
        if len(pair):
            comparisons.append(
                paired_contrast(pair, answers["group"], margin=margin_of("share"), seed=seed)
            )
    return with_reasons(comparisons)


def system_differences(
    rows, measures=ANSWER_MEASURES, *, pairs=None, margin=MARGINS["share"], seed=0
):
    """Paired differences of systems by measure, over the questions on which both have a value.

    Intervals of one measure hold together for all its pairs (Bonferroni). ``wins``, ``ties`` and
    ``losses`` count questions.
    """
    pairs = pairs or list(combinations(rows["system"].unique(), 2))
    groups = rows.drop_duplicates("id").set_index("id")["group"]
    differences = []
    for measure in defined_measures(rows, measures):
        scores = rows.pivot_table(index="id", columns="system", values=measure)
        family = [pair for pair in pairs if set(pair) <= set(scores)]
        for system, against in family:
            pair = scores[[system, against]].dropna()
            if pair.empty:
                continue
            contrast = paired_contrast(
                pair,
                groups,
                margin=0.0 if measure == "words" else margin,
                level=1 - 0.05 / len(family),
                seed=seed,
            )
            row = {"measure": measure} | contrast
            row["p_adjusted"] = min(1.0, row["p"] * len(family))
            if measure == "words":
                row["verdict"] = _WORD_VERDICTS.get(row["verdict"], row["verdict"])
            gain = pair[system] - pair[against]
            counts = {
                "wins": int((gain > 0).sum()),
                "ties": int((gain == 0).sum()),
                "losses": int((gain < 0).sum()),
            }
            differences.append(row | counts)
    return with_reasons(differences)


_WORD_VERDICTS = {"better": "more", "worse": "fewer"}  # more words are not better


# --- planted defects

MOST_COPIED = 150  # answers of which copies are made
MOST_BYTES = 400_000  # of single answers; the page says the same in less than half of it


def planted_defects(log, system, *, copies=None, seed=0):
    """What detectors make of copies of a system's answers with one defect each.

    Returns a row per defect and detector, `REPORTED_DETECTOR` among them: ``auroc`` with interval
    over groups, ``copies``, ``judged`` (those that the detector can score at all), and ``noticed``,
    the share of these that score below their own original, with its interval. ``copies`` are those
    of `scored_copies` with the same seed, which are made if they are not given.
    """
    if copies is None:
        copies = scored_copies(log, system, seed=seed)
    rows = []
    for defect, versions in copies.groupby("defect", sort=False):
        for detector in DETECTOR_NAMES:
            row = {"defect": defect, "detector": detector, "copies": len(versions) // 2}
            rows.append(row | _detection(both_scored(versions, detector), detector))
    return with_reasons(rows, None if rows else ["defect", "detector", "copies", "judged"])


def _detection(judged, detector):
    if judged.empty:
        return {"judged": 0}
    [share], [area] = (table.to_dict("records") for table in detected(judged, detector))
    names = {"value": "noticed", "low": "noticed_low", "high": "noticed_high"}
    names["reason"] = "noticed_reason"
    row = {"judged": area["n"], "auroc": area["value"]}
    row |= {name: area[name] for name in ["low", "high", "groups", "reason"]}
    return row | {name: share[key] for key, name in names.items()}


def scored_copies(log, system, *, seed=0):
    """Scores of a system's answers, and of copies with one defect each, by every detector.

    A frame as `casebook.explain.defects.scored_copies` gives it, by the id of the question; without
    rows where there are fewer than two answers.
    """
    with_contexts = log[(log["system"] == system) & log["contexts"].map(bool)]
    copied = with_contexts.head(MOST_COPIED).set_index("id")
    answers = {
        key: without_references(text)
        for key, text in copied["answer"].items()
        if not abstains(text)
    }
    if len(answers) < 2:
        return pd.DataFrame(columns=["defect", "key", "source", "original", *DETECTOR_NAMES])
    sources = copied["contexts"].map("\n\n".join)
    weights = inverse_frequency(sources.tolist())

    def score(key, text, _defect=None):
        grounded = faithfulness(text, copied.loc[key, "contexts"]).score
        scores = detector_scores(text, sources[key], weights) | {REPORTED_DETECTOR: grounded}
        return {name: scores[name] for name in DETECTOR_NAMES}

    spoilt = {"answer swapped": _swapped(answers, copied["group"])} | corrupt(answers, seed=seed)
    return scores_of_copies(answers, spoilt, copied["group"], score)


def missed_defects(copies):
    """Names of the detectors that miss each defect: question to defect to names."""
    missed = {}
    for defect in copies["defect"].unique():
        lower = drops(copies, defect, list(DETECTOR_NAMES)).dropna(how="all")
        for key, judged in lower.iterrows():
            names = [DETECTOR_NAMES[name] for name in judged.index[judged == 0]]
            missed.setdefault(key, {})[DEFECT_NAMES[defect]] = names
    return missed


def _swapped(answers, groups):
    """Give each question the next answer of another group; the next one if there is none."""
    keys = list(answers)
    partners = of_another_group(groups[keys].tolist(), range(len(keys)))
    return {key: answers[keys[partner]] for key, partner in zip(keys, partners, strict=True)}


def weakest_defect(defects):
    """Give the defect that `REPORTED_DETECTOR` notices least; None where it judges too few copies.

    Compared are defects of which it can judge half of the copies, and at least five; of equals that
    with most copies.
    """
    rows = defects[defects["detector"] == REPORTED_DETECTOR]
    rows = rows[rows["judged"] >= rows["copies"].clip(lower=10) / 2]
    if rows.empty:
        return None
    row = rows.sort_values(["noticed", "judged"], ascending=[True, False], kind="stable").iloc[0]
    return {
        "defect": row["defect"],
        "detector": row["detector"],
        "copies": row["copies"],
        "groups": row["groups"],
        "value": row["noticed"],
        "low": row["noticed_low"],
        "high": row["noticed_high"],
        "n": row["judged"],
        "reason": row["noticed_reason"],
    }
