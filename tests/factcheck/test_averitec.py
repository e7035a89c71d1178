"""AVeriTeC: the public scorer's numbers, its defects and their remedies."""

import pytest

from casebook.errors import InputError
from casebook.factcheck.averitec import official_averitec_score, score_averitec


@pytest.mark.data
def test_averitec_cases(cases):
    case = cases["AVeriTeC evidence right, label wrong"]
    gold_claims = [{"label": "Refuted", "evidence": ["Who paid? The insurer."]}]
    wrong = [{"label": "Supported", "evidence": ["Who paid? The insurer."]}]
    found = official_averitec_score(gold_claims, wrong)
    assert found["averitec_score"] == case["averitec_score"]
    assert found["veracity_by_type"] == case["averitec 'Veracity scores' by claim type"]
    corrected = score_averitec(gold_claims, wrong, groups=["numeric"]).measures
    assert corrected["averitec_score@numeric"].estimate == 0.0
    case = cases["AVeriTeC 1 prediction vs 5 references"]
    right = [wrong[0] | {"label": "Refuted"}]
    found = official_averitec_score(gold_claims * 5, right)
    assert found["averitec_score"] == case["averitec_score"]
    with pytest.raises(InputError, match="5 gold claims and 1 predictions"):
        score_averitec(gold_claims * 5, right)
    padded = score_averitec(gold_claims * 5, [*right, *[None] * 4])
    assert padded.measures["averitec_score"].estimate == pytest.approx(0.2)
