"""Run every benchmark against its peer, write docs/benchmarks.csv, fail below a bar.

One thread, some of them: ``OMP_NUM_THREADS=1 python tests/benchmarks/run.py inference raters``.
"""

import importlib
import sys
from pathlib import Path

import pandas as pd
from measuring import processor

from casebook.paths import ROOT

TABLE = ROOT / "docs" / "benchmarks.csv"
HERE = Path(__file__).parent
ALL = sorted(path.stem for path in HERE.glob("bench_*.py"))


def main():
    sys.path.append(str(HERE.parent))  # what tests share
    found = []
    for name in [f"bench_{name}" for name in sys.argv[1:]] or ALL:
        print(f"running {name}", file=sys.stderr)
        found += importlib.import_module(name).rows()
    rows = pd.DataFrame(found)
    print(rows.drop(columns="note").to_string(index=False, float_format="%.3g"))
    if len(sys.argv) == 1:
        names = {"ours_cpu_s": f"ours, CPU s, on {processor()}", "peer_cpu_s": "peer, CPU s"}
        shown = rows.drop(columns="passed").rename(columns=names)
        shown.to_csv(TABLE, index=False, float_format="%.3g", lineterminator="\n")
    failed = rows.loc[~rows["passed"].astype(bool), "benchmark"]
    if len(failed):
        sys.exit(f"below the bar: {', '.join(failed)}")


if __name__ == "__main__":
    main()
