"""Datasets as objects: invariants, fingerprints, halves."""

import pandas as pd
from cases import not_refused
from hypothesis import given
from hypothesis import strategies as st

from casebook.data.splits import RetrievalDataset, connected_components, halve


def dataset(**changes):
    parts = {
        "key": "toy",
        "split": "test",
        "documents": pd.DataFrame(
            {"doc_id": ["a", "b"], "title": "", "text": ["x", "y"], "year": [1, None]}
        ),
        "queries": pd.DataFrame({"query_id": ["p", "q"], "text": ["x?", "y?"]}),
        "qrels": {"p": {"a": 1, "b": 0}, "q": {"b": 2}},
    }
    return RetrievalDataset(**(parts | changes))


def test_fingerprint_is_pinned():
    """Published numbers quote it, so a change of the algorithm must be seen."""
    assert dataset().fingerprint == (
        "fcd044105ba7022c79cc58db1a4f387b503aafeb1568d843a457c8f1368177c1"
    )


def test_fingerprint_sees_every_part_and_neither_names_nor_order():
    base = dataset()
    turned = {"q": {"b": 2}, "p": {"b": 0, "a": 1}}
    columns = base.documents[["text", "year", "doc_id", "title"]]
    assert (
        dataset(key="other", split="dev", qrels=turned, documents=columns).fingerprint
        == base.fingerprint
    )
    others = [
        dataset(documents=base.documents.iloc[::-1]),
        dataset(documents=base.documents.assign(text=["x", "z"])),
        dataset(documents=base.documents.assign(year=[2, None])),
        dataset(queries=base.queries.assign(text=["x?", "z?"])),
        dataset(qrels={"p": {"a": 1, "b": 1}, "q": {"b": 2}}),
        dataset(candidates={"p": ["a"], "q": ["b"]}),
    ]
    assert len({variant.fingerprint for variant in (base, *others)}) == len(others) + 1


def test_parts_that_do_not_fit_are_refused():
    wrong = [
        ({"documents": pd.DataFrame({"doc_id": ["a", "a"]})}, "doc_id 'a' occurs more than"),
        ({"qrels": {"z": {"a": 1}}}, "the judgements name 'z'"),
    ]
    assert not_refused(lambda changes: dataset(**changes), wrong) == []


@given(st.dictionaries(st.integers(0, 200), st.integers(0, 12), min_size=1), st.integers(0, 3))
def test_halves_are_disjoint_complete_and_balanced(groups, seed):
    halves = halve(groups, seed)
    dev = halves["dev"]
    test = halves["test"]
    assert sorted(dev + test) == sorted(groups)
    assert not {groups[q] for q in dev} & {groups[q] for q in test}
    largest = max(list(groups.values()).count(label) for label in groups.values())
    assert abs(len(dev) - len(test)) <= largest
    assert halve(groups, seed) == halves


@given(st.dictionaries(st.integers(0, 20), st.sets(st.integers(0, 20), max_size=4)))
def test_components_join_exactly_what_shares_documents(shared):
    labels = connected_components({query: dict.fromkeys(docs, 1) for query, docs in shared.items()})
    reached = {query: {query} for query in shared}
    for _ in shared:
        for query, docs in shared.items():
            for neighbour in shared:
                if docs & shared[neighbour]:
                    reached[query] |= reached[neighbour]
    for query in shared:
        assert {q for q in shared if labels[q] == labels[query]} == reached[query]
