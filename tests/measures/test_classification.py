"""Scores of verdicts against scikit-learn, published counts and documented values."""

import itertools

import numpy as np
import pandas as pd
import pytest
from cases import misnamed
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from casebook.errors import InputError
from casebook.measures.classification import (
    CLASS_POLICIES,
    OFF_LABEL_POLICIES,
    collapse,
    documented_metrics,
    score_predictions,
)

S, N, NEI, C = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT", "CONFLICTING"
SHARES = {
    "precision": (S, "precision"),
    "recall": (S, "recall"),
    "f1_binary": (S, "f1-score"),
    "precision_not_supported": (N, "precision"),
    "recall_not_supported": (N, "recall"),
    "f1_not_supported": (N, "f1-score"),
    "f1_insufficient": (NEI, "f1-score"),
}
GOLDEN = ([S, S, N, N], [S, "INSUFFICIENT_EVIDENCE", N, "UNKNOWN"])


def test_golden_vectors_of_the_documented_code_and_of_its_later_behaviour():
    shares = {"accuracy": 0.5, "precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert documented_metrics(*GOLDEN) == {"tp": 1, "tn": 1, "fp": 0, "fn": 0, "n": 4} | shares
    shares |= {"recall": 0.5, "f1": pytest.approx(2 / 3)}
    counts = {"tp": 1, "tn": 2, "fp": 0, "fn": 1, "n": 4}
    assert documented_metrics(*GOLDEN, behaviour="L") == counts | shares
    # Of four pairs one is equal as a string, whichever label stands first.
    for first in (S, "UNKNOWN"):
        assert documented_metrics([first, first, N, N], [N, None, S, N], "L")["accuracy"] == 0.25
        assert documented_metrics([first], [first], "L")["accuracy"] == 1


def test_majority_is_one_class_and_prior_is_by_chance():
    claim_only = {"claim_only": [S, N, S, S]}
    found = score_predictions([S, S, S, N], [S, S, S, S], baselines=claim_only).baselines
    values = {name: (x["accuracy"].estimate, x["recall"].estimate) for name, x in found.items()}
    assert values == {
        "majority": (3 / 4, 1),
        "prior": ((9 + 1) / 16, 3 / 4),
        "claim_only": (0.5, pytest.approx(2 / 3)),
    }


# The demo of February: nine UNKNOWN verdicts, two of them counted as right.
@pytest.mark.parametrize("silent", [None, "", float("nan")])
def test_a_missing_verdict_is_in_no_cell_as_documented_and_not_supported_in_later_code(silent):
    found = score_predictions([S] * 7 + [N] * 2, [silent] * 9)
    in_cells = [found.parity["S"][name] for name in ("tp", "tn", "fp", "fn", "accuracy")]
    assert in_cells == [0, 0, 0, 0, 0.0] and found.parity["S"]["n"] == 9
    assert found.parity["L"]["tn"] == 2
    assert found.parity["L"]["accuracy"] == pytest.approx(0.2222, abs=1e-4)
    assert found["accuracy"].estimate == found.parse_rate.estimate == 0.0
    assert found.counts.loc[S, "no_verdict"] == 7


labels = st.sampled_from([S, N, NEI, C])
outcomes = st.sampled_from([S, N, NEI, C, "maybe", None, ""])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(labels, outcomes), min_size=1, max_size=40))
def test_counts_add_up_under_every_policy(pairs):
    gold, predicted = map(list, zip(*pairs, strict=True))
    for choice in itertools.product(OFF_LABEL_POLICIES, CLASS_POLICIES, CLASS_POLICIES):
        policy = dict(zip(("off_label", "nei", "conflict"), choice, strict=True))
        found = score_predictions(gold, predicted, n_resamples=2, **policy)
        used = collapse(found.counts, **policy)
        assert used.shape == ((3, 4) if "three_class" in choice else (2, 3))
        assert used.sum() + sum(found.excluded.values()) == len(gold)
        assert choice[0] == "drop" or not found.excluded["dropped_predictions"]
        assert found.excluded["gold_insufficient"] == gold.count(NEI) * (choice[1] == "exclude")


# Wherever scikit-learn does not fill in a convention of its own.
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(labels, outcomes), min_size=2, max_size=40))
def test_measures_equal_scikit_learn(pairs):
    merged = {S: S, N: N, NEI: NEI, C: NEI}
    for classes, policy in (((S, N, NEI), "three_class"), ((S, N), "exclude")):
        found = score_predictions(
            *zip(*pairs, strict=True), n_resamples=2, nei=policy, conflict=policy
        )
        counted = [(merged[g], merged.get(p)) for g, p in pairs if merged[g] in classes]
        gold = [g for g, _ in counted]
        said = [p if p in classes else "neither" for _, p in counted]
        if not gold:
            continue
        report = sk.classification_report(
            gold, said, labels=classes, output_dict=True, zero_division=np.nan
        )
        expected = {name: report[of][key] for name, (of, key) in SHARES.items() if of in classes}
        expected["accuracy"] = sk.accuracy_score(gold, said)
        if set(gold) == set(classes):
            expected["f1_macro"] = report["macro avg"]["f1-score"]
            expected["balanced_accuracy"] = report["macro avg"]["recall"]
        else:
            assert found["f1_macro"].reason == "class_without_gold"
        if found["mcc"].estimate is not None:
            expected["mcc"] = sk.matthews_corrcoef(gold, said)
        estimates = [found[name].estimate for name in expected]
        assert np.allclose(np.array(estimates, float), list(expected.values()), equal_nan=True)


# The 3 x 3 counts of the public FEVER fixture: 0.5209 becomes 0.6731.
def test_fever_collapse_flatters():
    counts = [(S, S, 2342), (S, NEI, 647), (S, N, 344), (N, N, 1719), (N, S, 833)]
    counts += [(N, NEI, 781), (NEI, NEI, 1147), (NEI, S, 1445), (NEI, N, 741)]
    gold, said = zip(*[(g, p) for g, p, n in counts for _ in range(n)], strict=True)
    for nei, accuracy in (("three_class", 0.5208520852085209), ("negative", 0.6731)):
        found = score_predictions(gold, said, nei=nei, n_resamples=50)["accuracy"]
        assert found.estimate == pytest.approx(accuracy, abs=5e-5)


# Every group has one true and one false claim: the accuracy of one answer never varies.
def test_no_interval_has_width_zero():
    pairs = np.repeat(np.arange(10), 2)
    scores = score_predictions([S, N] * 10, [S] * 20, clusters=pairs, n_resamples=200)
    for measures in (scores.measures, *scores.baselines.values()):
        for found in measures.values():
            assert found.low is None or found.high - found.low > 1e-9
    constant = scores["accuracy"]
    assert (constant.estimate, constant.low, constant.reason) == (0.5, None, "no_variation")
    # A share of 0 or 1 has Wilson's interval over groups.
    recall = scores["recall"]
    assert recall.estimate == recall.high == 1 and 0.6 < recall.low < 0.8


def test_bad_input_is_named():
    def scored(gold, predicted, options):
        score_predictions(gold, predicted, **options)

    cases = [
        (([S], [S, N], {}), "1 gold labels and 2 predictions"),
        (([S, "yes"], [S, N], {}), r"1 of 2 gold labels .*first: 'yes' in row 1"),
        (([S, None], [S, N], {}), "1 of 2 gold labels are missing"),
        ((pd.Series([S], [1]), pd.Series([S], [2]), {}), "different indices"),
        (([S], [S], {"off_label": "ignore"}), "unknown off_label policy 'ignore'"),
        (([S, N], [S, N], {"groups": {"hops": [2]}}), "1 entries for 2 rows"),
    ]
    assert misnamed(scored, cases, InputError) == []


# The document's own lines (Core Implementation).
def calculate_classification_metrics(predictions, ground_truths):
    tp = tn = fp = fn = 0
    for pred, truth in zip(predictions, ground_truths, strict=True):
        if pred == "SUPPORTED" and truth == "SUPPORTED":
            tp += 1
        elif pred == "NOT_SUPPORTED" and truth == "NOT_SUPPORTED":
            tn += 1
        elif pred == "SUPPORTED" and truth == "NOT_SUPPORTED":
            fp += 1
        elif pred == "NOT_SUPPORTED" and truth == "SUPPORTED":
            fn += 1
    total = len(predictions)
    accuracy = (tp + tn) / total if total > 0 else 0
    precision = tp / (tp + fp) if (tp + fp) > 0 else 0
    recall = tp / (tp + fn) if (tp + fn) > 0 else 0
    both = precision + recall
    f1 = 2 * (precision * recall) / both if both > 0 else 0
    shares = {"accuracy": accuracy, "precision": precision, "recall": recall, "f1": f1}
    return {"tp": tp, "tn": tn, "fp": fp, "fn": fn, "n": total} | shares


@given(st.lists(st.tuples(st.sampled_from([S, N]), outcomes)))
def test_documented_metrics_are_those_of_the_documents_lines(pairs):
    gold, said = [truth for truth, _ in pairs], [answer for _, answer in pairs]
    expected = calculate_classification_metrics(said, gold)
    assert documented_metrics(gold, said) == pytest.approx(expected)
    table = score_predictions(gold, said, n_resamples=2).counts
    matrix = table.loc[[S, N], [S, N]].to_numpy().tolist()
    assert matrix == [[expected["tp"], expected["fn"]], [expected["fp"], expected["tn"]]]
