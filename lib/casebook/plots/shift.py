"""Embedding shifts: the vector and the ranks that it changes."""

import matplotlib.pyplot as plt
import numpy as np

from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH


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
    axes.set_xticks(places, chosen, rotation=90, fontsize="small")
    _ = axes.set(xlabel="dimension, by mean magnitude", ylabel="component of the shift")
    return figure


def rank_changes(frame):
    """Draw where the first relevant document stood before and after a shift."""
    figure, axes = plt.subplots(figsize=(WIDTH, 0.26 * max(len(frame), 3) + 1.1))
    rows = np.arange(len(frame))
    colours = np.where(frame["after"] < frame["before"], BLUE, ORANGE)
    axes.hlines(rows, frame["before"], frame["after"], color=colours, lw=2)
    axes.scatter(frame["after"], rows, color=colours, s=35, zorder=3)
    axes.set_yticks(rows, frame["query_id"], fontsize="small")
    if frame.empty:
        axes.text(2, 0, "no query moved", ha="center")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    _ = axes.set(xlabel="rank of the first relevant document (dot: after the shift)")
    return figure
