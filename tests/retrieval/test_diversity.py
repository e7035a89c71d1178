import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from casebook.errors import InputError
from casebook.retrieval.fuse import maximal_marginal_relevance

pools = st.tuples(st.integers(1, 3), st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape[:2], elements=st.sampled_from([-np.inf, 0.0, 0.125, 0.5, 1.0])),
        arrays(float, shape, elements=st.integers(-3, 3).map(float)),
    )
)


def cosine(a, b):
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norm) if norm else 0.0


def is_best_choice(relevance, vectors, picked, pick, lambda_):
    """Whether a pick has the largest value, and no earlier candidate ties with it."""

    def value(candidate):
        if not picked:
            return relevance[candidate]
        redundancy = max(cosine(vectors[candidate], vectors[p]) for p in picked)
        return lambda_ * relevance[candidate] - (1 - lambda_) * redundancy

    rest = [
        candidate for candidate in range(len(relevance)) if candidate not in picked and relevance[candidate] > -np.inf
    ]
    values = np.array([value(candidate) for candidate in rest])
    clear = [c for c, v in zip(rest, values, strict=True) if v > value(pick) + 1e-9]
    return not clear


@given(pools, st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(1, 9))
def test_every_pick_is_the_best_of_a_naive_loop(pool, lambda_, k):
    relevance, vectors = pool
    order, values = maximal_marginal_relevance(relevance, vectors, lambda_, k)
    assert order.shape == values.shape == (len(relevance), k)
    for row, picks in enumerate(order):
        entries = picks[picks >= 0].tolist()
        assert len(entries) == min(k, (relevance[row] > -np.inf).sum())
        assert len(set(entries)) == len(entries)
        assert (picks[len(entries) :] == -1).all()
        assert (values[row, len(entries) :] == -np.inf).all()
        for step, pick in enumerate(entries):
            assert is_best_choice(relevance[row], vectors[row], entries[:step], pick, lambda_)


@given(pools, st.integers(1, 9))
def test_lambda_one_is_the_order_of_relevance(pool, k):
    relevance, vectors = pool
    order, _ = maximal_marginal_relevance(relevance, vectors, 1.0, k)
    for row, picks in enumerate(order):
        expected = np.argsort(-relevance[row], kind="stable")
        expected = expected[relevance[row][expected] > -np.inf][:k]
        assert picks[picks >= 0].tolist() == expected.tolist()


@given(pools, st.sampled_from([0.0, 0.7]))
def test_vectors_by_candidate_id_give_the_same_picks(pool, lambda_):
    relevance, vectors = pool
    shape = relevance.shape
    candidates = np.arange(relevance.size).reshape(shape)
    flat = vectors.reshape(relevance.size, -1)
    padded = np.where(relevance > -np.inf, candidates, -1)
    np.testing.assert_array_equal(
        maximal_marginal_relevance(relevance, vectors, lambda_)[0],
        maximal_marginal_relevance(relevance, flat, lambda_, candidates=padded)[0],
    )


@pytest.mark.parametrize("lambda_", [0.0, 0.3, 0.7, 1.0])
def test_selections_of_langchain_core(lambda_):
    utils = pytest.importorskip("langchain_core.vectorstores.utils", reason="a benchmark peer, not required")
    rng = np.random.default_rng(1)
    vectors, queries = rng.normal(size=(40, 25, 16)), rng.normal(size=(40, 16))
    lengths = np.linalg.norm(vectors, axis=2) * np.linalg.norm(queries, axis=1)[:, None]
    relevance = np.matmul(vectors, queries[:, :, None])[:, :, 0] / lengths
    order, _ = maximal_marginal_relevance(relevance, vectors, lambda_, 12)
    for row in range(40):
        theirs = utils.maximal_marginal_relevance(queries[row], list(vectors[row]), lambda_mult=lambda_, k=12)
        assert order[row].tolist() == theirs


def test_values_by_hand():
    vectors = np.array([[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]])
    relevance = np.array([[1.0, 0.9, 0.5]])
    order, values = maximal_marginal_relevance(relevance, vectors, 0.5, 4)
    assert order.tolist() == [[0, 2, 1, -1]]
    np.testing.assert_allclose(values, [[0.5, 0.25, -0.05, -np.inf]])


def test_ties_go_to_the_earlier_candidate():
    vectors = np.ones((1, 3, 2))
    order, _ = maximal_marginal_relevance(np.full((1, 3), 0.4), vectors, 0.7, 3)
    assert order.tolist() == [[0, 1, 2]]


def test_scaling_brings_relevance_to_the_unit_interval():
    vectors = np.eye(3)[None]
    relevance = np.array([[0.02, 0.04, 0.03]])
    _, values = maximal_marginal_relevance(relevance, vectors, 0.7, 3, scale_relevance=True)
    np.testing.assert_allclose(values, [[0.7, 0.35, 0.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lambda_": 1.1}, r"lambda .* \[0, 1\]"),
        ({"lambda_": np.nan}, "lambda"),
        ({"k": 0}, "depth"),
        ({"relevance": np.array([[np.nan, 0.1]])}, "without NaN"),
        ({"relevance": np.zeros((1, 3))}, "do not fit"),
        ({"vectors": np.zeros((2, 3))}, "do not fit"),
        ({"vectors": np.full((1, 2, 3), np.nan)}, "holds NaN"),
    ],
)
def test_wrong_use_is_refused(change, message):
    arguments = {"relevance": np.zeros((1, 2)), "vectors": np.zeros((1, 2, 3))}
    with pytest.raises(InputError, match=message):
        maximal_marginal_relevance(**(arguments | change))
