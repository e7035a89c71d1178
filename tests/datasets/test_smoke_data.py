"""The shipped smoke collection: ids, grades, sizes, and that it tells systems apart."""

import numpy as np
import pytest

from casebook import paths
from casebook.datasets import load
from casebook.files import sha256_file


@pytest.fixture(scope="module")
def smoke():
    return load("smoke")


def test_sizes(smoke):
    words = smoke.documents["text"].str.split().str.len()
    assert len(smoke.documents) >= 44
    assert len(smoke.queries) >= 32
    assert words.between(60, 180).all()
    assert smoke.documents["text"].is_unique
    assert smoke.queries["text"].is_unique


def test_halves_share_no_group_and_make_the_whole(smoke):
    halves = [load("smoke", split=name) for name in ("dev", "test")]
    first, second = (set(half.groups.values()) for half in halves)
    assert not first & second
    asked = [query for half in halves for query in half.queries["query_id"]]
    assert sorted(asked) == sorted(smoke.queries["query_id"])
    for half in halves:
        assert half.qrels == {q: smoke.qrels[q] for q in half.queries["query_id"]}


def test_metadata_is_complete(smoke):
    columns = ["title", "agreement", "section", "kind", "year"]
    assert smoke.documents[columns].notna().all(axis=None)
    assert (smoke.documents["agreement"].value_counts() == 6).all()
    assert set(smoke.queries["wording"]) == {"plain", "legal"}


def test_judgements_are_graded_with_near_misses(smoke):
    for judged in smoke.qrels.values():
        grades = list(judged.values())
        assert set(grades) <= {0, 1, 2}
        assert grades.count(2) in (1, 2)
        assert grades.count(0) >= 2


def test_wordings_of_one_question_share_its_judgements(smoke):
    seen = {}
    for query, group in smoke.groups.items():
        assert seen.setdefault(group, smoke.qrels[query]) == smoke.qrels[query]
    assert len(seen) == 27


def test_card_holds_the_hashes_of_the_shipped_files(smoke):
    for name, expected in smoke.card.files.items():
        assert sha256_file(paths.DATA / "smoke" / name) == expected.sha256


def test_lexical_ranking_is_far_from_chance_and_from_perfect(smoke):
    import bm25s

    index = bm25s.BM25()
    texts = smoke.documents["text"].tolist()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False))
    tokens = bm25s.tokenize(smoke.queries["text"].tolist(), stopwords="en", show_progress=False)
    first, _ = index.retrieve(tokens, k=1, show_progress=False)
    ids = smoke.documents["doc_id"].to_numpy()[first[:, 0]]
    hits = [judged.get(doc) == 2 for doc, judged in zip(ids, smoke.qrels.values(), strict=True)]
    assert 0.3 < np.mean(hits) < 0.8
