"""MTEB results: ours for others, and published ones to stand beside ours."""

import math
import re
from pathlib import Path

from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import parse_json
from casebook.runs.artifact import RunRecord, now
from casebook.runs.export import choose_system
from casebook.runs.metrics import canonical

_MTEB = {"ndcg": "ndcg", "ap": "map", "rr": "mrr", "p": "precision", "r": "recall"}
_CUT = re.compile(r"(ndcg|ap|rr|p|r)@(\d+)")
_MTEB_CUT = re.compile(r"(ndcg|map|mrr|precision|recall)_at_(\d+)")
MAIN = "ndcg@10"


def mteb_result(record, system=None, task=None, revision=None, split="test"):
    """Give one system's figures as an MTEB TaskResult."""
    name, measures = choose_system(record, system)
    scores = {
        f"{_MTEB[match[1]]}_at_{match[2]}": value
        for measure, value in measures.items()
        if (match := _CUT.fullmatch(measure)) and value is not None
    }
    main = measures.get(MAIN)
    if main is None:
        raise InputError(f"{name} holds no {MAIN}, the main score of MTEB's retrieval")
    data = (record.labels.get("Inputs") or {}).get("data") or {}
    entry = {"main_score": main, "hf_subset": "default", "languages": ["eng-Latn"], **dict(sorted(scores.items()))}
    return {
        "dataset_revision": revision or f"sha256:{data.get('dataset', 'unknown')}",
        "task_name": task or name.rpartition(".")[0] or name,
        "mteb_version": None,
        "scores": {split: [entry]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }


def read_mteb(path, model, dataset=None, split="test"):
    """Read a published MTEB TaskResult as a run that stands beside ours."""
    value, entry = _task_result(Path(path), split)
    task, revision = value["task_name"], value["dataset_revision"]
    prefix = f"{dataset or task}.{valid_name(model, 'model')}"
    known = {theirs: ours for ours, theirs in _MTEB.items()}
    metrics = {f"{prefix}.main_score": entry["main_score"]}
    for name, score in entry.items():
        match = _MTEB_CUT.fullmatch(name)
        if match and isinstance(score, int | float) and math.isfinite(score):
            metrics[f"{prefix}.{known[match[1]]}@{match[2]}"] = score
    version = entry.get("mteb_version") or value.get("mteb_version")
    return RunRecord.model_construct(
        run_id=f"mteb-{valid_name(task, 'task')}-{model}",
        workflow="mteb",
        started=now(),
        completed=now(),
        labels={
            "Source": "MTEB TaskResult",
            "DatasetRevision": revision,
            "MtebVersion": version,
            "ComparabilityKey": f"mteb {version} {task} {revision}",
        },
        metrics={canonical(name): score for name, score in metrics.items()},
    )


def _task_result(path, split):
    """Read the file and the one entry of a split."""
    try:
        value = parse_json(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:
        raise InputError(f"{path}: is not JSON in UTF-8: {error}") from None
    try:
        entries = value["scores"][split]
        complete = {"task_name", "dataset_revision"} <= set(value)
        main = entries[0]["main_score"]
    except (LookupError, TypeError):
        complete = False
    if not complete or not isinstance(main, int | float):
        raise InputError(
            f"{path}: no TaskResult of MTEB with the split {split!r}: it has "
            "task_name, dataset_revision and scores with a main_score"
        )
    if not math.isfinite(main):
        raise InputError(f"{path}: main_score {main} is not a number")
    if len(entries) > 1:
        raise InputError(f"{path}: {len(entries)} subsets in {split}; expected one")
    return value, entries[0]
