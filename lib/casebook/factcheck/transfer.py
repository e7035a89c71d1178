"""Judges on claims with their gold evidence, which they never saw; and what claims give away by themselves."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.factcheck.claims import content, read_claims, sentences, shipped_documents
from casebook.factcheck.evidence import EvidenceBase, Passage
from casebook.factcheck.score import compare_verdicts, is_right
from casebook.factcheck.stance import FeatureStance, overlap, training_pairs
from casebook.factcheck.verdict import (
    INSUFFICIENT,
    NEUTRAL,
    STANCES,
    SUPPORTS,
    Evidence,
    Rule,
    decide,
    degree_of_support,
)
from casebook.factcheck.verdict import NOT_SUPPORTED as N
from casebook.factcheck.verdict import SUPPORTED as S
from casebook.frames import estimates
from casebook.measures.classification import auroc, score_predictions
from casebook.models.logistic import logistic_regression, settled
from casebook.progress import track
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.samples import stream

OWN = "factcheck_claims"
MAJORITY, CLAIM_ONLY = "majority", "claim only"
DEFAULT, FITTED_ON_OWN = "default judge", "judge fitted on our claims"
#: Sets and what ties their claims together; HoVer names its evidence without text.
SETS = {
    "feverous_s": "source",
    "climate_fever_claims": "claim_id",
    "hover": "cluster",
    "consumer_contracts_qa": "clause",
    OWN: "group",
}


@dataclass(frozen=True, eq=False)
class GoldClaims:
    """Claims that are SUPPORTED or NOT_SUPPORTED (id, claim, label, group), each with the passages that decide it."""

    key: str
    claims: pd.DataFrame
    evidence: list


def gold_claims(key):
    """Claims of a set with the text of their evidence, None where the set names it without the text."""
    if key not in (OWN, "consumer_contracts_qa"):
        return of_claim_set(load(key, kind="claims"), SETS.get(key, "cluster"))
    rows, evidence = zip(*(_own_gold() if key == OWN else _contract_gold(load(key))), strict=True)
    return GoldClaims(key, pd.DataFrame(rows, columns=["id", "claim", "label", "group"]), list(evidence))


def of_claim_set(dataset, together="cluster"):
    """Claims of a `casebook.data.claims.ClaimSet` with their evidence, as `gold_claims`."""
    evidence = dataset.evidence.dropna(subset="text")
    if evidence.empty:
        return None
    claims = dataset.claims
    claims = claims[claims["label"].isin([S, N]) & claims["claim_id"].isin(evidence["claim_id"])]
    if together == "source":
        groups = claims["claim_id"].map(evidence.drop_duplicates("claim_id").set_index("claim_id")["source"])
    else:
        groups = claims[together if together in claims else "claim_id"]
    found = {name: [] for name in claims["claim_id"]}
    for row in evidence[evidence["claim_id"].isin(found)].itertuples():
        words = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", row.text)  # of [[Page|words]]
        found[row.claim_id].append(Passage(0, 0, len(words), words, row.source or ""))
    frame = claims[["claim_id", "claim", "label"]].rename(columns={"claim_id": "id"})
    return GoldClaims(dataset.name, frame.assign(group=groups.tolist()).reset_index(drop=True), list(found.values()))


def _own_gold():
    """Our claims with the sentences that hold their deciding words."""
    base = EvidenceBase(shipped_documents())
    for claim in read_claims():
        found = {}
        for atom in claim.atoms:
            row = base.doc_ids.index(atom.doc_id)
            passages = (base.passage(row, *span) for span in sentences(base.texts[row]))
            found |= dict.fromkeys(passage for passage in passages if overlap(passage, atom))
        if found:
            yield (claim.id, claim.text, claim.label, claim.group or claim.id), list(found)


def _contract_gold(dataset):
    """Questions about contracts as claims that the answer is yes, with the four nearest sentences of the clause."""
    texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    for question in dataset.queries.itertuples():
        clause = next(iter(dataset.qrels[question.query_id]))
        claim, text = question.text.rstrip("?") + ".", texts[clause]
        parts = [text[start:end] for start, end in sentences(text)]
        nearest = sorted(parts, key=lambda part, claim=claim: -len(content(claim) & content(part)))[:4]
        label = S if question.answer else N
        yield (question.query_id, claim, label, clause), [Passage(0, 0, len(part), part, "") for part in nearest]


def given(judge, gold, parts=None, rule=None):
    """Verdict and degree of support of a judge on every claim, or its parts, with its evidence."""
    rule, rows = rule or Rule(), []
    parts = [{"SC1": claim} for claim in gold.claims["claim"]] if parts is None else parts
    for texts, passages in zip(parts, gold.evidence, strict=True):
        items = [
            Evidence(f"EV{n}", name, "", p.header, "", p.text, p.start, p.end, 1.0, "high", *stance)
            for name, text in texts.items()
            for n, (p, stance) in enumerate(zip(passages, judge.judge(text, passages), strict=True), start=1)
        ]
        support = degree_of_support(list(texts), items, rule)
        verdict = decide(list(texts), items, rule)[1] if texts else INSUFFICIENT
        rows.append((verdict, 0.5 if support is None else support))
    return pd.DataFrame(rows, columns=["verdict", "support"])


def evaluate(gold, judges, *, folds=5, n_boot=10_000, seed=0):
    """Hold judges on gold evidence against the majority and the claims alone.

    Parameters
    ----------
    gold : GoldClaims
        Claims with their evidence, from `gold_claims` or `of_claim_set`.
    judges : dict of object
        By name; nothing is fitted to the claims.
    folds : int
        Of the claim-only model, which alone is fitted on these claims, out of fold.
    n_boot, seed : int
        Of intervals and tests, which keep groups together.

    Returns
    -------
    table : pandas.DataFrame
        One row per judge and baseline: ``dataset``, ``system``, ``n``, ``groups``, and
        ``accuracy``, ``macro F1``, ``AUROC`` (of the degree of support) and
        ``abstained`` with their bounds, all in [0, 1]. An abstention is wrong.
    contrasts : pandas.DataFrame
        Each judge's accuracy against majority and claim only, as
        `casebook.factcheck.score.compare_verdicts` gives it.

    Examples
    --------
    >>> from casebook.factcheck.stance import PublicJudge
    >>> from casebook.factcheck.transfer import evaluate, gold_claims
    >>> judge = PublicJudge(left_out="factcheck_claims")
    >>> table, contrasts = evaluate(gold_claims("factcheck_claims"), {"judge": judge}, n_boot=100)
    >>> table["system"].tolist(), contrasts["verdict"].unique().tolist()
    (['judge', 'majority', 'claim only'], ['better'])
    """
    rows = gold.claims
    groups, supported = rows["group"].tolist(), (rows["label"] == S).to_numpy()
    options = {"clusters": None if rows["group"].is_unique else groups, "seed": seed}
    p = claim_only(rows["claim"], supported, groups, folds, seed)
    most = S if 2 * supported.sum() >= len(rows) else N
    found = {name: given(judge, gold) for name, judge in judges.items()}
    found[MAJORITY] = pd.DataFrame({"verdict": [most] * len(rows), "support": 0.5})
    found[CLAIM_ONLY] = pd.DataFrame({"verdict": np.where(p >= 0.5, S, N), "support": p})
    table = []
    for name, answers in found.items():
        scores = score_predictions(rows["label"], answers["verdict"], n_boot=n_boot, **options)
        area = auroc(supported, answers["support"], clusters=options["clusters"])
        abstained = (answers["verdict"] == INSUFFICIENT).astype(float).to_frame()
        share = estimates(abstained, options["clusters"], n_boot=n_boot, seed=seed).iloc[0]
        row = {"dataset": gold.key, "system": name, "n": len(rows), "groups": rows["group"].nunique()}
        row |= bounded("accuracy", scores["accuracy"]) | bounded("macro F1", scores["f1_macro"])
        row |= bounded("AUROC", area)
        table.append(row | {"abstained": share.value, "abstained low": share.low, "abstained high": share.high})
    right = {name: is_right(rows["label"], answers["verdict"]) for name, answers in found.items()}
    contrasts = []
    for name in judges:
        baselines = {blind: right[blind] for blind in (MAJORITY, CLAIM_ONLY)}
        compared = compare_verdicts(right[name], baselines, n_resamples=n_boot, **options)
        compared.insert(0, "dataset", gold.key)
        compared.insert(1, "system", name)
        contrasts.append(compared)
    frame = pd.DataFrame(table)
    return frame.astype(dict.fromkeys(frame.columns[4:], float)), pd.concat(contrasts, ignore_index=True)


def transfer(study, *, sets=tuple(SETS), folds=5, n_boot=10_000, seed=0):
    """The default judge, and one that knows only our claims, on every set that neither saw.

    Gives the two tables of `evaluate` over all sets, and why a set is not there.
    """
    tables, contrasts, missing = [pd.DataFrame()], [pd.DataFrame()], {}
    sets = sets if study.pipeline is not None and study.pipeline.train else ()
    for key in track(sets, "other people's claims"):
        try:
            gold = gold_claims(key)
        except Absent:
            missing[key] = "not on this machine"
            continue
        if gold is None:
            missing[key] = "it names its evidence without the text"
            continue
        judges = study.pipeline.judges(key)
        table, compared = evaluate(gold, judges, folds=folds, n_boot=n_boot, seed=seed)
        tables.append(table)
        contrasts.append(compared)
    return pd.concat(tables, ignore_index=True), pd.concat(contrasts, ignore_index=True), missing


def stance_study(own, *, seed=0, n_boot=2_000):
    """The feature model on held-out pairs with their evidence, with that of others, and fitted on that of others."""
    model = FeatureStance(own.base.rarity)
    train, test = (training_pairs(claims, own.base) for claims in (own.train, own.test))
    (X, mixed), (X_test, mixed_test) = (_pair_features(model, pairs, seed) for pairs in (train, test))
    stances = [pair.stance for pair in train]
    most = max(STANCES, key=stances.count)
    model.fit(X, stances)
    shares = {
        "evidence": model.probabilities(X_test),
        "shuffled evidence": model.probabilities(mixed_test),
        "fitted on shuffled": FeatureStance().fit(mixed, stances).probabilities(mixed_test),
        "majority": np.tile([float(stance == most) for stance in STANCES], (len(test), 1)),
    }
    groups = np.array([pair.group for pair in test])
    truth = np.array([pair.stance for pair in test])
    sided = truth != NEUTRAL
    rows = []
    for name, table in shares.items():
        right = (np.array(STANCES)[table.argmax(axis=1)] == truth).astype(float)
        accuracy = bootstrap_mean(right, clusters=groups, n_boot=n_boot, seed=seed)
        support = table[sided, 0] / np.maximum(table[sided, :2].sum(axis=1), 1e-12)
        area = auroc(truth[sided] == SUPPORTS, support, clusters=groups[sided])
        row = {"system": name} | bounded("accuracy", accuracy) | {"pairs": len(test)}
        rows.append(row | bounded("auroc", area) | {"sided pairs": int(sided.sum())})
    return pd.DataFrame(rows)


def _pair_features(model, pairs, seed):
    """Features of all pairs, and the same with the evidence of the pairs that take a side shuffled among them."""
    X = np.vstack([model.describe(pair.claim, [pair.passage]) for pair in pairs])
    sided = [n for n, pair in enumerate(pairs) if pair.stance != NEUTRAL]
    others = of_another_group([pairs[n].group for n in sided], seed, "shuffled evidence")
    mixed = X.copy()
    for row, other in zip(sided, others, strict=True):
        mixed[row] = model.describe(pairs[row].claim, [pairs[sided[other]].passage])
    return X, mixed


def words_model():
    """What claims give away by themselves, unfitted: tf-idf of words, logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), logistic_regression())


def cross_fitted(model, X, supported, groups, folds, seed, also=()):
    """Probability of SUPPORTED out of fold, groups kept together: for what is fitted on, and for other tables."""
    from sklearn.base import clone
    from sklearn.model_selection import GroupKFold

    found = np.zeros((1 + len(also), len(supported)))
    for train, test in GroupKFold(folds, shuffle=True, random_state=seed).split(X, supported, groups):
        fitted = clone(model).fit(X[train], supported[train])
        for row, table in enumerate((X, *also)):
            found[row, test] = fitted.predict_proba(table[test])[:, 1]
    return settled(found)


def claim_only(texts, supported, groups, folds, seed):
    """The claim-only model's probability of SUPPORTED, out of fold."""
    return cross_fitted(words_model(), np.asarray(texts, dtype=object), supported, groups, folds, seed)[0]


def claim_only_labels(texts, labels, groups, folds, seed):
    """The label that the claim-only model gives, out of fold; None where there are not enough groups."""
    from sklearn.model_selection import GroupKFold

    texts, labels = np.asarray(texts, dtype=object), np.asarray(labels, dtype=object)
    folds = min(folds, len(set(groups)))
    if folds < 2:
        return None
    found = labels.copy()
    for train, test in GroupKFold(folds, shuffle=True, random_state=seed).split(texts, labels, groups):
        known = set(labels[train])
        model = words_model().fit(texts[train], labels[train].astype(str)) if len(known) > 1 else None
        found[test] = model.predict(texts[test]) if model else known.pop()
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
