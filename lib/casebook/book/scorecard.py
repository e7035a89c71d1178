"""The front page's scorecard: one line per experiment and data set."""

import html

import pandas as pd

from casebook.book.history import history, sparkline
from casebook.book.items import items_file
from casebook.book.reproduce import reproduce_line
from casebook.datasets.cards import card_of
from casebook.inference.intervals import bounds_text
from casebook.paths import ROOT
from casebook.runs.outputs import headlines
from casebook.tables import Markup, estimate, to_html

_METHODS = {"factcheck_confusion": "factcheck"}  # pages not named after experiments


def scorecard(run, chapters):
    """Write the scorecard of a run."""
    rows = [row for cell, title in chapters.items() for row in _rows(run, cell, title)]
    if not rows:
        return "<p>No experiment of this run has reported a headline number yet.</p>"
    return to_html(pd.DataFrame(rows), "Scorecard, with 95 % intervals")


def value_text(number):
    """Write a stored number with its interval, or why there is none."""
    if number["value"] is None:
        return f"undefined: {html.escape(number.get('reason') or 'no reason given')}"
    text = estimate(number["value"], *number["ci"])
    if None in number["ci"] and number.get("reason"):
        text += f"<br><small>{html.escape(number['reason'].replace('_', ' '))}</small>"
    return text


def _rows(run, cell, title):
    for experiment, dataset, system, measure, number in headlines(run, cell):
        what = f"{system}, {measure}"
        links = " ".join(_links(run, cell, dataset, experiment))
        sources = Markup(f"{links}{reproduce_line(run, cell)}")
        past = history(cell, (experiment, dataset, system, measure))
        yield _row(cell, title, dataset, what, number, sources, past)


def _row(cell, title, dataset, what, number, sources, past):
    low, high = number["ci"]
    return {
        "Evidence": Markup(
            f'<a href="run/notebooks/{cell}.html">{html.escape(title)}</a>'
            f"<br><small>{html.escape(what)} on {html.escape(dataset)}</small>"
        ),
        "Value [95 % interval]": Markup(
            f"{value_text(number)}{_strip(number['value'], low, high, number['control'])}{sparkline(past)}"
        ),
        "n": number["n"],
        "Control": number["control"],
        "Sources": sources,
    }


def _links(run, cell, dataset, experiment):
    card = card_of(dataset)
    own = (ROOT / "book" / "methods" / f"{experiment}.md").is_file()
    page = experiment if own else _METHODS.get(experiment, "measures")
    links = {
        "method": f"methods/{page}.html",
        "code": f"_sources/run/notebooks/{cell}.ipynb",
        "rows": f"rows/{cell}.csv.gz",
    }
    if card:
        links["data"] = f"generated/cards/{card.key}.html"
    if items_file(run, cell).is_file():
        links["one by one"] = f"generated/items/{cell}.html"
    return [f'<a href="{target}">{label}</a>' for label, target in links.items()]


def _strip(value, low, high, control):
    """Draw value, interval and control on a line from 0 to 1."""
    if value is None:
        return ""
    marks = []
    if control is not None:
        marks.append(f'<path d="M{100 * control:.1f} 2v16" stroke="#b45309"/>')
    if low is not None and high is not None:
        span = f"M{100 * low:.1f} 10H{100 * high:.1f}"
        marks.append(f'<path d="{span}" stroke="#60a5fa" stroke-width="9"/>')
    marks.append(f'<circle cx="{100 * value:.1f}" cy="10" r="2.5" fill="#1d4ed8"/>')
    label = f"{value:.3f}, interval {bounds_text(low, high)}, on a scale from 0 to 1"
    return (
        f'<svg class="strip" viewBox="-2 0 104 20" role="img" aria-label="{label}"'
        f' stroke-width="2"><path d="M0 10h100" stroke="#8a8a8a" stroke-width="1"/>'
        f"{''.join(marks)}</svg>"
    )
