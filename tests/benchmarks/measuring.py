"""How the benchmarks measure, and how a measurement becomes a row of the table."""

import contextlib
import gc
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path


def cpu_seconds(*calls, repeats=3):
    """Median CPU seconds of calls that take turns, all threads, and what each gave last."""
    seconds = [[] for _ in calls]
    for _ in range(repeats):
        results = []
        for call, spent in zip(calls, seconds, strict=True):
            gc.collect()
            start = time.process_time()
            results.append(call())
            spent.append(time.process_time() - start)
    return [statistics.median(spent) for spent in seconds], results


def own_seconds(call, repeats=3):
    return cpu_seconds(call, repeats=repeats)[0][0]


def row(benchmark, peer, ours, theirs, bar, note="", most=float("inf")):
    """One row: it passes if the peer takes ``bar`` times as long, and ours at most so long."""
    ratio = theirs / ours
    return {
        "benchmark": benchmark,
        "peer": peer,
        "ours_cpu_s": ours,
        "peer_cpu_s": theirs,
        "ratio": ratio,
        "bar": bar,
        "passed": ratio >= bar and ours <= most,
        "note": note,
    }


def limit_row(benchmark, ours, limit, note=""):
    """One row against a fixed limit of CPU seconds (or what ``ours`` counts)."""
    return row(benchmark, "limit", ours, limit, 1, note)


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def wall_and_cpu(command, environment):
    """Seconds of a command; CPU time with all that it started."""
    before, wall = os.times(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}\n{done.stderr[-2000:]}")
    with contextlib.suppress(ChildProcessError):
        while True:  # what it left, such as the process that forks kernels, may be ours now
            os.wait()
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - wall, cpu


def processor():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return models[0] if models else platform.processor() or platform.machine()
