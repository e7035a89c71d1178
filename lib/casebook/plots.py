"""Figures in one style, legible on a phone: intervals, matrices, ratings, lines, trees.

A figure that is one call of seaborn or matplotlib is drawn in its notebook.
"""

from itertools import cycle
from textwrap import fill

import matplotlib as mpl
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
_LIKERT = (
    to_rgba(WORSE, 0.45),
    to_rgba(WORSE, 0.2),
    to_rgba(CONTROL, 0.2),
    to_rgba(BETTER, 0.2),
    to_rgba(BETTER, 0.45),
)
_VOTES = {-1: WORSE, 0: "#b0b0b0", 1: BETTER}
_MOST_ITEMS = 400

# Shades that letters are legible on, over light and over dark.
SHADES = LinearSegmentedColormap.from_list("level", [to_rgba(OURS, 0), to_rgba(OURS, 0.45)])
SIGNED = LinearSegmentedColormap.from_list(
    "signed",
    [
        (0.0, to_rgba(WORSE, 0.45)),
        (0.5, to_rgba(WORSE, 0)),
        (0.5, to_rgba(BETTER, 0)),
        (1.0, to_rgba(BETTER, 0.45)),
    ],
)


def use_style():
    """Set the one look of all figures: legible on a phone, the same bytes for the same figure."""
    inked = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    sized = ("font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize")
    sns.set_theme(style="whitegrid", palette=[colour for colour, _ in _SERIES])
    mpl.rcParams.update(dict.fromkeys(inked, INK) | dict.fromkeys(sized, 11))
    mpl.rcParams.update(
        {
            "axes.edgecolor": GRID,
            "axes.spines.left": False,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "figure.constrained_layout.use": True,
            "figure.dpi": 100,
            "figure.figsize": (WIDTH, 3.3),
            "font.family": "DejaVu Sans",
            "grid.color": GRID,
            "legend.fontsize": 11,
            "legend.frameon": False,
            "savefig.dpi": 150,
            # Letters stay letters: smaller, searchable, in the page's own font.
            "svg.fonttype": "none",
            "svg.hashsalt": "casebook",
        }
    )


def _wrapped(names, letters=24):
    """Names in lines of so many letters; a word, or the number of units, is on one line."""
    texts = [str(name).replace("n = ", "n\u00a0=\u00a0") for name in names]
    return [fill(text, letters, break_long_words=False) for text in texts]


def _rows_figure(labels, height):
    """A figure with a named row for each label, the first on top."""
    names = _wrapped(labels)
    height += 0.12 * sum(name.count("\n") for name in names)
    figure, axes = plt.subplots(figsize=(WIDTH, height))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    return figure, axes


# Intervals


def _drawn_columns(frame, value, **names):
    """The columns that are drawn, under the names of their parts; bounds may be the value's own."""
    names |= {"value": value, "low": "low", "high": "high"}
    if f"{value} low" in frame:
        names |= {"low": f"{value} low", "high": f"{value} high"}
    names |= {column: column for column in ("address", "colour", "verdict", "reason")}
    drawn = pd.DataFrame({part: frame[name] for part, name in names.items() if name in frame})
    drawn = drawn.assign(series=drawn.get("series", ""))
    return drawn.astype({"value": float, "low": float, "high": float})


def _row_texts(frame):
    """Names and numbers of rows, shown on hover."""
    names = frame["row"].astype(str)
    if frame["series"].any():
        names = names + ", " + frame["series"].astype(str)
    if "n" in frame:
        names = names + frame["n"].map(" (n = {:,.0f})".format)
    numbers = frame[["value", "low", "high"]].itertuples(index=False)
    return [
        f"{name}: {decimal(value)} {interval_text(low, high)}"
        for name, (value, low, high) in zip(names, numbers, strict=True)
    ]


def _draw_rows(axes, heights, frame, colour, marker):
    """Marks with intervals, in the colours of the frame where it has any, and ticks of controls."""
    colour = frame.get("colour", colour)
    style = {"clip_on": False, "label": frame["series"].iloc[0]}  # no mark is halved by the axis
    axes.hlines(heights, frame["low"], frame["high"], color=colour, lw=3)
    axes.scatter(frame["value"], heights, color=colour, marker=marker, s=34, zorder=3, **style)
    if "control" in frame:
        ticks = frame["control"].astype(float)
        axes.scatter(ticks, heights, marker="|", color=CONTROL, s=90, lw=2, clip_on=False)
    numbers = frame[["value", "low", "high"]]
    left = numbers.min(axis=1)
    right = numbers.max(axis=1)
    hover(axes, _row_texts(frame), left, heights, right, heights, frame.get("address"))


def values(
    frame,
    xlabel,
    limits=(0, 1),
    reference=None,
    band=None,
    *,
    row="row",
    value="value",
    series="series",
    n="n",
    control="control",
):
    """Draw values with intervals on one axis, with named lines of reference and a band.

    `row`, `value` and, where the frame has them, `series`, `n` and `control` (a tick) name columns.
    Bounds are `<value> low` and `<value> high`, or low and high. The frame may have an address and
    a colour.
    """
    frame = _drawn_columns(frame, value, row=row, series=series, n=n, control=control)
    rows = labels = list(frame["row"].unique())
    if "n" in frame:
        counts = frame.groupby("row", sort=False)["n"].max()
        labels = [f"{row} (n = {counts[row]:,.0f})" for row in rows]
    series = frame.groupby("series", sort=False)
    reference = reference or {}
    legend = len(reference) + max(len(series), 1) - 1
    figure, axes = _rows_figure(labels, len(rows) * (0.2 * len(series) + 0.2) + 0.8 + 0.25 * legend)
    if band:
        axes.axvspan(*band, color=CONTROL, alpha=0.2, lw=0)
    for (name, at), style in zip(reference.items(), cycle((":", "--", "-.", "-")), strict=False):
        axes.axvline(at, color=CONTROL, lw=1.5, ls=style, label=f"{name}: {at:.2f}")
    offsets = np.linspace(-0.4, 0.4, 2 * len(series) + 1)[1::2]
    for (_, part), offset, style in zip(series, offsets, cycle(_SERIES), strict=False):
        _draw_rows(axes, pd.Index(rows).get_indexer(part["row"]) + offset, part, *style)
    for place, (_, of_row) in enumerate(frame.groupby("row", sort=False)):
        if of_row["value"].isna().all():
            reason = of_row.get("reason", of_row["value"]).iloc[0]
            why = f": {reason_text(reason)}" if isinstance(reason, str) else ""
            at = {"transform": axes.get_yaxis_transform(), "va": "center", "in_layout": False}
            axes.text(0.02, place, fill(f"undefined{why}", 34), color=CONTROL, **at)
    axes.set_xlabel(xlabel)
    if limits:
        drawn = frame[frame.columns.intersection(["value", "low", "high", "control"])]
        places = np.append(drawn.to_numpy(dtype=float), limits)
        axes.set_xlim(np.nanmin(places), np.nanmax(places))
    if legend:
        figure.legend(loc="outside upper left")
    return figure


def effects(frame, xlabel, margin=0.0, *, row="row", value="value", series="series", n="n"):
    """Draw effects around zero, and a band of those too small to matter; columns as `values`.

    Without series, the colour of an effect is that of its verdict.
    """
    frame = _drawn_columns(frame, value, row=row, series=series, n=n)
    if not frame["series"].any():
        frame = frame.assign(colour=verdict_colours(frame))
    largest = np.nanmax(np.abs(frame[["value", "low", "high"]]), initial=margin)
    limits = (-1.08 * largest, 1.08 * largest) if largest else None
    figure = values(frame, xlabel, limits, band=(-margin, margin) if margin else None)
    figure.axes[0].axvline(0, color=INK, lw=1)
    return figure


def verdict_colours(frame, chance=0.0):
    """The colour of each row's verdict; without verdicts, of its interval beside chance."""
    if "verdict" in frame:
        return frame["verdict"].map(_OF_VERDICT).fillna(CONTROL)
    sides = [frame["low"] > chance, frame["high"] < chance]
    return pd.Series(np.select(sides, [BETTER, WORSE], UNDECIDED), frame.index)


def agreement_intervals(table, address=None):
    """Draw coefficients with the interval for this panel and for a new one; `address` links them.

    Without any interval for a new panel, there is one series.
    """
    from casebook.measures.agreement import COEFFICIENT_TITLES

    rows = table.rename(columns={"estimate": "value", "n_items": "n"})
    rows = rows.assign(row=rows["coefficient"].replace(COEFFICIENT_TITLES), address=address)
    same = rows.assign(low=rows["panel_low"], high=rows["panel_high"])
    new = rows.assign(low=rows["new_panel_low"], high=rows["new_panel_high"]).dropna(subset="low")
    panels = {"these raters, other items": same, "new raters, other items": new}
    intervals = pd.concat(panels, names=["series"]).reset_index("series")
    figure = values(intervals, "value and 95 % interval")
    figure.axes[0].axvline(0, color=CONTROL, lw=1)
    return figure


def position_forest(effect, system):
    """Draw what the side of an answer does to the preference."""
    shares = {
        "left answer chosen": effect.left_choice,
        f"{system} wins on the left": effect.win_rate_left,
        f"{system} wins on the right": effect.win_rate_right,
        f"{system} wins, sides balanced": effect.side_balanced,
    }
    rows = [{"row": name, **share.row()} for name, share in shares.items()]
    frame = pd.DataFrame(rows).assign(colour=[CONTROL, OURS, OURS, OURS])
    figure = values(frame, "share of untied votes, 95 % interval")
    figure.axes[0].axvline(0.5, color=CONTROL, lw=1)
    return figure


# Matrices


def _heatmap(axes, table, names, limits, cbar=False, **style):
    low, high = limits
    style |= {"vmin": low, "vmax": high, "yticklabels": names, "cbar": cbar}
    sns.heatmap(table.astype(float), ax=axes, **style)
    axes.tick_params(axis="y", rotation=0)
    axes.set(xlabel="", ylabel="")
    axes.grid(visible=False)


def matrix(
    table,
    label,
    shown="z.2f",
    limits=(0, 1),
    colours=SHADES,
    axes=None,
    addresses=None,
    counts=None,
):
    """Draw a matrix with its values written in; a missing value is a dash.

    `shown` is the format of a value, and `label` what it is called on hover; `addresses` and
    `counts`, which are in brackets below the values, are frames of links and of numbers.
    """
    names = _wrapped(table.index, 22)
    if axes is None:
        lines = max([1 if counts is None else 2, *(1 + name.count("\n") for name in names)])
        width = max(WIDTH, 0.85 * table.shape[1] + 1.6)
        axes = plt.subplots(figsize=(width, (0.17 * lines + 0.21) * len(names) + 1.0))[1]
    heads = _wrapped(table.columns, 12)
    _heatmap(axes, table, names, limits, cmap=colours, xticklabels=heads, lw=1, ec=GRID)
    for row, column in np.ndindex(table.shape):
        value = table.iloc[row, column]
        text = decimal(value, shown) if pd.notna(value) else "–"
        title = f"{table.index[row]}, {table.columns[column]}: {label} {text}"
        if counts is not None and pd.notna(value):
            text += f"\n({counts.iloc[row, column]:,.0f})"
            title += f" (n = {counts.iloc[row, column]:,.0f})"
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=INK)
        link = None if addresses is None else addresses.iloc[row, column]
        hover(axes, [title], column, row, column + 1, row + 1, [link])
    return axes.figure


def detector_matrix(frame):
    """Draw the AUROC of detectors for planted defects, in brackets the number of copies.

    A column `address`, where there is one, has the links of the cells.
    """
    columns = frame["defect"].unique()
    cells = frame.pivot_table(index="detector", columns="defect", aggfunc="first", dropna=False)
    cells = cells.reindex(frame["detector"].unique())
    addresses = cells["address"][columns] if "address" in frame else None
    options = {"addresses": addresses, "counts": cells["judged"][columns]}
    return matrix(cells["auroc"][columns], "AUROC", limits=(0.5, 1), **options)


def rating_matrix(ratings, names=None, addresses=None):
    """Draw every rating: items in columns, from low to high mean, raters in rows.

    `names` are the words of votes, which stand in a legend: of -1, 0 and 1. `addresses` are the
    links of items, by item.
    """
    items = ratings.loc[ratings.mean(axis=1).sort_values(kind="stable").index].astype(float)
    if len(items) > _MOST_ITEMS:
        items = items.iloc[np.linspace(0, len(items) - 1, _MOST_ITEMS).round().astype(int)]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * items.shape[1] + 1.5))
    axes.patch.set(hatch="xxx", facecolor="#d9d9d9", edgecolor="#9a9a9a")
    limits = (items.min(axis=None), items.max(axis=None))
    style = {"cmap": "cividis_r", "cbar_kws": {"label": "rating", "pad": 0.02}}
    if names:
        limits = (-1, 1)
        style = {"cmap": ListedColormap(list(_VOTES.values()))}
        patches = [
            Patch(color=colour, label=fill(names[vote], 40)) for vote, colour in _VOTES.items()
        ]
        figure.legend(handles=patches, loc="outside upper left")
    style |= {"cbar": not names, "xticklabels": False, "rasterized": True}
    _heatmap(axes, items.T, _wrapped(items.columns), limits, **style)
    missing = ratings.isna().to_numpy().sum()
    axes.set_xlabel(
        f"{len(items):,} of {len(ratings):,} items, from low to high mean;\n"
        f"{missing:,} ratings missing"
    )
    titles = [f"{item}: {_ratings_in_words(row, names)}" for item, row in items.iterrows()]
    links = None if addresses is None else addresses[items.index]
    left = np.arange(len(items))
    hover(axes, titles, left, 0, left + 1, items.shape[1], links, least=0)
    return figure


def _ratings_in_words(ratings, names):
    """How often each vote was cast on an item, or the mean of its ratings."""
    if names is None:
        return f"mean {decimal(ratings.mean(), '.2f')} of {ratings.count()} ratings"
    counts = ratings.value_counts()
    return ", ".join(f"{counts[vote]} {names[vote]}" for vote in names if vote in counts)


def rating_distributions(ratings, address=None):
    """Draw how often every rating was given, by scale and system.

    `address` gives the link of a scale, a system and a rating.
    """
    rated = ratings.dropna(subset="rating")
    means = rated.groupby(["scale", "system"])["rating"].agg(["mean", "size"])
    labels = [
        f"{scale}, {system} ({mean:.3f}, n = {n:,.0f})"
        for (scale, system), mean, n in means.itertuples()
    ]
    shares = pd.crosstab([rated["scale"], rated["system"]], rated["rating"], normalize="index")
    shares = 100 * shares.reindex(columns=range(1, 6), fill_value=0)
    starts = shares.cumsum(axis=1) - shares
    figure, axes = _rows_figure(labels, 0.5 * len(labels) + 1.4)
    axes.grid(visible=False)
    for colour, value in zip(_LIKERT, shares, strict=True):
        name = "5 (best)" if value == 5 else str(value)
        place = {"y": range(len(labels)), "height": 0.7, "left": starts[value]}
        bars = axes.barh(width=shares[value], color=colour, label=name, **place)
        texts = [f"{share:.0f}" if share >= 6 else "" for share in shares[value]]
        axes.bar_label(bars, texts, label_type="center", color=INK)
    for row, ((scale, system), of_row) in enumerate(shares.iterrows()):
        for value, share in of_row[of_row > 0].items():
            title = f"{scale}, {system}: {share:.0f} % of the ratings are {value}"
            links = [address(scale, system, value)] if address else None
            left = starts.loc[(scale, system), value]
            hover(axes, [title], left, row - 0.35, left + share, row + 0.35, links, least=0)
    axes.set(xlim=(0, 100), xlabel="per cent of the ratings")
    figure.legend(loc="outside upper left", ncols=5)
    return figure


# Lines and trees


def lines(
    frame, x, ylabel, xlabel=None, marks=None, *, value="value", series="series", panel="panel"
):
    """Draw lines with their intervals as bands; vertical lines mark numbers.

    A mark is a number, or the name of a column that has a number for each panel. `x`, `value` and,
    where the frame has them, `series` and `panel` name columns; bounds are as in `values`.
    """
    marks = marks or {}
    marked = {name: name for name in marks.values() if isinstance(name, str)}
    drawn = _drawn_columns(frame, value, x=x, series=series, panel=panel, **marked)
    drawn = drawn.assign(panel=drawn.get("panel", ""))
    panels = drawn.groupby("panel", sort=False)
    size = (WIDTH, 2.3 * len(panels) + 0.9)
    figure, grid = plt.subplots(len(panels), figsize=size, squeeze=False)
    for axes, (title, part) in zip(grid[:, 0], panels, strict=True):
        axes.set(title=title, xlabel=xlabel or x, ylabel=ylabel)
        by_series = part.groupby("series", sort=False)
        for (name, line), (colour, marker) in zip(by_series, cycle(_SERIES), strict=False):
            style = {"color": colour, "marker": marker, "ms": 4, "label": str(name) or None}
            axes.plot(line["x"], line["value"], **style)
            axes.fill_between(line["x"], line["low"], line["high"], color=colour, alpha=0.18, lw=0)
            places = line["x"].map(f"{axes.get_xlabel()} {{:.3g}}".format)
            named = line.assign(row=f"{name}, " + places if name else places, series="")
            hover(axes, _row_texts(named), line["x"], line["value"], addresses=line.get("address"))
        for (name, mark), style in zip(marks.items(), cycle((":", "--")), strict=False):
            at = part[mark].iloc[0] if isinstance(mark, str) else mark
            axes.axvline(at, color=CONTROL, ls=style, label=f"{name}: {at:.3g}")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best")
    return figure


def edit_tree(tree, k, addresses=None):
    """Draw how far each edited state of one case stands from its parent, which is above it.

    `addresses` are links of the states, by their names.
    """
    rows = [
        {
            "row": f"{node.name}: {node.edit.description.partition(': ')[2]}",
            "value": node.displacement(k),
            "address": (addresses or {}).get(node.name),
        }
        for node in _in_order(tree, tree.root)
        if node.edit is not None
    ]
    frame = pd.DataFrame(rows, columns=["row", "value", "address"])
    return values(frame.assign(low=np.nan, high=np.nan), "mean rank displacement")


def _in_order(tree, node):
    """A node followed by its descendants."""
    yield node
    for child in tree.nodes:
        if child.parent is node:
            yield from _in_order(tree, child)
