"""Verdicts: confusion under policies, measures beside baselines, calibration."""

import matplotlib.pyplot as plt
import numpy as np

from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH

GREEN = "#009e73"
_SERIES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), ("#cc79a7", "v"), (GREY, "D"))


def confusion_matrices(tables):
    """Draw tables of gold labels by outcomes side by side."""
    rows = -(-len(tables) // 2)
    most = max(len(table) for table in tables.values())
    figure, panels = plt.subplots(rows, 2, figsize=(WIDTH, rows * (0.55 * most + 1.7)), squeeze=False)
    for axes in panels.flat[len(tables) :]:
        axes.set_visible(False)
    for axes, (title, table) in zip(panels.flat, tables.items(), strict=False):
        counts = table.to_numpy(dtype=float)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (i, j), count in np.ndenumerate(counts):
            colour = "white" if shares[i, j] > 0.6 else "black"
            style = {"ha": "center", "va": "center", "fontsize": 8, "color": colour}
            axes.text(j, i, f"{count:,.0f}\n{shares[i, j]:.0%}", **style)
        axes.set_xticks(range(table.shape[1]), _short(table.columns), rotation=60)
        axes.set_yticks(range(len(table)), _short(table.index))
        axes.tick_params(labelsize=8)
        axes.grid(visible=False)
        axes.set_title(f"{title} (n={counts.sum():,.0f})", fontsize=9)
        _ = axes.set(xlabel="", ylabel="gold")
    return figure


def _short(names):
    words = {"NOT_SUPPORTED": "NOT SUP.", "INSUFFICIENT": "INSUFF."}
    words |= {"CONFLICTING": "CONFLICT", "no_class": "neither"}
    return [words.get(name, str(name).replace("_", " ")) for name in names]


def interval_rows(frame, xlabel, limits=None):
    """Draw values with intervals, several series a row, controls as ticks."""
    if frame.empty:
        figure, axes = plt.subplots(figsize=(WIDTH, 0.6))
        axes.text(0, 0.5, "nothing of this kind was run on these claims", va="center")
        axes.set_axis_off()
        return figure
    rows, series = (list(dict.fromkeys(frame[c])) for c in ("row", "series"))
    height = 0.2 * len(rows) * (len(series) + 0.8) + 1.1
    figure, axes = plt.subplots(figsize=(WIDTH, height + 0.25 * (len(series) > 1)))
    for place, name in enumerate(series):
        part = frame[frame["series"] == name]
        shift = 0.0 if len(series) == 1 else 0.6 * (place / (len(series) - 1) - 0.5)
        at = np.array([rows.index(row) + shift for row in part["row"]])
        colour, marker = _SERIES[place % len(_SERIES)]
        axes.hlines(at, part["low"], part["high"], color=colour, lw=2.5)
        style = {"color": colour, "marker": marker, "s": 34, "zorder": 3}
        axes.scatter(part["value"], at, label=name, **style)
        if "control" in part:
            axes.scatter(part["control"], at, marker="|", color=GREY, s=90, lw=2)
    axes.set_yticks(range(len(rows)), _labels(frame, rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(xlabel)
    if limits is None:
        axes.axvline(0, color=GREY, lw=1)
    else:
        axes.set_xlim(limits)
    if len(series) > 1:
        figure.legend(loc="outside upper left", ncols=2, fontsize=8, frameon=False)
    return figure


def _labels(frame, rows):
    if "n" not in frame:
        return rows
    counts = frame.groupby("row", sort=False)["n"].max()
    return [f"{row}  (n={counts[row]:,.0f})" for row in rows]


def reliability(bins, curve, n, missing):
    """Draw a reliability diagram beside risk against coverage."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.3))
    left.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    left.vlines(bins["confidence"], bins["share low"], bins["share high"], color=BLUE)
    left.scatter(bins["confidence"], bins["share"], color=BLUE, s=30, zorder=3)
    left.set_title(f"n={n:,}, {missing:,} without", fontsize=9)
    limits = {"xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02)}
    _ = left.set(xlabel="stated probability", ylabel="came true", **limits)
    if len(curve):
        right.step(curve["coverage"], curve["risk"], where="post", color=BLUE)
        right.axhline(curve["risk"].iloc[-1], color=GREY, lw=1, ls="--")
    right.set_title("most confident first", fontsize=9)
    _ = right.set(xlabel="coverage", ylabel="share of errors", **limits)
    return figure
