"""What each stage costs: wall time, processor time, memory."""

import contextlib
import resource
import sys
import time
from time import process_time as cpu_seconds

import pandas as pd

# Linux reports kilobytes, macOS bytes.
_PEAK_UNIT = 2**20 if sys.platform == "darwin" else 2**10


class StageClock:
    """Stop-watch that adds up the costs of named stages."""

    def __init__(self):
        self._rows = {}

    @contextlib.contextmanager
    def stage(self, name):
        """Measure a block."""
        wall, cpu = time.perf_counter(), cpu_seconds()
        try:
            yield
        finally:
            row = self._rows.setdefault(name, [0.0, 0.0, 0.0])
            row[0] += time.perf_counter() - wall
            row[1] += cpu_seconds() - cpu
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            row[2] = peak / _PEAK_UNIT

    def table(self):
        """Give the costs so far."""
        columns = ["wall_s", "cpu_s", "peak_mb"]
        frame = pd.DataFrame.from_dict(self._rows, orient="index", columns=columns)
        return frame.rename_axis("stage")
