"""Judges on claims with gold evidence that they never saw; and what claims alone give away."""

import re
from collections import namedtuple
from time import perf_counter

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.folders import read_collection
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.factcheck import verdict as rules
from casebook.factcheck.claims import read_claims, read_plain, shipped_documents
from casebook.factcheck.model_judges import EntailmentStance, seconds_of_preparing
from casebook.factcheck.pipeline import EvidenceBase, EvidencePassage, evidence_item
from casebook.factcheck.score import COMPARISON_COLUMNS, compare_verdicts, is_right, majority
from casebook.factcheck.verdict import (
    INSUFFICIENT_EVIDENCE,
    NOT_SUPPORTED,
    SUPPORTED,
    Rule,
)
from casebook.factcheck.words import content
from casebook.measures.classification import score_predictions
from casebook.models.answers import money, prices_of_tokens
from casebook.models.logistic import logistic_regression, settled
from casebook.paths import data_folder
from casebook.progress import track
from casebook.stats.areas import auroc
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.samples import clusters_of, generator, of_another_group
from casebook.text import sentence_texts
from casebook.verdicts import margin_of

OWN_CLAIMS = "factcheck_claims"
MAJORITY = "majority"
CLAIM_ONLY = "claim only"
DEFAULT_JUDGE = "default judge"
FITTED_ON_OWN = "judge fitted on our claims"
#: Sets that the features of the default judge were chosen on, and what groups their claims.
FEATURE_SETS = {
    "feverous_s": "source",
    "climate_fever_claims": "claim_id",
    "consumer_contracts_qa": "clause",
    OWN_CLAIMS: "group",
}
GOLD_CLAIM_COLUMNS = ["id", "claim", "label", "group", "evidence"]
#: Claims of a user's own below which nothing is said of a judge.
FEWEST_CLAIMS = 6
UNDECIDED_SUPPORT = 0.5
MOST_OF_AN_ERROR = 200  # characters
CLAIM_FILES = (".jsonl", ".json", ".csv")
_WIKI_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")  # [[Page|words]]


def gold_of_folder(name, folder):
    """Claims with gold evidence of a user's folder, as `gold_claims`.

    It holds documents (BEIR layout, or .txt and .md files) and one file of claims with ``label``
    and ``evidence``: claims.jsonl, claims.json or claims.csv.
    """
    documents = read_collection(folder, titles=False)
    files = [folder / f"claims{end}" for end in CLAIM_FILES]
    files = [path for path in files if path.is_file()]
    if len(files) != 1:
        problem = "holds none of" if not files else "holds more than one of"
        raise InputError(f"{folder}: {problem} claims{', claims'.join(CLAIM_FILES)}: keep one")
    claims, _ = read_plain(files[0], documents)
    gold = gold_of_collection(name, EvidenceBase(documents), claims)
    if gold.empty:
        raise InputError(
            f"{files[0]}: no claim is SUPPORTED or NOT_SUPPORTED and names its 'evidence': "
            'give each a list such as [{"doc_id": ..., "quote": ...}]'
        )
    return gold


def gold_claims(key):
    """Claims of a set that are SUPPORTED or NOT_SUPPORTED, with group and deciding passages."""
    name_and_folder = data_folder(key)
    if name_and_folder:
        return gold_of_folder(*name_and_folder)
    if key == OWN_CLAIMS:
        return gold_of_collection(key, EvidenceBase(shipped_documents()), read_claims())
    if key == "consumer_contracts_qa":
        rows = _gold_of_contracts(load(key))
        return pd.DataFrame(rows, columns=GOLD_CLAIM_COLUMNS).assign(dataset=key)
    return gold_of_claim_set(load(key, kind="claims"), FEATURE_SETS.get(key, "cluster"))


def gold_of_collection(name, base, claims):
    """The claims over a collection that name the passages that decide them, as `gold_claims`."""
    rows = []
    for claim in claims:
        passages = base.deciding(claim)
        if passages and claim.label in (SUPPORTED, NOT_SUPPORTED):
            rows.append((claim.id, claim.text, claim.label, claim.group, passages))
    return pd.DataFrame(rows, columns=GOLD_CLAIM_COLUMNS).assign(dataset=name)


def gold_of_claim_set(dataset, group_by="cluster"):
    """Claims of a `casebook.data.claims.ClaimSet` with their evidence, as `gold_claims`."""
    evidence = dataset.evidence.dropna(subset="text")
    claims = dataset.claims
    claims = claims[
        claims["label"].isin([SUPPORTED, NOT_SUPPORTED])
        & claims["claim_id"].isin(evidence["claim_id"])
    ]
    if group_by == "source":
        sources = evidence.drop_duplicates("claim_id").set_index("claim_id")["source"]
        groups = claims["claim_id"].map(sources)
    else:
        groups = claims[group_by if group_by in claims else "claim_id"]
    passages = {claim_id: [] for claim_id in claims["claim_id"]}
    for row in evidence[evidence["claim_id"].isin(passages)].itertuples():
        text = _WIKI_LINK.sub(r"\1", row.text)
        passages[row.claim_id].append(EvidencePassage(0, 0, len(text), text, row.source or ""))
    gold = claims[["claim_id", "claim", "label"]].rename(columns={"claim_id": "id"})
    gold = gold.assign(
        group=groups.tolist(), evidence=list(passages.values()), dataset=dataset.name
    )
    return gold.reset_index(drop=True)


def _gold_of_contracts(dataset):
    """Questions about contracts as claims that the answer is yes.

    Their evidence are the four nearest sentences of the clause.
    """
    texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    rows = []
    for question in dataset.queries.itertuples():
        claim = question.text.rstrip("?") + "."
        claim_stems = content(claim)
        text = texts[next(iter(dataset.qrels[question.query_id]))]
        sentences = sentence_texts(text)
        n_shared = {sentence: len(claim_stems & content(sentence)) for sentence in sentences}
        nearest = sorted(sentences, key=n_shared.get, reverse=True)[:4]
        rows.append(
            (
                question.query_id,
                claim,
                SUPPORTED if question.answer else NOT_SUPPORTED,
                dataset.groups[question.query_id],
                [EvidencePassage(0, 0, len(sentence), sentence, "") for sentence in nearest],
            )
        )
    return rows


def judge_passages(judge, claims, evidence, rule=None):
    """Verdict and degree of support of a judge, by the parts of every claim and its passages.

    The parts of a claim are a dict of id to text. A claim on which the judge fails has no verdict,
    as in the pipeline. ``seconds`` are those of the judge; what it prepares for all claims at once
    is shared among them.
    """
    rule = rule or Rule()
    texts = []
    passages_of_texts = []
    for parts, passages in zip(claims, evidence, strict=True):
        texts += parts.values()
        passages_of_texts += [passages] * len(parts)
    seconds_before = seconds_of_preparing(judge, texts, passages_of_texts) / max(len(texts), 1)
    rows = []
    for parts, passages in zip(claims, evidence, strict=True):
        start = perf_counter()
        try:
            items = _evidence_with_stances(judge, parts, passages)
        except Exception as error:
            rows.append((None, UNDECIDED_SUPPORT, np.nan, str(error)[:MOST_OF_AN_ERROR]))
            continue
        seconds = seconds_before * len(parts) + perf_counter() - start
        verdict = INSUFFICIENT_EVIDENCE
        if parts:
            _, verdict, _ = rules.decide_claim(parts, items, rule)
        support = rules.degree_of_support(parts, items, rule)
        support = UNDECIDED_SUPPORT if support is None else support
        rows.append((verdict, support, seconds, None))
    return pd.DataFrame(rows, columns=["verdict", "support", "seconds", "error"])


def _evidence_with_stances(judge, parts, passages):
    """Passages as evidence, with the stance of a judge on every part of a claim."""
    items = []
    for name, text in parts.items():
        stances = judge.judge(text, passages)
        for passage, stance in zip(passages, stances, strict=True):
            items.append(evidence_item(len(items) + 1, name, passage, stance))
    return items


def answers_of_judges(gold, judges):
    """Verdicts, degrees of support and seconds of judges on gold evidence, a frame a judge."""
    parts = [{"SC1": claim} for claim in gold["claim"]]
    return {name: judge_passages(judge, parts, gold["evidence"]) for name, judge in judges.items()}


def evaluate_judges(gold, answers, *, folds=5, n_resamples=10_000, seed=0):
    """Compare judges on gold evidence with the majority class and a model of the claims alone.

    ``gold`` is a frame of `gold_claims`, ``answers`` are those of `answers_of_judges`. Gives a
    table of judges and baselines with accuracy, macro F1, AUROC (of the degree of support) and
    share of abstentions, which are wrong; and each judge's contrasts with the baselines. Only the
    claim-only model is fitted to the claims, out of fold.
    """
    judges = list(answers)
    groups = gold["group"].tolist()
    clusters = clusters_of(gold["group"])
    supported = (gold["label"] == SUPPORTED).to_numpy()
    answers = dict(answers)
    most = majority(gold["label"])
    answers[MAJORITY] = pd.DataFrame({"verdict": [most] * len(gold), "support": UNDECIDED_SUPPORT})
    p = claim_only(gold["claim"], supported, groups, folds, seed)
    answers[CLAIM_ONLY] = pd.DataFrame({"verdict": verdicts_of(p), "support": p})
    systems = _scores_of_answers(gold, answers, clusters, n_resamples, seed)
    right = {name: is_right(gold["label"], table["verdict"]) for name, table in answers.items()}
    comparisons = []
    for name in judges:
        table = compare_verdicts(
            right[name],
            {MAJORITY: right[MAJORITY], CLAIM_ONLY: right[CLAIM_ONLY]},
            clusters=clusters,
            margin=margin_of("accuracy"),
            n_resamples=n_resamples,
            seed=seed,
        )
        table.insert(0, "system", name)
        comparisons.append(table)
    comparisons = pd.concat(comparisons, ignore_index=True)
    for frame in (systems, comparisons):
        frame.insert(0, "dataset", gold["dataset"].iloc[0])
    return systems, comparisons


def _scores_of_answers(gold, answers, clusters, n_resamples, seed):
    """Accuracy, macro F1, AUROC and abstentions of every system, with intervals."""
    supported = gold["label"] == SUPPORTED
    rows = []
    for name, table in answers.items():
        scores = score_predictions(
            gold["label"], table["verdict"], clusters=clusters, n_resamples=n_resamples, seed=seed
        )
        abstained = bootstrap_mean(
            (table["verdict"] == INSUFFICIENT_EVIDENCE).astype(float),
            clusters=clusters,
            n_resamples=n_resamples,
            seed=seed,
        )
        row = {"system": name, "n": len(gold), "groups": gold["group"].nunique()}
        row |= bounded("accuracy", scores["accuracy"])
        row |= bounded("macro F1", scores["f1_macro"])
        row |= bounded("AUROC", auroc(supported, table["support"], clusters=clusters))
        row |= bounded("abstained", abstained)
        rows.append(row)
    systems = pd.DataFrame(rows)
    return systems.astype(dict.fromkeys(systems.columns[3:], float))


def verdicts_of(p):
    """Verdicts from probabilities of SUPPORTED."""
    return np.where(p >= 0.5, SUPPORTED, NOT_SUPPORTED)


#: The tables of `evaluate_judges` over all sets, with ``chosen on``; by set its claims, and
#: their `answers_of_judges`; and by set why it, or a judge of it, is not there.
Transfer = namedtuple("Transfer", "systems comparisons answers missing")


def run_transfer(study, *, sets=(), folds=5, n_resamples=10_000, seed=0):
    """Compare judges on gold evidence, on the claims of a user and on `sets`, as a `Transfer`.

    The weights of the default judge never saw the claims; its features were chosen on
    ``FEATURE_SETS``, which are the default of our own study. A set may be a folder of the user's
    own, see `gold_of_folder`.
    """
    pipeline = study.pipeline
    if pipeline is None:
        sets = ()
    elif pipeline.train:
        sets = sets or tuple(FEATURE_SETS)
    else:
        sets = (study.name, *sets)
    systems = []
    comparisons = []
    answers_by_set = {}
    missing = {}
    for key in track(dict.fromkeys(sets), "other people's claims"):
        of_user = key == study.name and not pipeline.train
        name, _ = data_folder(key) or (key, None)
        try:
            if of_user:
                gold = gold_of_collection(key, pipeline.base, pipeline.test)
            else:
                gold = gold_claims(key)
        except Absent:
            missing[name] = "not on this machine"
            continue
        n_groups = gold["group"].nunique()
        if len(gold) < FEWEST_CLAIMS or n_groups < 2:
            missing[name] = (
                f"gold evidence for {len(gold)} claims in {n_groups} groups: it takes 6 in 2"
            )
            continue
        answers = answers_of_judges(gold, pipeline.judges(key))
        answers_by_set[name] = (gold, dict(answers))
        for judge in list(answers)[1:]:
            if answers[judge]["verdict"].isna().all():  # which is no verdict, and no error of it
                missing[f"{name} by {judge}"] = answers.pop(judge)["error"].iloc[0]
        table, contrasts = evaluate_judges(
            gold, answers, folds=folds, n_resamples=n_resamples, seed=seed
        )
        table["chosen on"] = key in FEATURE_SETS and not of_user
        systems.append(table)
        comparisons.append(contrasts)
    if not systems:
        empty = pd.DataFrame(columns=["dataset", "system", *COMPARISON_COLUMNS])
        return Transfer(empty, empty, answers_by_set, missing)
    return Transfer(
        pd.concat(systems, ignore_index=True),
        pd.concat(comparisons, ignore_index=True),
        answers_by_set,
        missing,
    )


def words_model():
    """What claims give away by themselves, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), logistic_regression())


def _split_by_group(X, y, groups, folds, seed):
    """Rows to fit and to predict, groups kept together."""
    from sklearn.model_selection import GroupKFold

    n_splits = min(folds, len(set(groups)))
    return GroupKFold(n_splits, shuffle=True, random_state=seed).split(X, y, groups)


def cross_fitted(model, tables, supported, groups, folds, seed):
    """Probability of SUPPORTED out of fold, groups kept together, for every table.

    The model is fitted on the first table.
    """
    from sklearn.base import clone

    X = tables[0]
    probabilities = np.zeros((len(tables), len(supported)))
    for train, test in _split_by_group(X, supported, groups, folds, seed):
        if len(set(supported[train].tolist())) < 2:  # there is one class to learn
            probabilities[:, test] = float(supported[train[0]])
            continue
        fitted = clone(model).fit(X[train], supported[train])
        for row, table in enumerate(tables):
            probabilities[row, test] = fitted.predict_proba(table[test])[:, 1]
    return settled(probabilities)


def claim_only(texts, supported, groups, folds, seed):
    """The claim-only model's probability of SUPPORTED, out of fold."""
    texts = np.asarray(texts, dtype=object)
    return cross_fitted(words_model(), [texts], supported, groups, folds, seed)[0]


def claim_only_labels(texts, labels, groups, folds, seed):
    """The claim-only model's label, out of fold; where it learns from one label, that one."""
    texts = np.asarray(texts, dtype=object)
    labels = np.asarray(labels, dtype=str)
    predicted = labels.copy()
    for train, test in _split_by_group(texts, labels, groups, folds, seed):
        predicted[test] = labels[train[0]]
        if len(set(labels[train])) > 1:
            predicted[test] = words_model().fit(texts[train], labels[train]).predict(texts[test])
    return predicted.tolist()


def shuffled_groups(groups, seed, purpose):
    """For every row a row of another group, in a random order."""
    if len(set(groups)) < 2:
        raise InputError("shuffling needs at least two groups")
    order = generator(seed, purpose).permutation(len(groups)).tolist()
    return of_another_group(groups, order)


# --- what judges cost

COST_COLUMNS = ["dataset", "system", "claims", "ms", "questions", "cached", "requests", "tokens"]


def costs_of_judges(answers, judges):
    """What each judge cost on every set: median milliseconds a claim, questions, tokens, money.

    ``judges`` gives the judges of a set by its name. ``cached`` questions, counted over all sets,
    cost nothing this time.
    """
    prices = prices_of_tokens()
    rows = []
    for dataset, (_, by_judge) in answers.items():
        judges_of_set = judges(dataset)
        for name, table in by_judge.items():
            costs = getattr(judges_of_set[name], "costs", None) or {}
            row = {"dataset": dataset, "system": name, "claims": len(table)}
            row["ms"] = 1000 * table["seconds"].median()
            row["questions"] = costs.get("questions")
            row["cached"] = costs.get("from the cache")
            row["requests"] = costs.get("requests")
            row["tokens"] = costs.get("prompt tokens", 0) + costs.get("answer tokens", 0) or None
            row["cost"] = None
            if costs and not isinstance(judges_of_set[name], EntailmentStance):
                row["cost"] = money(costs, prices)
            rows.append(row)
    table = pd.DataFrame(rows, columns=[*COST_COLUMNS, "cost"])
    return table.astype(dict.fromkeys(table.columns[3:], float))
