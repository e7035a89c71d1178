"""Planted truth: what is planted can be recovered, and shuffling destroys it."""

import numpy as np
import pytest

from casebook.datasets import load
from casebook.datasets.planted import WEIGHTS, documents_in_chunks, plant, plant_truth
from casebook.errors import InputError


def ndcg(dataset, scores, k=10):
    """Mean nDCG@k with linear gain, written here to depend on nothing tested."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    values = []
    for row, judged in enumerate(dataset.qrels.values()):
        order = np.argsort(-scores[row], kind="stable")[:k]
        gains = [judged.get(doc, 0) for doc in dataset.documents["doc_id"].iloc[order]]
        ideal = sorted(judged.values(), reverse=True)[:k]
        values.append(gains @ discount[: len(gains)] / (ideal @ discount[: len(ideal)]))
    return np.mean(values)


@pytest.fixture(scope="module")
def planted():
    return plant(500, 40, seed=3)


def facts_in_text(dataset):
    """Count shared sentences of queries and documents, seen from the text alone."""
    documents = [set(text.split(". ")) for text in dataset.documents["text"]]
    queries = [set(text.rstrip(".").split(". ")) for text in dataset.queries["text"]]
    return np.array([[len(q & d) for d in documents] for q in queries])


def test_truth_is_recovered_and_shuffling_destroys_it(planted):
    dataset, truth = planted
    scores = np.array([truth.scores(row) for row in range(40)])
    assert ndcg(dataset, scores) == pytest.approx(1)
    shuffled = np.random.default_rng(0).permutation(scores.T).T
    assert ndcg(dataset, shuffled) < 0.1


def test_text_holds_the_facts(planted):
    dataset, truth = planted
    matches = (truth.queries[:, None, :4] == truth.documents[None, :, :4]).sum(axis=2)
    np.testing.assert_array_equal(facts_in_text(dataset), matches)


def test_weights_can_be_read_off_the_scores(planted):
    _, truth = planted
    matches = truth.documents == truth.queries[0]
    weights = np.linalg.lstsq(matches.astype(float), truth.scores(0))[0]
    expected = np.array(list(WEIGHTS.values())) / sum(WEIGHTS.values())
    np.testing.assert_allclose(weights, expected, atol=1e-12)


def test_noise_decides_nothing(planted):
    dataset, truth = planted
    changed = truth.documents.copy()
    changed[:, 4:] = changed[::-1, 4:]
    other = type(truth)(truth.weights, truth.values, changed, truth.queries)
    np.testing.assert_array_equal(other.scores(5), truth.scores(5))
    assert not dataset.queries["text"].str.contains("clerk|heard|filed").any()


def test_every_query_has_a_best_document_and_few_others(planted):
    dataset, _ = planted
    assert all(max(judged.values()) == 3 for judged in dataset.qrels.values())
    assert {g for judged in dataset.qrels.values() for g in judged.values()} == {1, 2, 3}
    assert np.mean([len(judged) for judged in dataset.qrels.values()]) < 40


def test_same_seed_same_bytes_and_streams_are_apart():
    first, truth = plant(300, 20, seed=1)
    again, _ = plant(300, 20, seed=1)
    assert first.fingerprint == again.fingerprint
    assert plant(300, 20, seed=2)[0].fingerprint != first.fingerprint
    more = plant_truth(300, 50, seed=1)
    np.testing.assert_array_equal(more.documents, truth.documents)


def test_chunks_are_the_documents(planted):
    dataset, truth = planted
    chunks = list(documents_in_chunks(truth, rows=64))
    assert [len(chunk) for chunk in chunks] == [64] * 7 + [52]
    texts = [text for chunk in chunks for text in chunk["text"]]
    assert texts == dataset.documents["text"].tolist()


def test_other_weights_move_relevance():
    truth = plant_truth(200, 5, seed=0, weights={"clerk": 1})
    codes = list(WEIGHTS).index("clerk")
    same = truth.documents[:, codes] == truth.queries[0, codes]
    np.testing.assert_array_equal(truth.scores(0), same.astype(float))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((0, 1), "sizes must be at least 1"),
        ((1, 0), "sizes must be at least 1"),
        ((1, 1, -1), "seed at least 0"),
        ((1, 1, 0, {"colour": 1}), "unknown fact type 'colour'"),
        ((1, 1, 0, {"clerk": -1}), "must not be negative"),
        ((1, 1, 0, {"clerk": 0}), "nor all 0"),
    ],
)
def test_bad_parameters_are_refused(arguments, problem):
    with pytest.raises(InputError, match=problem):
        plant(*arguments)


def test_registry_gives_the_small_default():
    dataset = load("planted")
    assert dataset.fingerprint == plant()[0].fingerprint
    assert dataset.card.licence.spdx == "MIT"
