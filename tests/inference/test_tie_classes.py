import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from casebook.estimates import tie_classes


def table(size, *pairs):
    told_apart = np.zeros((size, size), dtype=bool)
    for i, j in pairs:
        told_apart[i, j] = told_apart[j, i] = True
    return told_apart


def test_ties_are_not_transitive():
    assert tie_classes(table(3, (0, 2))) == ["1", "1,2", "2"]


def test_extremes():
    assert tie_classes(table(3)) == ["1", "1", "1"]
    assert tie_classes(table(3, (0, 1), (0, 2), (1, 2))) == ["1", "2", "3"]
    assert tie_classes(table(1)) == ["1"]
    assert tie_classes(np.zeros((0, 0))) == []


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_systems_share_a_class_exactly_if_not_told_apart(size, random):
    pairs = [(i, j) for i in range(size) for j in range(i) if random.random() < 0.4]
    told_apart = table(size, *pairs)
    classes = [set(text.split(",")) for text in tie_classes(told_apart)]
    for i in range(size):
        for j in range(i):
            assert bool(classes[i] & classes[j]) != told_apart[i, j]
