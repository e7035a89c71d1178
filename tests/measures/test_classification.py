"""Scores of verdicts against scikit-learn, published counts and documented values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sk

from casebook.errors import InputError
from casebook.measures.classification import (
    CLASS_POLICIES,
    OFF_LABEL_POLICIES,
    at_prevalence,
    auroc,
    auroc_difference,
    collapse,
    documented_metrics,
    score_predictions,
)

S, N, NEI, C = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT", "CONFLICTING"
GOLDEN = ([S, S, N, N], [S, "INSUFFICIENT_EVIDENCE", N, "UNKNOWN"])


def test_golden_vector_of_the_documented_code():
    assert documented_metrics(*GOLDEN) == {
        **{"tp": 1, "tn": 1, "fp": 0, "fn": 0, "n": 4},
        **{"accuracy": 0.5, "precision": 1.0, "recall": 1.0, "f1": 1.0},
    }


def test_golden_vector_of_the_later_behaviour():
    found = documented_metrics(*GOLDEN, behaviour="L")
    assert [found[k] for k in ("tp", "tn", "fp", "fn")] == [1, 2, 0, 1]
    assert found["accuracy"] == 0.5
    assert found["recall"] == 0.5
    assert found["f1"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("first", [S, "UNKNOWN"])
def test_no_spelling_counts_as_missing_because_it_comes_first(first):
    """Of four pairs one is equal as a string, whichever label stands first."""
    gold, predicted = [first, first, N, N], [N, None, S, N]
    assert documented_metrics(gold, predicted, "L")["accuracy"] == 0.25
    assert documented_metrics([first], [first], "L")["accuracy"] == 1


def test_majority_is_one_class_and_prior_is_by_chance():
    found = score_predictions([S, S, S, N], [S, S, S, S]).baselines
    assert found["majority"]["accuracy"].estimate == 3 / 4
    assert found["prior"]["accuracy"].estimate == (9 + 1) / 16
    assert found["majority"]["recall"].estimate == 1
    assert found["prior"]["recall"].estimate == 3 / 4
    given = score_predictions([S, N], [S, N], baselines={"claim_only": [S, S]})
    assert given.baselines["claim_only"]["accuracy"].estimate == 0.5


def test_a_missing_verdict_scores_as_not_supported_in_parity_only():
    """The demo of February: nine UNKNOWN verdicts, two of them counted as right."""
    gold, predicted = [S] * 7 + [N] * 2, [None] * 9
    found = score_predictions(gold, predicted)
    assert found.parity["S"]["tn"] == 2
    assert found.parity["S"]["accuracy"] == pytest.approx(0.2222, abs=1e-4)
    assert found["accuracy"].estimate == 0.0
    assert found.parse_rate.estimate == 0.0
    assert found.counts.loc[S, "no_verdict"] == 7


labels = st.sampled_from([S, N, NEI, C])
outcomes = st.sampled_from([S, N, NEI, C, "maybe", None, ""])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(labels, outcomes), min_size=1, max_size=40))
def test_counts_add_up_and_inputs_stay(pairs):
    gold, predicted = map(list, zip(*pairs, strict=True))
    copies = list(gold), list(predicted)
    for off_label in OFF_LABEL_POLICIES:
        for nei in CLASS_POLICIES:
            policy = {"off_label": off_label, "nei": nei}
            found = score_predictions(gold, predicted, n_boot=2, **policy)
            used = collapse(found.counts, **policy)
            assert used.sum() + sum(found.excluded.values()) == len(gold)
            k = 3 if nei == "three_class" else 2
            assert used.shape == (k, k + 1)
    assert found.counts.to_numpy().sum() == len(gold)
    assert (gold, predicted) == copies


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([S, N]), outcomes), min_size=2, max_size=40))
def test_measures_equal_scikit_learn_under_wrong(pairs):
    gold, predicted = map(list, zip(*pairs, strict=True))
    found = score_predictions(gold, predicted, n_boot=2)
    shown = [p if p in (S, N) else "neither" for p in predicted]
    check(found, gold, shown)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(labels, outcomes), min_size=2, max_size=40))
def test_measures_equal_scikit_learn_with_three_classes(pairs):
    gold, predicted = map(list, zip(*pairs, strict=True))
    policy = {"nei": "three_class", "conflict": "three_class"}
    found = score_predictions(gold, predicted, n_boot=2, **policy)
    merged = {S: S, N: N, NEI: NEI, C: NEI}
    shown = [merged.get(p, "neither") for p in predicted]
    check(found, [merged[g] for g in gold], shown, (S, N, NEI))


def check(found, gold, shown, classes=(S, N)):
    """Compare wherever scikit-learn does not fill in a convention of its own."""
    assert found["accuracy"].estimate == pytest.approx(sk.accuracy_score(gold, shown))
    for name, label in zip(["binary", "not_supported"], classes, strict=False):
        value = found[f"f1_{name}"].estimate
        if value is None:
            assert label not in gold + shown
            continue
        options = {"labels": [label], "average": "macro", "zero_division": 0}
        assert value == pytest.approx(sk.f1_score(gold, shown, **options))
    if set(gold) == set(classes):
        options = {"labels": list(classes), "average": "macro", "zero_division": 0}
        f1, recall = (f(gold, shown, **options) for f in (sk.f1_score, sk.recall_score))
        assert found["f1_macro"].estimate == pytest.approx(f1)
        assert found["balanced_accuracy"].estimate == pytest.approx(recall)
    else:
        assert found["f1_macro"].reason == "class_without_gold"
    if found["mcc"].estimate is not None:
        value = sk.matthews_corrcoef(gold, shown)
        assert found["mcc"].estimate == pytest.approx(value, abs=1e-9)


def test_fever_collapse_flatters():
    """The 3 x 3 counts of the public FEVER fixture: 0.5209 becomes 0.6731."""
    counts = [(S, S, 2342), (S, NEI, 647), (S, N, 344), (N, N, 1719), (N, S, 833)]
    counts += [(N, NEI, 781), (NEI, NEI, 1147), (NEI, S, 1445), (NEI, N, 741)]
    gold = [g for g, _, n in counts for _ in range(n)]
    predicted = [p for _, p, n in counts for _ in range(n)]
    three = score_predictions(gold, predicted, nei="three_class", n_boot=50)
    assert three["accuracy"].estimate == pytest.approx(0.5208520852085209)
    two = score_predictions(gold, predicted, nei="negative", n_boot=50)
    assert two["accuracy"].estimate == pytest.approx(0.6731, abs=5e-5)
    assert score_predictions(gold, predicted, n_boot=50).excluded == {
        "gold_insufficient": 3333,
        "gold_conflicting": 0,
        "dropped_predictions": 0,
    }


def test_prevalence_makes_a_constant_answer_look_good():
    """Eight of ten SUPPORTED: the constant answer beats the documented system."""
    gold = [S] * 8 + [N] * 2
    found = score_predictions(gold, [S] * 6 + [N] * 4)
    majority = found.baselines["majority"]
    assert majority["f1_binary"].estimate == pytest.approx(0.889, abs=5e-4)
    assert found["f1_binary"].estimate == pytest.approx(0.857, abs=5e-4)
    assert majority["balanced_accuracy"].estimate == 0.5
    assert majority["mcc"].reason == "no_variation"
    assert found["balanced_accuracy"].estimate == 0.875
    assert found["mcc"].estimate == pytest.approx(0.61, abs=5e-3)
    low_high = found["accuracy"].low, found["accuracy"].high
    assert low_high == pytest.approx((0.49, 0.943), abs=1e-3)


def test_groups_cover_every_row_and_name_the_missing():
    gold, predicted = [S, N, S, N], [S, N, N, None]
    found = score_predictions(gold, predicted, groups={"hops": [2, 3, 3, None]})
    hops = found.groups["hops"]
    assert {name: row["accuracy"].n for name, row in hops.items()} == {"2": 1, "3": 2, "unknown": 1}
    assert found.parity["groups"]["hops"]["unknown"]["tn"] == 1
    with pytest.raises(InputError, match="3 entries for 4 rows"):
        score_predictions(gold, predicted, groups={"hops": [2, 3, 3]})


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random(60) < 0.6, 10)
    gold = np.tile([S, N], 300)
    predicted = np.where(right, gold, np.where(gold == S, N, S))
    pages = np.repeat(np.arange(60), 10)
    alone = score_predictions(gold, predicted)["f1_macro"]
    paged = score_predictions(gold, predicted, clusters=pages)["f1_macro"]
    assert paged.estimate == alone.estimate
    assert paged.high - paged.low > 2 * (alone.high - alone.low)


def test_bootstrap_of_f1_agrees_with_resampled_rows():
    rng = np.random.default_rng(1)
    gold = rng.choice([S, N], 80)
    predicted = np.where(rng.random(80) < 0.7, gold, rng.choice([S, N, "?"], 80))
    found = score_predictions(gold, predicted, n_boot=4000)["f1_macro"]
    draws = []
    for _ in range(600):
        rows = rng.integers(0, 80, 80)
        g, p = gold[rows], predicted[rows]
        draws.append(sk.f1_score(g, p, labels=[S, N], average="macro"))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([S], [S, N], "1 gold labels and 2 predictions"),
        ([S, "yes"], [S, N], r"1 of 2 gold labels .*first: 'yes' in row 1"),
        ([S, None], [S, N], "1 of 2 gold labels are missing"),
        (pd.Series([S], [1]), pd.Series([S], [2]), "different indices"),
    ],
)
def test_bad_input_is_named(gold, predicted, message):
    with pytest.raises(InputError, match=message):
        score_predictions(gold, predicted)
    with pytest.raises(InputError, match="unknown off_label policy 'ignore'"):
        score_predictions([S], [S], off_label="ignore")
    with pytest.raises(InputError, match="mapped to 'TRUE'"):
        score_predictions([S], [S], labels={"yes": "TRUE"})


def test_no_rows_give_reasons_not_zeros():
    found = score_predictions([], [])
    assert all(m.estimate is None and m.reason for m in found.measures.values())
    assert found.numbers()["accuracy"]["value"] is None


def test_prevalence_curve_meets_the_sample():
    found = at_prevalence(0.75, 0.5, [0.5, 0.0])
    assert found["precision"][0] == pytest.approx(0.6)
    assert found["accuracy"][0] == pytest.approx(0.625)
    assert np.isnan(at_prevalence(0.0, 1.0, 0.0)["precision"])


# AUROC.


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_equals_scikit_learn_with_ties(rows):
    positive, scores = zip(*rows, strict=True)
    found = auroc(positive, scores)
    if len(set(positive)) < 2:
        assert found.reason == "class_without_gold"
    else:
        assert found.estimate == pytest.approx(sk.roc_auc_score(positive, scores))
        assert found.low is None or 0 < found.low < found.estimate < found.high < 1


def test_repeating_every_unit_does_not_narrow_the_clustered_interval():
    rng = np.random.default_rng(1)
    positive = np.arange(60) < 30
    scores = rng.normal(size=60) + positive
    alone = auroc(positive, scores)
    twice = auroc(np.tile(positive, 2), np.tile(scores, 2), clusters=np.tile(np.arange(60), 2))
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
    naive = auroc(np.tile(positive, 2), np.tile(scores, 2))
    assert naive.high - naive.low < 0.75 * (alone.high - alone.low)


def test_variance_is_that_of_delong():
    rng = np.random.default_rng(2)
    x, y = rng.normal(1, 1, 25), rng.normal(0, 1, 40)
    wins = (x[:, None] > y).astype(float)
    area, variance = wins.mean(), wins.mean(1).var(ddof=1) / 25 + wins.mean(0).var(ddof=1) / 40
    half = 1.959964 * np.sqrt(variance) / (area * (1 - area))
    expected = 1 / (1 + np.exp(-np.log(area / (1 - area)) - np.array([-half, half])))
    found = auroc(np.arange(65) < 25, [*x, *y])
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-6)


@pytest.mark.parametrize("n", [3, 7, 16, 31])
def test_a_variance_that_cancels_is_none_and_never_negative(n):
    """A unit of each class with one score in every cluster: always one half."""
    scores = np.repeat(np.arange(n) * 0.1, 2)
    found = auroc([True, False] * n, scores, clusters=np.repeat(np.arange(n), 2))
    assert found.estimate == pytest.approx(0.5)
    assert found.low is None or found.low <= 0.5 <= found.high


def test_difference_of_two_auroc_has_the_variance_of_delong():
    """DeLong's covariance, written with numpy from the placements, and Student's interval around it."""
    rng = np.random.default_rng(3)
    truth = rng.random(60) < 0.4
    one, other = rng.normal(size=60) + truth, rng.normal(size=60) + 0.4 * truth
    found = auroc_difference(truth, one, other)
    x, y = (np.stack([one, other])[:, side] for side in (truth, ~truth))
    wins = (x[:, :, None] > y[:, None, :]) + 0.5 * (x[:, :, None] == y[:, None, :])
    covariance = np.cov(wins.mean(2)) / truth.sum() + np.cov(wins.mean(1)) / (~truth).sum()
    half = stats.t.ppf(0.975, 59) * np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert found.estimate == pytest.approx(wins.mean((1, 2)) @ [1, -1])
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half))


def test_difference_of_auroc_knows_its_edges():
    truth, scores = [True, False] * 6, np.arange(12.0)
    same = auroc_difference(truth, scores, 2 * scores)
    assert (same.estimate, same.low, same.high, same.reason) == (0, 0, 0, "no_variation")
    few = auroc_difference(truth, scores, -scores, clusters=[0, 0, 1, 1] * 3)
    assert few.low is None and few.reason == "fewer_than_six_clusters"
    perfect = auroc([True, True, False, False], [3, 4, 1, 2])
    assert (perfect.estimate, perfect.low, perfect.reason) == (1.0, None, "no_variation")
    with pytest.raises(InputError, match="1 scores are not finite"):
        auroc([True, False], [0.1, np.nan])
    assert auroc_difference([True] * 4, scores[:4], scores[:4]).reason == "class_without_gold"
    pairs = np.repeat(np.arange(6), 2)
    forth, back = (auroc_difference(truth, sign * scores, -sign * scores, clusters=pairs) for sign in (1, -1))
    assert (forth.estimate, forth.high) == pytest.approx((-back.estimate, -back.low))
