"""FEVER: the public scorers' numbers, their defects and the remedies."""

import copy
import json
import lzma

import pytest
from fever_records import NEI, answer, gold, values

from casebook.errors import InputError
from casebook.factcheck.evidence_scores import OfficialScorerFails
from casebook.factcheck.fever import (
    evaluate_library_fever,
    official_fever_score,
    score_fever,
)

PUBLISHED = {  # order of the public scorer: score, accuracy, precision, recall, F1
    9999: (
        *(0.32573257325732574, 0.5208520852085209, 0.1043804380438068),
        *(0.44224422442244227, 0.1688970477815144),
    ),
    100: (0.26, 0.48, 0.09189189189189195, 0.3783783783783784, 0.14787200994097552),
}


@pytest.fixture(scope="module")
def fixture(mirror):
    def read(name):
        with lzma.open(
            mirror / "fever_scorer" / name, "rt", encoding="utf-8"
        ) as stream:
            return [json.loads(line) for line in stream]

    return read("actual.jsonl.xz"), read("predictions.jsonl.xz")


@pytest.mark.data
@pytest.mark.parametrize("n", PUBLISHED)
def test_the_ten_numbers_of_the_fever_fixture(fixture, n):
    actual, predictions = (records[:n] for records in fixture)
    found = official_fever_score(actual, predictions)
    assert list(found.values()) == pytest.approx(PUBLISHED[n], abs=1e-12)


@pytest.mark.data
def test_the_fixture_corrected_and_unchanged(fixture):
    """Its gold file has one id for all, which the public scorer never notices."""
    actual, predictions = (records[:300] for records in fixture)
    before = copy.deepcopy((actual, predictions))
    with pytest.raises(InputError, match="gold: 1 ids stand more than once"):
        score_fever(actual, predictions)
    found = score_fever(actual, predictions, join="position", n_boot=100)
    official = official_fever_score(actual, predictions)
    assert values(found)[:2] == pytest.approx(list(official.values())[:2])
    for interval in found.measures.values():
        assert interval.low < interval.estimate < interval.high
    assert (actual, predictions) == before


@pytest.mark.data
def test_case_nothing_right(cases):
    case = cases["nothing right"]
    records = [gold(case["gold"])], [answer(*case["pred"])]
    with pytest.raises(OfficialScorerFails, match="divides by zero when no evidence"):
        official_fever_score(*records)
    assert values(score_fever(*records)) == case["sane"]


@pytest.mark.data
def test_case_padding_with_duplicates(cases):
    case = cases["padding with duplicates of right sentences"]
    record = [gold([("p", 1), ("p", 2)])]
    padded = [answer(*case["pred"])]
    wrong = [answer(*case["pred"][:2], ("x", 1), ("x", 2), ("x", 3))]
    assert values(official_fever_score(record, padded)) == case["fever_scorer"]
    honest = case["vs 3 wrong sentences instead"]
    assert values(official_fever_score(record, wrong)) == pytest.approx(
        honest, abs=5e-5
    )
    assert score_fever(record, padded).account["repeated_evidence"] == 3


@pytest.mark.parametrize("score", [official_fever_score, score_fever])
def test_duplicates_lift_precision_in_the_public_score_only(score):
    """One right sentence given four times, one wrong: 0.8 or 0.5."""
    padded = answer(*[("p", 1)] * 4, ("x", 1))
    found = score([gold([("p", 1)])], [padded])
    expected = 0.8 if score is official_fever_score else 0.5
    assert values(found)[2] == pytest.approx(expected)


@pytest.mark.data
def test_case_empty_evidence_scores_precision_1(cases):
    records = (
        [gold([("p", 1)]), gold([("p", 2)], name=2)],
        [answer(("p", 1)), answer(name=2)],
    )
    expected = cases["2 claims, 2nd predicts no evidence"]["fever_scorer"]
    assert values(official_fever_score(*records)) == pytest.approx(expected, abs=5e-5)
    found = score_fever(*records)
    assert found.account["without_predicted_evidence"] == 1
    assert found.measures["evidence_precision"].n == 1


def test_case_other_order_is_scored_by_position_or_by_id():
    records = [gold([("p", 1)]), gold([("q", 1)], label="REFUTES", name=2)]
    answers = [answer(("q", 1), label="REFUTES", name=2), answer(("p", 1))]
    with pytest.raises(OfficialScorerFails):
        official_fever_score(records, answers)
    assert values(score_fever(records, answers)) == [1, 1, 1, 1, 1]


@pytest.mark.data
def test_cases_of_the_evaluate_library(cases):
    nei = cases["correct NEI claim, no gold evidence"]
    records = [gold(label=NEI)], [answer(label=NEI)]
    found = evaluate_library_fever(*records)
    assert {k: found[k] for k in nei["hf_evaluate_fever"]} == nei["hf_evaluate_fever"]
    assert values(score_fever(*records))[:2] == [nei["fever_scorer_strict"], 1]
    either = cases["one of two alternative gold sets fully found"]
    records = [gold([("p", 1)], [("q", 1)])], [answer(("p", 1))]
    expected = either["hf_evaluate_fever"]["evidence_recall"]
    assert evaluate_library_fever(*records)["evidence_recall"] == expected
    recall = either["fever_scorer_recall"]
    assert official_fever_score(*records)["evidence_recall"] == recall
    assert values(score_fever(*records))[3] == recall
    many = [answer(*[("x", n) for n in range(98)], ("p", 1), ("p", 2))]
    records = [gold([("p", 1), ("p", 2)])], many
    assert evaluate_library_fever(*records)["fever_score"] == 1.0
    assert values(score_fever(*records))[0] == 0.0


def test_missing_predictions_are_wrong_and_counted():
    found = score_fever([gold([("p", 1)]), gold(label=NEI, name=2)], [answer(("p", 1))])
    assert values(found)[:2] == [0.5, 0.5]
    assert (found.account["missing"], found.measures["evidence_recall"].n) == (1, 1)


def test_bad_joins_are_named():
    with pytest.raises(InputError, match="predictions: record 1 has no 'id'"):
        score_fever([gold(label=NEI)], [{"predicted_label": NEI}])
    with pytest.raises(InputError, match="unknown join 'order'"):
        score_fever([gold(label=NEI)], [answer()], join="order")
    with pytest.raises(OfficialScorerFails, match="aligns by position"):
        official_fever_score([gold(label=NEI)], [])
    with pytest.raises(InputError, match="has no 'label'"):
        score_fever([{"id": 1, "evidence": []}], [answer()])
