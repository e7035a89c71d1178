"""Queries: distinct and diverse, beside the documented three."""

import subprocess
import sys

import pytest

from casebook.errors import InputError
from casebook.factcheck.decompose import decompose
from casebook.factcheck.model import SubClaim
from casebook.factcheck.queries import diversity, documented_queries, queries

PART = decompose("Under Vale Direct, theft must be reported within 24 hours.")[0]


def test_queries_are_distinct_and_a_prefix_of_the_longer_list():
    five = [query.text for query in queries(PART, 5)]
    assert len(set(five)) == len(five) > 2
    for k in (1, 2, 3, 4):
        assert [query.text for query in queries(PART, k)] == five[:k]


def test_diversity_by_hand():
    # Content stems {a, b} and {b, c}: Jaccard 1/3.
    assert diversity(["alpha beta", "beta gamma"]) == pytest.approx(2 / 3)
    assert diversity(["alpha", "The alpha!"]) == 0
    assert diversity(["alpha"]) is None


def test_ours_are_more_diverse_than_the_documented():
    ours = diversity([query.text for query in queries(PART, 3)])
    theirs = diversity([query.text for query in documented_queries(PART, 3)])
    assert ours > 2 * theirs


def test_documented_forms():
    part = SubClaim("SC1", "This was sold in 1999.", entities=("Vale",))
    texts = [query.text for query in documented_queries(part, 4)]
    assert texts[:2] == ["Vale This was sold in 1999.", "This was sold in 1999?"]
    assert texts[3] == "This was sold in 1999. history timeline 1999"
    bare = [query.text for query in documented_queries(SubClaim("SC1", "Hail."), 2)]
    assert bare == ["Hail.", "What about Hail."]


def test_documented_keywords_do_not_depend_on_the_hash_seed():
    code = (
        "from casebook.factcheck.model import SubClaim;"
        "from casebook.factcheck.queries import documented_queries as q;"
        "print(q(SubClaim('S', 'alpha beta gamma delta epsilon zeta'), 3)[2].text)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@pytest.mark.parametrize("k", [0, 6, 1.5])
def test_k_is_checked(k):
    for ask in (queries, documented_queries):
        with pytest.raises(InputError, match=f"must be 1 to 5, got {k}"):
            ask(PART, k)
