"""Which runs may compete: the part of a fingerprint that must be equal.

The content key says what a run is (data, code, parameters, models, lock). Its
comparability part is smaller: data, judgements, query ids and metric version. Systems
may differ; what they are measured on may not.
"""

from casebook.runs.fingerprint import digest
from casebook.runs.metrics import METRIC_VERSION

_PARTS = ("datasethash", "splithash", "qrelshash", "queryidshash")


def comparability_key(labels):
    """Give the key that two runs must share to compete."""
    lower = {str(name).lower(): value for name, value in labels.items()}
    if lower.get("comparabilitykey"):
        return str(lower["comparabilitykey"])
    inputs = lower.get("inputs")
    parts = {name: lower[name] for name in _PARTS if lower.get(name)}
    if isinstance(inputs, dict) and inputs.get("data"):
        parts["data"] = inputs["data"]
    if not parts:
        return None
    return digest([parts, lower.get("metricversion", METRIC_VERSION)])
