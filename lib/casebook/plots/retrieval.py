"""Retrieval: settings, stages and what they cost."""

import matplotlib.pyplot as plt

from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH


def sweeps(frame, measure, marks=("default", "best")):
    """Draw a measure against each setting, on the split where settings are chosen."""
    parts = list(frame.groupby("parameter", sort=False))
    height = 2.3 * len(parts) + 0.3
    figure, panels = plt.subplots(len(parts), figsize=(WIDTH, height), squeeze=False)
    for axes, (parameter, part) in zip(panels[:, 0], parts, strict=True):
        axes.fill_between(part["value"], part["ci_low"], part["ci_high"], alpha=0.2)
        axes.plot(part["value"], part["mean"], marker="o", color=BLUE)
        default, best = part["default"].iloc[0], part["best"].iloc[0]
        axes.axvline(default, color=GREY, ls=":", label=f"{marks[0]} {default:.3g}")
        axes.axvline(best, color=ORANGE, ls="--", label=f"{marks[1]} {best:.3g}")
        axes.legend(loc="best", fontsize="small")
        _ = axes.set(xlabel=parameter, ylabel=measure)
    return figure


def attrition(frame):
    """Draw where the relevant documents were lost on the way to the result."""
    figure, axes = _stage_bars(frame, "share", "%.3f")
    _ = axes.set(xlabel="share of relevant documents still there", xlim=(0, 1.12))
    return figure


def stage_times(frame):
    """Draw the time of each stage per query."""
    figure, axes = _stage_bars(frame, "milliseconds", "%.1f")
    axes.margins(x=0.15)
    _ = axes.set(xlabel="milliseconds per query, processor time, one thread")
    return figure


def _stage_bars(frame, column, form):
    """Draw a bar with its value for each stage, the first on top."""
    figure, axes = plt.subplots(figsize=(WIDTH, 0.4 * len(frame) + 1.0))
    bars = axes.barh(frame["stage"], frame[column], color=BLUE)
    axes.bar_label(bars, fmt=form, padding=3)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    return figure, axes
