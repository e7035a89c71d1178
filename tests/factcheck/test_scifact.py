"""SciFact: the public evaluator's numbers, its defects and their remedies."""

import copy

import pytest

from casebook.errors import InputError
from casebook.factcheck.evidence_scores import OfficialScorerFails
from casebook.factcheck.scifact import official_scifact_scores, score_scifact


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
