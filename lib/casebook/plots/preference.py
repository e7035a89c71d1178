"""Preference between two systems: intervals, positions, ratings, power."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH

TIES = {"drop": "ties left out", "half": "a tie is half a win"}
MARGIN = (0.45, 0.55)


def preference_forest(intervals, system, margin=MARGIN):
    """Draw all intervals of one win rate side by side."""
    units = list(dict.fromkeys(intervals["unit"]))
    figure, axes = plt.subplots(figsize=(WIDTH, 0.75 * len(units) + 1.5))
    axes.axvspan(*margin, color=GREY, alpha=0.15, lw=0)
    axes.axvline(0.5, color=GREY, lw=1)
    for (ties, label), colour, shift in zip(TIES.items(), (BLUE, ORANGE), (-0.15, 0.15), strict=True):
        rows = intervals[intervals["ties"] == ties]
        place = rows["unit"].map(units.index) + shift
        known = rows["ci_low"].notna()
        axes.hlines(
            place[known],
            rows.loc[known, "ci_low"].astype(float),
            rows.loc[known, "ci_high"].astype(float),
            color=colour,
            lw=3,
        )
        marker = "o" if ties == "drop" else "s"
        style = {"color": colour, "marker": marker, "s": 40, "zorder": 3}
        axes.scatter(rows["win_rate"], place, label=label, **style)
    axes.set_yticks(range(len(units)), [_unit_label(intervals, x) for x in units])
    axes.set_ylim(len(units) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    _ = axes.set(xlabel=f"win rate of {system}, 95 % interval")
    figure.legend(loc="outside upper left", ncols=2, fontsize="small", frameon=False)
    return figure


def _unit_label(intervals, unit):
    sizes = sorted(set(intervals.loc[intervals["unit"] == unit, "n"]))
    plural = {"item and rater": "items and raters"}.get(unit, f"{unit}s")
    return f"new {plural}\n(n = {', '.join(map(str, sizes))})"


def position_forest(effect, system):
    """Draw what the side of an answer does to the preference."""
    rows = {
        "left answer chosen": effect.left_choice,
        f"{system} wins on the left": effect.win_rate_left,
        f"{system} wins on the right": effect.win_rate_right,
        f"{system} wins, sides balanced": effect.side_balanced,
    }
    figure, axes = plt.subplots(figsize=(WIDTH, 0.55 * len(rows) + 1.0))
    axes.axvline(0.5, color=GREY, lw=1)
    for place, interval in enumerate(rows.values()):
        colour = GREY if place == 0 else BLUE
        if interval.estimate is None:
            axes.text(0.5, place, "not defined", va="center", ha="center")
            continue
        axes.hlines(place, interval.low, interval.high, color=colour, lw=3)
        axes.scatter([interval.estimate], [place], color=colour, s=45, zorder=3)
    labels = [f"{name}\n(n = {x.n})" for name, x in rows.items()]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    _ = axes.set(xlim=(0, 1), xlabel="share of untied votes, 95 % interval")
    return figure


def rating_distributions(ratings):
    """Draw how often every rating was given, by scale and system."""
    values = range(1, 6)
    rated = ratings.dropna(subset=["rating"])
    parts = list(rated.groupby(["scale", "system"], sort=True))
    figure, axes = plt.subplots(figsize=(WIDTH, 0.5 * len(parts) + 1.4))
    colours = sns.color_palette("viridis", len(values))
    labels = []
    for place, ((scale, system), part) in enumerate(parts):
        shares = [100 * np.mean(part["rating"] == value) for value in values]
        starts = np.concatenate([[0], np.cumsum(shares)[:-1]])
        axes.barh([place] * len(values), shares, left=starts, color=colours, height=0.7)
        for value, share, start in zip(values, shares, starts, strict=True):
            if share >= 6:
                dark = value <= 3
                axes.text(
                    start + share / 2,
                    place,
                    f"{share:.0f}",
                    color="white" if dark else "black",
                    ha="center",
                    va="center",
                    fontsize="small",
                )
        labels.append(f"{scale}, {system}\n({part['rating'].mean():.3f}, n = {len(part)})")
    axes.set_yticks(range(len(parts)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False)
    _ = axes.set(xlim=(0, 100), xlabel="share of ratings, per cent (mean, n at the left)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in colours]
    names = ["1", "2", "3", "4", "5 (best)"]
    figure.legend(handles, names, loc="outside upper left", ncols=5, frameon=False)
    return figure


def power_curves(power, test, target=0.8):
    """Draw power against the true win rate, one line per size of the study."""
    rows = power[power["test"] == test]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6))
    sizes = list(rows.groupby(["items", "raters"], sort=True))
    colours = sns.color_palette("colorblind", len(sizes))
    for (size, part), colour, marker in zip(sizes, colours, "osD^vPX*", strict=False):
        label = f"{size[0]} items, {size[1]} raters"
        x = part["win_rate"]
        axes.plot(x, part["rejected"], color=colour, marker=marker, ms=5, label=label)
        axes.fill_between(x, part["ci_low"], part["ci_high"], color=colour, alpha=0.2, lw=0)
    axes.axhline(target, color=GREY, lw=1, ls="--")
    studies = int(rows["n"].min()) if len(rows) else 0
    axes.set_title(f"{test}, {studies} simulated studies a point", fontsize="small")
    _ = axes.set(ylim=(0, 1), xlabel="true win rate", ylabel="share of studies")
    axes.legend(fontsize="small", frameon=False)
    return figure
