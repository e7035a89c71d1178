"""Our claims with their collection and a fitted judge, and results made by hand."""

from pathlib import Path

import pytest

from casebook.factcheck.decompose import SubClaim
from casebook.factcheck.study import CheckedClaims
from casebook.factcheck.verdict import REFUTES, SUPPORTS, Evidence, VerdictResult, decide_claim
from casebook.readers import read_yaml


@pytest.fixture(scope="session")
def cases():
    """Cases worked out by hand."""
    return read_yaml(Path(__file__).with_name("cases.yml"))


@pytest.fixture(scope="session")
def own():
    return CheckedClaims()


@pytest.fixture(scope="session")
def base(own):
    return own.base


@pytest.fixture(scope="session")
def some(own):
    """Test claims of every kind."""
    return own.test[:8] + own.test[64:70] + own.test[-6:]


@pytest.fixture(scope="session")
def checked():
    """Give a function that builds a result from (level, stance) pairs per sub-claim."""

    def build(groups, rule, length=120):
        scores, sided = {"high": 0.9, "medium": 0.6, "low": 0.3}, {SUPPORTS: 0.9, REFUTES: 0.1}
        pairs = [(part, *pair) for part, group in enumerate(groups, 1) for pair in group]
        evidence = [
            Evidence(
                f"EV{n}", f"SC{part}", f"d{n}", "A source", "", "x" * length, 0, length,
                scores[level], level, stance, sided.get(stance),
            )
            for n, (part, level, stance) in enumerate(pairs, 1)
        ]  # fmt: skip
        parts = tuple(SubClaim(f"SC{n}", f"Part {n}.") for n in range(1, len(groups) + 1))
        judged, verdict, confidence = decide_claim([part.id for part in parts], evidence, rule)
        return VerdictResult(
            "c",
            "Claim.",
            verdict,
            confidence,
            subclaims=parts,
            evidence=tuple(evidence),
            subverdicts=judged,
        )

    return build
