"""Audits: which check flags which data."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from casebook.plots.style import BLUE, ORANGE, WIDTH

_LEVELS = {"not applicable": 0, "noted": 0, "passed": 1, "flagged": 2}
_MARKS = np.array(["·", "passed", "FLAG"])


def audit_matrix(frame):
    """Draw the verdict of every check on everything audited."""
    levels = frame.assign(level=frame["verdict"].map(_LEVELS))
    checks, names = (list(dict.fromkeys(frame[c])) for c in ("check", "audited"))
    table = levels.pivot_table(index="audited", columns="check", values="level", aggfunc="max", fill_value=0).loc[
        names, checks
    ]
    values = table.to_numpy().astype(int).T
    size = (max(WIDTH, 0.62 * len(names) + 2.4), 0.42 * len(checks) + 2.0)
    figure, axes = plt.subplots(figsize=size)
    colours = ListedColormap(["#f2f2f2", "#9ecae1", ORANGE])
    axes.imshow(values, cmap=colours, vmin=0, vmax=2, aspect="auto")
    for (row, column), level in np.ndenumerate(values):
        style = {"ha": "center", "va": "center", "fontsize": 8}
        weight = "bold" if level == 2 else "normal"
        axes.text(column, row, _MARKS[level], weight=weight, **style)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(checks)), checks)
    axes.grid(visible=False)
    return figure


def detection_line(frame):
    """Draw how often labels are flagged, by how many of them are dealt out."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2))
    low, high = frame["flagged low"], frame["flagged high"]
    axes.fill_between(frame["dealt"], low, high, color=BLUE, alpha=0.2)
    axes.plot(frame["dealt"], frame["flagged"], color=BLUE, marker="o")
    axes.set_ylim(-0.02, 1.02)
    _ = axes.set(xlabel="share of labels dealt out in order", ylabel=f"flagged, of {frame['n'].iloc[0]} sets")
    return figure
