import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from casebook.models.tokens import TokenVectors


def ragged(lengths):
    total = sum(lengths)
    vectors = np.arange(total * 2.0).reshape(total, 2)
    return TokenVectors(vectors, np.arange(total), np.array(lengths, dtype=np.int64))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_take_equals_slicing(lengths, data):
    tokens = ragged(lengths)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=9))
    taken = tokens.take(rows)
    spans = [slice(*tokens.offsets[row : row + 2]) for row in rows]
    expected = [i for span in spans for i in range(span.start, span.stop)]
    assert taken.token_ids.tolist() == expected
    assert taken.vectors.tolist() == tokens.vectors[expected].tolist()
    assert taken.lengths.tolist() == [lengths[row] for row in rows]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(0, 8))
def test_concatenation_undoes_a_cut(lengths, cut):
    tokens = ragged(lengths)
    rows = np.arange(len(lengths))
    parts = [tokens.take(rows[:cut]), tokens.take(rows[cut:])]
    joined = TokenVectors.concatenate(parts)
    assert joined.token_ids.tolist() == tokens.token_ids.tolist()
    assert joined.lengths.tolist() == lengths
