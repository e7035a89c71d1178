"""Figures in one style, legible on a phone: values, effects, matrices, ratings, lines.

A figure that is one call of seaborn or matplotlib is drawn in its notebook.
"""

from itertools import cycle
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgba
from matplotlib.patches import Patch

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
from casebook.tables import decimal, interval_text, reason_text

WIDTH = 4.9  # inches: letters of 11 points are 10 pixels high on a phone of 360 pixels

_OF_VERDICT = {
    verdicts.BETTER: BETTER,
    verdicts.WORSE: WORSE,
    verdicts.UNDECIDED: UNDECIDED,
    verdicts.HIGHER: OURS,
    verdicts.LOWER: OURS,
}
_SERIES = ((OURS, "o"), (PINK, "s"), (INK, "^"), (VIOLET, "v"))
_DASHES = (":", "--", "-.", "-")
_LIKERT = [(WORSE, 0.45), (WORSE, 0.2), (CONTROL, 0.2), (BETTER, 0.2), (BETTER, 0.45)]
_VOTES = {-1: WORSE, 0: "#b0b0b0", 1: BETTER}
_MOST_ITEMS = 400

# Shades that letters are legible on, over light and over dark.
SHADES = LinearSegmentedColormap.from_list("level", [to_rgba(OURS, 0), to_rgba(OURS, 0.45)])
_STYLE = {
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.labelsize": 11,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.figsize": (WIDTH, 3.3),
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": GRID,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.fonttype": "none",  # letters stay letters: smaller, searchable, in the page's own font
    "svg.hashsalt": "casebook",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 11,
    "ytick.color": INK,
    "ytick.labelsize": 11,
}


def use_style():
    """Set the one look of all figures: legible on a phone, the same bytes for the same figure."""
    sns.set_theme(style="whitegrid", palette=[colour for colour, _ in _SERIES], rc=_STYLE)


def _wrapped(names, letters=24):
    """Names in lines of so many letters; a word, or the number of units, is on one line."""
    texts = [str(name).replace("n = ", "n\u00a0=\u00a0") for name in names]
    return [fill(text, letters, break_long_words=False) for text in texts]


def _rows_figure(labels, height):
    """A figure with a named row for each label, the first on top."""
    names = _wrapped(labels)
    height += 0.12 * "".join(names).count("\n")
    figure, axes = plt.subplots(figsize=(WIDTH, height))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    return figure, axes


# Values and lines

# Columns that a frame of values or lines may leave out.
_OPTIONAL = {"series": "", "panel": "", "low": np.nan, "high": np.nan, "reason": np.nan}


def _drawn(frame):
    """Rows that are drawn, with all columns; rows of several tables may have one name."""
    absent = {name: value for name, value in _OPTIONAL.items() if name not in frame}
    frame = frame.reset_index(drop=True).assign(**absent)
    return frame.astype({"value": float, "low": float, "high": float})


def _texts(names, frame):
    """Names and numbers of marks, shown on hover."""
    if frame["series"].any():
        names = names + ", " + frame["series"].astype(str)
    if "n" in frame:
        names = names + frame["n"].map(" (n = {:,.0f})".format)
    rows = zip(names, frame["value"], frame["low"], frame["high"], strict=True)
    return [
        f"{name}: {decimal(value)} {interval_text(low, high)}" for name, value, low, high in rows
    ]


def values(frame, xlabel, limits=(0, 1), reference=None):
    """Draw values with intervals on one axis, and named lines of reference.

    Columns are row, value and, where the frame has them, low, high, series, n, colour, address,
    and a reason where a value is undefined.
    """
    frame = _drawn(frame)
    names = frame["row"].astype(str)
    rows = names
    if "n" in frame:
        rows = names + frame.groupby(names)["n"].transform("max").map(" (n = {:,.0f})".format)
    labels = rows.unique()
    by_series = frame.groupby("series", sort=False)
    reference = reference or {}
    legend = len(reference) + max(len(by_series), 1) - 1
    height = len(labels) * (0.2 * len(by_series) + 0.2) + 0.8 + 0.25 * legend
    figure, axes = _rows_figure(labels, height)
    for (name, at), dashes in zip(reference.items(), cycle(_DASHES), strict=False):
        axes.axvline(at, color=CONTROL, lw=1.5, ls=dashes, label=f"{name}: {at:.2f}")
    offsets = np.linspace(-0.4, 0.4, 2 * len(by_series) + 1)[1::2]
    styles = zip(offsets, cycle(_SERIES), strict=False)
    for (name, part), (offset, (colour, marker)) in zip(by_series, styles, strict=False):
        heights = pd.Index(labels).get_indexer(rows[part.index]) + offset
        style = {"color": part.get("colour", colour), "clip_on": False}  # no mark is cut by an axis
        axes.hlines(heights, part["low"], part["high"], lw=3, **style)
        axes.scatter(part["value"], heights, marker=marker, s=34, zorder=3, label=name, **style)
        ends = part[["value", "low", "high"]].agg(["min", "max"], axis=1)
        texts = _texts(names[part.index], part)
        hover(axes, texts, ends["min"], heights, ends["max"], heights, part.get("address"))
    for place, (_, of_row) in enumerate(frame.groupby(rows, sort=False)):
        if of_row["value"].isna().all():
            why = "".join(": " + of_row["reason"].dropna().head(1).map(reason_text))
            why = fill(f"undefined{why}", 34)
            at = {"transform": axes.get_yaxis_transform(), "va": "center", "in_layout": False}
            axes.text(0.02, place, why, color=CONTROL, **at)
    axes.set_xlabel(xlabel)
    if limits:
        low, high = axes.dataLim.intervalx
        axes.set_xlim(min(low, limits[0]), max(high, limits[1]))
    if legend:
        figure.legend(loc="outside upper left")
    return figure


def effects(frame, xlabel, margin=0.0):
    """Draw effects around zero, and a band of those too small to matter; columns as `values`.

    Without series, the colour of an effect is that of its verdict.
    """
    frame = _drawn(frame)
    if not frame["series"].any():
        frame = frame.assign(colour=verdict_colours(frame))
    figure = values(frame, xlabel, None)
    axes = figure.axes[0]
    if margin:
        axes.axvspan(-margin, margin, color=CONTROL, alpha=0.2, lw=0)
    axes.axvline(0, color=INK, lw=1)
    largest = np.nanmax([frame[["value", "low", "high"]].abs().max(axis=None), margin])
    if largest:
        axes.set_xlim(-1.08 * largest, 1.08 * largest)
    return figure


def verdict_colours(frame):
    """The colour of each row's verdict; without verdicts, of its interval beside zero."""
    if "verdict" in frame:
        return frame["verdict"].map(_OF_VERDICT).fillna(CONTROL)
    sides = [frame["low"] > 0, frame["high"] < 0]
    return pd.Series(np.select(sides, [BETTER, WORSE], UNDECIDED), frame.index)


def lines(frame, x, ylabel, xlabel=None):
    """Draw lines with their intervals as bands.

    Columns are x, value and, where the frame has them, low, high, series, panel, n and address.
    """
    xlabel = xlabel or x
    panels = _drawn(frame).groupby("panel", sort=False)
    size = (WIDTH, 2.3 * len(panels) + 0.9)
    figure, grid = plt.subplots(len(panels), figsize=size, squeeze=False)
    for axes, (title, part) in zip(grid.flat, panels, strict=True):
        axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        by_series = part.groupby("series", sort=False)
        for (name, line), (colour, marker) in zip(by_series, cycle(_SERIES), strict=False):
            style = {"marker": marker, "ms": 4, "label": str(name) or None}
            axes.plot(line[x], line["value"], color=colour, **style)
            axes.fill_between(line[x], line["low"], line["high"], color=colour, alpha=0.18, lw=0)
            texts = _texts(line[x].map(f"{xlabel} {{:.3g}}".format), line)
            hover(axes, texts, line[x], line["value"], addresses=line.get("address"))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best")
    return figure


# Matrices and ratings


def matrix(table, label, shown="z.2f", addresses=None, counts=None):
    """Draw a matrix with its values written in; a missing value is a dash.

    `shown` is the format of a value, and `label` what it is called on hover; `addresses` and
    `counts`, which are in brackets below the values, are frames of links and of numbers.
    """
    table = table.astype(float)
    texts = table.map(lambda value: "–" if np.isnan(value) else decimal(value, shown))
    if counts is not None:
        texts += counts.map("\n({:,.0f})".format).where(table.notna(), "")
    names = _wrapped(table.index, 22)
    lines = 1 + max(text.count("\n") for text in [*names, *texts.to_numpy().flat])
    width = max(WIDTH, 0.85 * table.shape[1] + 1.6)
    _, axes = plt.subplots(figsize=(width, (0.17 * lines + 0.21) * len(names) + 1.0))
    # Zero has no colour, and seaborn writes nothing into a cell without a value.
    style = {"cmap": SHADES, "vmin": 0, "vmax": 1, "cbar": False}
    style |= {"linewidth": 1, "linecolor": GRID, "annot_kws": {"color": INK, "size": 11}}
    heads = {"xticklabels": _wrapped(table.columns, 12), "yticklabels": names}
    sns.heatmap(table.fillna(0), annot=texts, fmt="", ax=axes, **style, **heads)
    axes.tick_params(axis="y", rotation=0)
    axes.set(xlabel="", ylabel="")
    axes.grid(visible=False)
    for row, column in np.ndindex(table.shape):
        text = texts.iloc[row, column].replace("\n(", " (n = ")
        title = f"{table.index[row]}, {table.columns[column]}: {label} {text}"
        link = None if addresses is None else addresses.iloc[row, column]
        hover(axes, [title], column, row, column + 1, row + 1, [link])
    return axes.figure


def rating_matrix(ratings, names=None, addresses=None):
    """Draw every rating: items in columns, from low to high mean, raters in rows.

    `names` are the words of votes, which are in a legend: of -1, 0 and 1. `addresses` are the
    links of items, by item.
    """
    items = ratings.loc[ratings.mean(axis=1).sort_values(kind="stable").index].astype(float)
    if len(items) > _MOST_ITEMS:
        items = items.iloc[np.linspace(0, len(items) - 1, _MOST_ITEMS).round().astype(int)]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * items.shape[1] + 1.5))
    axes.patch.set(hatch="xxx", facecolor="#d9d9d9", edgecolor="#9a9a9a")
    style = {"cmap": "cividis_r", "cbar_kws": {"label": "rating", "pad": 0.02}}
    if names:
        colours = ListedColormap(list(_VOTES.values()))
        style = {"cmap": colours, "vmin": -1, "vmax": 1, "cbar": False}
        patches = [Patch(color=_VOTES[vote], label=fill(names[vote], 40)) for vote in _VOTES]
        figure.legend(handles=patches, loc="outside upper left")
    style |= {"xticklabels": False, "yticklabels": _wrapped(items.columns), "rasterized": True}
    sns.heatmap(items.T, ax=axes, **style)
    axes.tick_params(axis="y", rotation=0)
    missing = ratings.isna().to_numpy().sum()
    drawn = f"{len(items):,} of {len(ratings):,} items, from low to high mean;"
    axes.set(xlabel=f"{drawn}\n{missing:,} ratings missing", ylabel="")
    titles = items.index.astype(str) + items.mean(axis=1).map(": mean {:.2f}".format)
    links = None if addresses is None else addresses[items.index]
    left = np.arange(len(items))
    hover(axes, titles, left, 0, left + 1, items.shape[1], links, least=0)
    return figure


def rating_distributions(ratings):
    """Draw how often every rating was given, by scale and system."""
    rated = ratings.dropna(subset="rating")
    groups = [rated["scale"], rated["system"]]
    shares = pd.crosstab(groups, rated["rating"], normalize="index")
    shares = 100 * shares.reindex(columns=range(1, 6), fill_value=0)
    numbers = rated["rating"].groupby(groups).agg(["mean", "size"]).itertuples()
    labels = [f"{', '.join(key)} ({mean:.3f}, n = {n:,.0f})" for key, mean, n in numbers]
    figure, axes = _rows_figure(labels, 0.5 * len(labels) + 1.4)
    axes.grid(visible=False)
    rows = np.arange(len(shares))
    left = np.zeros(len(shares))
    for (value, share), colour in zip(shares.items(), _LIKERT, strict=True):
        name = "5 (best)" if value == 5 else str(value)
        bars = axes.barh(rows, share, 0.7, left, color=to_rgba(*colour), label=name)
        texts = share.map("{:.0f}".format).where(share >= 6, "")
        axes.bar_label(bars, texts, label_type="center", color=INK)
        titles = [
            f"{', '.join(key)}: {part:.0f} % of the ratings are {value}"
            for key, part in share.items()
        ]
        right = left + share.to_numpy()
        hover(axes, titles, left, rows - 0.35, right, rows + 0.35, least=0)
        left = right
    axes.set(xlim=(0, 100), xlabel="per cent of the ratings")
    figure.legend(loc="outside upper left", ncols=5)
    return figure
