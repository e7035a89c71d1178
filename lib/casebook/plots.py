"""Figures in one style, legible on a phone: intervals, matrices, ratings, lines, trees.

A figure that is one call of seaborn or matplotlib stands in its notebook.
"""

import re
from itertools import cycle
from textwrap import wrap

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.patches import Patch

from casebook.figures import INK, hover, tick_names
from casebook.stats.intervals import bounds_text
from casebook.tables import FACTS as FACT_WORDS
from casebook.tables import reason_text

WIDTH = 4.9  # inches: letters of 11 points are 10 pixels high on a phone of 360 pixels
GRID = "#d4d4d4"
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREY = "#6b6b6b"
GREEN = "#009e73"
PINK = "#cc79a7"
_SERIES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "v"), (GREY, "D"))
FACTS = {
    "Section": (BLUE, "o"),
    "Evidence": (ORANGE, "s"),
    "PartyType": (GREEN, "^"),
    "Numerical": (PINK, "D"),
}
_LIKERT = ((ORANGE, 0.45), (ORANGE, 0.2), (GREY, 0.2), (BLUE, 0.2), (BLUE, 0.45))
_VOTES = (ORANGE, "#b0b0b0", BLUE)
_MOST_ITEMS = 400


def use_style():
    """Set the one look of all figures: legible on a phone, the same bytes for the same figure."""
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    sizes = dict.fromkeys(
        ("font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize"), 11
    )
    sns.set_theme(style="whitegrid", palette=[colour for colour, _ in _SERIES])
    mpl.rcParams.update(
        ink
        | sizes
        | {
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


def _rows_figure(height, labels):
    """Give a figure with a named row for each label, the first on top; long names are wrapped."""
    wrapped = [_wrapped(str(label)) for label in labels]
    extra_lines = sum(label.count("\n") for label in wrapped)
    figure, axes = plt.subplots(figsize=(WIDTH, height + 0.12 * extra_lines))
    axes.set_yticks(range(len(wrapped)), wrapped)
    axes.set_ylim(max(len(wrapped), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    return figure, axes


def _wrapped(label):
    """Break a label into lines; the number of units stays on one line."""
    label = re.sub(r"\(n (= )?\S+\)", lambda match: match[0].replace(" ", "\u00a0"), label)
    lines = []
    for line in label.split("\n"):
        lines += wrap(line, 24)
    return "\n".join(lines)


def _interval(
    axes, positions, low, high, value, colour, marker="o", label=None, size=45, addresses=None
):
    """Values as marks with their intervals, one or several rows; both are shown on hover."""
    axes.hlines(positions, low, high, color=colour, lw=3)
    # A mark at the end of the axis is not halved.
    style = {"color": colour, "marker": marker, "s": size, "label": label}
    axes.scatter(value, positions, zorder=3, clip_on=False, **style)
    heights, left, right, middle = (
        np.atleast_1d(array).astype(float)
        for array in np.broadcast_arrays(positions, low, high, value)
    )
    names = tick_names(axes.yaxis)
    series = f", {label}" if label else ""
    titles = []
    for height, lowest, highest, mean in zip(heights, left, right, middle, strict=True):
        name = names.get(round(height), "")
        titles.append(f"{name}{series}: {mean:.3f} {bounds_text(lowest, highest)}")
    left_edges = np.fmin(left, middle)
    right_edges = np.fmax(right, middle)
    hover(axes, titles, left_edges, heights, right_edges, heights, addresses)


# Intervals


def _with_names_of_parts(frame, value, **names):
    """Give the columns that are drawn the names of their parts; bounds may be the value's own."""
    names |= {"value": value, "low": "low", "high": "high"}
    if f"{value} low" in frame:
        names |= {"low": f"{value} low", "high": f"{value} high"}
    names |= {column: column for column in ("address", "colour")}
    return pd.DataFrame({part: frame[name] for part, name in names.items() if name in frame})


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
    frame = _with_names_of_parts(frame, value, row=row, series=series, n=n, control=control)
    reference = reference or {}
    rows = list(frame["row"].unique())
    series = list(frame["series"].unique()) if "series" in frame else [None]
    labels = rows
    if "n" in frame:
        counts = frame.groupby("row", sort=False)["n"].max()
        labels = [f"{row} (n = {counts[row]:,.0f})" for row in rows]
    legend = [f"{name}: {value:.2f}" for name, value in reference.items()]
    if len(series) > 1:
        legend += series
    columns = 2 if max(map(len, legend), default=0) <= 20 else 1
    legend_lines = -(-len(legend) // columns)
    height = len(rows) * (0.2 * len(series) + 0.2) + 0.8 + 0.25 * legend_lines
    figure, axes = _rows_figure(height, labels)
    if band:
        axes.axvspan(*band, color=GREY, alpha=0.2, lw=0)
    for (name, value), style in zip(reference.items(), (":", "--", "-.", "-"), strict=False):
        axes.axvline(value, color=GREY, lw=1.5, ls=style, label=f"{name}: {value:.2f}")
    for number, name in enumerate(series):
        part = frame if name is None else frame[frame["series"] == name]
        offset = 0.0
        if len(series) > 1:
            offset = 0.56 * (number / (len(series) - 1) - 0.5)
        positions = pd.Index(rows).get_indexer(part["row"]) + offset
        colour, marker = _SERIES[number % len(_SERIES)]
        _interval(
            axes,
            positions,
            part["low"].astype(float),
            part["high"].astype(float),
            part["value"].astype(float),
            part.get("colour", colour),
            marker=marker,
            label=name,
            size=34,
            addresses=part.get("address"),
        )
        if "control" in part:
            control = part["control"].astype(float)
            axes.scatter(control, positions, marker="|", color=GREY, s=90, lw=2, clip_on=False)
    axes.set_xlabel(xlabel)
    if limits:
        drawn_columns = frame.columns.intersection(["value", "low", "high", "control"])
        positions_on_axis = frame[drawn_columns].to_numpy(dtype=float)
        lowest = np.nanmin(positions_on_axis, initial=limits[0])
        axes.set_xlim(lowest, np.nanmax(positions_on_axis, initial=limits[1]))
    if legend:
        figure.legend(loc="outside upper left", ncols=columns)
    return figure


def effects(frame, xlabel, margin=0.0, *, row="row", value="value", series="series", n="n"):
    """Draw effects around zero, and a band of those too small to matter; columns as `values`."""
    frame = _with_names_of_parts(frame, value, row=row, series=series, n=n)
    if "series" not in frame:
        frame = frame.assign(colour=_signs(frame))
    magnitudes = np.abs(frame[["value", "low", "high"]].to_numpy(dtype=float))
    largest = np.nanmax(magnitudes, initial=margin)
    limits = (-1.08 * largest, 1.08 * largest) if largest else None
    figure = values(frame, xlabel, limits, band=(-margin, margin) if margin else None)
    figure.axes[0].axvline(0, color=INK, lw=1)
    return figure


def _signs(frame):
    """Colour an effect blue if its interval lies above zero, orange below, else grey."""
    return np.select([frame["low"] > 0, frame["high"] < 0], [BLUE, ORANGE], GREY)


def added_by_stage(frame, measure):
    """Draw what each stage adds (stage, change, low, high, address) and costs (milliseconds)."""
    figure, axes = _rows_figure(0.4 * len(frame) + 1.0, frame["stage"])
    figure.delaxes(axes)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    left.set_yticks(axes.get_yticks(), [label.get_text() for label in axes.get_yticklabels()])
    left.set_ylim(axes.get_ylim())
    left.axvline(0, color=INK, lw=1)
    rows = np.arange(len(frame))
    _interval(
        left,
        rows,
        frame["low"],
        frame["high"],
        frame["change"],
        _signs(frame),
        addresses=frame.get("address"),
    )
    bars = right.barh(rows, frame["milliseconds"], color=GREY, height=0.5)
    right.bar_label(bars, fmt="%.1f", padding=3)
    right.margins(x=0.4)
    titles = frame["stage"] + frame["milliseconds"].map(": {:.1f} ms a question".format)
    hover(right, titles, 0, rows - 0.25, frame["milliseconds"], rows + 0.25)
    left.set_xlabel(f"change in {measure}")
    right.set_xlabel("milliseconds")
    for panel in (left, right):
        panel.grid(axis="y", visible=False)
        panel.locator_params(axis="x", nbins=3)
    return figure


def agreement_intervals(table, address=None):
    """Draw coefficients with the interval for this panel and for a new one; `address` links them.

    Without any interval for a new panel, there is one series.
    """
    from casebook.measures.agreement import COEFFICIENT_TITLES

    rows = table.assign(
        row=table["coefficient"].map(lambda name: COEFFICIENT_TITLES.get(name, name))
    )
    rows = rows.rename(columns={"estimate": "value", "n_items": "n"})
    panels = {"these raters, other items": "panel", "new raters, other items": "new_panel"}
    parts = []
    for name, panel in panels.items():
        part = rows[["row", "value", "n"]].assign(series=name)
        part["low"] = rows[f"{panel}_low"]
        part["high"] = rows[f"{panel}_high"]
        if panel == "panel" or part["low"].notna().any():
            parts.append(part)
    intervals = pd.concat(parts).assign(address=address)
    lowest = np.nanmin(intervals[["low", "value"]].to_numpy(dtype=float), initial=0.0)
    figure = values(intervals, "value and 95 % interval", (lowest - 0.03, 1.03))
    axes = figure.axes[0]
    axes.axvline(0, color=GREY, lw=1)
    for position, (value, reason) in enumerate(zip(rows["value"], rows["reason"], strict=True)):
        if pd.isna(value):
            text = "\n".join(wrap(f"undefined: {reason_text(reason)}", 34))
            axes.text(0.02, position, text, va="center", color=GREY, in_layout=False)
    return figure


def position_forest(effect, system, address=None):
    """Draw what the side of an answer does to the preference; `address` is a link of all marks."""
    shares = {
        "left answer chosen": effect.left_choice,
        f"{system} wins on the left": effect.win_rate_left,
        f"{system} wins on the right": effect.win_rate_right,
        f"{system} wins, sides balanced": effect.side_balanced,
    }
    rows = [{"row": name, **share.row()} for name, share in shares.items()]
    frame = pd.DataFrame(rows).assign(colour=[GREY, BLUE, BLUE, BLUE], address=address)
    figure = values(frame, "share of untied votes, 95 % interval")
    axes = figure.axes[0]
    axes.axvline(0.5, color=GREY, lw=1)
    for position in np.flatnonzero(frame["value"].isna()):
        axes.text(0.5, position, "not defined", va="center", ha="center")
    return figure


# Matrices


def shades(colour):
    """Give shades of a colour that letters are legible on, over light and over dark."""
    return ListedColormap([(*to_rgb(colour), 0.45 * step / 32) for step in range(33)])


SHADES = shades(BLUE)
SIGNED = ListedColormap(shades(ORANGE).colors[:0:-1] + SHADES.colors)


def matrix(
    table,
    label,
    shown="{:.2f}".format,
    limits=(0, 1),
    colours=SHADES,
    axes=None,
    addresses=None,
):
    """Draw a matrix with its values written in; a missing value is a dash.

    `shown` writes a value, or is a frame of texts; `label` is what a colour says on hover, or a
    frame of that; `addresses` is a frame of links.
    """
    rows, columns = table.shape
    width = max(WIDTH, 0.56 * columns + 2.0)
    names = ["\n".join(wrap(str(name), 22)) for name in table.index]
    edges = _row_edges(names)
    middles = (edges[:-1] + edges[1:]) / 2
    heads, upright = _heads([str(name) for name in table.columns], names, width)
    if axes is None:
        longest = max((len(line) for head in heads for line in head.split("\n")), default=0)
        heads_height = 0.4 + 0.085 * longest if upright else 0.9
        axes = plt.subplots(figsize=(width, 0.42 * edges[-1] + heads_height))[1]
    texts = table.map(shown) if callable(shown) else shown
    shades_of = {"cmap": colours, "vmin": limits[0], "vmax": limits[1]}
    axes.pcolormesh(
        np.arange(columns + 1), edges, table.to_numpy(dtype=float), ec=GRID, lw=1, **shades_of
    )
    cells = list(np.ndindex(rows, columns))
    titles = []
    for row, column in cells:
        text = str(texts.iloc[row, column]) if pd.notna(table.iloc[row, column]) else "–"
        axes.text(column + 0.5, middles[row], text, ha="center", va="center", color=INK)
        if isinstance(label, str):
            meaning = f"{label} {text}"
        else:
            meaning = f"{label.iloc[row, column]}, {text}"
        titles.append(f"{table.index[row]}, {table.columns[column]}: {' '.join(meaning.split())}")
    row, left = np.array(cells, dtype=int).reshape(-1, 2).T
    links = None if addresses is None else addresses.to_numpy().ravel()
    hover(axes, titles, left, edges[row], left + 1, edges[row + 1], links)
    axes.set_xticks(np.arange(columns) + 0.5, heads, rotation=90 if upright else 0)
    axes.set_yticks(middles, names)
    axes.invert_yaxis()
    axes.grid(visible=False)
    return axes.figure


def _row_edges(names):
    """Give the edges of rows, which are 1 high; names of three lines and more need more."""
    lines = np.array([1 + name.count("\n") for name in names], dtype=float)
    return np.concatenate([[0.0], np.cumsum(np.maximum(1.0, 0.4 * lines + 0.2))])


def _heads(heads, names, width):
    """Wrap the heads of columns, or say that they stand upright: a word is never broken."""
    longest_name = max((len(line) for name in names for line in name.split("\n")), default=0)
    letters = int((width / 0.09 - longest_name) / max(len(heads), 1))
    longest_word = max((len(word) for head in heads for word in head.split()), default=0)
    if longest_word > letters:
        return ["\n".join(wrap(head, 24)) for head in heads], True
    return ["\n".join(wrap(head, letters)) for head in heads], False


def detector_matrix(frame):
    """Draw the AUROC of detectors for planted defects, in brackets the number of copies.

    A column `address`, where there is one, has the links of the cells.
    """
    defects = list(frame["defect"].unique())
    detectors = list(frame["detector"].unique())
    cells = frame.pivot_table(["auroc", "judged"], "detector", "defect", dropna=False).astype(float)
    auroc = cells["auroc"].loc[detectors, defects]
    counts = cells["judged"].loc[detectors, defects]
    texts = auroc.map("{:.2f}".format) + "\n(" + counts.map("{:.0f}".format) + ")"
    figure, axes = plt.subplots(
        figsize=(max(WIDTH, 0.85 * len(defects) + 1.6), 0.55 * len(detectors) + 1.0)
    )
    addresses = None
    if "address" in frame:
        addresses = frame.pivot_table("address", "detector", "defect", aggfunc="first")
        addresses = addresses.loc[detectors, defects]
    matrix(auroc, "AUROC", texts, (0.5, 1), axes=axes, addresses=addresses)
    axes.set_xticks(
        axes.get_xticks(), [str(name).replace(" ", "\n") for name in defects], rotation=0
    )
    return figure


def rating_matrix(ratings, scale=None, names=None, addresses=None):
    """Draw every rating: items in columns, from low to high mean, raters in rows.

    `names` are the words of votes, which stand in a legend: of -1, 0 and 1. `addresses` are the
    links of items, by item.
    """
    items = ratings.loc[ratings.mean(axis=1).sort_values(kind="stable").index]
    if len(items) > _MOST_ITEMS:
        items = items.iloc[np.linspace(0, len(items) - 1, _MOST_ITEMS).round().astype(int)]
    marks = items.to_numpy(dtype=float).T
    low, high = scale or (np.nanmin(marks), np.nanmax(marks))
    colours = "cividis_r"
    if names:
        low, high = -1, 1
        colours = ListedColormap(_VOTES)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(marks) + 1.5))
    axes.grid(visible=False)
    axes.set_facecolor("#d9d9d9")
    axes.patch.set(hatch="xxx", edgecolor="#9a9a9a")
    image = axes.imshow(
        np.ma.masked_invalid(marks),
        aspect="auto",
        cmap=colours,
        vmin=low,
        vmax=high,
        interpolation="nearest",
    )
    axes.set_yticks(range(len(marks)), [_wrapped(str(rater)) for rater in items.columns])
    axes.set_xticks([])
    missing = ratings.isna().to_numpy().sum()
    axes.set_xlabel(
        f"{len(items):,} of {len(ratings):,} items, from low to high mean;\n"
        f"{missing:,} ratings missing"
    )
    if names:
        patches = [
            Patch(color=colour, label="\n".join(wrap(names[vote], 40)))
            for vote, colour in zip((-1, 0, 1), _VOTES, strict=True)
        ]
        figure.legend(handles=patches, loc="outside upper left")
    else:
        figure.colorbar(image, ax=axes, label="rating", pad=0.02)
    titles = [f"{item}: {_ratings_in_words(row, names)}" for item, row in items.iterrows()]
    links = None if addresses is None else [addresses[item] for item in items.index]
    edges = np.arange(len(items) + 1) - 0.5
    hover(axes, titles, edges[:-1], -0.5, edges[1:], len(marks) - 0.5, links, least=0)
    return figure


def _ratings_in_words(ratings, names):
    """Say how often each vote was cast on an item, or the mean of its ratings."""
    if names is None:
        return f"mean {ratings.mean():.2f} of {ratings.count()} ratings"
    counts = ratings.value_counts()
    return ", ".join(f"{counts[vote]} {names[vote]}" for vote in names if vote in counts)


def rating_distributions(ratings, address=None):
    """Draw how often every rating was given, by scale and system.

    `address` gives the link of a scale, a system and a rating.
    """
    rated = ratings.dropna(subset=["rating"])
    shares = pd.crosstab([rated["scale"], rated["system"]], rated["rating"], normalize="index")
    shares = 100 * shares.reindex(columns=range(1, 6), fill_value=0)
    parts = rated.groupby(["scale", "system"])["rating"]
    labels = [
        f"{scale}, {system}\n({part.mean():.3f}, n = {len(part)})"
        for (scale, system), part in parts
    ]
    figure, axes = _rows_figure(0.5 * len(shares) + 1.4, labels)
    start = np.zeros(len(shares))
    rows = np.arange(len(shares))
    for (colour, alpha), value in zip(_LIKERT, shares, strict=True):
        name = "5 (best)" if value == 5 else str(value)
        widths = shares[value].to_numpy()
        bars = axes.barh(
            range(len(shares)),
            widths,
            left=start,
            color=(*to_rgb(colour), alpha),
            height=0.7,
            label=name,
        )
        texts = [f"{share:.0f}" if share >= 6 else "" for share in widths]
        axes.bar_label(bars, texts, label_type="center", color=INK)
        titles = [
            f"{scale}, {system}: {share:.0f} % of the ratings are {value}"
            for (scale, system), share in shares[value].items()
        ]
        links = None
        if address:
            links = [
                address(*name, value) if share else None for name, share in shares[value].items()
            ]
        hover(axes, titles, start, rows - 0.35, start + widths, rows + 0.35, links, least=0)
        start += widths
    axes.grid(visible=False)
    _ = axes.set(xlim=(0, 100), xlabel="share of ratings, per cent (mean, n at the left)")
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
    marked = {name: name for name in (marks or {}).values() if isinstance(name, str)}
    parts = {"x": x, "series": series, "panel": panel}
    xlabel = xlabel or x
    frame = _with_names_of_parts(frame, value, **parts, **marked)
    frame = frame.assign(panel=frame.get("panel", ""), series=frame.get("series", ""))
    x = "x"
    panels = list(frame.groupby("panel", sort=False))
    size = (WIDTH, 2.3 * len(panels) + 0.9)
    figure, grid = plt.subplots(len(panels), figsize=size, squeeze=False)
    for axes, (title, part) in zip(grid[:, 0], panels, strict=True):
        _ = axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        for (name, line), (colour, marker) in zip(
            part.groupby("series", sort=False), cycle(_SERIES)
        ):
            axes.plot(
                line[x], line["value"], color=colour, marker=marker, ms=4, label=str(name) or None
            )
            axes.fill_between(line[x], line["low"], line["high"], color=colour, alpha=0.18, lw=0)
            if "address" in line:
                _link_points(axes, line, x)
        for (name, mark), (colour, style) in zip(
            (marks or {}).items(), ((GREY, ":"), (ORANGE, "--")), strict=False
        ):
            value = part[mark].iloc[0] if isinstance(mark, str) else mark
            axes.axvline(value, color=colour, ls=style, label=f"{name}: {value:.3g}")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best")
    return figure


def _link_points(axes, line, x):
    """Title the points of a line by its name and the labels of the axes, and make them links."""
    series = line["series"].iloc[0]
    name = f"{series}: " if series else ""
    titles = [
        f"{name}{axes.get_ylabel()} {value:.3f}, {axes.get_xlabel()} {position:.3g}"
        for position, value in zip(line[x], line["value"], strict=True)
    ]
    hover(axes, titles, line[x], line["value"], addresses=line["address"])


def fact_style(fact_type):
    """Give colour and marker of a fact type; those of a user's own are ink."""
    return FACTS.get(fact_type, (INK, "P"))


def edit_tree(tree, k, addresses=None):
    """Draw the states of one case by how far each stands from its parent.

    `addresses` are links of the states, by their names.
    """
    nodes = _in_order(tree, tree.root)
    row_of = {node.name: row for row, node in enumerate(nodes)}
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(nodes) + 1.3))
    titles = []
    for row, node in enumerate(nodes):
        text = "the case as it is"
        colour = INK
        marker = "*"
        if node.edit is not None:
            x = node.parent.depth
            y = row_of[node.parent.name]
            axes.plot([x, x, node.depth], [y, row, row], color=GREY, lw=1, zorder=1)
            displacement = node.displacement(k)
            result = "no result" if displacement is None else f"{displacement:.1f}"
            text = f"{node.edit.description.split(': ', 1)[1]}  [{result}]"
            colour, marker = fact_style(node.edit.fact_type)
        axes.scatter(node.depth, row, color=colour, marker=marker, s=45, zorder=2)
        axes.text(node.depth + 0.12, row, text, va="center")
        titles.append(text)
    fact_types = [node.edit.fact_type for node in nodes if node.edit is not None]
    for kind in dict.fromkeys([*FACTS, *fact_types]):
        colour, marker = fact_style(kind)
        axes.scatter([], [], color=colour, marker=marker, label=FACT_WORDS.get(kind, kind))
    figure.legend(loc="outside upper left", ncols=2)
    _ = axes.set(
        ylim=(len(nodes) - 0.5, -0.7), xlim=(-0.2, max(node.depth for node in nodes) + 2.6)
    )
    axes.axis("off")
    rows = np.arange(len(nodes))
    depths = np.array([node.depth for node in nodes])
    links = [(addresses or {}).get(node.name) for node in nodes]
    # The words of a state belong to its mark.
    hover(axes, titles, depths - 0.1, rows - 0.35, axes.get_xlim()[1], rows + 0.35, links)
    return figure


def _in_order(tree, node):
    """Give a node followed by its descendants."""
    nodes = [node]
    for child in tree.nodes:
        if child.parent is not None and child.parent.name == node.name:
            nodes += _in_order(tree, child)
    return nodes
