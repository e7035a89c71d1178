import numpy as np
import pytest

from casebook.errors import InputError
from casebook.models.cross_encoder import CrossEncoderReranker
from casebook.models.load import load_encoder
from casebook.models.rerankers import MaxSimReranker
from casebook.models.tokens import TokenVectors

WORDS = ["a", "b", "c", "d", "e"]
VECTORS = np.random.default_rng(0).normal(size=(5, 4))
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
PASSAGES = ["a b", "c", "d e a", "", "b"]
OWNER = [0, 0, 1, 2, 2]


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


def by_hand(query, passages, weights, whole):
    ids = [WORDS.index(word) for word in query.split()]
    weight = np.array([weights[i] for i in ids])

    def score(text):
        tokens = [WORDS.index(word) for word in text.split()]
        best = [max(VECTORS[i] @ VECTORS[t] for t in tokens) for i in ids]
        return weight @ best / weight.sum()

    single = [score(text) for text in passages if text]
    return (1 - whole) * max(single) + whole * score(" ".join(passages))


@pytest.mark.parametrize("whole", [0, 0.5, 1])
@pytest.mark.parametrize("weighting", ["idf", "mean"])
def test_scores_equal_the_definition(weighting, whole):
    reranker = MaxSimReranker(Letters(), PASSAGES, OWNER, weighting, whole)
    queries = ["a c", "e", "b b d"]
    candidates = np.array([[2, 0, 1], [1, -1, -1], [0, 1, 2]])
    scores, passages = reranker.scores(queries, candidates)
    frequencies = np.array([2, 2, 1, 1, 1])
    weights = np.log1p((5 - frequencies + 0.5) / (frequencies + 0.5))
    weights = np.ones(5) if weighting == "mean" else weights
    documents = [["a b", "c"], ["d e a"], ["", "b"]]
    for (row, column), document in np.ndenumerate(candidates):
        if document < 0:
            assert (scores[row, column], passages[row, column]) == (-np.inf, -1)
            continue
        expected = by_hand(queries[row], documents[document], weights, whole)
        assert scores[row, column] == pytest.approx(expected, abs=1e-5)
        assert OWNER[passages[row, column]] == document
    assert passages[0, 0] == 4


def test_texts_without_tokens_score_zero():
    reranker = MaxSimReranker(Letters(), ["", "a"])
    scores, passages = reranker.scores(["a", "?"], [[0, 1], [1, 0]])
    assert scores.tolist() == [[0, 1], [0, 0]]
    assert passages.tolist() == [[0, 1], [1, 0]]


def test_no_candidate_gives_no_score():
    scores, passages = MaxSimReranker(Letters(), PASSAGES).scores(["a"], [[-1]])
    assert (scores.tolist(), passages.tolist()) == ([[-np.inf]], [[-1]])


def test_large_collections_load_only_what_is_asked_for(monkeypatch):
    held = MaxSimReranker(Letters(), PASSAGES, OWNER).scores(["a c"], [[2, 0]])
    monkeypatch.setattr("casebook.models.rerankers.HELD_PASSAGES", 0)
    reranker = MaxSimReranker(Letters(), PASSAGES, OWNER)
    assert not reranker.prepare()
    loaded = reranker.scores(["a c"], [[2, 0]])
    np.testing.assert_array_equal(loaded[0], held[0])
    np.testing.assert_array_equal(loaded[1], held[1])


@pytest.mark.parametrize(
    ("settings", "message"), [({"weighting": "tf"}, "weighting 'tf'"), ({"whole": 2}, "share must be in")]
)
def test_unknown_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        MaxSimReranker(Letters(), PASSAGES, **settings)


def test_late_interaction_prefers_the_passage_that_answers(minilm):
    texts = [
        "Disputes are settled by binding arbitration.",
        "You may cancel your subscription at any time.",
        "We collect your email address.",
    ]
    scores, _ = MaxSimReranker(minilm, texts).scores(["can I end my subscription whenever I want?"], [[0, 1, 2]])
    assert scores.argmax() == 1
    assert (np.abs(scores) <= 1).all()


def test_cross_encoder_scores_pairs_like_the_bare_model(tiny_cross_encoder):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    texts = ["you may cancel", "the court", "refund the contract"]
    reranker = CrossEncoderReranker(tiny_cross_encoder, texts)
    found = reranker.scores(["can you sue", "refund"], [[2, 0], [1, -1]])
    model = AutoModelForSequenceClassification.from_pretrained(tiny_cross_encoder)
    tokenizer = AutoTokenizer.from_pretrained(tiny_cross_encoder)

    def logit(query, text):
        batch = tokenizer([query], [text], return_tensors="pt")
        with torch.inference_mode():
            return model.eval()(**batch).logits.item()

    expected = [[logit("can you sue", texts[2]), logit("can you sue", texts[0])], [logit("refund", texts[1]), -np.inf]]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert len(np.unique(found)) == 4
    assert reranker.scores([], np.zeros((0, 3), int)).shape == (0, 3)


def test_cross_encoder_with_two_outputs_is_refused(two_label_classifier):
    reranker = CrossEncoderReranker(two_label_classifier, ["you"])
    with pytest.raises(InputError, match="gives 2 scores per pair"):
        reranker.scores(["sue"], [[0]])


def test_cross_encoder_that_does_not_exist_is_one_clear_line():
    with pytest.raises(InputError, match="does not exist"):
        CrossEncoderReranker("/no/such/folder", ["a"])


def test_encoder_pair_serves_late_interaction(bert_pair):
    question, passage = bert_pair
    pair = load_encoder(f"query={question},context={passage}", cache=False)
    scores, _ = MaxSimReranker(pair, ["you may sue", "refund"]).scores(["sue"], [[0, 1]])
    assert np.isfinite(scores).all()
