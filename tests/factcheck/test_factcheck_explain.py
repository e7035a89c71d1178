"""Explanations: exact removal sets, documented numbers, deletion and insertion."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.factcheck import verdict as rules
from casebook.factcheck.explain import (
    automated_readability_index,
    documented_quality,
    explain_verdict,
    minimal_removal,
    quality,
    quality_table,
)
from casebook.factcheck.verdict import (
    DOCUMENTED_RULE,
    EQUAL_WEIGHTS,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTS,
    Rule,
    decide_claim,
)

RULES = (Rule(), Rule(weights=EQUAL_WEIGHTS), DOCUMENTED_RULE)
THREE = [("high", SUPPORTS), ("medium", SUPPORTS), ("low", SUPPORTS)]
pair = st.tuples(
    st.sampled_from(list(rules.LEVEL_WEIGHTS)), st.sampled_from(rules.EVIDENCE_STANCES)
)


def fewest_by_trying_all(result, rule):
    for number in range(len(result.evidence) + 1):
        for gone in itertools.combinations(result.evidence, number):
            left = [item for item in result.evidence if item not in gone]
            if (
                decide_claim([part.id for part in result.subclaims], left, rule)[1]
                != result.verdict
            ):
                return number
    return None


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(pair, max_size=4), min_size=1, max_size=2), st.sampled_from(RULES))
def test_removal_is_as_small_as_trying_all_sets_finds(checked, groups, rule):
    result = checked(groups, rule)
    found, expected = minimal_removal(result, rule), fewest_by_trying_all(result, rule)
    if expected is None:
        assert found is None
    else:
        assert len(found.ids) == expected
        left = [item for item in result.evidence if item.id not in found.ids]
        assert (
            decide_claim([part.id for part in result.subclaims], left, rule)[1]
            == found.after
            != result.verdict
        )


NEUTRAL = rules.NEUTRAL
#: Evidence on the parts of a claim, the rule, what is cited, and what is said.
TOLD = [
    (
        [[("low", SUPPORTS), ("high", SUPPORTS), ("medium", SUPPORTS), ("high", NEUTRAL)]],
        Rule(),
        ["EV2", "EV3"],
        "Without EV2, EV3, EV1 the",
    ),
    (
        [[("high", REFUTES)], [("high", SUPPORTS)]],
        Rule(),
        ["EV1"],
        'The claim is refuted.\nPart SC1, "Part 1.", is refuted.\n'
        'EV1, A source (high credibility), refutes it: "',
    ),
    ([[("high", NEUTRAL)]], DOCUMENTED_RULE, [], "The claim is not supported."),
    ([[("high", SUPPORTS), ("high", REFUTES)]], Rule(), ["EV1", "EV2"], "cannot be decided"),
]


def test_what_is_said_and_cited(checked):
    for groups, rule, cited, text in TOLD:
        told = explain_verdict(checked(groups, rule), rule)
        assert ([item.id for item in told.cited], text in told.text) == (cited, True)


def test_documented_quality_golden_values(checked):
    one = checked([THREE], DOCUMENTED_RULE)
    found = documented_quality(one.evidence, ["SC1"], "y" * 536)
    assert found == {
        "coverage": 1.0,
        "soundness": 1.0,
        "readability": 0.536,
        "overall": pytest.approx(0.845, abs=5e-4),
    }
    # Ids restart in every sub-claim, as documented: half of them collide.
    two = checked([THREE, THREE], DOCUMENTED_RULE).evidence
    found = documented_quality([item._replace(id=item.id[:2]) for item in two], ["SC1", "SC2"], "")
    assert (found["coverage"], found["soundness"]) == (1 / 6, 1.0)
    assert documented_quality(one.evidence, ["SC1", "SC2"], "")["soundness"] == 0.5
    assert documented_quality([], [], "")["overall"] == 0
    assert documented_quality([], [], "y" * 2000)["readability"] == 1


def test_quality_of_an_explanation_that_decides(checked):
    rule = Rule()
    result = checked([[("high", REFUTES), ("low", SUPPORTS)]], rule)
    assert result.verdict == NOT_SUPPORTED
    found = quality(result, explain_verdict(result, rule), rule)
    assert (found["coverage"], found["soundness"]) == (1.0, 1.0)
    assert (found["deletion"], found["insertion"]) == (True, True)
    assert 0 < found["deletion_random"] < 1
    nothing = checked([[]], rule)
    assert np.isnan(quality(nothing, explain_verdict(nothing, rule), rule)["deletion"])


def test_explanations_of_real_claims_quote_their_evidence_and_beat_random_ones(own):
    rule, results = own.checker.config.rule, own.results[:40]
    result = next(result for result in results if result.verdict == NOT_SUPPORTED)
    told = explain_verdict(result, rule)
    assert told.cited and told.removal.after in told.text
    assert all(
        f"characters {e.start} to {e.end}" in told.text and e.passage in told.text
        for e in told.cited
    )
    groups = {claim.id: claim.group for claim in own.test}
    crashed = result._replace(claim_id="crashed", error="search: x")
    table = quality_table([*results, crashed], rule, groups, n_resamples=100).set_index("measure")
    assert (table["n"] + table["undefined"] == len(results)).all()
    # A high item decides alone or with few others: random sets do far less.
    assert table.loc["deletion", "value"] > table.loc["deletion_random", "value"] + 0.2
    assert table.loc["insertion", "value"] > table.loc["insertion_random", "value"]


def test_readability_is_the_published_formula():
    """4.71 characters per word + 0.5 words per sentence - 21.43 (Smith and Senter 1967): 26
    letters in 6 words of 2 sentences."""
    text = "The cat slept. Tenants owe money."
    expected = 4.71 * 26 / 6 + 0.5 * 6 / 2 - 21.43
    assert automated_readability_index(text) == pytest.approx(expected)
    assert np.isnan(automated_readability_index(" ... "))
