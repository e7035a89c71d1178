import pytest

from casebook.errors import InputError
from casebook.runs.comparability import comparability_key
from casebook.runs.metrics import canonical, canonical_metrics, file_part, higher_is_better, label


def test_one_spelling_and_no_value_that_is_not_a_number():
    assert canonical(" nDCG@3 ") == "ndcg@3"
    found = canonical_metrics({"MAP@1": 0.5, "x": float("nan"), "y": None, "Y": None})
    assert found == {"map@1": 0.5, "x": None, "y": None}
    with pytest.raises(ValueError, match="twice"):
        canonical_metrics({"MAP@1": 0.5, "map@1": 0.6})
    with pytest.raises(InputError, match="needs a name"):
        canonical("  ")


@pytest.mark.parametrize(
    ("metric", "higher"),
    [
        ("nDCG@10", True),
        ("smoke.full.RBP(p=0.9)", True),
        ("NdcgEvaluator.duration_ms", False),
        ("x.y.ECE", False),
        ("precision@1", True),
        ("mean_displacement", False),
        ("Brier", False),
        ("recall@100", True),
    ],
)
def test_direction(metric, higher):
    assert higher_is_better(metric) is higher


def test_file_names_are_safe_and_do_not_collide():
    assert file_part("nDCG@3") == "ndcg@3"
    names = {file_part(m) for m in ("a/b", "a_b", "a:b", "../a", "a" * 300)}
    assert len(names) == 5
    assert not any(set(name) & set("/\\:") or len(name) > 140 for name in names)


def test_comparability_is_data_and_metric_version_not_the_system():
    a = {"Inputs": {"data": {"dataset": "1"}, "parameters": {"k": 1}}}
    b = {"Inputs": {"data": {"dataset": "1"}, "parameters": {"k": 2}}}
    assert comparability_key(a) == comparability_key(b)
    assert comparability_key(a | {"MetricVersion": 2}) != comparability_key(a)
    other = {"Inputs": {"data": {"dataset": "2"}}}
    assert comparability_key(a) != comparability_key(other)
    assert comparability_key({}) is comparability_key({"Inputs": {"data": {}}}) is None
    assert comparability_key({"comparabilitykey": "k"}) == "k"


def test_a_documents_formula_has_a_prefix_for_readers_and_its_key_in_records():
    assert canonical("original:ndcg@3") == "ndcg@3" == canonical("NDCG@3")
    assert label("ndcg@3") == "original:ndcg@3" and label("rr") == "rr"
    # A chapter may report both: they are two keys of its record.
    both = {"smoke.ridge.nDCG@3": 0.5, "smoke.ridge.original:ndcg@3": 0.6}
    assert len(canonical_metrics(both)) == 2
