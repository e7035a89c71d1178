"""Shift some queries and skip others: the segments file, its comparison, and the gap rule."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.frames import contrasts, estimates
from casebook.readers import read_json
from casebook.runs.outputs import number
from casebook.runs.record import GROUP, read_per_query

PER_QUERY_COLUMNS = {"map@1": "Ap1", "ndcg@3": "Ndcg3"}
APPLY = "ApplyShift"
SKIP = "SkipShift"
_WORDS = {"applyshift": APPLY, "variantb": APPLY, "skipshift": SKIP, "varianta": SKIP}

Metric = Annotated[
    Literal["map@1", "ndcg@3"], BeforeValidator(lambda name: str(name).lower())
]
Decision = Annotated[
    Literal["ApplyShift", "SkipShift"],
    BeforeValidator(lambda word: _WORDS.get(str(word).lower(), word)),
]


class Segments(BaseModel):
    """A segments file: two per-query files, and for each query whether to shift it."""

    metric: Metric = "ndcg@3"
    baseline: Path = Field(
        validation_alias=AliasChoices("baselinepath", "variantapath")
    )
    shifted: Path = Field(validation_alias=AliasChoices("posnegpath", "variantbpath"))
    decisions: dict[str, Decision]


def read_segments(path):
    """Read a segments file in either known spelling."""
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise InputError(f"{path}: not a segments file: it holds no object")
    try:
        segments = Segments.model_validate(
            {name.lower(): value for name, value in raw.items()}
        )
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from None
    segments.baseline = Path(path).parent / segments.baseline
    segments.shifted = Path(path).parent / segments.shifted
    return segments


def compare_segments(segments, *, seed=0):
    """Compare baseline, shifted and segmented rankings: counts, means and paired differences."""
    base, shifted = map(_by_query, (segments.baseline, segments.shifted))
    used = base.index.intersection(shifted.index, sort=False)
    if used.empty:
        raise InputError(f"{segments.shifted}: shares no query with the baseline")
    decisions = pd.Series(segments.decisions, dtype=object).rename(str.lower)
    undecided = used.difference(decisions.index, sort=False)
    if len(undecided):
        missing = f"{len(undecided)} of {len(used)} queries have no decision"
        raise InputError(
            f"{missing} (first: {undecided[0]}): give each {APPLY} or {SKIP}"
        )
    apply = decisions[used] == APPLY
    groups = base.loc[used, GROUP]
    n = len(used)
    applied = int(apply.sum())
    counts = {
        "used": n,
        "missing": len(base) - n,
        "extra": len(shifted) - n,
        "apply": applied,
        "skip": n - applied,
        "groups": groups.nunique(),
    }
    compared = {"metric": segments.metric, "counts": counts, "kpi": {}, "delta": {}}
    for measure, column in PER_QUERY_COLUMNS.items():
        columns = {"Baseline": base[column], "PosNeg": shifted[column]}
        systems = pd.DataFrame(columns).loc[used]
        systems["Segmented"] = systems["Baseline"].mask(apply, systems["PosNeg"])
        found = means_and_gains(systems, groups, seed=seed)
        for kind, numbers in zip(("kpi", "delta"), found, strict=True):
            for system, value in numbers.items():
                compared[kind].setdefault(system, {})[measure] = value
    return compared


def _by_query(path):
    """Read a per-query file; ids of queries are compared without regard to case."""
    frame = read_per_query(path)
    return frame.set_index(frame["QueryId"].str.lower())


def means_and_gains(scores, groups=None, **resampling):
    """Means of systems, and differences from the first, with intervals as in ``numbers.json``."""
    pairs = [(system, scores.columns[0]) for system in scores.columns[1:]]
    frames = [contrasts(scores, [pair], groups, **resampling) for pair in pairs]
    rows = pd.concat(frames).to_dict("records")
    gains = {row["system"]: number(row, "difference") for row in rows}
    rows = estimates(scores, groups, **resampling).to_dict("records")
    return {row["system"]: number(row) for row in rows}, gains


def gap_gain(base, shifted):
    """How much a shift widens the gap between first and second document; -inf without a second."""
    gap_before = (base["TopScore"] - base["Top2Score"]).to_numpy(float)
    gap_after = (shifted["TopScore"] - shifted["Top2Score"]).to_numpy(float)
    return np.nan_to_num(gap_after - gap_before, nan=-np.inf)


def fit_tau(gains, differences):
    """Choose the threshold of the gap rule that gains most on development queries; inf: none."""
    finite = gains[np.isfinite(gains)]
    taus = np.r_[np.inf, np.unique(finite)[::-1]]
    totals = [differences[gains >= tau].sum() for tau in taus]
    return float(taus[np.argmax(np.round(totals, 12))])
