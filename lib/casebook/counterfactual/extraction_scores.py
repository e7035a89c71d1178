"""Precision and recall of fact extraction, against sheets that somebody wrote."""

import numpy as np
import pandas as pd

from casebook.counterfactual.extraction import extract_sheet
from casebook.counterfactual.fact_keys import fact_fields, fact_key
from casebook.errors import InputError
from casebook.stats.intervals import clustered_wilson
from casebook.stats.samples import stream

TYPES = {
    "Amount": ("Amount",),
    "Age": ("Age",),
    "Duration": ("Duration",),
    "Numerical": ("Amount", "Age", "Duration"),
    "Section": ("Section",),
    "PartyType": ("PartyType",),
    "Evidence": ("Evidence",),
    "Outcome": ("Outcome",),
    "all facts": ("Amount", "Age", "Duration", "Section", "PartyType", "Evidence"),
}
"""Rows of the table: kinds of fact that each pools; the outcome is no fact."""
IN_PASSAGES = {
    **{name: TYPES[name] for name in ("Amount", "Age", "Duration", "Numerical")},
    **{name: TYPES[name] for name in ("Section", "Evidence")},
    "all facts": ("Amount", "Age", "Duration", "Section", "Evidence"),
}
"""Rows for passages of real judgments, whose sides and outcome are not annotated."""
N_SHUFFLES = 200


def extraction_scores(gold, extract=extract_sheet, types=TYPES, *, seed=0):
    """Measure an extractor by split and type of fact."""
    if not gold:
        raise InputError("there are no annotated texts to measure extraction with")
    found = [_keys(extract(one.text, one.id).sheet) for one in gold]
    true = [_keys(one.sheet) for one in gold]
    rows = []
    for split in dict.fromkeys(one.split for one in gold):
        here = [at for at, one in enumerate(gold) if one.split == split]
        pairs = [found[at] for at in here], [true[at] for at in here]
        for name, kinds in types.items():
            rows += _rows(split, name, kinds, *pairs, seed)
    return pd.DataFrame(rows)


def extraction_errors(gold, extract=extract_sheet):
    """List every fact that was missed or made up."""
    rows = []
    for one in gold:
        found, true = _keys(extract(one.text, one.id).sheet), _keys(one.sheet)
        for error, facts in (("missed", true - found), ("extra", found - true)):
            for kind, value in sorted(facts, key=str):
                rows.append((one.id, one.split, kind, error, _shown(value)))
    return pd.DataFrame(rows, columns=["id", "split", "type", "error", "fact"])


def _shown(value):
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _keys(sheet):
    return frozenset(fact_key(sheet, field) for field in fact_fields(sheet))


def _rows(split, name, kinds, found, true, seed):
    found = [{key for key in keys if key[0] in kinds} for keys in found]
    true = [{key for key in keys if key[0] in kinds} for keys in true]
    counts = _counts(found, true)
    hits, extracted, written = counts.T
    chance = _shuffled(found, true, seed)
    shares = {
        "precision": clustered_wilson(hits, extracted),
        "recall": clustered_wilson(hits, written),
        "F1": clustered_wilson(2 * hits, extracted + written),
    }
    texts = {
        "precision": int((extracted > 0).sum()),
        "recall": int((written > 0).sum()),
        "F1": int((extracted + written > 0).sum()),
    }
    for measure, interval in shares.items():
        yield {
            "split": split,
            "type": name,
            "measure": measure,
            "value": interval.estimate,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "n": interval.n,
            "texts": texts[measure],
            "control": chance[measure],
            "reason": interval.reason,
        }


def _counts(found, true):
    """Give hits, extracted and written facts of each text."""
    return np.array([(len(mine & own), len(mine), len(own)) for mine, own in zip(found, true, strict=True)])


def _shuffled(found, true, seed):
    """Give mean precision, recall and F1 over shuffles that move every text."""
    if len(true) < 2:
        return dict.fromkeys(("precision", "recall", "F1"))
    rng = np.random.Generator(stream(seed, "shuffled sheets"))
    draws = []
    for _ in range(N_SHUFFLES):
        order = rng.permutation(len(true))
        moved = np.empty_like(order)
        moved[order] = np.roll(order, 1)  # one cycle through all: nobody stays
        counts = _counts(found, [true[at] for at in moved])
        draws.append(counts.sum(axis=0))
    hits, extracted, written = map(float, np.mean(draws, axis=0))
    both = extracted + written
    return {
        "precision": hits / extracted if extracted else None,
        "recall": hits / written if written else None,
        "F1": 2 * hits / both if both else None,
    }
