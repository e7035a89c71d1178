"""Collections, claims and a fitted judge that several tests share."""

import pytest
from casebook.factcheck.stance_pairs import training_pairs

from casebook.factcheck.claims import read_claims, shipped_documents
from casebook.factcheck.pipeline import EvidenceBase
from casebook.factcheck.stance import FeatureStance


@pytest.fixture(scope="session")
def documents():
    return shipped_documents()


@pytest.fixture(scope="session")
def base(documents):
    return EvidenceBase(documents)


@pytest.fixture(scope="session")
def claims(documents):
    return read_claims(documents=documents)


@pytest.fixture(scope="session")
def stance(base, claims):
    train = [claim for claim in claims if claim.split == "train"]
    return FeatureStance(base.rarity).fit(training_pairs(train, base))
