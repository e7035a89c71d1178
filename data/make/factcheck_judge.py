"""Learn the weights of the default judge, and write ``lib/casebook/factcheck/judge.yml`` again.

    python data/make/factcheck_judge.py            # prints what it would write
    python data/make/factcheck_judge.py --write    # writes it

The words (opposites, stronger) and the relevance of the table are written by hand and
kept. The weights are those of a logistic regression on standardised features in which
every set counts alike, and both of its classes; the sign of each weight is fixed by its
meaning, and all are drawn towards one common size. The sets: FEVEROUS-S, Climate-FEVER,
ConsumerContractsQA, our own training claims, and answers of PDPABench, each with a twin
that a rule has made false. Every set is also left out once.
"""

import random
import re
import sys

import numpy as np
from scipy.optimize import minimize

from casebook.data import load
from casebook.factcheck.claims import read_claims
from casebook.factcheck.stance import JUDGE, SIGNS, joint_features, judge_table
from casebook.factcheck.transfer import OWN_CLAIMS, gold_claims
from casebook.text import sentence_texts

SIZE, PULL = 0.3, 0.3  # common size of standardised weights, strength towards it
PUBLIC = ("feverous_s", "climate_fever_claims", "consumer_contracts_qa")
TWINS = "pdpabench"
_AUXILIARY = r"\b(is|are|was|were|may|must|can|will|would|could|should|has|have)\b"
_OPENING = r"^(Yes|No|Not necessarily|Not always|Generally|Partly)[.,;:—-]?\s*"
_NUMBER = r"(?<![\w.(])\d+(?:,\d{3})*(?![\w)(.-]|\.\d)"


def twin(text, rng, swaps):
    """Make a statement false: another number, a negation more or less, an opposite."""
    found, numbers = [], list(re.finditer(_NUMBER, text))
    if numbers:
        match = rng.choice(numbers)
        value = int(match.group().replace(",", ""))
        other = rng.choice([value * 2, value + rng.choice([1, 2, 5, 10])])
        if other != value:
            found.append(text[: match.start()] + str(other) + text[match.end() :])
    if re.search(r"\bnot\b", text):
        found.append(re.sub(r"\s*\bnot\b", "", text, count=1))
    elif match := re.search(_AUXILIARY, text):
        found.append(text[: match.end()] + " not" + text[match.end() :])
    for match in re.finditer("[a-z]+", text):
        if match.group() in swaps:
            other = swaps[match.group()]
            found.append(text[: match.start()] + other + text[match.end() :])
            break
    return rng.choice(found) if found else None


def twins(pairs, seed=0):
    """Give definite answers of PDPABench and false twins, with the sections cited."""
    swaps = {}
    for first, second in (pair.split() for pair in pairs):
        swaps.setdefault(first, second)
        swaps.setdefault(second, first)
    rng, rows = random.Random(seed), []
    for name in ("pdpabench_train", "pdpabench", "pdpabench_test"):
        dataset = load(name)
        texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
        for row in dataset.queries.itertuples():
            text = re.sub(_OPENING, "", row.gold_answer_short).strip()
            cited = [doc for doc in dataset.qrels[row.query_id] if doc in texts]
            definite = row.qa_type in ("pure-definitive", "definitive-with-conditions")
            if not definite or row.abstain or len(text.split()) < 7 or not cited:
                continue
            true = text[0].upper() + text[1:]
            false = twin(true, rng, swaps)
            if false:
                parts = [part for doc in cited for part in sentence_texts(texts[doc])]
                rows += [(true, parts, True), (false, parts, False)]
    return rows


def described(rows):
    """Give features and labels of (claim, texts, supported)."""
    X = np.array([joint_features(claim, texts) for claim, texts, _ in rows])
    return X, np.array([supported for *_, supported in rows])


def sets(pairs):
    """Give features and labels of every set, by name."""
    train = {claim.id for claim in read_claims(split="train")}
    found = {}
    for key in (*PUBLIC, OWN_CLAIMS):
        gold = gold_claims(key)
        rows = [
            (
                row.claim,
                [f"{p.header}. {p.text}" if p.header else p.text for p in passages],
                row.label == "SUPPORTED",
            )
            for row, passages in zip(gold.itertuples(), gold["evidence"], strict=True)
            if key != OWN_CLAIMS or row.id in train
        ]
        found[key] = described(rows)
    found[TWINS] = described(twins(pairs))
    return found


def fit(parts):
    """Learn weights from several sets, each and each class of it counting alike."""
    X = np.vstack([x for x, _ in parts])
    y = np.concatenate([supported for _, supported in parts])
    w = np.concatenate([np.where(s, 0.5 / s.sum(), 0.5 / (~s).sum()) for _, s in parts])
    w = w / w.sum()
    mean = w @ X
    scale = np.sqrt(w @ (X - mean) ** 2)
    Z, side = (X - mean) / scale, np.where(y, 1.0, -1.0)
    centre = SIZE * np.array(list(SIGNS.values()), dtype=float)

    def loss(b):
        margin = side * (Z @ b[1:] + b[0])
        pull = b[1:] - centre
        value = w @ np.logaddexp(0, -margin) + PULL / 2 * pull @ pull
        slope = -w * side / (1 + np.exp(margin))
        return value, np.concatenate([[slope.sum()], Z.T @ slope + PULL * pull])

    bounds = [(None, None)] + [(0, None) if s > 0 else (None, 0) for s in centre]
    start = np.concatenate([[0.0], centre])
    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 10_000}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    weights = found[1:] / scale
    features = {n: round(float(v), 4) for n, v in zip(SIGNS, weights, strict=True)}
    intercept = round(float(found[0] - weights @ mean), 4)
    return {"intercept": intercept, "features": features}


def learnt(pairs):
    """Give the weights on all sets, and without each, by the set left out."""
    parts = sets(pairs)
    found = {"none": fit(list(parts.values()))}
    for key in parts:
        found[key] = fit([part for other, part in parts.items() if other != key])
    counts = {key: {"claims": len(y), "supported": int(y.sum())} for key, (_, y) in parts.items()}
    return found, counts


def as_text(found, counts):
    """Write the learnt part of the table."""
    lines = ["sets:"]
    for key, count in counts.items():
        lines.append(f"  {key}: {{claims: {count['claims']}, supported: {count['supported']}}}")
    lines.append("weights:  # by the set that they never saw")
    for key, weights in found.items():
        lines += [f"  {key}:", f"    intercept: {weights['intercept']}", "    features:"]
        lines += [f"      {name}: {value}" for name, value in weights["features"].items()]
    return "\n".join(lines) + "\n"


def main():
    """Learn, and print or write."""
    pairs = judge_table()["opposites"]
    text = as_text(*learnt(pairs))
    if "--write" in sys.argv:
        JUDGE.write_text(
            JUDGE.read_text(encoding="utf-8").partition("sets:\n")[0] + text, encoding="utf-8"
        )
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
