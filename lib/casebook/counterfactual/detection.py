"""Detectors of unfaithful explanations, held against planted defects."""

import math

import pandas as pd

from casebook.counterfactual.corruptions import KINDS, corrupt
from casebook.measures.classification import auroc
from casebook.measures.faithfulness import documented_shares, faithfulness
from casebook.measures.mentions import agreement, find_flip
from casebook.measures.quotations import STATES, quote_states
from casebook.text import sentences

DETECTORS = ("documented", "corrected", "weighted", "mentions", "polarity", "quotes")


def scores(explanation, source, weights):
    """Score one explanation with every detector, higher for more faithful."""
    documented = [share for share, _ in documented_shares(explanation, source)]
    named = [found for found in agreement(explanation, source) if found.n]
    count = sum(found.n for found in named)
    missing = sum(len(found.missing) for found in named)
    there = tuple(source[a:b] for a, b in sentences(source))
    flips = [find_flip(explanation[a:b], there) for a, b in sentences(explanation)]
    flips = [flip for flip in flips if flip is not None]
    turned = sum(bool(flip.negated or flip.modality) for flip in flips)
    quotes = [q.state in STATES[:2] for q in quote_states(explanation, {"own": source})]
    return {
        "documented": _mean(documented),
        "corrected": faithfulness(explanation, source).mean_share,
        "weighted": faithfulness(explanation, source, weights=weights).mean_share,
        "mentions": 1 - missing / count if count else None,
        "polarity": 1 - turned / len(flips) if flips else None,
        "quotes": _mean(quotes),
    }


def _mean(values):
    return math.fsum(values) / len(values) if values else None


def detect(explained, weights, *, seed=0):
    """Hold every detector against explanations that were made wrong on purpose."""
    wrong = corrupt(explained.explanations, seed=seed)

    def score(key, text):
        return scores(text, explained.sources[explained.own[key]], weights)

    right = {key: score(key, text) for key, text in explained.explanations.items()}
    rows = []
    for kind in KINDS:
        bad = {key: score(key, text) for key, text in wrong[kind].items()}
        for detector in DETECTORS:
            both = [key for key in bad if None not in (bad[key][detector], right[key][detector])]
            found = _detection(both, right, bad, detector, explained.own)
            rows.append({"defect": kind, "detector": detector, "n": len(bad)} | found)
    return pd.DataFrame(rows)


def _detection(keys, right, wrong, detector, own):
    if not keys:
        nothing = dict.fromkeys(("auroc", "low", "high"))
        return nothing | {"judged": 0, "reason": "nothing to judge"}
    values = [right[key][detector] for key in keys]
    values += [wrong[key][detector] for key in keys]
    positive = [True] * len(keys) + [False] * len(keys)
    clusters = [own[key] for key in keys] * 2
    found = auroc(positive, values, clusters=clusters)
    bounds = {"auroc": found.estimate, "low": found.low, "high": found.high}
    return bounds | {"judged": len(keys), "reason": found.reason}
