"""Runs as Every Eval Ever records, schema 0.3.0: one record per system."""

import json

from casebook import __version__
from casebook.errors import InputError
from casebook.runs.export import choose_system
from casebook.runs.metrics import higher_is_better

SCHEMA = "0.3.0"
_BOUNDED = ("ndcg", "ap", "rr", "map", "p@", "r@", "success", "hit", "mrr", "rbp")


def every_eval(record, system=None, folder=None, availability="unknown"):
    """Give one system's figures as an Every Eval Ever record."""
    name, measures = choose_system(record, system)
    dataset, _, model = name.rpartition(".")
    intervals = _intervals(folder, record.workflow, name)
    results = [
        _result(dataset or name, measure, value, intervals.get(measure))
        for measure, value in sorted(measures.items())
        if value is not None
    ]
    if not results:
        raise InputError(f"{name}: no metric has a value")
    made = record.completed or record.started
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{dataset or name}/{model}/{made.timestamp():.0f}",
        "evaluation_timestamp": f"{record.started:%Y-%m-%dT%H:%M:%SZ}",
        "retrieved_timestamp": f"{made.timestamp():.0f}",
        "source_metadata": {
            "source_name": record.workflow,
            "source_type": "evaluation_run",
            "source_organization_name": record.tenant or "casebook",
            "evaluator_relationship": "third_party",
            "additional_details": {"run_id": record.run_id},
        },
        "eval_library": {"name": "casebook", "version": __version__},
        "model_info": {
            "name": model,
            "id": f"casebook/{model}",
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": availability,
                "content_key": str(record.labels.get("ContentKey")),
            },
        },
        "evaluation_results": results,
    }


def _result(dataset, measure, value, number):
    bounded = measure.startswith(_BOUNDED)
    details = {"score": value}
    if number:
        details["uncertainty"] = _uncertainty(number)
    return {
        "evaluation_result_id": f"{dataset}.{measure}",
        "evaluation_name": dataset,
        "source_data": {"dataset_name": dataset, "source_type": "other"},
        "metric_config": {
            "metric_id": measure,
            "metric_name": measure,
            "lower_is_better": not higher_is_better(measure),
            "score_type": "continuous",
            "min_score": 0 if bounded else None,
            "max_score": 1 if bounded else None,
        },
        "score_details": details,
    }


def _uncertainty(number):
    found = {"num_samples": number["n"]} if number.get("n") is not None else {}
    low, high = number.get("ci") or (None, None)
    if None not in (low, high):
        found["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": 0.95,
            "method": "percentile bootstrap",
        }
    return found


def _intervals(folder, experiment, name):
    """Numbers with n and interval by lower-case measure, empty if there are none."""
    if folder is None or folder.parent.name != "runs":
        return {}
    path = folder.parents[1] / "numbers" / f"{folder.name}.json"
    if not path.is_file():
        return {}
    numbers = json.loads(path.read_text(encoding="utf-8")).get(experiment, {})
    return {
        measure.lower(): number
        for dataset, systems in numbers.items()
        for system, measures in systems.items()
        if f"{dataset}.{system}".lower() == name
        for measure, number in measures.items()
    }
