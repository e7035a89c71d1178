"""What is measured of an assistant's answers: scores, levels, contrasts, planted defects."""

import math
import os
import re
import string
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pandas as pd

from casebook.assistant import ANSWERED, TEMPLATES
from casebook.assistant.log import ASSISTANT_WORDS, checked_log, read_log
from casebook.data.cards import card_of
from casebook.data.registry import load
from casebook.data.sources import MIRROR_VARIABLE
from casebook.errors import InputError
from casebook.explain.defects import corrupt, drops, scored_copies
from casebook.explain.study import explain_dataset
from casebook.frames import OTHER, PLANNED
from casebook.measures.faithfulness import documented_faithfulness, faithfulness
from casebook.measures.mentions import share_named
from casebook.measures.quotations import bracket_references, share_quoted_rightly
from casebook.measures.ranking import evaluate
from casebook.paths import DATA
from casebook.progress import track
from casebook.readers import read_jsonl
from casebook.runs.headlines import HELPS, HURTS
from casebook.scores import LEVEL, Scores
from casebook.stats.samples import generator, of_another_group
from casebook.text import UNSPACED
from casebook.verdicts import MARGINS

ANSWER_MEASURES = {key: words["name"] for key, words in ASSISTANT_WORDS["measures"].items()}
"""Key in the files to the name that readers see."""
BASELINES = {key: words.get("baseline") for key, words in ASSISTANT_WORDS["measures"].items()}
GROUNDED = "faithfulness"
LOG_SCORE = "log: "
JUDGE_SCORE = "judge: "
PEOPLE = "people"
FOREIGN = "contexts and references of other questions"
REPEATED = "the question repeated"
IN_OTHERS = ", baselines"  # ending of the key of a measure
WITH_PEOPLE = f" and {PEOPLE}"  # ending of the key of an agreement
NOTICED = "below own original, "  # beginning of the key of a defect
NOTICED_ANSWERS = {HELPS: "Yes, in most copies", HURTS: "No, not in most copies"}
DEFECT_NAMES = ASSISTANT_WORDS["defects"]
NOT_BETTER = "words"  # of which more is not better


# --- logs, our own and others


def log_or_shipped(log, dataset, collection=None, columns=None, scores=(), **said):
    """A log, or the one of a data set; what its rows are of; and what wrote them if no model did.

    See `casebook.assistant.log.read_log` for the options.
    """
    if log:
        answers = checked_log(log, collection, columns, scores, **said)
        files = [log] if isinstance(log, str | Path) else log
        name = "log " + ", ".join(Path(file).name for file in files)
        title, written = name, None
    else:
        answers, name = shipped_log(dataset)
        title, written = card_of(name).title, demonstration(name)
    if written:
        title = f"a demonstration on templates, {title}"
    has_groups = answers["group"].ne(answers["id"]).any()
    about = {"dataset": name, "title": title, "cluster": "groups" if has_groups else None}
    return answers, about, written


def shipped_log(name):
    """Log of a data set, and its name.

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
    """What wrote the answers of a shipped log, where no language model did; else None."""
    if name == ANSWERED:
        return None
    sentences = ASSISTANT_WORDS["demonstrations"]
    return sentences.get(name, sentences["templates"])


def _published_answers(folder):
    """PDPABench's answers to its test questions, with the passages that the model saw."""
    data = load(ANSWERED, "test", titles=False)
    documents = data.documents
    passages = documents["citation"] + ": " + documents["text"]
    passages = dict(zip(documents["doc_id"], passages, strict=True))
    fields = {"qid": str, "query": str, "prediction": dict, "reranking": dict, "gold": dict}
    runs = []
    for system, run in ASSISTANT_WORDS["published"].items():
        rows = [row for _, row in read_jsonl(folder / run / "detailed_results.jsonl", fields)]
        runs.append(pd.json_normalize(rows).assign(system=system))
    log = pd.concat(runs, ignore_index=True)
    ids = [
        [doc_id for doc_id in ids if doc_id in passages] or None
        for ids in log["reranking.used_ids_r3"]
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
                [found and [passages[doc_id] for doc_id in found] for found in ids]
            ),
            "context_ids": pd.Series(ids),
            "relevant": [list(data.qrels.get(question_id, {})) for question_id in log["qid"]],
            "group": "section " + sections.fillna("none"),
            "cost": math.nan,
        }
    )


def _template_answers(name):
    """Quotations of the clause that answers each question, and of the first clause of BM25."""
    from casebook.retrieval.pipeline import HybridRetriever

    data = load(name, titles=False)
    explained = explain_dataset(data)
    clauses = dict(zip(data.documents["doc_id"], data.documents["text"], strict=True))
    questions = data.queries.set_index("query_id")["text"].to_dict()
    retriever = HybridRetriever(data.documents, mode="bm25")
    retrieved = retriever.retrieve_many([questions[key] for key in explained.explanations], 3)
    rows = []
    for number, (key, text) in enumerate(explained.explanations.items()):
        gold = explained.source_of[key]
        hits = [hit.doc_id for hit in retrieved.hits(number)]
        opening = " ".join(clauses[hits[0]].split()[:60]) if hits else ""
        # Without what stands before the quotation: the question is no claim about the clause.
        quotation = re.search(r"“[^“”]*”$", text).group()
        systems = {
            "Template, gold clause quoted": (quotation, [gold]),
            "Template, first clause of BM25 quoted": (opening, hits),
        }
        for system, (answer, ids) in systems.items():
            row = {"id": key, "question": questions[key], "system": system, "answer": answer}
            row |= {"contexts": [clauses[name] for name in ids], "context_ids": ids}
            rows.append(row | {"relevant": [gold], "group": (data.groups or {}).get(key, key)})
    unknown = {"reference": None, "abstained": None, "seconds": math.nan, "cost": math.nan}
    return pd.DataFrame(rows).assign(**unknown)


# --- scores of single answers

_ABSTAINS = re.compile(
    "|".join(part for parts in ASSISTANT_WORDS["abstentions"].values() for part in parts),
    re.IGNORECASE,
)
_REFERENCES = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。！？；：、（）")
RANKING_MEASURES = ["nDCG@10", "R@10"]


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
    """An answer without passage numbers such as [1] or [2, 3], which are no words."""
    return _REFERENCES.sub("", answer)


def grounding(answer, contexts):
    """Scores of an answer against contexts; one is None where there is nothing to judge."""
    numbers = bracket_references(answer)
    answer = without_references(answer)
    existing = [number for number in numbers if number in range(len(contexts))]
    return {
        GROUNDED: faithfulness(answer, contexts).score,
        "original:faithfulness": documented_faithfulness(answer, contexts) if contexts else None,
        "mentions": share_named(answer, "\n\n".join(contexts)),
        "quotations": share_quoted_rightly(answer, contexts),
        "citations": len(existing) / len(numbers) if numbers else None,
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
    frame = pd.DataFrame(rows).join(_retrieval_scores(log, foreign_ids))
    columns = ["id", "system", "group", "abstained", "closed", "seconds", "question repeated"]
    for measure in ANSWER_MEASURES:
        columns += [measure, f"{measure} baseline"]
    return frame.reindex(columns=columns).astype(dict.fromkeys(columns[5:], float))


def first_contexts(log):
    """Contexts of each question: those of the first system that has some."""
    contexts = {}
    for row in log.itertuples():
        if row.contexts:
            contexts.setdefault(row.id, row.contexts)
    return contexts


def draw_other_questions(log, n_questions, seed):
    """For each question some of other groups; of all others where there is one group."""
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
    """Scores of an answer against its contexts and references, and those of other questions."""
    shown = contexts.get(row.id) if row.contexts is None else row.contexts
    # Of an answer that failed there is no text that could be right or wrong.
    failed = isinstance(getattr(row, "no_answer", None), str)
    abstained = abstains(row.answer) if row.abstained is None else row.abstained
    abstained = failed or abstained
    scores = {"id": row.id, "system": row.system, "group": row.group, "abstained": abstained}
    scores |= {"closed": row.contexts is None, "seconds": row.seconds, "answered": not abstained}
    if shown:
        scores["question repeated"] = faithfulness(row.question, shown).score
    if shown is not None and not abstained:
        scores |= grounding(row.answer, shown)
        scores |= _mean_baselines(
            [grounding(row.answer, contexts[key]) for key in foreign_ids if key in contexts]
        )
    if not failed:
        scores[NOT_BETTER] = len(_words(row.answer))
    if row.reference is not None and not failed:
        scores |= _agreement(row.answer, _references(row))
        scores |= _mean_baselines(
            [_agreement(row.answer, references[key]) for key in foreign_ids if key in references]
        )
        scores[f"{NOT_BETTER} baseline"] = len(_words(row.reference))
    return scores


def _references(row):
    """All reference answers to a question; logs of our own making have one."""
    return getattr(row, "references", None) or [row.reference]


def _agreement(answer, references):
    """Agreement with the reference that is closest, as SQuAD counts several."""
    exact = any(squad_text(answer) == squad_text(reference) for reference in references)
    closest = max(token_f1(answer, reference) for reference in references)
    return {"token F1": closest, "exact": float(exact)}


def _mean_baselines(scores):
    return pd.DataFrame(scores, dtype=float).mean().add_suffix(" baseline").to_dict()


def _retrieval_scores(log, foreign_ids):
    """Ranking measures of the contexts, and of those of another question."""
    tables = [pd.DataFrame(columns=RANKING_MEASURES, dtype=float)]
    log = log[log["relevant"].notna() & log["context_ids"].notna()]
    for _, answers in log.groupby("system", sort=False):
        lists = dict(zip(answers["id"], answers["context_ids"], strict=True))
        foreign_lists = {}
        for question in lists:
            others = [lists[key] for key in foreign_ids[question] if key in lists]
            foreign_lists[question] = others[0] if others else []
        table = _ranking_scores(answers, lists)
        if any(foreign_lists.values()):
            table = table.join(_ranking_scores(answers, foreign_lists).add_suffix(" baseline"))
        tables.append(table.set_index(answers.index))
    return pd.concat(tables)


def _ranking_scores(answers, lists):
    qrels = {row.id: dict.fromkeys(row.relevant, 1) for row in answers.itertuples()}
    runs = {
        key: {doc_id: -float(rank) for rank, doc_id in enumerate(ids)} for key, ids in lists.items()
    }
    return evaluate(qrels, runs, RANKING_MEASURES).frame().loc[answers["id"], RANKING_MEASURES]


# --- measures


def defined_measures(rows, measures=ANSWER_MEASURES):
    """Measures that some answer has."""
    return [measure for measure in measures if rows[measure].notna().any()]


def tool_measures(rows):
    """Columns with scores of a tool or a judge, and with people's ratings."""
    prefixes = (LOG_SCORE, JUDGE_SCORE)
    columns = [name for name in rows if name == PEOPLE or name.startswith(prefixes)]
    return defined_measures(rows, [name for name in columns if not name.endswith(" baseline")])


def measure_name(key):
    """Name that readers see, which is never that of a measure of ours for another's."""
    if key.startswith(LOG_SCORE):
        return f"score in the log: {key.removeprefix(LOG_SCORE)}"
    if key.startswith(JUDGE_SCORE):
        return f"score of the judge: {key.removeprefix(JUDGE_SCORE)}"
    if key.startswith(NOTICED):
        return "share of copies noticed"
    if key.endswith(WITH_PEOPLE):
        return f"{key.partition(', ')[0]} with people's ratings"
    names = ANSWER_MEASURES | {PEOPLE: "rating of people"}
    return names.get(key.removesuffix(IN_OTHERS), key)


def named(rows):
    """Rows whose measures have readers' names in place of the keys of the files."""
    return rows.assign(measure=[measure_name(key) for key in rows["measure"]])


# --- levels and contrasts


def answer_scores(rows, measure, systems, **about):
    """Scores of systems on the questions on which all of them have a value.

    ``about`` are fields of `casebook.scores.Scores`. A difference of shares below 0.05 does not
    matter; of other scores no margin is stated, and of those of others not whether more is better.
    """
    by_system = {
        system: answers.set_index("id")[measure] for system, answers in rows.groupby("system")
    }
    values = pd.DataFrame({system: by_system[system] for system in systems})
    values = values.reindex(rows["id"].unique()).dropna()
    return _scores(rows, values, measure, rows[measure], about)


def _scores(rows, values, measure, scored, about):
    groups = rows.drop_duplicates("id").set_index("id")["group"].loc[values.index]
    is_share = scored.dropna().between(0, 1).all()
    of_others = measure.startswith((LOG_SCORE, JUDGE_SCORE, PEOPLE))
    quantity = "" if is_share else "points"
    given = {
        "quantity": NOT_BETTER if measure == NOT_BETTER else quantity,
        "clusters": None if groups.is_unique else groups,
        "margin": MARGINS["share"] if is_share else 0.0,
        "neutral": of_others or measure == NOT_BETTER,
    }
    return Scores(values, measure, **given | about)


def joined(tables):
    """One frame of all rows; without any, an empty one that can be chosen from."""
    if tables:
        return pd.concat(tables, ignore_index=True)
    return pd.DataFrame(columns=["dataset", "measure", "quantity", "system", "value", "n"])


def levels(rows, measures, null=None, **about):
    """Mean of every system and measure, its baseline, and how many answers have no value."""
    tables = []
    for measure in defined_measures(rows, measures):
        for system, answers in rows.groupby("system", sort=False):
            scores = answer_scores(answers, measure, [system], **about)
            if scores.values.empty:
                continue
            baselines = answers.get(f"{measure} baseline", pd.Series(dtype=float))
            known = baselines[answers[measure].notna()] if len(baselines) else baselines
            row = scores.estimates(null).assign(control=known.mean())
            row["control_name"] = BASELINES.get(measure, FOREIGN)
            tables.append(row.assign(undefined=len(answers) - len(scores.values)))
    return joined(tables)


def pair_contrasts(rows, measures, pairs, family=PLANNED, **about):
    """Contrasts of pairs of systems by measure, each on the questions where both have a value.

    Intervals of one measure hold for all its pairs together (Bonferroni).
    """
    tables = []
    for measure in defined_measures(rows, measures):
        every = {pair: answer_scores(rows, measure, pair, **about) for pair in pairs}
        every = {pair: scores for pair, scores in every.items() if len(scores.values)}
        for pair, scores in every.items():
            coverage = 1 - (1 - LEVEL) / len(every)
            row = replace(scores, coverage=coverage).contrasts([pair], family)
            row["p_adjusted"] = (row["p"] * len(every)).clip(upper=1)
            tables.append(row.assign(comparisons=len(every)))
    return joined(tables)


def other_pairs(rows, measures, planned, **about):
    """Contrasts of all pairs that were not planned, as `pair_contrasts`."""
    known = set()
    if len(planned):
        known = {frozenset(pair) for pair in planned[["system", "against"]].to_numpy()}
    pairs = combinations(rows["system"].unique(), 2)
    others = [pair for pair in pairs if frozenset(pair) not in known]
    return pair_contrasts(rows, measures, others, OTHER, **about)


def foreign_contrasts(rows, system, measures, **about):
    """Contrasts of a system's scores with those of the same answers in foreign material.

    Faithfulness is also held against that of the question repeated as an answer.
    """
    answers = rows[rows["system"] == system].set_index("id")
    baselines = [(GROUNDED, BASELINES[GROUNDED], f"{GROUNDED} baseline")]
    baselines.append((GROUNDED, REPEATED, "question repeated"))
    for measure in measures:
        if measure.startswith(JUDGE_SCORE):
            baselines.append((measure, FOREIGN, f"{measure} baseline"))
    tables = []
    for measure, name, column in baselines:
        values = answers[[measure, column]].dropna().set_axis([system, name], axis=1)
        if len(values):
            scores = _scores(rows, values, measure + IN_OTHERS, rows[measure], about)
            phrases = {name: name if name == REPEATED else f"the same answers in {name}"}
            scores = replace(scores, phrases=phrases, neutral=False)
            tables.append(scores.contrasts([(system, name)]))
    return joined(tables)


# --- planted defects

MOST_COPIED = 150  # answers of which copies are made
DETECTORS = [GROUNDED, "mentions", "quotations"]


def planted_defects(log, system, *, seed=0, **about):
    """Share of copies with one defect that a measure scores below the answer they were made from.

    A row per defect and measure, with its interval beside one half: a copy that scores the same is
    not noticed. Nothing where fewer than two answers can be copied.
    """
    copied = log[(log["system"] == system) & log["contexts"].map(bool)]
    copied = copied.head(MOST_COPIED).set_index("id")
    answers = {key: without_references(text) for key, text in copied["answer"].items()}
    answers = {key: text for key, text in answers.items() if not abstains(text)}
    if len(answers) < 2:
        return joined([])

    def score(key, text, _defect=None):
        scores = grounding(text, copied["contexts"][key])
        return {measure: scores[measure] for measure in DETECTORS}

    # Each question gets the next answer of another group.
    keys = list(answers)
    partners = of_another_group(copied["group"][keys].tolist(), range(len(keys)))
    swapped = {key: answers[keys[partner]] for key, partner in zip(keys, partners, strict=True)}
    spoilt = {"answer swapped": swapped} | corrupt(answers, seed=seed)
    copies = scored_copies(answers, spoilt, copied["group"], score)
    tables = []
    for defect, versions in copies.groupby("defect", sort=False):
        lower = drops(versions, DETECTORS).rename_axis("id")
        for measure in DETECTORS:
            name = ANSWER_MEASURES[measure]
            values = lower[[measure]].dropna().set_axis([name], axis=1)
            if len(values):
                given = about | {"unit": "copies", "margin": 0.0, "seed": seed}
                given["names"] = {name: f"{name}: {DEFECT_NAMES[defect]}"}
                scores = _scores(
                    copied.reset_index(), values, NOTICED + defect, values[name], given
                )
                tables.append(scores.estimates(null=0.5).assign(defect=DEFECT_NAMES[defect]))
    return pd.concat(tables, ignore_index=True)


def first_of(measures, rows):
    """First of several measures that some row has."""
    there = set(rows["measure"])
    return next(measure for measure in measures if measure in there)


def by_measure(levels, pairs, leading):
    """Levels and pairs of each measure for the leaderboard: first what all systems have."""
    tables = []
    for measure, of_measure in levels.groupby("measure", sort=False):
        compared = pairs[pairs["measure"] == measure]
        if len(compared):
            tables.append((named(of_measure), named(compared)))
    n_systems = levels["system"].nunique()

    def order(table):
        is_leading = table[0]["measure"].iloc[0] == measure_name(leading)
        return len(table[0]) < n_systems, not is_leading

    return sorted(tables, key=order)


def weakest_defect(defects):
    """Defect that the share of grounded sentences notices least, of at least five copies."""
    rows = defects[(defects["system"] == ANSWER_MEASURES[GROUNDED]) & (defects["n"] >= 5)]
    return rows.sort_values(["value", "n"], ascending=[True, False], kind="stable").head(1)
