"""HoVer: facts that count as exact, in part and not at all."""

import pytest
from fever_records import values

from casebook.factcheck.hover import official_hover_scores, score_hover


def test_hover_facts():
    facts = [["A", 0], ["B", 2]]
    records = [
        {"uid": name, "label": "SUPPORTED", "supporting_facts": facts} for name in "xyz"
    ]
    listed = {"x": [["B", 2], ["A", 0]], "y": [["A", 0], ["C", 1], ["B", 1]]}
    official = official_hover_scores(records, listed)
    assert official["total"] == 2
    assert official["exact"] == 50
    assert official["f1"] == pytest.approx(100 * (1 + 0.4) / 2)
    answers = [
        {"uid": name, "predicted_label": "SUPPORTED", "predicted_facts": found}
        for name, found in listed.items()
    ]
    found = score_hover(records, answers)
    assert found.account["missing"] == 1
    assert values(found) == pytest.approx([2 / 3, 1 / 3, 1.4 / 3, 1 / 3, 1.8 / 3])
