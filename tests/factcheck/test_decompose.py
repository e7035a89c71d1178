"""Atomic claims by rules and as documented."""

import json

from cases import not_refused
from hypothesis import given
from hypothesis import strategies as st

from casebook import paths
from casebook.factcheck.decompose import (
    decompose,
    decompose_documented,
    documented_verifiability,
    split_claim,
    verifiability,
)


def test_connectors_part_clauses_and_predicates_but_not_lists(cases):
    assert {claim: split_claim(claim) for claim in cases["parts"]} == cases["parts"]


def test_verifiability_by_words_and_by_substrings(cases):
    rows = cases["verifiability"]
    assert [[t, verifiability(t), documented_verifiability(t)] for t, *_ in rows] == rows


def test_documented_splitting_leaves_fragments_and_at_most_ten():
    parts = decompose_documented("Paris, France and Rome are towns that grow")
    assert [part.text for part in parts] == ["Paris", "France", "Rome are towns", "grow"]
    assert (parts[0].id, parts[0].entities) == ("SC1", ("Paris",))
    many = decompose_documented(", ".join(f"piece {n}" for n in range(11)))
    assert [part.text for part in many][-1] == "piece 9"


PARTS = [f"the owner pays tax {n}" for n in range(11)]


def test_bad_claims_are_refused_not_cut():
    bad = [
        *((blank, "the claim is empty") for blank in ("", "  \n", None)),
        (" and ".join(PARTS), "11 parts, more than 10"),
    ]
    assert not_refused(decompose, bad) == []
    assert len(decompose(" and ".join(PARTS[:10]))) == 10


@given(st.text(min_size=1, max_size=200))
def test_any_text_keeps_its_letters(text):
    if text.strip():
        joined = " ".join(split_claim(" ".join(text.split()))).lower()
        letters = {c.lower() for c in text if c.isascii() and c.isalpha()}
        assert letters <= set(joined) | set("and but while whereas yet")


def test_annotated_sentences_of_the_half_that_the_rules_were_not_written_on():
    """Right: as many parts as annotated, each of the annotated kind, in order."""
    path = paths.DATA / "factcheck" / "decomposition.jsonl"
    rows = [
        row
        for row in map(json.loads, path.read_text("utf-8").splitlines())
        if row["split"] == "test"
    ]
    wanted = [[atom["verifiability"] for atom in row["atoms"]] for row in rows]
    right = {
        splitter: sum(
            [part.verifiability for part in splitter(row["text"])] == w
            for row, w in zip(rows, wanted, strict=True)
        )
        for splitter in (decompose, decompose_documented)
    }
    assert len(rows) == 69
    assert right[decompose] > 0.85 * len(rows) > 1.5 * right[decompose_documented]
