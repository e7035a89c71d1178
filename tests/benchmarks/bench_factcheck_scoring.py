"""Speed of scoring verdicts against loops over scikit-learn and over evidence lists.

Run with one thread: ``OMP_NUM_THREADS=1 python
tests/benchmarks/bench_factcheck_scoring.py``.
"""

import json
import lzma
import os
from pathlib import Path

import numpy as np
from measuring import cpu_seconds, row
from sklearn import metrics

from casebook.factcheck.fever import official_fever_score
from casebook.measures.classification import score_predictions

PREDICTIONS, DRAWS, MEASURED_DRAWS = 1_000_000, 1000, 2
CLAIMS = 9_999
LIMIT_S = 10.0
NEI = "NOT ENOUGH INFO"


def rows():
    """Measure every benchmark of this file."""
    return [_scoring(), _fever()]


def _scoring():
    rng = np.random.default_rng(0)
    labels = np.array(["SUPPORTED", "NOT_SUPPORTED", "unclear"], dtype=object)
    gold = labels[rng.integers(0, 2, PREDICTIONS)]
    noise = rng.choice(labels, PREDICTIONS, p=[0.45, 0.45, 0.1])
    predicted = np.where(rng.random(PREDICTIONS) < 0.7, gold, noise)
    # The peer gets numbers, which scikit-learn reads an order faster than strings.
    coded = [np.searchsorted(np.sort(labels), x) for x in (gold, predicted)]

    def peer():
        for _ in range(MEASURED_DRAWS):
            drawn = rng.integers(0, PREDICTIONS, PREDICTIONS)
            y, p = coded[0][drawn], coded[1][drawn]
            metrics.accuracy_score(y, p)
            metrics.balanced_accuracy_score(y, p)
            metrics.matthews_corrcoef(y, p)
            metrics.precision_recall_fscore_support(y, p, labels=[0, 1])

    ours, _ = cpu_seconds(lambda: score_predictions(gold, predicted, n_boot=DRAWS))
    theirs = cpu_seconds(peer, repeats=1)[0] * DRAWS / MEASURED_DRAWS
    note = f"peer measured on {MEASURED_DRAWS} of {DRAWS} draws; ours <= {LIMIT_S:g} s"
    name = f"score {PREDICTIONS:,} verdicts, {DRAWS} bootstrap draws"
    return row(name, "loop over scikit-learn", ours, theirs, 20, note, LIMIT_S)


def _claims():
    """Give the public fixture if the mirror has it, else claims of its shape."""
    folder = Path(os.environ.get("CASEBOOK_DATA_MIRROR", "")) / "fever_scorer"
    if (folder / "actual.jsonl.xz").is_file():
        names = ("actual.jsonl.xz", "predictions.jsonl.xz")
        return [
            [json.loads(line) for line in lzma.open(folder / name, "rt")]
            for name in names
        ], "public fixture"
    rng = np.random.default_rng(0)
    labels = np.array(["SUPPORTS", "REFUTES", NEI])
    gold = [
        {
            "label": str(rng.choice(labels)),
            "evidence": [
                [[0, 0, f"Page_{rng.integers(40)}", int(rng.integers(30))]]
                for _ in range(rng.integers(1, 6))
            ],
        }
        for _ in range(CLAIMS)
    ]
    answers = [
        {
            "predicted_label": str(rng.choice(labels)),
            "predicted_evidence": [
                [f"Page_{rng.integers(40)}", int(rng.integers(30))] for _ in range(5)
            ],
        }
        for _ in range(CLAIMS)
    ]
    return [gold, answers], "generated claims, for want of the public fixture"


def _fever():
    (gold, answers), what = _claims()
    # Milliseconds on a busy machine: in turn, and the best of each.
    ours, theirs = (
        min(seconds)
        for seconds in zip(
            *(
                (
                    cpu_seconds(lambda: official_fever_score(gold, answers), 1)[0],
                    cpu_seconds(lambda: list_scorer(gold, answers), 1)[0],
                )
                for _ in range(15)
            ),
            strict=True,
        )
    )
    found, expected = official_fever_score(gold, answers), list_scorer(gold, answers)
    assert np.allclose(list(found.values()), expected)
    name = f"FEVER score of {len(gold):,} claims"
    return row(name, "one pass over lists per measure", ours, theirs, 3, what)


def list_scorer(gold, answers, limit=5):
    """Score as the public scorer does: one function per measure, lists in lists.

    Its steps: look for the fields, take gold into the answer (here into a copy), check
    the form of the evidence in four passes, and for each measure cut the predictions
    and go through all gold sentences again.
    """
    right = strict = precision = recall = verifiable = 0.0
    for record, answer in zip(gold, answers, strict=True):
        joined = dict(answer)
        assert "predicted_evidence" in joined and "evidence" in record
        joined["evidence"], joined["label"] = record["evidence"], record["label"]
        if _agrees(joined):
            right += 1.0
            strict += _strict(joined, limit)
        found, counted = _precision(joined, limit)
        precision, verifiable = precision + found, verifiable + counted
        recall += _recall(joined, limit)
    p, r = precision / verifiable, recall / verifiable
    return strict / len(gold), right / len(gold), p, r, 2 * p * r / (p + r)


def _agrees(record):
    return record["label"].upper() == record["predicted_label"].upper()


def _strict(record, limit):
    listed = record["predicted_evidence"]
    assert all(isinstance(item, list) for item in listed)
    assert all(len(item) == 2 for item in listed)
    assert all(isinstance(item[0], str) for item in listed)
    assert all(isinstance(item[1], int) for item in listed)
    if record["label"].upper() == NEI:
        return _agrees(record)
    return _agrees(record) and _complete(record, limit)


def _complete(record, limit):
    for group in record["evidence"]:
        wanted = [[item[2], item[3]] for item in group]
        inside = [item in record["predicted_evidence"][:limit] for item in wanted]
        if all(inside):
            return True
    return False


def _precision(record, limit):
    if record["label"].upper() == NEI:
        return 0.0, 0
    every = [[i[2], i[3]] for g in record["evidence"] for i in g if i[3] is not None]
    hits = total = 0.0
    for item in record["predicted_evidence"][:limit]:
        if item in every:
            hits += 1.0
        total += 1.0
    return hits / total if total else 1.0, 1


def _recall(record, limit):
    if record["label"].upper() == NEI:
        return 0.0
    # The public scorer measures the names of the fields here, one by one.
    lengths = [len(name) == 0 for name in record]
    if len(record["evidence"]) == 0 or all(lengths):
        return 1.0
    return float(_complete(record, limit))


if __name__ == "__main__":
    print(json.dumps(rows(), indent=2, default=float))
