"""What the stance model gets from evidence: the same model with it shuffled."""

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.model import NEUTRAL, STANCES, SUPPORTS
from casebook.factcheck.stance import FeatureStance
from casebook.measures.classification import auroc
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import stream

EVIDENCE, SHUFFLED, REFITTED = "evidence", "shuffled evidence", "fitted on shuffled"
MAJORITY = "majority"


def shuffle_passages(pairs, seed=0):
    """Give every pair the passage of a pair of another group."""
    if len({pair.group for pair in pairs}) < 2:
        raise InputError("shuffling needs pairs of at least two groups")
    rng = np.random.Generator(stream(seed, "shuffled evidence"))
    order = rng.permutation(len(pairs)).tolist()
    passages = [None] * len(pairs)
    for place, row in enumerate(order):
        ahead = order[place + 1 :] + order[:place]
        other = next(n for n in ahead if pairs[n].group != pairs[row].group)
        passages[row] = pairs[other].passage
    return passages


def stance_study(train, test, *, rarity=None, similarity=None, seed=0, n_boot=2_000):
    """Judge held-out pairs with their evidence and with that of others."""
    sided = {"train": _sided(train), "test": _sided(test)}
    model = FeatureStance(rarity, similarity)

    def described(pairs, passages=None):
        passages = [pair.passage for pair in pairs] if passages is None else passages
        found = [model.describe(pair.claim, [passage]) for pair, passage in zip(pairs, passages, strict=True)]
        return np.vstack(found)

    X = {name: described(pairs) for name, pairs in (("train", train), ("test", test))}
    mixed = {
        name: _mixed(X[name], pairs, described, seed, sided[name]) for name, pairs in (("train", train), ("test", test))
    }
    stances = [pair.stance for pair in train]
    model.fit_features(X["train"], stances)
    shares = {EVIDENCE: model.probabilities(X["test"]), SHUFFLED: model.probabilities(mixed["test"])}
    other = FeatureStance().fit_features(mixed["train"], stances)
    shares[REFITTED] = other.probabilities(mixed["test"])
    most = max(STANCES, key=stances.count)
    constant = np.tile([float(stance == most) for stance in STANCES], (len(test), 1))
    rows = [
        {"system": name} | _scores(table, test, sided["test"], n_boot, seed)
        for name, table in {**shares, MAJORITY: constant}.items()
    ]
    return pd.DataFrame(rows)


def _sided(pairs):
    return [n for n, pair in enumerate(pairs) if pair.stance != NEUTRAL]


def _mixed(X, pairs, described, seed, sided):
    """Give the features with the evidence of the sided pairs shuffled among them."""
    chosen = [pairs[n] for n in sided]
    mixed = X.copy()
    mixed[sided] = described(chosen, shuffle_passages(chosen, seed))
    return mixed


def _scores(shares, test, sided, n_boot, seed):
    stances = [STANCES[n] for n in shares.argmax(axis=1)]
    right = [float(pair.stance == s) for pair, s in zip(test, stances, strict=True)]
    groups = [pair.group for pair in test]
    accuracy = bootstrap_mean(right, clusters=groups, n_boot=n_boot, seed=seed)
    positive = [test[n].stance == SUPPORTS for n in sided]
    support = shares[sided, 0] / np.maximum(shares[sided, :2].sum(axis=1), 1e-12)
    area = auroc(positive, support, clusters=[groups[n] for n in sided])
    return {
        "accuracy": accuracy.estimate,
        "accuracy low": accuracy.low,
        "accuracy high": accuracy.high,
        "pairs": len(test),
        "auroc": area.estimate,
        "auroc low": area.low,
        "auroc high": area.high,
        "sided pairs": len(sided),
    }
