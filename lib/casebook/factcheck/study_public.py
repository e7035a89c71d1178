"""Public sets of claims: gold evidence, aggregation of labels, claims alone."""

import re

import numpy as np
import pandas as pd

from casebook.factcheck.cited import Cited
from casebook.factcheck.claim_only import claim_only_model
from casebook.factcheck.stance_features import features
from casebook.factcheck.verdict_study import CLAIM_ONLY, WRONG, VerdictStudy, of_verdict
from casebook.factcheck.votes import any_any
from casebook.models.logistic import logistic_regression, settled
from casebook.stats.samples import stream

S, N, NEI, C = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT", "CONFLICTING"
_STANCE = {S: "supports", N: "refutes"}
_DECIDED = {"DISPUTED": C, "SUPPORTS": S, "REFUTES": N, "NOT_ENOUGH_INFO": NEI}


def gold_evidence(dataset, folds=5, seed=0):
    """Judge claims on their gold sentences: the same model with them shuffled."""
    claims, evidence = dataset.claims, dataset.evidence
    texts = evidence["text"].map(_without_links)
    passages = texts.groupby(evidence["claim_id"], sort=False).apply(list)
    passages = passages.reindex(claims["claim_id"]).tolist()
    source = evidence.groupby("claim_id", sort=False)["source"].first()
    groups = source.reindex(claims["claim_id"]).tolist()
    X = _described(claims["claim"], passages)
    order = _other_groups(groups, seed)
    mixed = _described(claims["claim"], [passages[row] for row in order])
    y = (claims["label"] == S).to_numpy()
    p = _fold_probabilities(X, mixed, y, groups, folds, seed)
    blind = folded_words(claims["claim"], y, groups, folds, seed)
    stated = {"gold evidence": p[0], "shuffled evidence": p[1], CLAIM_ONLY: blind}
    return VerdictStudy(
        dataset.name,
        _rows(claims, groups, category=claims["category"].fillna("unknown")),
        {name: np.where(q >= 0.5, S, N).tolist() for name, q in stated.items()},
        WRONG,
        blind=("shuffled evidence", CLAIM_ONLY),
        slices=("category",),
        confidence={name: of_verdict(q) for name, q in stated.items()},
        facts={"sentences of evidence": len(evidence)},
        texts=claims["claim"].tolist(),
        decisive=_sentences(claims, evidence.assign(text=texts), {}),
    )


def _sentences(claims, evidence, stances):
    """Give the gold sentences of every claim; their labels become stances."""
    found = {name: [] for name in claims["claim_id"]}
    for row in evidence.itertuples():
        text = row.text if isinstance(row.text, str) else ""
        sentence = Cited(row.source, text, stance=stances.get(row.label))
        found[row.claim_id].append(sentence)
    return list(found.values())


def _without_links(text):
    """Turn ``[[Page|words]]`` into its words."""
    return re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)


def _described(claims, passages):
    """Give mean, maximum and joint features of a claim's passages, one row each."""
    rows = []
    for claim, texts in zip(claims, passages, strict=True):
        table = np.array([features(claim, text) for text in texts])
        whole = features(claim, " ".join(texts))
        rows.append(np.concatenate([table.mean(axis=0), table.max(axis=0), whole]))
    return np.array(rows)


def _other_groups(groups, seed):
    """Give each row a row of another group, in a random order."""
    rng = np.random.Generator(stream(seed, "shuffled evidence"))
    order = rng.permutation(len(groups)).tolist()
    other = [None] * len(groups)
    for place, row in enumerate(order):
        ahead = order[place + 1 :] + order[:place]
        other[row] = next(n for n in ahead if groups[n] != groups[row])
    return other


def _fold_probabilities(X, mixed, y, groups, folds, seed):
    """Probability of SUPPORTED with right and with shuffled evidence, out of fold."""
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    found = np.zeros((2, len(y)))
    parts = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in parts.split(X, y, groups):
        model = make_pipeline(StandardScaler(), logistic_regression())
        model.fit(X[train], y[train])
        for row, table in enumerate((X, mixed)):
            found[row, test] = settled(model.predict_proba(table[test])[:, 1])
    return found


def aggregation(dataset, folds=5, seed=0):
    """Decide claims from the gold labels of their five sentences, by three rules."""
    claims, evidence = dataset.claims, dataset.evidence
    stances = evidence["label"].map(_STANCE).fillna("neutral")
    found = stances.groupby(evidence["claim_id"], sort=False).apply(list)
    found = found.reindex(claims["claim_id"]).tolist()
    verdicts = {
        "documented vote": [_vote(s, len(s)) for s in found],
        "vote without neutral": [_vote(s, len(s) - s.count("neutral")) for s in found],
        "any/any": [_DECIDED[any_any(s)] for s in found],
    }
    shares = [s.count("supports") / len(s) for s in found]
    confidence = [
        share if verdict == S else 1 - share if verdict == N else None
        for share, verdict in zip(shares, verdicts["documented vote"], strict=True)
    ]
    rows = _rows(claims, claims["claim_id"].tolist(), label=claims["label"])
    rows["sided evidence"] = [f"{len(s) - s.count('neutral')} of 5" for s in found]
    return VerdictStudy(
        dataset.name,
        rows,
        verdicts,
        WRONG | {"nei": "three_class", "conflict": "three_class"},
        slices=("sided evidence",),
        confidence={"documented vote": confidence},
        facts={"sentences of evidence": len(evidence)},
        texts=claims["claim"].tolist(),
        decisive=_sentences(claims, evidence, _STANCE),
    )


def _vote(stances, counted):
    """Apply the documented thresholds to the share of support, without weights."""
    if not counted:
        return NEI
    share = stances.count("supports") / counted
    return S if share >= 0.7 else N if share <= 0.3 else NEI


def claim_only_study(dataset, folds=5, seed=0):
    """Judge claims without any evidence: what a set gives away by its wording."""
    claims = dataset.claims
    groups, y = claims["cluster"].tolist(), (claims["label"] == S).to_numpy()
    words = folded_words(claims["claim"], y, groups, folds, seed)
    lengths = claims["claim"].str.split().str.len().to_numpy(float)[:, None]
    length = _fold_probabilities(lengths, lengths, y, groups, folds, seed)[0]
    stated = {CLAIM_ONLY: words, "claim length only": length}
    return VerdictStudy(
        dataset.name,
        _rows(claims, groups, hops=claims["hops"].astype(str)),
        {name: np.where(q >= 0.5, S, N).tolist() for name, q in stated.items()},
        WRONG,
        blind=(CLAIM_ONLY, "claim length only"),
        slices=("hops",),
        confidence={name: of_verdict(q) for name, q in stated.items()},
        texts=claims["claim"].tolist(),
    )


def _rows(claims, groups, **more):
    return pd.DataFrame({"id": claims["claim_id"], "label": claims["label"], "group": groups} | more)


def folded_words(texts, supported, groups, folds, seed):
    """Give the claim-only model's probability of SUPPORTED, out of fold."""
    from sklearn.model_selection import GroupKFold

    texts, found = np.asarray(texts, dtype=object), np.zeros(len(supported))
    parts = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in parts.split(texts, supported, groups):
        model = claim_only_model().fit(texts[train], supported[train])
        found[test] = model.predict_proba(texts[test])[:, 1]
    return found
