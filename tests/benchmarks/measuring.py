"""How the benchmarks measure, and how a measurement becomes a row of the table."""

import gc
import platform
import statistics
import time
from pathlib import Path


def cpu_seconds(call, repeats=3):
    """Give the median CPU seconds of some calls, all threads, and the last result."""
    seconds = []
    for _ in range(repeats):
        result = None  # frees that of the call before
        gc.collect()
        start = time.process_time()
        result = call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), result


def cpu_seconds_in_turns(first, second, repeats=3):
    """Give (median CPU seconds, last result) of two calls that take turns."""
    seconds = [[], []]
    results = [None, None]
    for _ in range(repeats):
        for place, call in enumerate((first, second)):
            spent, results[place] = cpu_seconds(call, 1)
            seconds[place].append(spent)
    return [
        (statistics.median(spent), result) for spent, result in zip(seconds, results, strict=True)
    ]


def row(benchmark, peer, ours, theirs, bar, note="", most=float("inf")):
    """Give one row: it passes at a ratio of the bar and at most so many CPU seconds.

    Parameters
    ----------
    benchmark, peer : str
        What is measured, and against what.
    ours, theirs : float
        CPU seconds; the ratio is theirs over ours.
    bar : float
        Least ratio.
    note : str
        Sizes and what else the table says.
    most : float
        Most CPU seconds of ours.
    """
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
    """Give one row against a fixed limit of CPU seconds (or what ``ours`` counts)."""
    return row(benchmark, "limit", ours, limit, 1, note)


def processor():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return models[0] if models else platform.processor() or platform.machine()
