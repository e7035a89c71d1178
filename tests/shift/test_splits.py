import pytest
from casebook.shift.simulators import SimulatedEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.datasets import load
from casebook.errors import InputError
from casebook.shift.embedded import complement, divide, embed, folds, group_labels


@pytest.fixture(scope="module")
def smoke():
    return embed(load("smoke"), SimulatedEncoder("semantic-hash"))


@pytest.fixture
def linked(planted):
    """Give six queries: two share a document, two a text but for spacing."""
    documents = {f"d{n}": [1.0, n] for n in range(6)}
    texts = ["q0", "q1", "same text", "same  text", "q4", "q5"]
    queries = {text: [1.0, n] for n, text in enumerate(texts)}
    qrels = {text: {f"d{n}": 1} for n, text in enumerate(texts)}
    qrels["q1"]["d0"] = 1
    return planted(queries, documents, qrels)


def test_shared_documents_and_identical_texts_link_queries(linked):
    labels = dict(zip(linked.query_ids, group_labels(linked, "document"), strict=True))
    assert labels["q0"] == labels["q1"]
    assert labels["same text"] == labels["same  text"]
    assert len(set(labels.values())) == 4
    assert len(set(group_labels(linked, "query"))) == 6


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_parts_share_no_group_and_make_the_whole(smoke, seed):
    labels = group_labels(smoke)
    parts = divide(smoke, seed=seed).parts
    rows = sorted(row for part in parts.values() for row in part)
    assert rows == list(range(len(smoke)))
    seen = [{labels[row] for row in part} for part in parts.values()]
    assert sum(map(len, seen)) == len(set(labels))


@given(st.integers(0, 10_000), st.integers(2, 40))
@settings(max_examples=25, deadline=None)
def test_folds_share_no_group_and_make_the_whole(smoke, seed, k):
    labels = group_labels(smoke)
    parts = folds(smoke, k, seed=seed)
    assert sorted(row for part in parts for row in part) == list(range(len(smoke)))
    seen = [{labels[row] for row in part} for part in parts]
    assert sum(map(len, seen)) == len(set(labels))
    assert all(parts)


def test_shares_are_kept_as_far_as_groups_allow(smoke):
    parts = divide(smoke).parts
    shares = {name: len(rows) / len(smoke) for name, rows in parts.items()}
    assert shares["train"] == pytest.approx(0.5, abs=0.06)
    assert shares["dev"] == pytest.approx(0.2, abs=0.06)


def test_division_has_a_fingerprint_that_depends_on_the_seed(smoke):
    first, again, other = (divide(smoke, seed=s).fingerprint for s in (0, 0, 1))
    assert first == again != other


def test_folds_of_some_rows(smoke):
    rows = list(range(10, 30))
    parts = folds(smoke, 3, rows=rows)
    assert sorted(row for part in parts for row in part) == rows
    assert complement(parts[0], 30) == [r for r in range(30) if r not in parts[0]]


def test_too_few_groups_are_an_error(planted):
    documents = {"a": [1.0, 0], "b": [0, 1.0]}
    queries = {"q1": [1.0, 0], "q2": [0, 1.0]}
    qrels = {query: {"a": 1} for query in queries}
    data = planted(queries, documents, qrels)
    with pytest.raises(InputError, match="all queries are linked"):
        folds(data)
    with pytest.raises(InputError, match="1 groups of queries are too few"):
        divide(data)
    with pytest.raises(InputError, match="unknown grouping"):
        divide(data, by="topic")
