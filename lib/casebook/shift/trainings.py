"""Stored trainings: read one, list them, find the latest or the best."""

from pathlib import Path

from casebook.errors import InputError
from casebook.readers import parse_json
from casebook.shift.training import RESULT, TIE, TrainingResult

_LEGACY_RESULT = "result.json"


def read_training(folder):
    """Read a training result."""
    folder = Path(folder)
    names = [folder] if folder.is_file() else [folder / RESULT, folder / _LEGACY_RESULT]
    path = next((p for p in names if p.is_file()), None)
    if path is None:
        raise InputError(f"{folder}: no {RESULT}; run 'casebook shift train' first")
    try:
        raw = parse_json(path.read_text(encoding="utf-8-sig"))
        known = {name.lower(): name for name in _FIELDS}
        values = {known.get(k.lower(), k): v for k, v in raw.items()}
        result = TrainingResult(values, path.parent)
        _ = result.created, result.score, result.vector
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a training result: {error}") from None
    return result


_FIELDS = (
    *("WorkflowName", "CreatedUtc", "BaseDirectory", "ComparisonRuns", "Scale"),
    *("ImprovementFirst", "ImprovementFirstPlusDelta", "DeltaImprovement", "Labels"),
    *("DeltaVector", "TrainingMode", "CancelOutEpsilon", "IsCancelled", "DeltaNorm"),
    *("CancelReason", "SelectionScore", "SelectionSource"),
)


def trainings(root, workflow):
    """List the trainings of a workflow."""
    results, unreadable = [], {}
    folders = sorted(Path(root).glob(f"{workflow}-training_*"), reverse=True)
    for folder in folders:
        try:
            results.append(read_training(folder))
        except InputError as error:
            unreadable[folder.name] = str(error)
    return results, unreadable


def latest(root, workflow):
    """Give the newest training, cancelled or not."""
    results, _ = trainings(root, workflow)
    if not results:
        raise InputError(f"{root}: no training of {workflow}: 'casebook shift train'")
    return results[0]


def best(root, workflow, include_cancelled=False):
    """Give the training with the highest selection score; of equals the newest."""
    results, _ = trainings(root, workflow)
    results = [r for r in results if include_cancelled or not r.cancelled]
    if not results:
        raise InputError(f"{root}: no training of {workflow} that is not cancelled")
    top = max(result.score for result in results)
    return max((r for r in results if r.score >= top - TIE), key=lambda r: r.created)
