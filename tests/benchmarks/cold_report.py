"""The chapters of the report from nothing: together, and each by papermill alone.

The naive way starts papermill once a chapter, with nothing kept from the one before;
``make report`` runs two chapters at a time, forked from one process that has imported what
they share. Both have the data at hand and an empty cache of models' output. It takes about a
quarter of an hour and writes ``docs/scaling_report.csv``:
``python tests/benchmarks/cold_report.py``.
"""

import ctypes
import os
import sys
import tempfile
from pathlib import Path

import pandas as pd
import yaml
from measuring import wall_and_cpu

from casebook.batch.execute import QUIET
from casebook.batch.grid import load_grid, select
from casebook.paths import NOTEBOOKS, cache_dir

DOCS = Path(__file__).parents[2] / "docs"
BARS = {"wall": 0.6, "CPU": 0.7}  # of the naive way
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def fresh(folder):
    """An environment with the data sets, and an empty cache besides."""
    cache = folder / "cache"
    cache.mkdir(parents=True)
    (cache / "datasets").symlink_to(cache_dir("datasets"))
    places = {"CASEBOOK_CACHE": str(cache), "EMBEDDINGSHIFT_ROOT": str(folder)}
    return os.environ | QUIET | places


def naive(cells, folder):
    """Execute each chapter by papermill's own command, one after the other."""
    used = []
    for cell in cells:
        environment = fresh(folder / cell.name)
        parameters = {"run": "naive", "cell": cell.name, **cell.parameters}
        command = [sys.executable, "-m", "papermill", str(NOTEBOOKS / cell.notebook)]
        command += [str(folder / f"{cell.name}.ipynb"), "-y", yaml.dump(parameters)]
        used.append(wall_and_cpu([*command, "--no-progress-bar"], environment))
    return pd.DataFrame(used).sum().tolist()


def main():
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    # The comparison of runs reads run records, which papermill alone does not write.
    cells = [cell for cell in select(load_grid(), tag="default") if not cell.needs]
    ours = [sys.executable, "-m", "casebook", "run", "--run", "cold"]
    ours += [cell.name for cell in cells]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pair, alone = fresh(folder / "pair"), fresh(folder / "alone")
        rows = {"casebook run --workers 2": wall_and_cpu([*ours, "--workers", "2"], pair)}
        rows["casebook run"] = wall_and_cpu(ours, alone)
        rows["casebook run, unchanged"] = wall_and_cpu(ours, alone)
        rows["papermill, one by one"] = naive(cells, folder / "naive")
    table = pd.DataFrame(rows, index=["wall s", "CPU s"]).T.rename_axis("way")
    for kind in BARS:
        table[f"{kind}, share of the last"] = table[f"{kind} s"] / table[f"{kind} s"].iloc[-1]
    print(table.to_string(float_format="%.3g"))
    table.to_csv(DOCS / "scaling_report.csv", float_format="%.3g", lineterminator="\n")
    shares = table[[f"{kind}, share of the last" for kind in BARS]].iloc[0]
    if (shares > list(BARS.values())).any():
        sys.exit(f"a cold report takes too large a share of the naive way's time: {BARS}")


if __name__ == "__main__":
    main()
