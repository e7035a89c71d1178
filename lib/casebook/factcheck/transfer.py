"""Judges on claims with their gold evidence, which they never saw; and what claims give away by themselves."""

import re

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.factcheck import verdict as rules
from casebook.factcheck.ablation import MARGIN
from casebook.factcheck.claims import content, read_claims, sentences, shipped_documents
from casebook.factcheck.pipeline import EvidenceBase, Passage
from casebook.factcheck.score import compare_verdicts, is_right
from casebook.factcheck.verdict import INSUFFICIENT, Evidence, Rule
from casebook.factcheck.verdict import NOT_SUPPORTED as N
from casebook.factcheck.verdict import SUPPORTED as S
from casebook.measures.classification import auroc, score_predictions
from casebook.models.logistic import logistic_regression, settled
from casebook.progress import track
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.samples import stream

OWN = "factcheck_claims"
MAJORITY, CLAIM_ONLY = "majority", "claim only"
DEFAULT, FITTED_ON_OWN = "default judge", "judge fitted on our claims"
#: Sets that the features of the default judge were chosen on, and what ties their claims together.
SETS = {
    "feverous_s": "source",
    "climate_fever_claims": "claim_id",
    "consumer_contracts_qa": "clause",
    OWN: "group",
}
GOLD = ["id", "claim", "label", "group", "evidence"]
#: Claims of a user's own below which nothing is said of a judge.
FEWEST_CLAIMS = 6


def gold_claims(key):
    """Claims of a set that are SUPPORTED or NOT_SUPPORTED, each with its group and the passages that decide it."""
    if key == OWN:
        return with_evidence(key, EvidenceBase(shipped_documents()), read_claims())
    if key == "consumer_contracts_qa":
        return pd.DataFrame(_contract_gold(load(key)), columns=GOLD).assign(dataset=key)
    return of_claim_set(load(key, kind="claims"), SETS.get(key, "cluster"))


def with_evidence(name, base, claims):
    """The claims over a collection that name the passages that decide them, as `gold_claims`."""
    rows = []
    for claim in claims:
        passages = base.deciding(claim)
        if passages and claim.label in (S, N):
            rows.append((claim.id, claim.text, claim.label, claim.group, passages))
    return pd.DataFrame(rows, columns=GOLD).assign(dataset=name)


def of_claim_set(dataset, together="cluster"):
    """Claims of a `casebook.data.claims.ClaimSet` with their evidence, as `gold_claims`."""
    evidence = dataset.evidence.dropna(subset="text")
    claims = dataset.claims
    claims = claims[claims["label"].isin([S, N]) & claims["claim_id"].isin(evidence["claim_id"])]
    if together == "source":
        groups = claims["claim_id"].map(
            evidence.drop_duplicates("claim_id").set_index("claim_id")["source"]
        )
    else:
        groups = claims[together if together in claims else "claim_id"]
    found = {name: [] for name in claims["claim_id"]}
    for row in evidence[evidence["claim_id"].isin(found)].itertuples():
        words = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", row.text)  # of [[Page|words]]
        found[row.claim_id].append(Passage(0, 0, len(words), words, row.source or ""))
    frame = claims[["claim_id", "claim", "label"]].rename(columns={"claim_id": "id"})
    told = {"group": groups.tolist(), "evidence": list(found.values()), "dataset": dataset.name}
    return frame.assign(**told).reset_index(drop=True)


def _contract_gold(dataset):
    """Questions about contracts as claims that the answer is yes, with the four nearest sentences of the clause."""
    texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    for question in dataset.queries.itertuples():
        clause = next(iter(dataset.qrels[question.query_id]))
        claim, text = question.text.rstrip("?") + ".", texts[clause]
        parts = [text[start:end] for start, end in sentences(text)]
        nearest = sorted(parts, key=lambda part, claim=claim: -len(content(claim) & content(part)))[
            :4
        ]
        passages = [Passage(0, 0, len(part), part, "") for part in nearest]
        yield (
            question.query_id,
            claim,
            S if question.answer else N,
            dataset.groups[question.query_id],
            passages,
        )


def given(judge, claims, evidence, rule=None):
    """Verdict and degree of support of a judge, by the parts of every claim (id to text) and the claim's passages.

    A claim on which the judge fails has no verdict, as in the pipeline.
    """
    rule = rule or Rule()
    rows = []
    for texts, passages in zip(claims, evidence, strict=True):
        try:
            items = _judged(judge, texts, passages)
        except Exception:
            rows.append((None, 0.5))
            continue
        support = rules.degree_of_support(texts, items, rule)
        verdict = rules.decide(texts, items, rule)[1] if texts else INSUFFICIENT
        rows.append((verdict, 0.5 if support is None else support))
    return pd.DataFrame(rows, columns=["verdict", "support"])


def _judged(judge, texts, passages):
    """What a judge says of the passages for every part of a claim."""
    items = []
    for name, text in texts.items():
        stances = judge.judge(text, passages)
        for number, (passage, stance) in enumerate(zip(passages, stances, strict=True), start=1):
            place = (passage.header, "", passage.text, passage.start, passage.end)
            items.append(Evidence(f"EV{number}", name, "", *place, 1.0, "high", *stance))
    return items


def evaluate(gold, judges, *, folds=5, n_resamples=10_000, seed=0):
    """Hold judges on gold evidence (a frame of `gold_claims`) against the majority and the claims alone.

    Gives a table of judges and baselines with accuracy, macro F1, AUROC (of the degree of support) and share of
    abstentions, which are wrong; and each judge's contrasts with the baselines. Only the claim-only model is fitted
    to the claims, out of fold.
    """
    groups, supported = gold["group"].tolist(), (gold["label"] == S).to_numpy()
    options = {"clusters": None if gold["group"].is_unique else groups, "seed": seed}
    p = claim_only(gold["claim"], supported, groups, folds, seed)
    most = S if 2 * supported.sum() >= len(gold) else N
    parts = [{"SC1": claim} for claim in gold["claim"]]
    found = {name: given(judge, parts, gold["evidence"]) for name, judge in judges.items()}
    found[MAJORITY] = pd.DataFrame({"verdict": [most] * len(gold), "support": 0.5})
    found[CLAIM_ONLY] = pd.DataFrame({"verdict": np.where(p >= 0.5, S, N), "support": p})
    key, table, compared = gold["dataset"].iloc[0], [], []
    for name, answers in found.items():
        scores = score_predictions(
            gold["label"], answers["verdict"], n_resamples=n_resamples, **options
        )
        abstained = bootstrap_mean(
            (answers["verdict"] == INSUFFICIENT).astype(float), n_resamples=n_resamples, **options
        )
        row = {"dataset": key, "system": name, "n": len(gold), "groups": gold["group"].nunique()}
        row |= bounded("accuracy", scores["accuracy"]) | bounded("macro F1", scores["f1_macro"])
        row |= bounded("AUROC", auroc(supported, answers["support"], clusters=options["clusters"]))
        table.append(row | bounded("abstained", abstained))
    right = {name: is_right(gold["label"], answers["verdict"]) for name, answers in found.items()}
    baselines = {blind: right[blind] for blind in (MAJORITY, CLAIM_ONLY)}
    for name in judges:
        rows = compare_verdicts(
            right[name], baselines, margin=MARGIN, n_resamples=n_resamples, **options
        )
        rows.insert(0, "dataset", key)
        rows.insert(1, "system", name)
        compared.append(rows)
    frame = pd.DataFrame(table)
    return frame.astype(dict.fromkeys(frame.columns[4:], float)), pd.concat(
        compared, ignore_index=True
    )


def transfer(study, *, sets=(), folds=5, n_resamples=10_000, seed=0):
    """Judges with the gold evidence on the claims that a user brought, and on `sets`: by default all of ours for ours.

    The weights of the default judge never saw the claims; its features were chosen on ``SETS``. Gives the two tables
    of `evaluate` over all sets, with ``chosen on``, and why a set is not there.
    """
    pipeline = study.pipeline
    if pipeline is None:
        sets = ()
    elif pipeline.train:
        sets = sets or tuple(SETS)
    else:
        sets = (study.name, *sets)
    tables = []
    contrasts = []
    missing = {}
    for key in track(dict.fromkeys(sets), "other people's claims"):
        brought = key == study.name and not pipeline.train
        try:
            gold = with_evidence(key, pipeline.base, pipeline.test) if brought else gold_claims(key)
        except Absent:
            missing[key] = "not on this machine"
            continue
        if len(gold) < FEWEST_CLAIMS or gold["group"].nunique() < 2:
            missing[key] = (
                f"gold evidence for {len(gold)} claims in {gold['group'].nunique()} groups: it takes 6 in 2"
            )
        else:
            table, compared = evaluate(
                gold, pipeline.judges(key), folds=folds, n_resamples=n_resamples, seed=seed
            )
            tables.append(table.assign(**{"chosen on": key in SETS and not brought}))
            contrasts.append(compared)
    if not tables:
        return pd.DataFrame(), pd.DataFrame(), missing
    return pd.concat(tables, ignore_index=True), pd.concat(contrasts, ignore_index=True), missing


def words_model():
    """What claims give away by themselves, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), logistic_regression())


def _folds(X, y, groups, folds, seed):
    """Places to fit and to predict, groups kept together."""
    from sklearn.model_selection import GroupKFold

    return GroupKFold(min(folds, len(set(groups))), shuffle=True, random_state=seed).split(
        X, y, groups
    )


def cross_fitted(model, X, supported, groups, folds, seed, also=()):
    """Probability of SUPPORTED out of fold, groups kept together: for what is fitted on, and for other tables."""
    from sklearn.base import clone

    found = np.zeros((1 + len(also), len(supported)))
    for train, test in _folds(X, supported, groups, folds, seed):
        if len(set(supported[train].tolist())) < 2:  # there is one class to learn
            found[:, test] = float(supported[train[0]])
            continue
        fitted = clone(model).fit(X[train], supported[train])
        for row, table in enumerate((X, *also)):
            found[row, test] = fitted.predict_proba(table[test])[:, 1]
    return settled(found)


def claim_only(texts, supported, groups, folds, seed):
    """The claim-only model's probability of SUPPORTED, out of fold."""
    return cross_fitted(
        words_model(), np.asarray(texts, dtype=object), supported, groups, folds, seed
    )[0]


def claim_only_labels(texts, labels, groups, folds, seed):
    """The label that the claim-only model gives, out of fold; where all that it learns from is one label, that one."""
    texts, labels = np.asarray(texts, dtype=object), np.asarray(labels, dtype=str)
    found = labels.copy()
    for train, test in _folds(texts, labels, groups, folds, seed):
        found[test] = labels[train[0]]
        if len(set(labels[train])) > 1:
            found[test] = words_model().fit(texts[train], labels[train]).predict(texts[test])
    return found.tolist()


def of_another_group(groups, seed, purpose):
    """For every row a row of another group, in a random order."""
    if len(set(groups)) < 2:
        raise InputError("shuffling needs at least two groups")
    order = np.random.Generator(stream(seed, purpose)).permutation(len(groups)).tolist()
    other = [None] * len(groups)
    for place, row in enumerate(order):
        ahead = order[place + 1 :] + order[:place]
        other[row] = next(n for n in ahead if groups[n] != groups[row])
    return other
