"""The segments file: which queries the shift is applied to, in either spelling."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.files import write_json
from casebook.readers import parse_json

MEASURES = {"map@1": "Ap1", "ndcg@3": "Ndcg3"}
APPLY, SKIP = "ApplyShift", "SkipShift"
_WORDS = {"applyshift": APPLY, "variantb": APPLY, "skipshift": SKIP, "varianta": SKIP}


@dataclass(frozen=True)
class Segments:
    """A segments file."""

    metric: str
    eps: float | None
    baseline: Path
    shifted: Path
    decisions: dict


def read_segments(path):
    """Read a segments file in either known spelling."""
    path = Path(path)
    try:
        raw = parse_json(path.read_text(encoding="utf-8-sig"))
        values = {key.lower(): value for key, value in raw.items()}
        decisions = dict(values["decisions"])
    except FileNotFoundError:
        raise InputError(f"{path}: no such segments file") from None
    except KeyError:
        raise InputError(f"{path}: lacks Decisions") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: not a segments file: {error}") from None
    files = [_file(path, values, *keys) for keys in (("VariantAPath", "BaselinePath"), ("VariantBPath", "PosNegPath"))]
    metric = check_metric(values.get("metric") or "ndcg@3", path)
    found = {q: _decision(path, q, word) for q, word in decisions.items()}
    return Segments(metric, values.get("eps"), *files, found)


def _file(path, values, *keys):
    value = next((values[k.lower()] for k in keys if values.get(k.lower())), None)
    if value is None:
        raise InputError(f"{path}: lacks {keys[-1]}")
    if not isinstance(value, str):
        raise InputError(f"{path}: {keys[-1]} must be the path of a file")
    return path.parent / value


def _decision(path, query, word):
    known = _WORDS.get(str(word).lower())
    if known is None:
        raise InputError(f"{path}: query {query}: {word!r} is not {APPLY} or {SKIP}")
    return known


def check_metric(metric, where="--metric"):
    """Give the lower-case name of a metric of the per-query files."""
    if str(metric).lower() not in MEASURES:
        raise InputError(f"{where}: metric {metric!r}: choose {', '.join(MEASURES)}")
    return str(metric).lower()


def write_segments(path, segments):
    """Write a segments file under the documented names."""
    values = {
        "Metric": segments.metric,
        "Eps": segments.eps,
        "BaselinePath": str(segments.baseline),
        "PosNegPath": str(segments.shifted),
        "Decisions": segments.decisions,
    }
    return write_json(path, values)


def decisions_of(query_ids, apply):
    """Write decisions in the documented words."""
    words = pd.Series(np.where(apply, APPLY, SKIP), index=list(query_ids))
    return words.to_dict()
