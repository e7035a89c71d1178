"""How often `runs compare` calls two equal systems different, rows in groups."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.runs.decide import compare_runs
from casebook.runs.record import RunRecord, now, write_record

METRIC = "null.system.ndcg@10"
DESIGNS = {"6 x 20": [20] * 6, "15 x 8": [8] * 15, "unequal": [2, 4, 6, 8, 10, 15, 20, 25, 30]}


def rejections(sizes, trials=100, seed=0, *, grouped=True):
    """Compare runs of equal systems; queries of a group gain and lose together.

    Gives the share with ``p <= .05`` and the share whose interval leaves out 0.
    Without `grouped` the rows do not name their groups.
    """
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    rejected = left_out = 0
    with tempfile.TemporaryDirectory() as place:
        for _ in range(trials):
            before = rng.normal(0.5, 0.3, len(groups))
            gain = rng.normal(0, 0.2, len(sizes))[groups]
            after = before + gain + rng.normal(0, 0.02, len(groups))
            folders = [
                write_run(Path(place) / name, scores, groups if grouped else None)
                for name, scores in (("after", after), ("before", before))
            ]
            found = compare_runs(*folders, METRIC)
            rejected += found["p_value"] <= 0.05
            left_out += found["low"] is not None and not found["low"] <= 0 <= found["high"]
    return rejected / trials, left_out / trials


def write_run(report, scores, groups=None):
    rows = pd.DataFrame({"query_id": [f"q{n}" for n in range(len(scores))]})
    rows = rows.assign(**{"system": "system", "nDCG@10": scores})
    if groups is not None:
        rows.insert(1, "group", [f"g{n}" for n in groups])
    (report / "rows").mkdir(parents=True, exist_ok=True)
    rows.to_csv(report / "rows" / "null.csv.gz", index=False)
    folder = report / "runs" / "null"
    record = RunRecord.model_construct(
        run_id=report.name,
        workflow="null",
        started=now(),
        completed=now(),
        metrics={METRIC: float(np.mean(scores))},
    )
    write_record(folder / "run.json", record)
    return folder
