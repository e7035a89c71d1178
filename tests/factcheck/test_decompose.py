"""Atomic claims by rules, as documented, and by a language model."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook import paths
from casebook.errors import InputError
from casebook.factcheck.clauses import split
from casebook.factcheck.decompose import decompose, logical_form
from casebook.factcheck.decompose_documented import decompose_documented, documented_verifiability
from casebook.factcheck.decompose_model import ModelDecomposer, defect
from casebook.factcheck.verifiability import verifiability


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
        ("Many tenants often complain.", "vague", "vague"),
        ("She won the award for the best actress.", "verifiable", "opinion"),
        ("Sea levels could rise by a metre.", "verifiable", "future_prediction"),
        ("Many insurers pay for towing.", "verifiable", "vague"),
    ],
)
def test_verifiability_by_words_and_by_substrings(text, ours, documented):
    assert verifiability(text) == ours
    assert documented_verifiability(text) == documented


def test_documented_splitting_leaves_fragments_and_at_most_ten():
    parts = decompose_documented("Paris, France and Rome are towns that grow")
    assert [part.text for part in parts] == ["Paris", "France", "Rome are towns", "grow"]
    assert parts[0].logical_form == "Claim('Paris')"
    assert len(decompose_documented(", ".join("abcdefghijklmn"))) == 10


def test_logical_form_and_parts_of_a_subclaim():
    assert logical_form("The plan does not pay for pills.") == ("not(pay(the plan, for pills))")
    part = decompose("Under Vale Direct, the excess is EUR 250.")[0]
    assert part.entities == ("Vale Direct",)
    assert part.properties == ("250 eur",)
    assert part.logical_form == "under vale direct: is(the excess, EUR 250)"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        *((blank, "the claim is empty") for blank in ("", "  \n", None)),
        ("x" * 100_000, "100,000 characters, more than 10,000"),
    ],
)
def test_bad_claims_are_refused(claim, message):
    with pytest.raises(InputError, match=message):
        decompose(claim)


def test_too_many_parts_are_refused_not_cut():
    claim = "; ".join(f"Item {n} is covered" for n in range(12))
    with pytest.raises(InputError, match="12 parts"):
        decompose(claim)


@given(st.text(min_size=1, max_size=200))
def test_any_text_keeps_its_letters(text):
    if not text.strip():
        return
    joined = " ".join(split(" ".join(text.split())))
    letters = {c.lower() for c in text if c.isascii() and c.isalpha()}
    assert letters <= {c.lower() for c in joined} | set("and but while whereas yet")


class Fake:
    """A language model that gives prepared answers."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.prompts = []

    def complete_json(self, prompt, schema):
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


GOOD = {"subclaims": [{"text": "Hail is covered.", "logical_form": "c(h)", "verifiability": "vague"}]}


def test_a_language_model_is_asked_again_once():
    model = Fake({"subclaims": []}, GOOD)
    decomposer = ModelDecomposer(model)
    (part,) = decomposer("Hail is covered.")
    assert (part.id, part.text, part.verifiability) == ("SC1", "Hail is covered.", "vague")
    assert decomposer.retries == 1
    assert "no list of subclaims" in model.prompts[1]


def test_a_language_model_that_fails_twice_is_an_error_and_no_fallback():
    with pytest.raises(InputError, match="unknown verifiability"):
        wrong = {"subclaims": [GOOD["subclaims"][0] | {"verifiability": "maybe"}]}
        ModelDecomposer(Fake(wrong, wrong))("Hail is covered.")
    with pytest.raises(InputError, match="unreachable"):
        ModelDecomposer(Fake(InputError("unreachable")))("Hail is covered.")


def test_the_bounds_of_both_splitters():
    parts = " and ".join(f"the owner pays tax {n}" for n in range(10)) + "."
    assert len(decompose(parts, 10)) == 10
    with pytest.raises(InputError, match="10 parts, more than 9"):
        decompose(parts, 9)
    assert len(decompose("x" * 10_000)) == 1
    with pytest.raises(InputError, match="10,001 characters"):
        decompose("x" * 10_001)
    many = ", ".join(f"piece {n}" for n in range(11))
    assert [part.text for part in decompose_documented(many)][-1] == "piece 9"
    nine = "some cats are in the house by the tree"
    assert documented_verifiability(nine) == "vague"
    assert documented_verifiability(nine + " today") == "verifiable"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"subclaims": ["x"]},
        {"subclaims": [{"text": " ", "logical_form": "", "verifiability": "vague"}]},
        {"subclaims": [GOOD["subclaims"][0]] * 11},
        {"subclaims": [GOOD["subclaims"][0] | {"entities": [1]}]},
    ],
)
def test_defects_of_answers_are_named(answer):
    assert defect(answer)
    assert defect(GOOD) is None


def test_annotated_sentences_of_the_half_that_the_rules_were_not_written_on():
    """Right: as many parts as annotated, each of the annotated kind, in order."""
    path = paths.DATA / "factcheck" / "decomposition.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["split"] == "test"]
    right = {decompose: 0, decompose_documented: 0}
    for row in rows:
        wanted = [atom["verifiability"] for atom in row["atoms"]]
        for splitter in right:
            found = [part.verifiability for part in splitter(row["text"])]
            right[splitter] += found == wanted
    assert len(rows) == 69
    assert right[decompose] > 0.85 * len(rows) > 1.5 * right[decompose_documented]
