"""A planted corpus under BM25, small enough for every test."""

import pytest
from planting import plant_cases

from casebook.retrieval.pipeline import HybridRetriever
from casebook.sensitivity.tree import CaseSearch


@pytest.fixture(scope="session")
def planted():
    return plant_cases(cases=2, values=3)


@pytest.fixture(scope="session")
def bm25(planted):
    return HybridRetriever(planted.documents, mode="bm25")


@pytest.fixture
def search(bm25):
    return CaseSearch(bm25, 10)
