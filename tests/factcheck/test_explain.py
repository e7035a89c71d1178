"""Explanations: exact removal sets, documented numbers, deletion and insertion."""

import itertools

import pytest
from casebook.factcheck.explain_documented import explain_documented
from casebook.factcheck.explanation_study import quality_rows, quality_table
from casebook.factcheck.model import (
    LEVELS,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    STANCES,
    SUPPORTED,
    SUPPORTS,
    Evidence,
    SubClaim,
    VerdictResult,
)
from casebook.factcheck.removal import minimal_removal
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.factcheck.explain import automated_readability_index, conflicts, documented_quality, explain, quality
from casebook.factcheck.pipeline import FactChecker
from casebook.factcheck.verdict import DOCUMENTED, EQUAL_WEIGHTS, Rule, decide

RULES = (Rule(), Rule(denominator="count"), Rule(weights=EQUAL_WEIGHTS), DOCUMENTED)


def checked(groups, rule, length=120):
    """Build a result from (level, stance) pairs per sub-claim."""
    evidence, number = [], 0
    for part, pairs in enumerate(groups, 1):
        for level, stance in pairs:
            number += 1
            evidence.append(
                Evidence(
                    f"EV{number}",
                    f"SC{part}",
                    f"d{number}",
                    "A source",
                    "",
                    "x" * length,
                    0,
                    length,
                    {"high": 0.9, "medium": 0.6, "low": 0.3}[level],
                    level,
                    stance,
                    {SUPPORTS: 0.9, REFUTES: 0.1}.get(stance),
                )
            )
    parts = tuple(SubClaim(f"SC{n}", f"Part {n}.") for n in range(1, len(groups) + 1))
    subverdicts, verdict, confidence = decide([p.id for p in parts], evidence, rule)
    return VerdictResult(
        "c", "Claim.", verdict, confidence, subclaims=parts, evidence=tuple(evidence), subverdicts=subverdicts
    )


def brute_force(result, rule):
    """Smallest number of items whose removal changes the verdict, by trying all."""
    names = [part.id for part in result.subclaims]
    for number in range(len(result.evidence) + 1):
        for gone in itertools.combinations(result.evidence, number):
            left = [item for item in result.evidence if item not in gone]
            if decide(names, left, rule)[1] != result.verdict:
                return number
    return None


pair = st.tuples(st.sampled_from(LEVELS), st.sampled_from(STANCES))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(pair, max_size=4), min_size=1, max_size=2), st.sampled_from(RULES))
def test_removal_is_as_small_as_trying_all_sets_finds(groups, rule):
    result = checked(groups, rule)
    found, expected = minimal_removal(result, rule), brute_force(result, rule)
    if expected is None:
        assert found is None
    else:
        assert len(found.ids) == expected
        left = [item for item in result.evidence if item.id not in found.ids]
        names = [part.id for part in result.subclaims]
        assert decide(names, left, rule)[1] == found.after != result.verdict


def test_removal_of_the_weakest_part():
    strong = [("high", SUPPORTS)] * 3
    weak = [("high", SUPPORTS), ("low", REFUTES)]
    result = checked([strong, weak], Rule())
    assert result.verdict == SUPPORTED
    assert minimal_removal(result, Rule()).ids == ("EV4",)


def test_conflict_by_stance_and_by_level():
    result = checked([[("high", SUPPORTS), ("low", SUPPORTS)]], Rule())
    assert conflicts(result) == ()
    assert explain_documented(result).conflicts == ("SC1",)
    result = checked([[("high", SUPPORTS), ("high", REFUTES)]], Rule())
    assert conflicts(result) == ("SC1",)
    assert explain_documented(result).conflicts == ()


def test_documented_importance_and_counterfactual():
    items = [("high", SUPPORTS), ("medium", SUPPORTS), ("low", SUPPORTS)]
    found = explain_documented(checked([items], DOCUMENTED))
    raw = [0.45 + 0.072 + 0.2, 0.3 + 0.072 + 0.1, 0.15 + 0.072 + 0.1]
    expected = [value / sum(raw) for value in raw]
    assert list(found.importance.values()) == pytest.approx(expected)
    assert found.critical == ("EV1", "EV2", "EV3")
    assert found.counterfactual == 2
    # In truth all three must go: what is left always supports.
    assert len(minimal_removal(checked([items], DOCUMENTED), DOCUMENTED).ids) == 3
    refuted = checked([[("high", NEUTRAL)]], DOCUMENTED)
    assert explain_documented(refuted).counterfactual is None


def test_documented_quality_golden_values():
    items = [("high", SUPPORTS), ("medium", SUPPORTS), ("low", SUPPORTS)]
    one = checked([items], DOCUMENTED)
    ids = explain_documented(one).importance
    found = documented_quality(ids, one.evidence, ["SC1"], "y" * 536)
    assert found == {"coverage": 1.0, "soundness": 1.0, "readability": 0.536, "overall": pytest.approx(0.845, abs=5e-4)}
    # Ids restart in every sub-claim, as documented: half of them collide.
    two = checked([items, items], DOCUMENTED).evidence
    found = documented_quality(["EV1", "EV2", "EV3"] * 2, two, ["SC1", "SC2"], "")
    assert (found["coverage"], found["soundness"]) == (0.5, 1.0)
    found = documented_quality(ids, one.evidence, ["SC1", "SC2"], "")
    assert found["soundness"] == 0.5
    assert documented_quality([], [], [], "")["overall"] == 0


def test_readability_index_by_hand():
    # 6 words, 24 characters, 2 sentences.
    text = "Cats like warm milk. Dogs bark."
    expected = 4.71 * 24 / 6 + 0.5 * 6 / 2 - 21.43
    assert automated_readability_index(text) == pytest.approx(expected)
    assert automated_readability_index(" -- ") is None


def test_quality_of_an_explanation_that_decides():
    rule = Rule()
    result = checked([[("high", REFUTES), ("low", SUPPORTS)]], rule)
    assert result.verdict == NOT_SUPPORTED
    found = quality(result, explain(result, rule), rule)
    assert (found.coverage, found.soundness) == (1.0, 1.0)
    assert (found.deletion, found.insertion) == (True, True)
    assert 0 < found.deletion_random < 1
    assert found.reasons == {}


def test_undefined_quality_has_reasons():
    rule = Rule()
    agreed = checked([[("high", SUPPORTS)] * 3], rule)
    found = quality(agreed, explain(agreed, rule), rule)
    assert found.coverage is None
    assert found.reasons["coverage"] == "no_single_item_decides"
    assert found.influence_coverage is None
    nothing = checked([[]], rule)
    found = quality(nothing, explain(nothing, rule), rule)
    assert found.deletion is None
    assert found.reasons["soundness"] == "nothing_cited"


def test_explanations_of_real_claims_hold_spans(base, stance, claims):
    checker = FactChecker(base, stance)
    rule = checker.config.rule
    results = checker.check_all([(c.id, c.text) for c in claims[-40:-20]])
    result = next(result for result in results if result.verdict == NOT_SUPPORTED)
    explanation = explain(result, rule)
    assert explanation.cited
    for item in explanation.cited:
        assert f"characters {item.start} to {item.end}" in explanation.text
        assert item.passage in explanation.text
    assert explanation.removal.after in explanation.text
    again = explain(result, rule)
    assert again == explanation
    assert quality(result, explanation, rule) == quality(result, again, rule)


def test_table_of_many_explanations(base, stance, claims):
    checker = FactChecker(base, stance)
    given = [(c.id, c.text) for c in claims[-40:-20]] + [("long", "x" * 20_000)]
    results = checker.check_all(given)
    rows = quality_rows(results, checker.config.rule, draws=10)
    assert len(rows) == len(results) - 1
    table = quality_table(rows, {c.id: c.group for c in claims}, n_boot=100)
    table = table.set_index("measure")
    assert (table["n"] + table["undefined"] == len(rows)).all()
    # A high item decides alone or with few others: random sets do far less.
    assert table.loc["deletion", "value"] > table.loc["deletion_random", "value"] + 0.2
    assert table.loc["insertion", "value"] > table.loc["insertion_random", "value"]
    assert quality_table(quality_rows([], checker.config.rule))["value"].isna().all()
