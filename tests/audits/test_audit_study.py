"""The audit of everything at hand, and its control."""

import json

import pytest

from casebook.audits import detection, study
from casebook.errors import InputError


@pytest.fixture(scope="module")
def curve():
    return detection.detection_curve((0.0, 0.4, 1.0), repeats=6)


def test_dealt_labels_are_flagged_and_random_ones_are_not(curve):
    assert curve["flagged"].tolist() == [0.0, 1.0, 1.0]
    assert curve["value"].is_monotonic_increasing
    assert (curve["flagged low"] <= curve["flagged"]).all()


def test_everything_is_audited_or_absent(monkeypatch, curve):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    audits, absent = study.audit_all(["smoke", "insurance"], ["audit_countercase"])
    assert [audit.name for audit in audits] == ["smoke", "insurance"]
    assert list(absent) == ["audit_countercase"]
    table = study.findings_table(audits)
    assert len(table) == sum(len(audit.findings) for audit in audits)
    assert set(study.overview(table)["check"]) >= {"round robin", "split leak"}
    numbers = study.audit_numbers(audits, curve)
    json.dumps(numbers, allow_nan=False)
    assert numbers["smoke"]["labels"]["flagged"]["control"] == 0.0
    text = study.answer(audits, absent, curve)
    assert "insurance is flagged" in text and "Not audited: audit" in text
    assert study.absent_table(absent)["data"].tolist() == ["audit_countercase"]


def test_a_dataset_without_relevance_labels_is_an_error_if_asked_for():
    with pytest.raises(InputError, match="holds claims, not documents"):
        study.audit_all(["factcheck_claims"])
