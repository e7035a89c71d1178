"""Systems compared: means, pairs, queries, data sets, history."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from casebook.estimates import BETTER, WORSE
from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH


def forest(systems, measure, controls=(), limits=(0, 1)):
    """Draw each system's mean with its interval, best on top."""
    rows = systems.sort_values(measure).reset_index(drop=True)
    low, high = rows[f"{measure} low"], rows[f"{measure} high"]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.34 * len(rows) + 1.1))
    colours = [GREY if name in controls else BLUE for name in rows["system"]]
    axes.hlines(rows.index, low, high, color=colours, lw=3)
    axes.scatter(rows[measure], rows.index, color=colours, s=45, zorder=3)
    labels = rows["system"] + "  (" + rows["tie class"] + ")"
    axes.set_yticks(rows.index, labels)
    axes.grid(axis="y", visible=False)
    _ = axes.set(xlabel=f"{measure}, mean and 95 % interval")
    if limits is None:
        axes.axvline(0, color=GREY, lw=1)
    else:
        axes.set_xlim(limits)
    return figure


def pair_matrix(pairs, systems):
    """Draw all mean differences; those that are decided are starred."""
    size = len(systems)
    place = {name: i for i, name in enumerate(systems)}
    values, labels = np.full((size, size), np.nan), np.full((size, size), "", object)
    for row in pairs.itertuples():
        i, j = place[row.system_a], place[row.system_b]
        star = "*" if row.verdict in (BETTER, WORSE) else ""
        for a, b, sign in ((i, j, 1), (j, i, -1)):
            values[a, b] = sign * row.difference
            labels[a, b] = f"{values[a, b]:+z.2f}{star}".replace("0.", ".")
    side = 0.52 * size + 1.8
    figure, axes = plt.subplots(figsize=(max(side, WIDTH), side))
    limit = np.nanmax(np.abs(values))
    sns.heatmap(
        values,
        annot=labels,
        fmt="",
        cmap="RdBu",
        vmin=-limit,
        vmax=limit,
        xticklabels=systems,
        yticklabels=systems,
        annot_kws={"fontsize": 8},
        cbar_kws={"label": "row minus column", "shrink": 0.7},
        ax=axes,
    )
    axes.tick_params(axis="x", rotation=90)
    axes.tick_params(axis="y", rotation=0)
    return figure


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


def score_matrix(table, measure):
    """Draw scores of systems on datasets as a heat map with their values."""
    rows = table.T
    width = max(WIDTH, 0.55 * rows.shape[1] + 3.0)
    figure, axes = plt.subplots(figsize=(width, 0.34 * len(rows) + 2.6))
    sns.heatmap(
        rows,
        annot=True,
        fmt=".2f",
        cmap="viridis",
        vmin=0,
        vmax=1,
        annot_kws={"fontsize": 9},
        cbar_kws={"label": measure},
        ax=axes,
    )
    axes.tick_params(axis="x", rotation=90)
    axes.tick_params(axis="y", rotation=0)
    _ = axes.set(xlabel="", ylabel="")
    return figure


def histories(frame, measure):
    """Draw one small line per series over its runs."""
    parts = list(frame.groupby("series", sort=True))
    height = 0.75 * max(len(parts), 1) + 0.5
    figure, panels = plt.subplots(max(len(parts), 1), figsize=(WIDTH, height), squeeze=False)
    for axes, (series, part) in zip(panels[:, 0], parts, strict=False):
        axes.plot(part["number"], part["value"], marker="o", color=BLUE, ms=4)
        last = f"{series}: {part['value'].iloc[-1]:.3f} after {len(part)} run(s)"
        axes.set_title(last, fontsize="small")
        spread = max(0.02, part["value"].max() - part["value"].min())
        middle = (part["value"].max() + part["value"].min()) / 2
        axes.set_ylim(middle - spread, middle + spread)
        axes.set_xticks([])
        axes.tick_params(axis="y", labelsize=7)
    figure.suptitle(f"{measure} over the runs in the registry", fontsize="medium")
    return figure
