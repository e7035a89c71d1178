import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from casebook.models.remembered import RememberedScores


class Counting:
    """A reranker whose scores are known, and that counts what it is asked."""

    def __init__(self):
        self.asked = 0

    def scores(self, queries, candidates):
        valid = candidates >= 0
        self.asked += int(valid.sum())
        lengths = np.array([len(query) for query in queries])[:, None]
        scores = np.where(valid, lengths + candidates / 10, -np.inf)
        return scores, np.where(valid, 2 * candidates, -1)


requests = st.lists(
    st.tuples(st.sampled_from(["a", "bb", "ccc"]), st.lists(st.integers(-1, 6), min_size=4, max_size=4)),
    min_size=1,
    max_size=5,
)


@given(st.lists(requests, min_size=1, max_size=4))
def test_scores_are_those_of_the_reranker_and_asked_for_once(batches):
    plain, counted = Counting(), Counting()
    remembered = RememberedScores(counted)
    seen = set()
    for batch in batches:
        batch = list(dict(batch).items())  # one row per query
        queries = [query for query, _ in batch]
        candidates = np.array([row for _, row in batch])
        expected = plain.scores(queries, candidates)
        found = remembered.scores(queries, candidates)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        seen |= {(q, d) for q, row in batch for d in row if d >= 0}
    assert len(seen) <= counted.asked <= plain.asked
    before = counted.asked
    remembered.scores(queries, candidates)
    assert counted.asked == before
