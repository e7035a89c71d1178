import dataclasses
import json

import pytest

from casebook.errors import InputError
from casebook.measures.ranking import tie_bounds
from casebook.shift.embedded import embed
from casebook.shift.keyword import KeywordEncoder, aggregate, first_delta, train_amplitude

KEYS = ("Baseline", "First", "FirstPlusDelta", "DeltaFirstVsBaseline")
KEYS += ("DeltaFirstPlusDeltaVsBaseline",)


def stored(folder, pattern):
    paths = sorted((folder / "history").glob(pattern))
    return [json.loads(path.read_text("utf-8-sig"))["Metrics"] for path in paths]


@pytest.mark.data
def test_comparison_equals_the_stored_ones_to_the_digit(reference, samples):
    found = first_delta(samples)
    comparisons = stored(reference, "runs/*/metrics-comparison.json")
    assert len(comparisons) == 2
    assert all(found == comparison for comparison in comparisons)


@pytest.mark.data
def test_the_documented_gain_is_one_tie(samples):
    """The one misranked query has two first documents; file order decides."""
    data = embed(samples, KeywordEncoder())
    bounds = tie_bounds(samples.qrels, data.run(data.queries), ["original:map@1"])
    assert bounds.low.mean() == pytest.approx(0.9)
    assert bounds.high.mean() == 1.0
    assert bounds.tie_mass.sum() == 1


@pytest.mark.data
def test_aggregates_equal_the_stored_ones_to_the_digit(reference, samples):
    row = first_delta(samples)
    aggregates = stored(reference, "aggregates/*/metrics-aggregate.json")
    assert [aggregate([row]), aggregate([row, row])] == aggregates


@pytest.mark.data
def test_three_query_predecessor_is_perfect_throughout(reference, samples):
    text = (reference / "history" / "queries-3.c2cdec4.json").read_text("utf-8-sig")
    chosen = {row["id"] for row in json.loads(text)}
    queries = samples.queries[samples.queries["query_id"].isin(chosen)]
    qrels = {query: samples.qrels[query] for query in chosen}
    part = dataclasses.replace(samples, queries=queries, qrels=qrels)
    names = ("Baseline", "First", "FirstPlusDelta")
    rows = [[row[name] for name in names] for row in first_delta(part)]
    assert rows == [[1.0, 1.0, 1.0]] * 2  # one per measure


@pytest.mark.data
def test_trainer_on_the_stored_aggregate(reference, expected):
    (averages, _) = stored(reference, "aggregates/*/metrics-aggregate.json")
    case = expected["first_delta_trainer_from_committed_aggregate"]
    found = train_amplitude(averages)
    assert found.ImprovementFirst == pytest.approx(case["ImprovementFirst"])
    assert found.DeltaImprovement == case["DeltaImprovement"]
    assert found.magnitude == pytest.approx(case["magnitude_dims_5_6"])


def comparison(first, second):
    return [
        {"Metric": name, **dict(zip(KEYS, values, strict=True))}
        for name, values in (("map@1", first), ("ndcg@3", second))
    ]


def test_documented_aggregator_case():
    one = comparison((1, 1, 0.8, 0, -0.2), (0.9, 1, 0.95, 0.1, 0.05))
    two = comparison((1, 0.9, 1, -0.1, 0), (0.8, 0.8, 0.8, 0, 0))
    rows = [list(row.values())[1:] for row in aggregate([one, two])]
    assert rows[0] == pytest.approx([1.0, 0.95, 0.9, -0.05, -0.1])
    assert rows[1] == pytest.approx([0.85, 0.9, 0.875, 0.05, 0.025])


def test_amplitude_is_halved_where_the_second_shift_harms():
    worse = aggregate([comparison((1, 1, 1, 0.2, -0.2), (1, 1, 1, 0.2, -0.2))])
    assert train_amplitude(worse).magnitude == pytest.approx(0.5 * 1.5 / 2)


def test_aggregating_nothing_or_different_measures_is_an_error():
    with pytest.raises(InputError, match="no comparison"):
        aggregate([])
    one = comparison((1,) * 5, (1,) * 5)
    with pytest.raises(InputError, match="same measures"):
        aggregate([one, one[:1]])
