"""Explanations: scores against own and foreign sources, and defects detected."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from casebook.plots.style import BLUE, GREY, WIDTH

_LINES = {"matched": (BLUE, "o", "own source"), "mismatched": (GREY, "s", "foreign")}


def matched_lines(frame, x, label, log=False):
    """Draw scores against own and foreign sources, one panel per rule."""
    rules = list(dict.fromkeys(frame["rule"]))
    figure, panels = plt.subplots(1, len(rules), figsize=(WIDTH, 3.4), sharey=True, squeeze=False)
    for axes, rule in zip(panels[0], rules, strict=True):
        for condition, (colour, marker, name) in _LINES.items():
            part = frame[(frame["rule"] == rule) & (frame["condition"] == condition)]
            axes.fill_between(part[x], part["low"], part["high"], color=colour, alpha=0.2)
            axes.plot(part[x], part["score"], color=colour, marker=marker, label=name)
        if log:
            axes.set_xscale("log")
            axes.set_xticks(sorted(set(frame[x])), sorted(set(frame[x])), rotation=90)
            axes.minorticks_off()
        axes.set_ylim(-0.02, 1.02)
        _ = axes.set(xlabel=label, title=f"{rule}, n = {frame['n'].max()}")
    panels[0][0].set_ylabel("grounded share")
    panels[0][-1].legend(fontsize="small")
    return figure


def detector_matrix(frame):
    """Draw the AUROC of detectors for planted defects."""
    shape = {"index": "detector", "columns": "defect"}
    defects, detectors = (list(dict.fromkeys(frame[c])) for c in ("defect", "detector"))
    values = frame.pivot(values="auroc", **shape).loc[detectors, defects]
    counts = frame.pivot(values="judged", **shape).loc[detectors, defects]
    values = values.astype(float)
    labels = values.map("{:.2f}".format) + "\n(" + counts.astype(str) + ")"
    figure, axes = plt.subplots(figsize=(WIDTH, 0.55 * len(detectors) + 1.8))
    sns.heatmap(
        values,
        annot=labels,
        fmt="",
        cmap="cividis",
        vmin=0.5,
        vmax=1,
        linewidths=1,
        annot_kws={"fontsize": 9},
        cbar_kws={"label": "AUROC (copies)", "shrink": 0.8},
        ax=axes,
    )
    axes.set_facecolor("#e5e5e5")
    axes.grid(visible=False)
    for row, column in np.argwhere(values.isna().to_numpy()):
        axes.text(column + 0.5, row + 0.5, "–", ha="center", va="center")
    axes.set_xticklabels([name.replace(" ", "\n") for name in defects], rotation=0)
    axes.tick_params(axis="y", rotation=0)
    _ = axes.set(xlabel="", ylabel="")
    return figure
