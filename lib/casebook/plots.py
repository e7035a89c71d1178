"""Figures in one style, legible on a phone: values, effects, matrices, lines.

A figure that is one call of seaborn or matplotlib is drawn in its notebook.
"""

from itertools import cycle
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import rc_params_from_file
from matplotlib.colors import LinearSegmentedColormap, to_rgba

from casebook import verdicts
from casebook.figures import (
    BETTER,
    CONTROL,
    GRID,
    INK,
    OURS,
    PINK,
    UNDECIDED,
    VIOLET,
    WORSE,
    hover,
)
from casebook.tables import decimal, interval_text

WIDTH = 4.9  # inches: letters of 11 points are 10 pixels high on a phone of 360 pixels

_OF_VERDICT = {
    verdicts.BETTER: BETTER,
    verdicts.WORSE: WORSE,
    verdicts.UNDECIDED: UNDECIDED,
    verdicts.HIGHER: OURS,
    verdicts.LOWER: OURS,
}
_SERIES = ((OURS, "o"), (PINK, "s"), (INK, "^"), (VIOLET, "v"))

# Shades that letters are legible on, over light and over dark; zero has no colour.
SHADES = LinearSegmentedColormap.from_list(
    "level", [to_rgba(OURS, 0), to_rgba(OURS, 0.45)]
)


def use_style():
    """Set the one look of all figures."""
    style = rc_params_from_file(
        Path(__file__).with_suffix(".mplstyle"), use_default_template=False
    )
    sns.set_theme(
        style="whitegrid", palette=[colour for colour, _ in _SERIES], rc=style
    )


def _wrapped(names, letters=24):
    """Names in lines of so many letters; a word, or the number of units, is on one line."""
    texts = [str(name).replace("n = ", "n\u00a0=\u00a0") for name in names]
    return [fill(text, letters, break_long_words=False) for text in texts]


# Columns that a frame of values or lines may leave out.
_OPTIONAL = {"series": "", "panel": "", "low": np.nan, "high": np.nan, "address": None}


def _drawn(frame):
    """Rows that are drawn, with all columns; rows of several tables may have one name."""
    frame = frame.reset_index(drop=True)
    absent = {name: value for name, value in _OPTIONAL.items() if name not in frame}
    return frame.assign(**absent).astype({"value": float, "low": float, "high": float})


def _texts(names, frame):
    """Names and numbers of marks, shown on hover."""
    series = frame["series"].astype(str)
    names = names + series.radd(", ").where(series != "", "")
    if "n" in frame:
        names = names + frame["n"].map(" (n = {:,.0f})".format)
    bounds = map(interval_text, frame["low"], frame["high"])
    return names + ": " + frame["value"].map(decimal) + " " + list(bounds)


def values(frame, xlabel, reference=None):
    """Draw values with intervals on one axis, and named lines of reference.

    Columns are row, value and, where the frame has them, low, high, series, n, colour, address.
    Rows of one name are on one line, first on top; that of an undefined value is empty.
    """
    frame = _drawn(frame)
    names = frame["row"].astype(str)
    rows = names
    if "n" in frame:
        largest = frame.groupby(names)["n"].transform("max")
        rows = names + largest.map(" (n = {:,.0f})".format)
    lines = pd.Series(pd.factorize(rows)[0], frame.index)
    by_series = frame.groupby("series", sort=False)
    reference = reference or {}
    legend = len(reference) + len(by_series) - 1
    labels = _wrapped(rows.unique())
    n_breaks = "".join(labels).count("\n")
    of_line = 0.2 * len(by_series) + 0.2
    height = of_line * len(labels) + 0.12 * n_breaks + 0.25 * legend + 0.8
    figure, axes = plt.subplots(figsize=(WIDTH, height))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(xlabel)
    for name, at in reference.items():
        axes.axvline(at, color=CONTROL, lw=1.5, ls=":", label=f"{name}: {at:.2f}")
    # Series lie side by side within a line.
    offsets = np.linspace(-0.4, 0.4, 2 * len(by_series) + 1)[1::2]
    for (name, part), offset, style in zip(
        by_series, offsets, cycle(_SERIES), strict=False
    ):
        colour, marker = style
        drawn = {"color": part.get("colour", colour), "clip_on": False}
        place = lines[part.index] + offset
        axes.hlines(place, part["low"], part["high"], lw=3, **drawn)
        axes.scatter(
            part["value"], place, marker=marker, s=34, zorder=3, label=name, **drawn
        )
        ends = part[["value", "low", "high"]]
        texts = _texts(names[part.index], part)
        hover(axes, texts, ends.min(axis=1), place, ends.max(axis=1), part["address"])
    if legend:
        figure.legend(loc="outside upper left")
    return figure


def effects(frame, xlabel, margin=0.0):
    """Draw effects around zero, and a band of those too small to matter; columns as `values`.

    Without series, the colour of an effect is that of its verdict.
    """
    if "series" not in frame:
        frame = frame.assign(colour=frame["verdict"].map(_OF_VERDICT).fillna(CONTROL))
    figure = values(frame, xlabel)
    axes = figure.axes[0]
    axes.axvspan(-margin, margin, color=CONTROL, alpha=0.2, lw=0)
    axes.axvline(0, color=INK, lw=1)
    largest = np.nanmax(frame[["value", "low", "high"]].abs(), initial=margin) or 1
    axes.set_xlim(-1.08 * largest, 1.08 * largest)
    return figure


def lines(frame, x, ylabel, xlabel=None):
    """Draw lines with their intervals as bands.

    Columns are x, value and, where the frame has them, low, high, series and panel.
    """
    panels = _drawn(frame).groupby("panel", sort=False)
    size = (WIDTH, 2.3 * len(panels) + 0.9)
    figure, grid = plt.subplots(len(panels), figsize=size, squeeze=False)
    for axes, (title, part) in zip(grid.flat, panels, strict=True):
        axes.set(title=title, xlabel=xlabel or x, ylabel=ylabel)
        by_series = part.groupby("series", sort=False)
        for (name, line), (colour, marker) in zip(
            by_series, cycle(_SERIES), strict=False
        ):
            axes.plot(
                line[x], line["value"], color=colour, marker=marker, ms=4, label=name
            )
            axes.fill_between(
                line[x], line["low"], line["high"], color=colour, alpha=0.18, lw=0
            )
        if part["series"].any():
            axes.legend(loc="best")
    return figure


def matrix(table, shown="z.2f", counts=None):
    """Draw a matrix with its values written in; a missing value is a dash.

    `shown` is the format of a value; `counts`, a frame of numbers, are in brackets below the
    values.
    """
    table = table.astype(float)
    texts = table.map(decimal, spec=shown).where(table.notna(), "–")
    if counts is not None:
        texts += counts.map("\n({:,.0f})".format).where(table.notna(), "")
    rows = _wrapped(table.index, 22)
    n_breaks = "".join(rows).count("\n")
    size = (
        max(WIDTH, 0.85 * table.shape[1] + 1.6),
        0.55 * len(rows) + 0.12 * n_breaks + 1.0,
    )
    figure, axes = plt.subplots(figsize=size)
    sns.heatmap(
        table.fillna(0),  # seaborn writes nothing into a cell without a value
        ax=axes,
        annot=texts,
        fmt="",
        annot_kws={"color": INK, "size": 11},
        vmin=0,
        vmax=1,
        cmap=SHADES,
        cbar=False,
        linewidth=1,
        linecolor=GRID,
        xticklabels=_wrapped(table.columns, 12),
        yticklabels=rows,
    )
    axes.tick_params(axis="y", rotation=0)
    axes.set(xlabel="", ylabel="")
    axes.grid(visible=False)
    return figure
