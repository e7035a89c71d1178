"""Agreement among raters: coefficients with both intervals, and the ratings."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from casebook.measures.agreement import TITLES
from casebook.plots.style import BLUE, GREY, ORANGE, WIDTH

MOST_ITEMS = 400


def agreement_intervals(table):
    """Draw coefficients with the interval for this panel and for a new one."""
    rows = table.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.34 * len(rows) + 1.4))
    axes.hlines(rows.index, rows["new_panel_low"], rows["new_panel_high"], ORANGE, lw=2)
    axes.hlines(rows.index, rows["panel_low"], rows["panel_high"], BLUE, lw=6)
    axes.scatter(rows["estimate"], rows.index, s=36, color="white", edgecolor=BLUE, zorder=3)
    for row in rows[rows["estimate"].isna()].itertuples():
        said = f"undefined: {str(row.reason).replace('_', ' ')}"
        axes.text(0.02, row.Index, said, va="center", fontsize="small", color=GREY)
    names = [_name(row) for row in rows.itertuples()]
    axes.set_yticks(rows.index, names, fontsize="small")
    axes.axvline(0, color=GREY, lw=1)
    bounds = rows[["panel_low", "new_panel_low", "estimate"]].min().min()
    axes.set_xlim(min(0.0, np.nan_to_num(bounds)) - 0.03, 1.03)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("value and 95 % interval")
    handles = [
        Line2D([], [], color=BLUE, lw=6, label="this panel, other items"),
        Line2D([], [], color=ORANGE, lw=2, label="a new panel, other items"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return figure


def _name(row):
    title = TITLES.get(row.coefficient, row.coefficient)
    return title if np.isnan(row.estimate) else f"{title}  (n = {row.n_items:,})"


def rating_matrix(ratings, scale=None):
    """Draw every rating: items in columns, from low to high mean, raters in rows."""
    order = ratings.mean(axis=1).sort_values(kind="stable").index
    drawn = ratings.loc[order]
    if len(drawn) > MOST_ITEMS:
        places = np.linspace(0, len(drawn) - 1, MOST_ITEMS).round().astype(int)
        drawn = drawn.iloc[places]
    values = drawn.to_numpy(dtype=float).T
    low, high = scale or (np.nanmin(values), np.nanmax(values))
    figure, axes = plt.subplots(figsize=(WIDTH, 0.3 * len(values) + 1.5))
    axes.grid(visible=False)
    axes.set_facecolor("#d9d9d9")
    axes.patch.set(hatch="xxx", edgecolor="#9a9a9a")
    image = axes.imshow(
        np.ma.masked_invalid(values), aspect="auto", cmap="cividis_r", vmin=low, vmax=high, interpolation="nearest"
    )
    axes.set_yticks(range(len(values)), list(drawn.columns), fontsize="small")
    axes.set_xticks([])
    axes.set_xlabel("items, from low to high mean rating")
    shown = f"{len(drawn):,} of {len(ratings):,} items"
    missing = int(ratings.isna().to_numpy().sum())
    axes.set_title(f"{shown} x {len(values)} raters, {missing:,} ratings missing")
    figure.colorbar(image, ax=axes, label="rating", pad=0.02)
    return figure


def rater_influence(table, full):
    """Draw agreement without each rater."""
    rows = table.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(WIDTH, 0.32 * len(rows) + 1.2))
    if full.estimate is not None:
        axes.axvline(full.estimate, color=GREY, lw=1)
    if full.panel_ci is not None:
        axes.axvspan(*full.panel_ci, color=BLUE, alpha=0.12, lw=0)
    axes.scatter(rows["estimate"].astype(float), rows.index, color=BLUE, s=45, zorder=3)
    for row in rows[rows["estimate"].isna()].itertuples():
        said = f"undefined: {str(row.reason).replace('_', ' ')}"
        axes.text(0.02, row.Index, said, va="center", fontsize="small", color=GREY)
    axes.set_yticks(rows.index, [f"without {name}" for name in rows["rater"]])
    axes.grid(axis="y", visible=False)
    name = TITLES.get(full.coefficient, full.coefficient)
    axes.set_xlabel(f"{name} (line: all {full.n_raters} raters, n = {full.n_items:,})")
    return figure
