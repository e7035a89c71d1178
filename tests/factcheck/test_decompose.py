"""Atomic claims by rules, as documented, and by a language model."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook import paths
from casebook.errors import InputError
from casebook.factcheck.claims import (
    ModelDecomposer,
    decompose,
    decompose_documented,
    documented_verifiability,
    logical_form,
    split,
    undivided,
    verifiability,
)


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        (
            "Harbour Mutual covers hail and excludes frost.",
            ["Harbour Mutual covers hail.", "Harbour Mutual excludes frost."],
        ),
        (
            "Under clause 2, the rent is 900 and the deposit is 1,200.",
            ["Under clause 2, the rent is 900.", "Under clause 2, the deposit is 1,200."],
        ),
        (
            "The tenant must clean the oven and return the keys.",
            ["The tenant must clean the oven.", "The tenant must return the keys."],
        ),
        ("The vessel, which sailed in June, carried tea.", ["The vessel carried tea.", "The vessel sailed in June."]),
        (
            "The buyer paid the seller, whose agent kept the deed.",
            ["The buyer paid the seller.", "The agent of the seller kept the deed."],
        ),
        ("The plan covers hail and it excludes frost.", ["The plan covers hail.", "The plan excludes frost."]),
        (
            "The plan pays the rent, covers hail and excludes frost.",
            ["The plan pays the rent.", "The plan covers hail.", "The plan excludes frost."],
        ),
        ("The plan pays the rent, covers hail.", None),
        ("The award covers interest, costs and fees.", None),
        ("If the alarm is off, cover ends.", None),
        ("Gold and Silver Insurance pays the rent.", None),
    ],
)
def test_connectors_part_clauses_and_predicates_but_not_lists(claim, parts):
    assert split(claim) == (parts or [claim])


@pytest.mark.parametrize(
    ("text", "ours", "documented"),
    [
        ("William Shakespeare wrote Hamlet", "verifiable", "future_prediction"),
        ("Albert Einstein was born in Germany in 1879", "verifiable", "vague"),
        ("The insurer will pay up to 500.", "verifiable", "future_prediction"),
        ("Premiums will rise next year.", "future_prediction", "future_prediction"),
        ("This is the best policy.", "opinion", "opinion"),
        ("I really think that it pays.", "opinion", "opinion"),
        ("The clerk was rude.", "opinion", "verifiable"),
        ("Many tenants often complain.", "vague", "vague"),
        ("Many tenants often pay 500.", "verifiable", "vague"),
        ("She won the award for the best actress.", "verifiable", "opinion"),
        ("Sea levels could rise by a metre.", "verifiable", "future_prediction"),
        ("some cats are in the house by the tree", "verifiable", "vague"),
        ("some cats are in the house by the tree today", "verifiable", "verifiable"),
    ],
)
def test_verifiability_by_words_and_by_substrings(text, ours, documented):
    assert verifiability(text) == ours
    assert documented_verifiability(text) == documented


def test_documented_splitting_leaves_fragments_and_at_most_ten():
    parts = decompose_documented("Paris, France and Rome are towns that grow")
    assert [part.text for part in parts] == ["Paris", "France", "Rome are towns", "grow"]
    assert (parts[0].logical_form, parts[0].entities) == ("Claim('Paris')", ("Paris",))
    many = decompose_documented(", ".join(f"piece {n}" for n in range(11)))
    assert [part.text for part in many][-1] == "piece 9"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The plan does not pay for pills.", "not(pay(the plan, for pills))"),
        ("Under Vale Direct, the excess is EUR 250.", "under vale direct: is(the excess, EUR 250)"),
        ("Hail.", "claim(Hail)"),
        ("The tenant must carry the keys.", "carry(the tenant, the keys)"),
        ("The ship carried tea.", "carried(the ship, tea)"),
    ],
)
def test_logical_forms(text, form):
    assert logical_form(text) == form


def test_a_subclaim_names_what_it_holds():
    (part,) = decompose("Under Vale Direct, the excess is EUR 250.")
    assert (part.id, part.entities, part.properties) == ("SC1", ("Vale Direct",), ("250 eur",))
    (whole,) = undivided("Hail is covered and frost is not.")
    assert whole.text == "Hail is covered and frost is not."


PARTS = [f"the owner pays tax {n}" for n in range(11)]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        *((blank, "the claim is empty") for blank in ("", "  \n", None)),
        ("x" * 10_001, "10,001 characters, more than 10,000"),
        (" and ".join(PARTS), "11 parts, more than 10"),
    ],
)
def test_bad_claims_are_refused_not_cut(claim, message):
    with pytest.raises(InputError, match=message):
        decompose(claim)
    assert len(decompose(" and ".join(PARTS[:10]))) == 10 and len(decompose("x" * 10_000)) == 1


@given(st.text(min_size=1, max_size=200))
def test_any_text_keeps_its_letters(text):
    if text.strip():
        joined = " ".join(split(" ".join(text.split()))).lower()
        letters = {c.lower() for c in text if c.isascii() and c.isalpha()}
        assert letters <= set(joined) | set("and but while whereas yet")


GOOD = {"text": "Hail is covered. ", "logical_form": "c(h)", "verifiability": "vague"}


class Fake:
    def __init__(self, *subclaims):
        self.answer = {"subclaims": list(subclaims)}

    def complete_json(self, prompt, schema):
        assert "Claim: Hail is covered." in prompt and "subclaims" in schema["properties"]
        return self.answer


def test_a_language_model_decomposes():
    (part,) = ModelDecomposer(Fake(GOOD | {"entities": ["Hail"]}))(" Hail is  covered.")
    assert (part.text, part.verifiability, part.entities) == ("Hail is covered.", "vague", ("Hail",))


@pytest.mark.parametrize(
    "subclaims",
    [
        [],
        ["x"],
        [GOOD] * 11,
        [GOOD | {"text": " "}],
        [GOOD | {"verifiability": "maybe"}],
        [GOOD | {"entities": [1]}],
        [{"text": "x", "verifiability": "vague"}],
    ],
)
def test_an_answer_outside_the_schema_is_an_error_and_no_default(subclaims):
    with pytest.raises(InputError, match="does not fit: field subclaims"):
        ModelDecomposer(Fake(*subclaims))("Hail is covered.")


def test_annotated_sentences_of_the_half_that_the_rules_were_not_written_on():
    """Right: as many parts as annotated, each of the annotated kind, in order."""
    path = paths.DATA / "factcheck" / "decomposition.jsonl"
    rows = [row for row in map(json.loads, path.read_text("utf-8").splitlines()) if row["split"] == "test"]
    wanted = [[atom["verifiability"] for atom in row["atoms"]] for row in rows]
    right = {
        splitter: sum(
            [part.verifiability for part in splitter(row["text"])] == w for row, w in zip(rows, wanted, strict=True)
        )
        for splitter in (decompose, decompose_documented)
    }
    assert len(rows) == 69
    assert right[decompose] > 0.85 * len(rows) > 1.5 * right[decompose_documented]
