"""Run every benchmark against its peer, write docs/benchmarks.csv, fail below a bar."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
from measuring import processor

from casebook.paths import ROOT

HERE = Path(__file__).parent
TABLE = ROOT / "docs" / "benchmarks.csv"
COLUMNS = {
    "benchmark": "benchmark",
    "peer": "peer",
    "ours_cpu_s": "ours",
    "peer_cpu_s": "peer, CPU s",
    "ratio": "ratio",
    "bar": "bar",
    "note": "note",
}


def collect(names):
    paths = sorted(HERE.glob("bench_*.py"))
    for path in paths:
        if names and path.stem.removeprefix("bench_") not in names:
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        print(f"running {path.stem}", file=sys.stderr)
        yield from module.rows()


def main():
    rows = pd.DataFrame(collect(sys.argv[1:]))
    print(rows.drop(columns="note").to_string(index=False, float_format="%.3g"))
    if len(sys.argv) == 1:
        shown = rows[list(COLUMNS)].rename(
            columns=COLUMNS | {"ours_cpu_s": f"ours, CPU s, on {processor()}"}
        )
        shown.to_csv(TABLE, index=False, float_format="%.3g", lineterminator="\n")
    failed = rows.loc[~rows["passed"].astype(bool), "benchmark"]
    if len(failed):
        sys.exit(f"below the bar: {', '.join(failed)}")


if __name__ == "__main__":
    main()
