"""Figures in one style, legible on a phone: intervals, matrices, lines, bars, trees."""

import re
from textwrap import wrap

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.lines import Line2D

from casebook.figures import hover, tick_names
from casebook.stats.intervals import bounds_text

WIDTH = 5.2  # inches: letters of 11 points are still 10 pixels high on a phone
INK, GRID = "#1b1b1b", "#d4d4d4"
BLUE, ORANGE, GREY, GREEN, PINK = "#0072b2", "#d55e00", "#6b6b6b", "#009e73", "#cc79a7"
_SERIES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "v"), (GREY, "D"))
_FACTS = {"Section": (BLUE, "o"), "Evidence": (ORANGE, "s"), "PartyType": (GREEN, "^"), "Numerical": (PINK, "D")}
_LIKERT = ((ORANGE, 0.45), (ORANGE, 0.2), (GREY, 0.2), (BLUE, 0.2), (BLUE, 0.45))
_MOST_ITEMS = 400


def use_style():
    """Set the one look of all figures, legible at the width of a phone, and the same bytes for the same figure."""
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    sizes = dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize"), 11)
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
            "svg.fonttype": "none",  # letters stay letters: smaller, searchable, in the page's own font
            "svg.hashsalt": "casebook",
        }
    )


def _rows_figure(height, labels):
    """A figure with one named row per label, the first on top; long names take two lines or more."""
    unbroken = [
        re.sub(r"\((n) (= )?(\S+)\)", lambda found: found[0].replace(" ", "\u00a0"), str(name)) for name in labels
    ]
    labels = ["\n".join(part for line in name.split("\n") for part in wrap(line, 24)) for name in unbroken]
    lines = sum(label.count("\n") for label in labels)
    figure, axes = plt.subplots(figsize=(WIDTH, height + 0.12 * lines))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    return figure, axes


def _interval(axes, place, low, high, value, colour, marker="o", label=None, size=45, addresses=None):
    """Values as marks with their intervals, one or several rows; both are shown on hover."""
    axes.hlines(place, low, high, color=colour, lw=3)
    axes.scatter(value, place, color=colour, marker=marker, s=size, zorder=3, label=label)
    at, left, right, middle = (np.atleast_1d(e).astype(float) for e in np.broadcast_arrays(place, low, high, value))
    names = tick_names(axes.yaxis)
    titles = [
        f"{names.get(round(row), '')}{f', {label}' if label else ''}: {mean:.3f} {bounds_text(lowest, highest)}"
        for row, lowest, highest, mean in zip(at, left, right, middle, strict=True)
    ]
    hover(axes, titles, np.fmin(left, middle), at, np.fmax(right, middle), at, addresses)


# Intervals


def forest(systems, measure, controls=()):
    """Draw each system's mean with its interval, best on top, controls in grey."""
    rows = systems.sort_values(measure, ascending=False, kind="stable")
    frame = pd.DataFrame({"row": rows["system"] + " (" + rows["tie class"] + ")", "value": rows[measure]})
    frame = frame.assign(low=rows[f"{measure} low"], high=rows[f"{measure} high"])
    frame["colour"] = [GREY if name in controls else BLUE for name in rows["system"]]
    return values(frame, f"{measure}, mean and 95 % interval")


def values(frame, xlabel, limits=(0, 1), reference=None, band=None):
    """Draw values with intervals on one axis, beside named lines of reference and a band.

    Columns of the frame: row, value, low, high, and where there are any: series, n, control (a tick), address.
    """
    rows = list(dict.fromkeys(frame["row"]))
    series = list(dict.fromkeys(frame["series"])) if "series" in frame else [None]
    labels = rows
    if "n" in frame:
        counts = frame.groupby("row", sort=False)["n"].max()
        labels = [f"{row} (n = {counts[row]:,.0f})" for row in rows]
    named = [f"{name}: {place:.2f}" for name, place in (reference or {}).items()]
    named += series if len(series) > 1 else []
    columns = 2 if max(map(len, named), default=0) <= 20 else 1
    height = len(rows) * (0.2 * len(series) + 0.2) + 0.8 + 0.25 * -(-len(named) // columns)
    figure, axes = _rows_figure(height, labels)
    if band:
        axes.axvspan(*band, color=GREY, alpha=0.2, lw=0)
    for (name, place), style in zip((reference or {}).items(), (":", "--", "-.", "-"), strict=False):
        axes.axvline(place, color=GREY, lw=1.5, ls=style, label=f"{name}: {place:.2f}")
    for place, name in enumerate(series):
        part = frame if name is None else frame[frame["series"] == name]
        shift = 0.0 if len(series) == 1 else 0.56 * (place / (len(series) - 1) - 0.5)
        at = np.array([rows.index(row) + shift for row in part["row"]])
        colour, marker = _SERIES[place % len(_SERIES)]
        bounds = (part[column].astype(float) for column in ("low", "high", "value"))
        _interval(axes, at, *bounds, part.get("colour", colour), marker, name, 34, part.get("address"))
        if "control" in part:
            axes.scatter(part["control"].astype(float), at, marker="|", color=GREY, s=90, lw=2)
    axes.set_xlabel(xlabel)
    if limits:
        axes.set_xlim(limits)
    if named:
        figure.legend(loc="outside upper left", ncols=columns)
    return figure


def effects(frame, xlabel, margin=0.0):
    """Draw effects around zero, with a band of those too small to matter; columns as in `values`.

    Without series an effect is blue if its interval lies above zero, orange below, and grey if it holds zero.
    """
    if "series" not in frame:
        signs = [
            BLUE if low > 0 else ORANGE if high < 0 else GREY
            for low, high in zip(frame["low"], frame["high"], strict=True)
        ]
        frame = frame.assign(colour=signs)
    most = np.nanmax(np.abs(frame[["value", "low", "high"]].to_numpy(dtype=float)), initial=margin)
    limits = (-1.08 * most, 1.08 * most) if most else None
    figure = values(frame, xlabel, limits, band=(-margin, margin) if margin else None)
    figure.axes[0].axvline(0, color=INK, lw=1)
    return figure


def added_by_stage(frame, measure):
    """Draw what each stage adds (stage, change, low, high) beside what it costs (milliseconds)."""
    figure, axes = _rows_figure(0.4 * len(frame) + 1.0, frame["stage"])
    figure.delaxes(axes)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    left.set_yticks(axes.get_yticks(), [label.get_text() for label in axes.get_yticklabels()])
    left.set_ylim(axes.get_ylim())
    left.axvline(0, color=INK, lw=1)
    colours = [
        BLUE if low > 0 else ORANGE if high < 0 else GREY for low, high in zip(frame["low"], frame["high"], strict=True)
    ]
    _interval(left, range(len(frame)), frame["low"], frame["high"], frame["change"], colours)
    bars = right.barh(range(len(frame)), frame["milliseconds"], color=GREY, height=0.5)
    right.bar_label(bars, fmt="%.1f", padding=3)
    right.margins(x=0.3)
    titles = [
        f"{stage}: {cost:.1f} ms a question" for stage, cost in zip(frame["stage"], frame["milliseconds"], strict=True)
    ]
    hover(right, titles, 0, np.arange(len(frame)) - 0.25, frame["milliseconds"], np.arange(len(frame)) + 0.25)
    left.set_xlabel(f"change in {measure}")
    right.set_xlabel("milliseconds")
    for panel in (left, right):
        panel.grid(axis="y", visible=False)
        panel.locator_params(axis="x", nbins=4)
    return figure


def agreement_intervals(table):
    """Draw coefficients with the interval for this panel and for a new one."""
    from casebook.measures.agreement import TITLES

    rows = table.reset_index(drop=True)
    labels = [
        TITLES.get(row.coefficient, row.coefficient) + ("" if np.isnan(row.estimate) else f" (n = {row.n_items:,})")
        for row in rows.itertuples()
    ]
    figure, axes = _rows_figure(0.34 * len(rows) + 1.4, labels)
    axes.hlines(rows.index, rows["new_panel_low"], rows["new_panel_high"], ORANGE, lw=2)
    axes.hlines(rows.index, rows["panel_low"], rows["panel_high"], BLUE, lw=6)
    axes.scatter(rows["estimate"], rows.index, s=36, color="white", edgecolor=BLUE, zorder=3)
    for row in rows[rows["estimate"].isna()].itertuples():
        said = f"undefined: {str(row.reason).replace('_', ' ')}"
        axes.text(0.02, row.Index, said, va="center", color=GREY)
    axes.axvline(0, color=GREY, lw=1)
    lowest = rows[["panel_low", "new_panel_low", "estimate"]].min().min()
    axes.set_xlim(min(0.0, np.nan_to_num(lowest)) - 0.03, 1.03)
    axes.set_xlabel("value and 95 % interval")
    handles = [
        Line2D([], [], color=BLUE, lw=6, label="these raters, other items"),
        Line2D([], [], color=ORANGE, lw=2, label="new raters, other items"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def position_forest(effect, system):
    """Draw what the side of an answer does to the preference."""
    rows = {
        "left answer chosen": effect.left_choice,
        f"{system} wins on the left": effect.win_rate_left,
        f"{system} wins on the right": effect.win_rate_right,
        f"{system} wins, sides balanced": effect.side_balanced,
    }
    figure, axes = _rows_figure(0.55 * len(rows) + 1.0, [f"{name}\n(n = {x.n})" for name, x in rows.items()])
    axes.axvline(0.5, color=GREY, lw=1)
    for place, found in enumerate(rows.values()):
        if found.estimate is None:
            axes.text(0.5, place, "not defined", va="center", ha="center")
        else:
            _interval(axes, place, found.low, found.high, found.estimate, BLUE if place else GREY)
    _ = axes.set(xlim=(0, 1), xlabel="share of untied votes, 95 % interval")
    return figure


def against_placebo(table, measure):
    """Draw the mean of real edits and of their placebos, per system and fact type."""
    parts = list(table.groupby("system", sort=False))
    figure, panels = plt.subplots(len(parts), figsize=(WIDTH, 1.35 * len(parts) + 0.9), squeeze=False, sharex=True)
    for axes, (system, part) in zip(panels[:, 0], parts, strict=True):
        part = part.reset_index(drop=True)
        axes.scatter(part["placebo"], part.index, color=GREY, marker="|", s=220, label="placebo")
        bounds = part["sensitivity low"], part["sensitivity high"]
        _interval(axes, part.index, *bounds, part["sensitivity"], BLUE, label="edit", size=40)
        labels = part["fact type"] + part["edges"].map("  (n {})".format)
        axes.set_yticks(part.index, labels)
        axes.set_ylim(len(part) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_title(system)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2)
    panels[-1, 0].set_xlabel(measure)
    return figure


# Matrices


def score_matrix(table, measure):
    """Draw scores of systems on datasets as a heat map with their values."""
    rows = table.T
    size = max(WIDTH, 0.5 * rows.shape[1] + 2.2), 0.34 * len(rows) + 2.4
    return _matrix(rows, rows.map("{:.2f}".format), measure, _shades(BLUE), (0, 1), size)[0]


def case_matrix(scores, label):
    """Draw cases against fact types as a heat map with their values."""
    limit = np.nanmax(np.abs(scores.to_numpy())) if scores.notna().any(axis=None) else 1
    size = WIDTH, 0.34 * len(scores) + 1.2
    figure, axes = _matrix(scores, scores.map("{:+.2f}".format), label, _SIGNED, (-limit, limit), size)
    axes.tick_params(axis="x", rotation=0)
    return figure


def detector_matrix(frame):
    """Draw the AUROC of detectors for planted defects, in brackets the number of copies."""
    shape = {"index": "detector", "columns": "defect"}
    defects, detectors = (list(dict.fromkeys(frame[name])) for name in ("defect", "detector"))
    drawn = frame.pivot_table(values="auroc", **shape, dropna=False).loc[detectors, defects].astype(float)
    counts = frame.pivot_table(values="judged", **shape, dropna=False).loc[detectors, defects]
    labels = drawn.map("{:.2f}".format) + "\n(" + counts.map("{:.0f}".format) + ")"
    size = max(WIDTH, 0.75 * len(defects) + 1.6), 0.55 * len(detectors) + 1.0
    figure, axes = _matrix(drawn, labels, "AUROC", _shades(BLUE), (0.5, 1), size)
    axes.set_xticks(axes.get_xticks(), [str(name).replace(" ", "\n") for name in defects], rotation=0)
    return figure


def confusion_matrices(tables):
    """Draw tables of gold labels by outcomes, one below the other."""
    sizes = [0.5 * len(table) + (0.6 if len(table.columns) <= 3 else 1.1) for table in tables.values()]
    figure, panels = plt.subplots(len(tables), figsize=(WIDTH, sum(sizes) + 0.4 * len(tables)), squeeze=False)
    words = {"NOT_SUPPORTED": "NOT SUP.", "INSUFFICIENT": "INSUFF.", "CONFLICTING": "CONFLICT", "no_class": "neither"}
    for axes, (title, table) in zip(panels.flat, tables.items(), strict=True):
        names = {name: words.get(name, str(name).replace("_", " ")) for name in (*table.columns, *table.index)}
        counts = table.rename(index=names, columns=names).astype(float)
        shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
        shown = counts.map("{:,.0f}".format) + "\n" + shares.map("{:.0%}".format)
        _matrix(shares, shown, "share of the gold label", _shades(BLUE), (0, 1), axes=axes)
        axes.tick_params(axis="x", rotation=0 if len(table.columns) <= 3 else 40)
        axes.set_title(f"{title} (n = {counts.to_numpy().sum():,.0f})")
        axes.set_ylabel("gold label")
    return figure


def audit_matrix(frame):
    """Draw every check of everything audited: its value and, in brackets, that of chance; ! is a flag."""
    levels = {"not applicable": 0, "noted": 1, "passed": 1, "flagged": 2}
    checks, names = (list(dict.fromkeys(frame[name])) for name in ("check", "audited"))
    rows = frame.reindex(columns=["check", "audited", "verdict", "value", "chance"])
    rows = rows.assign(level=frame["verdict"].map(levels)).sort_values("level", kind="stable")
    cells = rows.drop_duplicates(["check", "audited"], keep="last")
    shape = {"index": "check", "columns": "audited", "aggfunc": "first"}
    level = cells.pivot_table(values="level", **shape).reindex(checks, columns=names).fillna(0)
    said = cells["verdict"].map({"passed": "✓", "noted": "·"}).fillna("")
    texts = cells["value"].map("{:.2f}".format).where(cells["value"].notna(), said)
    texts = (texts + np.where(cells["level"] == 2, " !", "")).str.strip() + cells["chance"].map("\n({:.2f})".format)
    texts = texts.str.replace("\n(nan)", "").where(cells["level"] > 0, "–")
    shown = cells.assign(shown=texts).pivot_table(values="shown", **shape).reindex(checks, columns=names).fillna("–")
    colours = ListedColormap([(*to_rgb(GREY), 0.0), (*to_rgb(BLUE), 0.2), (*to_rgb(ORANGE), 0.45)])
    size = max(WIDTH, 0.56 * len(names) + 2.0), 0.44 * len(checks) + 1.8
    words = cells.pivot_table(values="verdict", **shape).reindex(checks, columns=names)
    return _matrix(level, shown, words, colours, (0, 2), size)[0]


def _shades(colour, most=0.45):
    """Give shades of a colour that letters are legible on, over light and over dark."""
    return ListedColormap([(*to_rgb(colour), most * step / 32) for step in range(33)])


_SIGNED = ListedColormap([*_shades(ORANGE).colors[:0:-1], *_shades(BLUE).colors])


def _matrix(table, shown, label, colours, limits, size=None, axes=None):
    """A matrix with its values written in; what a colour says is on hover, a missing value is a dash."""
    figure, axes = plt.subplots(figsize=size) if axes is None else (axes.figure, axes)
    rows, columns = table.shape
    low, high = limits
    axes.pcolormesh(table.to_numpy(dtype=float), cmap=colours, vmin=low, vmax=high, ec=GRID, lw=1)
    places, titles = list(np.ndindex(rows, columns)), []
    for row, column in places:
        text = str(shown.iloc[row, column]) if pd.notna(table.iloc[row, column]) else "–"
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=INK)
        said = f"{label} {text}" if isinstance(label, str) else f"{label.iloc[row, column]}, {text}"
        titles.append(f"{table.index[row]}, {table.columns[column]}: {' '.join(said.split())}")
    at = np.array(places).reshape(-1, 2)
    hover(axes, titles, at[:, 1], at[:, 0], at[:, 1] + 1, at[:, 0] + 1)
    axes.set_xticks(np.arange(columns) + 0.5, [str(name) for name in table.columns], rotation=90)
    axes.set_yticks(np.arange(rows) + 0.5, ["\n".join(wrap(str(name), 22)) for name in table.index])
    axes.invert_yaxis()
    axes.grid(visible=False)
    return figure, axes


def rating_matrix(ratings, scale=None):
    """Draw every rating: items in columns, from low to high mean, raters in rows."""
    drawn = ratings.loc[ratings.mean(axis=1).sort_values(kind="stable").index]
    if len(drawn) > _MOST_ITEMS:
        drawn = drawn.iloc[np.linspace(0, len(drawn) - 1, _MOST_ITEMS).round().astype(int)]
    marks = drawn.to_numpy(dtype=float).T
    low, high = scale or (np.nanmin(marks), np.nanmax(marks))
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(marks) + 1.5))
    axes.grid(visible=False)
    axes.set_facecolor("#d9d9d9")
    axes.patch.set(hatch="xxx", edgecolor="#9a9a9a")
    style = {"aspect": "auto", "cmap": "cividis_r", "vmin": low, "vmax": high, "interpolation": "nearest"}
    image = axes.imshow(np.ma.masked_invalid(marks), **style)
    axes.set_yticks(range(len(marks)), list(drawn.columns))
    axes.set_xticks([])
    axes.set_xlabel("items, from low to high mean rating")
    missing = int(ratings.isna().to_numpy().sum())
    shown = f"{len(drawn):,} of {len(ratings):,} items x {len(marks)} raters"
    axes.set_title(f"{shown},\n{missing:,} ratings missing")
    figure.colorbar(image, ax=axes, label="rating", pad=0.02)
    means = drawn.mean()
    titles = [f"{name}: mean {means[name]:.2f} of {drawn[name].count()} ratings" for name in drawn]
    hover(axes, titles, -0.5, np.arange(len(marks)) - 0.5, len(drawn) - 0.5, np.arange(len(marks)) + 0.5)
    return figure


# Lines


def sweeps(frame, measure, marks=("default", "best")):
    """Draw a measure against each setting, on the split where settings are chosen."""
    parts = list(frame.groupby("parameter", sort=False))
    figure, panels = plt.subplots(len(parts), figsize=(WIDTH, 2.3 * len(parts) + 0.3), squeeze=False)
    for axes, (parameter, part) in zip(panels[:, 0], parts, strict=True):
        axes.fill_between(part["value"], part["ci_low"], part["ci_high"], alpha=0.2)
        axes.plot(part["value"], part["mean"], marker="o", color=BLUE)
        default, best = part["default"].iloc[0], part["best"].iloc[0]
        axes.axvline(default, color=GREY, ls=":", label=f"{marks[0]} {default:.3g}")
        axes.axvline(best, color=ORANGE, ls="--", label=f"{marks[1]} {best:.3g}")
        axes.legend(loc="best")
        _ = axes.set(xlabel=parameter, ylabel=measure)
    return figure


def histories(frame, measure):
    """Draw one small line per series over its runs."""
    parts = list(frame.groupby("series", sort=True))
    rows = max(len(parts), 1)
    figure, panels = plt.subplots(rows, figsize=(WIDTH, 0.75 * rows + 0.5), squeeze=False)
    for axes, (series, part) in zip(panels[:, 0], parts, strict=False):
        axes.plot(part["number"], part["value"], marker="o", color=BLUE, ms=4)
        axes.set_title(f"{series}: {part['value'].iloc[-1]:.3f} after {len(part)} run(s)")
        low, high = part["value"].min(), part["value"].max()
        spread = max(0.02, high - low)
        axes.set_ylim((high + low) / 2 - spread, (high + low) / 2 + spread)
        axes.set_xticks([])
        axes.tick_params(axis="y")
    figure.suptitle(f"{measure} over the runs in the registry", fontsize="medium")
    return figure


def thresholds(frame, marked, label="threshold of the mean rank displacement"):
    """Draw accuracies against the threshold that separates high from low."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.4))
    styles = zip((BLUE, ORANGE, INK), ("-", "--", ":"), strict=True)
    for (name, part), (colour, style) in zip(frame.groupby("measure", sort=False), styles, strict=False):
        axes.plot(part["threshold"], part["value"], color=colour, ls=style, label=name.replace("_", " "))
        axes.fill_between(part["threshold"], part["low"], part["high"], color=colour, alpha=0.15)
    for name, value in marked.items():
        if value is not None:
            axes.axvline(value, color=GREY, lw=1, ls=":", label=f"{name}: {value:g}")
    if len(frame):
        axes.legend(loc="best")
    _ = axes.set(xlabel=label, ylabel="share called correctly", ylim=(0, 1.1))
    return figure


def detection_line(frame):
    """Draw how often labels are flagged, by how many of them are dealt out."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2))
    axes.fill_between(frame["dealt"], frame["flagged low"], frame["flagged high"], color=BLUE, alpha=0.2)
    axes.plot(frame["dealt"], frame["flagged"], color=BLUE, marker="o")
    axes.set_ylim(-0.02, 1.02)
    _ = axes.set(xlabel="share of labels dealt out in order", ylabel=f"flagged, of {frame['n'].iloc[0]} sets")
    return figure


def matched_lines(frame, x, label, log=False):
    """Draw scores against own and foreign sources, one panel per rule."""
    lines = {"matched": (BLUE, "o", "own source"), "mismatched": (GREY, "s", "foreign")}
    rules = list(dict.fromkeys(frame["rule"]))
    figure, panels = plt.subplots(len(rules), figsize=(WIDTH, 2.3 * len(rules) + 0.3), sharex=True, squeeze=False)
    for axes, rule in zip(panels[:, 0], rules, strict=True):
        for condition, (colour, marker, name) in lines.items():
            part = frame[(frame["rule"] == rule) & (frame["condition"] == condition)]
            axes.fill_between(part[x], part["low"], part["high"], color=colour, alpha=0.2)
            axes.plot(part[x], part["score"], color=colour, marker=marker, label=name)
        if log:
            axes.set_xscale("log")
            axes.set_xticks(sorted(set(frame[x])), sorted(set(frame[x])), rotation=90)
            axes.minorticks_off()
        axes.set_ylim(-0.02, 1.02)
        _ = axes.set(ylabel="grounded share", title=f"{rule}, n = {frame['n'].max()}")
    panels[-1, 0].set_xlabel(label)
    panels[0, 0].legend()
    return figure


def power_curves(power, test, target=0.8):
    """Draw power against the true win rate, one line per size of the study."""
    rows = power[power["test"] == test]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6))
    sizes = list(rows.groupby(["items", "raters"], sort=True))
    colours = sns.color_palette("colorblind", len(sizes))
    for ((items, raters), part), colour, marker in zip(sizes, colours, "osD^vPX*", strict=False):
        label = f"{items} items, {raters} raters"
        axes.plot(part["win_rate"], part["rejected"], color=colour, marker=marker, ms=5, label=label)
        axes.fill_between(part["win_rate"], part["ci_low"], part["ci_high"], color=colour, alpha=0.2, lw=0)
    axes.axhline(target, color=GREY, lw=1, ls="--")
    studies = int(rows["n"].min()) if len(rows) else 0
    axes.set_title(f"{test}, {studies} simulated studies a point")
    _ = axes.set(ylim=(0, 1), xlabel="true win rate", ylabel="share of studies")
    axes.legend()
    return figure


def reliability(bins, curve, n, missing):
    """Draw a reliability diagram beside risk against coverage."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.3))
    left.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    left.vlines(bins["confidence"], bins["share low"], bins["share high"], color=BLUE)
    left.scatter(bins["confidence"], bins["share"], color=BLUE, s=30, zorder=3)
    left.set_title(f"n={n:,}, {missing:,} without")
    limits = {"xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02)}
    _ = left.set(xlabel="stated probability", ylabel="came true", **limits)
    if len(curve):
        right.step(curve["coverage"], curve["risk"], where="post", color=BLUE)
        right.axhline(curve["risk"].iloc[-1], color=GREY, lw=1, ls="--")
    right.set_title("most confident first")
    _ = right.set(xlabel="coverage", ylabel="share of errors", **limits)
    return figure


# Bars and distributions


def per_query(scores, system, baseline, measure):
    """Draw each query's difference between two systems, sorted."""
    change = np.sort((scores[system] - scores[baseline]).to_numpy())[::-1]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2))
    colours = np.where(change > 0, BLUE, ORANGE)
    axes.bar(np.arange(1, len(change) + 1), change, color=colours, width=1.0, lw=0)
    axes.axhline(0, color=GREY, lw=1)
    counts = [(change > 0).sum(), (change == 0).sum(), (change < 0).sum()]
    axes.set_title("{} better, {} equal, {} worse".format(*counts))
    _ = axes.set(xlabel="queries, sorted", ylabel=f"{measure}: {system} − {baseline}")
    return figure


def attrition(frame):
    """Draw where the relevant documents were lost on the way to the result."""
    figure, axes = _rows_figure(0.4 * len(frame) + 1.0, frame["stage"])
    axes.bar_label(axes.barh(range(len(frame)), frame["share"], color=BLUE), fmt="%.3f", padding=3)
    titles = [f"{stage}: {share:.3f}" for stage, share in zip(frame["stage"], frame["share"], strict=True)]
    hover(axes, titles, 0, np.arange(len(frame)) - 0.4, frame["share"], np.arange(len(frame)) + 0.4)
    _ = axes.set(xlabel="share of relevant documents still there", xlim=(0, 1.15))
    return figure


def shift_vector(vectors, largest=24):
    """Draw the largest components of the shifts that several folds learned."""
    mean = vectors.mean(axis=0)
    chosen = np.argsort(-np.abs(mean), kind="stable")[:largest]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2))
    places = np.arange(len(chosen))
    axes.bar(places, mean[chosen], color=BLUE, alpha=0.35, lw=0)
    for vector in vectors:
        axes.scatter(places, vector[chosen], s=14, color=BLUE, lw=0)
    axes.axhline(0, color=GREY, lw=1)
    axes.set_xticks(places, chosen, rotation=90)
    _ = axes.set(xlabel="dimension, by mean magnitude", ylabel="component of the shift")
    return figure


def rank_changes(frame):
    """Draw where the first relevant document stood before and after a shift."""
    figure, axes = _rows_figure(0.26 * max(len(frame), 3) + 1.1, frame["query_id"])
    rows = np.arange(len(frame))
    colours = np.where(frame["after"] < frame["before"], BLUE, ORANGE)
    axes.hlines(rows, frame["before"], frame["after"], color=colours, lw=2)
    axes.scatter(frame["after"], rows, color=colours, s=35, zorder=3)
    if frame.empty:
        _ = axes.set(xlim=(1, 10), ylim=(0.5, -0.5))
        axes.text(2, 0, "no query moved", ha="center")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("rank of the first relevant document (dot: after the shift)")
    return figure


def rating_distributions(ratings):
    """Draw how often every rating was given, by scale and system."""
    parts = list(ratings.dropna(subset=["rating"]).groupby(["scale", "system"], sort=True))
    labels = [f"{a}, {b}\n({part['rating'].mean():.3f}, n = {len(part)})" for (a, b), part in parts]
    figure, axes = _rows_figure(0.5 * len(parts) + 1.4, labels)
    colours = [(*to_rgb(colour), alpha) for colour, alpha in _LIKERT]
    for place, (_, part) in enumerate(parts):
        start = 0.0
        for value, colour in enumerate(colours, start=1):
            share = 100 * np.mean(part["rating"] == value)
            axes.barh(place, share, left=start, color=colour, height=0.7)
            if share >= 6:
                style = {"ha": "center", "va": "center", "fontsize": 11}
                axes.text(start + share / 2, place, f"{share:.0f}", color=INK, **style)
            start += share
    axes.grid(visible=False)
    _ = axes.set(xlim=(0, 100), xlabel="share of ratings, per cent (mean, n at the left)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in colours]
    names = ["1", "2", "3", "4", "5 (best)"]
    figure.legend(handles, names, loc="outside upper left", ncols=5)
    return figure


def displacements(edges, placebos, measure, limits=()):
    """Draw the distribution of every fact type's edits, and of the placebos."""
    rows = pd.concat([edges[["fact_type", measure]], placebos[[measure]].assign(fact_type="Placebo")])
    rows = rows.dropna(subset=measure)
    colours = {name: colour for name, (colour, _) in _FACTS.items()} | {"Placebo": "#b0b0b0"}
    names = [name for name in colours if (rows["fact_type"] == name).any()]
    counts = rows["fact_type"].value_counts()
    figure, axes = plt.subplots(figsize=(WIDTH, 0.5 * max(len(names), 1) + 1.2))
    for value in limits:
        axes.axvline(value, color=GREY, ls=":", lw=1)
    if names:
        style = {"palette": colours, "fliersize": 2, "linewidth": 1}
        sns.boxplot(rows, x=measure, y="fact_type", order=names, hue="fact_type", hue_order=names, ax=axes, **style)
        axes.set_yticks(range(len(names)), [f"{name}  (n {counts[name]})" for name in names])
    _ = axes.set(xlabel="mean rank displacement (dotted: 1.0 and 1.5 documented, 3.3 random)", ylabel="")
    return figure


# Trees


def edit_tree(tree, k):
    """Draw the states of one case by how far each stands from its parent."""
    nodes = _in_order(tree)
    place = {node.name: row for row, node in enumerate(nodes)}
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(nodes) + 1.3))
    for row, node in enumerate(nodes):
        if node.parent is not None:
            x, up = node.parent.depth, place[node.parent.name]
            axes.plot([x, x, node.depth], [up, row, row], color=GREY, lw=1, zorder=1)
        colour, marker = _FACTS.get(node.edit.fact_type if node.edit else None, (INK, "*"))
        axes.scatter(node.depth, row, color=colour, marker=marker, s=45, zorder=2)
        axes.text(node.depth + 0.12, row, _state(node, k), va="center")
    for kind, (colour, marker) in _FACTS.items():
        axes.scatter([], [], color=colour, marker=marker, label=kind)
    axes.legend(loc="upper right")
    axes.set_ylim(len(nodes) - 0.5, -0.7)
    axes.set_xlim(-0.2, max(node.depth for node in nodes) + 2.6)
    axes.axis("off")
    return figure


def _in_order(tree):
    """The nodes parent first, each followed by its own children."""
    children = {}
    for node in tree.nodes[1:]:
        children.setdefault(node.parent.name, []).append(node)
    order, stack = [], [tree.root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += reversed(children.get(node.name, []))
    return order


def _state(node, k):
    if node.edit is None:
        return "the case as it is"
    moved = node.displacement(k)
    shown = "no result" if moved is None else f"{moved:.1f}"
    return f"{node.edit.description.split(': ', 1)[1]}  [{shown}]"
