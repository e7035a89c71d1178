"""Scores of labels and evidence: the public scorers' numbers, defects and remedies."""

import copy
import json
import lzma

import pytest

from casebook.errors import InputError
from casebook.factcheck.averitec import official_averitec_score, score_averitec
from casebook.factcheck.evidence_scores import OfficialScorerFails
from casebook.factcheck.fever import (
    evaluate_library_fever,
    official_fever_score,
    score_fever,
)
from casebook.factcheck.feverous import (
    official_feverous_score,
    parse_element,
    score_feverous,
    truncate,
)
from casebook.factcheck.hover import official_hover_scores, score_hover
from casebook.factcheck.scifact import official_scifact_scores, score_scifact

NEI = "NOT ENOUGH INFO"
PUBLISHED = {  # order of the public scorer: score, accuracy, precision, recall, F1
    9999: (
        *(0.32573257325732574, 0.5208520852085209, 0.1043804380438068),
        *(0.44224422442244227, 0.1688970477815144),
    ),
    100: (0.26, 0.48, 0.09189189189189195, 0.3783783783783784, 0.14787200994097552),
}


def gold(*sets, label="SUPPORTS", name=1):
    groups = [[[0, 0, page, line] for page, line in group] for group in sets]
    return {"id": name, "label": label, "evidence": groups}


def answer(*items, label="SUPPORTS", name=1):
    return {
        "id": name,
        "predicted_label": label,
        "predicted_evidence": [list(item) for item in items],
    }


def values(scores):
    measures = getattr(scores, "measures", scores)
    return [getattr(value, "estimate", value) for value in measures.values()]


@pytest.fixture(scope="module")
def fixture(mirror):
    def read(name):
        with lzma.open(
            mirror / "fever_scorer" / name, "rt", encoding="utf-8"
        ) as stream:
            return [json.loads(line) for line in stream]

    return read("actual.jsonl.xz"), read("predictions.jsonl.xz")


@pytest.fixture(scope="module")
def cases(mirror):
    path = mirror / "fever_scorer" / "scorer_cases.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    return {case["name"]: case for case in content["cases"]} | {"all": content}


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
    sets = [f"{page}_sentence_{line}" for page, line in case["gold"]]
    listed = [f"{page}_sentence_{line}" for page, line in case["pred"]]
    ours = [{"id": 1, "label": "SUPPORTS", "evidence": [{"content": sets}]}]
    theirs = [{"id": 1, "predicted_label": "SUPPORTS", "predicted_evidence": listed}]
    with pytest.raises(OfficialScorerFails, match="FEVEROUS scorer divides by zero"):
        official_feverous_score(ours, theirs)
    assert values(score_feverous(ours, theirs)) == case["sane"]


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


def test_case_feverous_is_shortened_in_place_by_the_public_scorer():
    names = [f"Page_sentence_{n}" for n in range(8)]
    record = [{"id": 1, "label": NEI, "evidence": [{"content": names}]}]
    answers = [{"id": 1, "predicted_label": NEI, "predicted_evidence": names}]
    before = copy.deepcopy(answers)
    assert official_feverous_score(record, answers)["feverous_score"] == 0
    assert official_feverous_score(record, answers, 8)["feverous_score"] == 1
    assert answers == before
    cut = [answers[0] | {"predicted_evidence": names[:5]}]  # what k=5 leaves there
    assert official_feverous_score(record, cut, 8)["feverous_score"] == 0


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


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Town_sentence_0", ("Town", "sentence", "0")),
        ("Town_cell_0_1_2", ("Town", "cell", "0_1_2")),
        ("Town_header_cell_0_0_1", ("Town", "header_cell", "0_0_1")),
        ("Town_table_caption_3", ("Town", "table_caption", "3")),
        ("A (b)_item_0_4", ("A (b)", "item", "0_4")),
        (["Town", "sentence", 1], ("Town", "sentence", "1")),
    ],
)
def test_elements_of_feverous(name, parts):
    assert parse_element(name) == parts


def test_unknown_elements_are_named():
    for name in ("Town", "Town_title", ["a", "b"]):
        with pytest.raises(InputError, match="is not"):
            parse_element(name)


def test_five_sentences_and_25_cells_count():
    cells = [("P", "cell", str(n)) for n in range(30)]
    sentences = [("P", "sentence", str(n)) for n in range(9)]
    kept = truncate([*cells, *sentences])
    assert kept == cells[:25] + sentences[:5]
    assert truncate(cells, max_cells=None) == cells


def scifact_pair():
    """Claims of our own with the counts of the public evaluator's small fixture."""
    s, c = "SUPPORT", "CONTRADICT"
    gold = [
        {"a": [(s, [2, 5]), (s, [7])]},
        {"b": [(s, [4])]},
        {},
        {"d": [(c, [1, 9]), (c, [10])]},
        {"e": [(c, [4])]},
        {"f": [(s, [1]), (s, [2])]},
        {"g": [(s, [1])]},
        {"h": [(c, [4])]},
    ]
    answers = [
        {},
        {"b": (c, [4])},
        {"z": (c, [8])},
        {"d": (c, [1, 9, 10])},
        {"e": (c, [7])},
        {"f": (s, [2])},
        {},
        {"y": (c, [6, 7])},
    ]
    as_gold = [
        {
            "id": i,
            "evidence": {
                doc: [{"label": name, "sentences": list(n)} for name, n in found]
                for doc, found in docs.items()
            },
        }
        for i, docs in enumerate(gold)
    ]
    as_answers = [
        {
            "id": i,
            "evidence": {
                doc: {"label": name, "sentences": list(n)}
                for doc, (name, n) in docs.items()
            },
        }
        for i, docs in enumerate(answers)
    ]
    return as_gold, as_answers


@pytest.mark.data
def test_scifact_scores_of_the_public_fixture(cases):
    expected = cases["all"]["scifact_official_small_fixture"]
    found = official_scifact_scores(*scifact_pair())
    names = ("abstract_label_only", "abstract_rationalized", "sentence_selection")
    for name in (*names, "sentence_label"):
        assert found[f"{name}_f1"] == pytest.approx(expected[f"{name}_f1"])
    assert found["abstract_label_only_recall"] == pytest.approx(0.428571, abs=1e-6)
    assert found["sentence_selection_precision"] == pytest.approx(5 / 9)


def test_scifact_corrected_equals_the_public_scores_without_defects():
    records, answers = scifact_pair()
    before = copy.deepcopy((records, answers))
    found = score_scifact(records, answers[::-1], n_boot=200)
    official = official_scifact_scores(records, answers)
    for name, value in official.items():
        assert found.measures[name].estimate == pytest.approx(value)
    assert (records, answers) == before
    with pytest.raises(OfficialScorerFails, match="order of the gold claims"):
        official_scifact_scores(records, answers[::-1])


def rationales(*sets, label="SUPPORT"):
    found = [{"label": label, "sentences": list(members)} for members in sets]
    return [{"id": 1, "evidence": {"d": found}}]


def predicted(*sentences, label="SUPPORT"):
    return [{"id": 1, "evidence": {"d": {"label": label, "sentences": [*sentences]}}}]


@pytest.mark.data
def test_scifact_duplicates_and_overlaps(cases):
    case = cases["SciFact duplicate sentence ids [1,2,2], gold [1,2]"]
    records = rationales([1, 2]), predicted(1, 2, 2)
    public = official_scifact_scores(*records)["sentence_selection_f1"]
    assert public == pytest.approx(case["scifact_sentence_selection_f1"])
    found = score_scifact(*records)
    assert found.measures["sentence_selection_f1"].estimate == case["sane"]
    assert found.account["repeated_sentences"] == 1
    overlap = rationales([1, 2], [2, 3]), predicted(1, 2)
    with pytest.raises(OfficialScorerFails, match="stands in two rationales"):
        official_scifact_scores(*overlap)
    found = score_scifact(*overlap)
    assert found.measures["sentence_selection_recall"].estimate == pytest.approx(2 / 3)


def test_scifact_conflicts_and_unknown_labels():
    both = rationales([1])
    both[0]["evidence"]["d"].append({"label": "CONTRADICT", "sentences": [4]})
    with pytest.raises(OfficialScorerFails, match="conflicting labels of d"):
        official_scifact_scores(both, predicted(1))
    found = score_scifact(both, predicted(1))
    assert found.measures["abstract_label_only_f1"].estimate == 1.0
    with pytest.raises(InputError, match="label 'MAYBE'"):
        score_scifact(rationales([1]), predicted(1, label="MAYBE"))


@pytest.mark.data
def test_averitec_cases(cases):
    case = cases["AVeriTeC evidence right, label wrong"]
    gold_claims = [{"label": "Refuted", "evidence": ["Who paid? The insurer."]}]
    wrong = [{"label": "Supported", "evidence": ["Who paid? The insurer."]}]
    found = official_averitec_score(gold_claims, wrong)
    assert found["averitec_score"] == case["averitec_score"]
    assert found["veracity_by_type"] == case["averitec 'Veracity scores' by claim type"]
    corrected = score_averitec(gold_claims, wrong, groups=["numeric"]).measures
    assert corrected["averitec_score@numeric"].estimate == 0.0
    case = cases["AVeriTeC 1 prediction vs 5 references"]
    right = [wrong[0] | {"label": "Refuted"}]
    found = official_averitec_score(gold_claims * 5, right)
    assert found["averitec_score"] == case["averitec_score"]
    with pytest.raises(InputError, match="5 gold claims and 1 predictions"):
        score_averitec(gold_claims * 5, right)
    padded = score_averitec(gold_claims * 5, [*right, *[None] * 4])
    assert padded.measures["averitec_score"].estimate == pytest.approx(0.2)


def test_hover_facts():
    facts = [["A", 0], ["B", 2]]
    records = [
        {"uid": name, "label": "SUPPORTED", "supporting_facts": facts} for name in "xyz"
    ]
    listed = {"x": [["B", 2], ["A", 0]], "y": [["A", 0], ["C", 1], ["B", 1]]}
    official = official_hover_scores(records, listed)
    assert official["total"] == 2
    assert official["exact"] == 50
    assert official["f1"] == pytest.approx(100 * (1 + 0.4) / 2)
    answers = [
        {"uid": name, "predicted_label": "SUPPORTED", "predicted_facts": found}
        for name, found in listed.items()
    ]
    found = score_hover(records, answers)
    assert found.account["missing"] == 1
    assert values(found) == pytest.approx([2 / 3, 1 / 3, 1.4 / 3, 1 / 3, 1.8 / 3])


def test_bad_joins_are_named():
    with pytest.raises(InputError, match="predictions: record 1 has no 'id'"):
        score_fever([gold(label=NEI)], [{"predicted_label": NEI}])
    with pytest.raises(InputError, match="unknown join 'order'"):
        score_fever([gold(label=NEI)], [answer()], join="order")
    with pytest.raises(OfficialScorerFails, match="aligns by position"):
        official_fever_score([gold(label=NEI)], [])
    with pytest.raises(InputError, match="has no 'label'"):
        score_fever([{"id": 1, "evidence": []}], [answer()])
