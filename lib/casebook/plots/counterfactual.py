"""Counterfactual sensitivity: trees, edits against placebos, cases against types."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH

_COLOURS = {"Section": "#0072b2", "Evidence": "#d55e00", "PartyType": "#009e73", "Numerical": "#cc79a7"}
_MARKERS = {"Section": "o", "Evidence": "s", "PartyType": "^", "Numerical": "D"}


def edit_tree(tree, k):
    """Draw the states of one case by how far each stands from its parent."""
    nodes = _in_order(tree)
    place = {node.name: row for row, node in enumerate(nodes)}
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(nodes) + 1.3))
    for row, node in enumerate(nodes):
        if node.parent is not None:
            up = place[node.parent.name]
            x = node.parent.depth
            axes.plot([x, x, node.depth], [up, row, row], color=GREY, lw=1, zorder=1)
        kind = node.edit.fact_type if node.edit else None
        axes.scatter(node.depth, row, color=_COLOURS.get(kind, "black"), marker=_MARKERS.get(kind, "*"), s=45, zorder=2)
        axes.text(node.depth + 0.12, row, _state(node, k), va="center", fontsize=8)
    for kind, colour in _COLOURS.items():
        axes.scatter([], [], color=colour, marker=_MARKERS[kind], label=kind)
    axes.legend(loc="upper right", fontsize="small")
    axes.set_ylim(len(nodes) - 0.5, -0.7)
    axes.set_xlim(-0.2, max(node.depth for node in nodes) + 2.6)
    axes.axis("off")
    return figure


def against_placebo(table, measure):
    """Draw the mean of real edits and of their placebos, per system and fact type."""
    parts = list(table.groupby("system", sort=False))
    height = 1.35 * len(parts) + 0.9
    figure, panels = plt.subplots(len(parts), figsize=(WIDTH, height), squeeze=False, sharex=True)
    for axes, (system, part) in zip(panels[:, 0], parts, strict=True):
        part = part.reset_index(drop=True)
        axes.scatter(part["placebo"], part.index, color=GREY, marker="|", s=220, label="placebo")
        axes.hlines(part.index, part["sensitivity low"], part["sensitivity high"], color=BLUE, lw=3)
        axes.scatter(part["sensitivity"], part.index, color=BLUE, s=40, label="edit")
        labels = part["fact type"] + part["edges"].map("  (n {})".format)
        axes.set_yticks(part.index, labels, fontsize="small")
        axes.set_ylim(len(part) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_title(system, fontsize="small")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2, fontsize="small")
    _ = panels[-1, 0].set(xlabel=measure)
    return figure


def case_matrix(scores, label):
    """Draw cases against fact types as a heat map with their values."""
    limit = np.nanmax(np.abs(scores.to_numpy())) if scores.notna().any(axis=None) else 1
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(scores) + 1.6))
    axes.set_facecolor("#d0d0d0")
    sns.heatmap(
        scores,
        annot=True,
        fmt=".2f",
        cmap="PuOr",
        vmin=-limit,
        vmax=limit,
        annot_kws={"fontsize": 8},
        cbar_kws={"label": label},
        ax=axes,
    )
    axes.tick_params(axis="y", rotation=0, labelsize=8)
    axes.grid(visible=False)
    _ = axes.set(xlabel="", ylabel="")
    return figure


def thresholds(frame, marked, label="threshold of the mean rank displacement"):
    """Draw accuracies against the threshold that separates high from low."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.4))
    styles = zip((BLUE, ORANGE, "black"), ("-", "--", ":"), strict=True)
    parts = frame.groupby("measure", sort=False)
    for (name, part), (colour, style) in zip(parts, styles, strict=False):
        shown = name.replace("_", " ")
        axes.plot(part["threshold"], part["value"], color=colour, ls=style, label=shown)
        axes.fill_between(part["threshold"], part["low"], part["high"], color=colour, alpha=0.15)
    for name, value in marked.items():
        if value is not None:
            axes.axvline(value, color=GREY, lw=1)
            axes.text(value, 1.03, name, fontsize=8, ha="center", rotation=0)
    if len(frame):
        axes.legend(loc="best", fontsize="small")
    _ = axes.set(xlabel=label, ylabel="share called correctly", ylim=(0, 1.1))
    return figure


def displacements(edges, placebos, measure, limits=()):
    """Draw the distribution of every fact type's edits, and of the placebos."""
    rows = pd.concat([edges[["fact_type", measure]], placebos[[measure]].assign(fact_type="Placebo")]).dropna(
        subset=measure
    )
    names = [name for name in (*_COLOURS, "Placebo") if (rows["fact_type"] == name).any()]
    counts = rows["fact_type"].value_counts()
    figure, axes = plt.subplots(figsize=(WIDTH, 0.5 * max(len(names), 1) + 1.2))
    for value in limits:
        axes.axvline(value, color=GREY, ls=":", lw=1)
    if names:
        sns.boxplot(
            rows,
            x=measure,
            y="fact_type",
            order=names,
            hue="fact_type",
            hue_order=names,
            palette=[_COLOURS.get(name, "#b0b0b0") for name in names],
            fliersize=2,
            linewidth=1,
            ax=axes,
        )
        axes.set_yticks(range(len(names)), [f"{n}  (n {counts[n]})" for n in names])
    _ = axes.set(xlabel="mean rank displacement (dotted: 1.0 and 1.5 documented, 3.3 random)", ylabel="")
    return figure


def _in_order(tree):
    """Give the nodes parent first, each followed by its own children."""
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
