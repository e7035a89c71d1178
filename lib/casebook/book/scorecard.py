"""The front page's scorecard: one line per experiment and data set."""

import html
import json

import pandas as pd

from casebook.paths import run_dir
from casebook.tables import Markup, to_html

# The one number that answers an experiment's question: system and measure.
HEADLINES = {"retrieval_ablation": ("full", "nDCG@10")}


def scorecard(run, cells):
    """Write the scorecard of a run.

    Parameters
    ----------
    run : str
        Name of the run.
    cells : list of str
        Names of the executed notebooks.

    Returns
    -------
    str
        HTML table: value, interval, n, control and where the evidence stands.
    """
    rows = [row for cell in cells for row in _rows(run, cell)]
    if not rows:
        return "<p>No experiment of this run has reported a headline number yet.</p>"
    return to_html(pd.DataFrame(rows), "Scorecard: 95 % intervals over queries")


def _rows(run, cell):
    path = run_dir(run) / "numbers" / f"{cell}.json"
    numbers = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for experiment, datasets in numbers.items():
        system, measure = HEADLINES.get(experiment, (None, None))
        for dataset, systems in datasets.items():
            if measure in systems.get(system, {}):
                yield _row(cell, dataset, system, measure, systems[system][measure])


def _row(cell, dataset, system, measure, number):
    low, high = number["ci"]
    return {
        "Experiment": Markup(
            f'<a href="run/notebooks/{cell}.html">{html.escape(cell)}</a>'
        ),
        "Data": Markup(f'<a href="data_cards.html">{html.escape(dataset)}</a>'),
        "System": system,
        "Measure": Markup(f'<a href="methods/measures.html">{measure}</a>'),
        "Value [95 % interval]": Markup(
            f'<data value="{number["value"]}">{number["value"]:.3f}</data> '
            f'<span class="interval">[{low:.3f}, {high:.3f}]</span>'
        ),
        "Queries": number["n"],
        "Control (random order)": number["control"],
        "Picture": Markup(_strip(number["value"], low, high, number["control"])),
        "Rows": Markup(f'<a href="rows/{cell}.csv.gz">csv</a>'),
    }


def _strip(value, low, high, control):
    """Draw value, interval and control on a line from 0 to 1."""
    x = [round(100 * v, 1) for v in (low, high, value)]
    mark = (
        ""
        if control is None
        else f'<path d="M{100 * control:.1f} 2v16" stroke="#b45309" stroke-width="2"/>'
    )
    label = f"{value:.3f}, interval {low:.3f} to {high:.3f}, on a scale from 0 to 1"
    return (
        f'<svg class="strip" viewBox="-2 0 104 20" role="img" aria-label="{label}">'
        f'<path d="M0 10h100" stroke="#8a8a8a"/>{mark}'
        f'<path d="M{x[0]} 10H{x[1]}" stroke="#2563eb" stroke-width="5"/>'
        f'<circle cx="{x[2]}" cy="10" r="4.5" fill="#2563eb"/></svg>'
    )
