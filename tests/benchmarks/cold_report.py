"""The chapters of the report from nothing: together, and each by papermill alone.

The naive way starts papermill once a chapter, with nothing kept from the one before;
``make report`` runs two chapters at a time, forked from one process that has imported what
they share.
Both have the data at hand and an empty cache of models' output. It takes about a
quarter of an hour and writes ``docs/scaling_report.csv``:
``python tests/benchmarks/cold_report.py``.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import yaml

from casebook.batch.execute import QUIET
from casebook.batch.grid import load_grid, select
from casebook.paths import NOTEBOOKS, cache_dir

DOCS = Path(__file__).parents[2] / "docs"
BARS = {"wall": 0.6, "CPU": 0.7}  # of the naive way
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def measured(command, environment):
    before, wall = os.times(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}\n{done.stderr[-2000:]}")
    with contextlib.suppress(ChildProcessError):
        while True:  # what it left, such as the process that forks kernels, is ours now
            os.wait()
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - wall, cpu


def fresh(folder):
    cache = folder / "cache"
    cache.mkdir(parents=True)
    (cache / "datasets").symlink_to(cache_dir("datasets"))
    places = {"CASEBOOK_CACHE": str(cache), "EMBEDDINGSHIFT_ROOT": str(folder)}
    return os.environ | QUIET | places


def naive(cells, folder):
    """Execute each chapter by papermill's own command, one after the other."""
    wall = cpu = 0.0
    folder.mkdir()
    for cell in cells:
        parameters = {"run": "naive", "cell": cell.name, **cell.parameters}
        command = [sys.executable, "-m", "papermill", str(NOTEBOOKS / cell.notebook)]
        command += [str(folder / f"{cell.name}.ipynb"), "-y", yaml.dump(parameters)]
        command += ["--no-progress-bar"]
        seconds = measured(command, fresh(folder / cell.name))
        wall, cpu = wall + seconds[0], cpu + seconds[1]
        print(f"{cell.name}: {seconds[0]:.0f} s wall, {seconds[1]:.0f} s CPU")
    return wall, cpu


def main():
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    # The comparison of runs reads run records, which papermill alone does not write.
    cells = [c for c in select(load_grid(), tag="default") if not c.needs]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ours = [sys.executable, "-m", "casebook", "run", "--run", "cold"]
        ours += [cell.name for cell in cells]
        pair, alone = fresh(folder / "pair"), fresh(folder / "alone")
        rows = {"casebook run --workers 2": measured([*ours, "--workers", "2"], pair)}
        rows["casebook run"] = measured(ours, alone)
        rows["casebook run, unchanged"] = measured(ours, alone)
        rows["papermill, one by one"] = naive(cells, folder / "naive")
    table = pd.DataFrame(rows, index=["wall s", "CPU s"]).T.rename_axis("way")
    for kind in ("wall", "CPU"):
        seconds = table[f"{kind} s"]
        table[f"{kind}, share of the last"] = seconds / seconds.iloc[-1]
    print(table.to_string(float_format="%.3g"))
    place = DOCS / "scaling_report.csv"
    table.to_csv(place, float_format="%.3g", lineterminator="\n")
    for kind, bar in BARS.items():
        share = table[f"{kind}, share of the last"].iloc[0]
        if share > bar:
            sys.exit(f"a cold report takes {share:.2f} of the naive way's {kind} time, over {bar}")


if __name__ == "__main__":
    main()
