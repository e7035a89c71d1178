"""Rerankers against definitions, bare models and what they were asked."""

import numpy as np
import pytest
from tiny_models import logits_of

from casebook.models.cache import TokenVectors
from casebook.models.rerankers import CrossEncoderReranker, MaxSimReranker, token_frequencies

WORDS = ["a", "b", "c", "d", "e"]
VECTORS = np.random.default_rng(0).normal(size=(5, 4))
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
PASSAGES = ["a b", "c", "d e a", "", "b"]
OWNER = [0, 0, 1, 2, 2]
FREQUENCIES = np.array([2, 2, 1, 1, 1])


class Letters:
    """Encoder whose tokens are letters with fixed vectors."""

    vocabulary_size = 5

    def token_ids(self, texts):
        split = [[WORDS.index(w) for w in t.split() if w in WORDS] for t in texts]
        return [np.array(ids, dtype=int) for ids in split]

    def token_vectors(self, texts, role="document"):
        ids = self.token_ids(texts)
        flat = np.concatenate([*ids, np.array([], dtype=int)])
        lengths = np.array([len(i) for i in ids], dtype=np.int64)
        return TokenVectors(VECTORS[flat].astype(np.float32), flat, lengths)


def by_hand(query, passages, weights):
    ids = [WORDS.index(word) for word in query.split()]
    weight = np.array([weights[i] for i in ids])

    def score(text):
        tokens = [WORDS.index(word) for word in text.split()]
        best = [max(VECTORS[i] @ VECTORS[t] for t in tokens) for i in ids]
        return weight @ best / weight.sum()

    single = [score(text) for text in passages if text]
    return 0.5 * max(single) + 0.5 * score(" ".join(passages))


def test_scores_equal_the_definition():
    reranker = MaxSimReranker(Letters(), PASSAGES, OWNER, FREQUENCIES)
    queries = ["a c", "e", "b b d"]
    candidates = np.array([[2, 0, 1], [1, -1, -1], [0, 1, 2]])
    scores, passages = reranker.scores(queries, candidates)
    assert token_frequencies(Letters(), PASSAGES).tolist() == FREQUENCIES.tolist()
    weights = np.log1p((5 - FREQUENCIES + 0.5) / (FREQUENCIES + 0.5))
    documents = [["a b", "c"], ["d e a"], ["", "b"]]
    for (row, column), document in np.ndenumerate(candidates):
        if document < 0:
            assert (scores[row, column], passages[row, column]) == (-np.inf, -1)
            continue
        expected = by_hand(queries[row], documents[document], weights)
        assert scores[row, column] == pytest.approx(expected, abs=1e-5)
        assert OWNER[passages[row, column]] == document
    assert passages[0, 0] == 4
    few = MaxSimReranker(Letters(), ["", "a"], [0, 1], np.array([1, 0, 0, 0, 0]))
    scores, passages = few.scores(["a", "?"], [[0, 1], [1, -1]])
    assert (scores.tolist(), passages.tolist()) == ([[0, 1], [0, -np.inf]], [[0, 1], [1, -1]])


def test_of_a_long_query_the_rarest_tokens_are_read():
    """Letters c, d and e stand in one passage each, a and b in two; of equals the first stay."""
    limited, all_tokens = (
        MaxSimReranker(Letters(), PASSAGES, OWNER, FREQUENCIES, most) for most in (3, None)
    )
    queries = ["a b d a e c", "b a c a", "a b", "?"]
    read = ["d e c", "b a c", "a b", "?"]
    candidates = np.array([[2, 0, 1]] * 4)
    scores, passages = limited.scores(queries, candidates)
    expected, places = all_tokens.scores(read, candidates)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(passages, places)
    assert (scores[:2] != all_tokens.scores(queries, candidates)[0][:2]).any()


def test_cross_encoder_scores_pairs_like_the_bare_model(tmp_path, make_classifier):
    folder = make_classifier(tmp_path / "one", 1)
    texts = ["you may cancel", "the court", "refund the contract"]
    reranker = CrossEncoderReranker(folder, texts)
    found = reranker.scores(["can you sue", "refund"], [[2, 0], [1, -1]])
    asked = [("can you sue", texts[2]), ("can you sue", texts[0]), ("refund", texts[1])]
    expected = [*logits_of(folder, asked)[:, 0], -np.inf]
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-5)
    assert len(np.unique(found)) == 4
    assert reranker.scores([], np.zeros((0, 3), int)).shape == (0, 3)
