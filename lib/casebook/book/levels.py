"""Is .83 good? The levels of a run beside what guessing, a simple system and a perfect one get."""

import html
import re

import pandas as pd

from casebook.book.axis import Axis
from casebook.book.titles import as_cards, dataset_name, raw
from casebook.stats.intervals import bounds_text
from casebook.tables import Markup, to_html
from casebook.verdicts import NOT_MEASURED, verdict_of

_GENERAL = """A score alone is neither good nor bad. Three others on the same questions tell:

1. the **control**, what a system that knows nothing gets: above it, something was learnt;
2. the **baseline**, the best simple system: above it, the effort pays;
3. the **best possible** score, 1 of most measures: below it, there is room.

Where guessing gets .80 and a simple system .84, .83 is poor. Where guessing gets .04 and a simple
system .70, .83 is good, if the interval of the difference lies above zero and the task is yours.
The same .83 of another measure or another data set says something else, so never compare across
them."""
_BEST = 1.0
_ASIDE = re.compile(r",| \(")  # after which the name of a baseline says how it was chosen


def levels_section(run, chapters):
    """Write how to read a level, with those of the first answer of each chapter that has them."""
    rows = []
    for chapter in chapters:
        headlines = [headline for headline in chapter.headlines if _is_full(headline)]
        rows += [_row(chapter.cell, headline) for headline in headlines[:1]]
    if not rows:
        return _GENERAL
    table = to_html(
        pd.DataFrame(rows),
        f"Levels of the run {run}, beside guessing, a simple system and a perfect one",
        formats=dict.fromkeys(("Control", "Baseline", "Level"), "z.2f"),
    )
    legend = (
        "In the drawing the tick is the control, the ring the baseline, the dot the system; "
        "the line ends at the best possible score, 1."
    )
    return f"{_GENERAL}\n\n{legend}\n\n{raw(as_cards(table))}"


def _is_full(headline):
    """Tell whether a headline has level, baseline and control, of a measure from 0 to 1."""
    parts = (headline.value, headline.level, headline.baseline, headline.chance)
    if _verdict(headline) == NOT_MEASURED or any(part is None for part in parts):
        return False
    scores = (headline.level, headline.baseline, headline.baseline + headline.chance)
    return all(-1e-9 <= score <= _BEST + 1e-9 for score in scores)


def _verdict(headline):
    """Give the verdict of the contrast, or by the interval where there was none."""
    return headline.decision or verdict_of(
        headline.low, headline.high, headline.margin, reason=headline.reason
    )


def _row(cell, headline):
    """Give the row of a headline."""
    control = max(headline.baseline + headline.chance, 0.0)
    link = f'<a href="run/notebooks/{cell}.html">{html.escape(headline.system)}</a>'
    data = html.escape(f"{dataset_name(headline.dataset)}, {headline.measure}, n = {headline.n}")
    against = html.escape(_ASIDE.split(headline.against or "", maxsplit=1)[0])
    difference = f"{headline.value:+z.2f} {bounds_text(headline.low, headline.high, '+z.2f')}"
    return {
        "System": Markup(f"{link}<br><small>{data}</small>"),
        "Control": control,
        "Baseline": headline.baseline,
        "Level": headline.level,
        "Drawing": Markup(_drawing(control, headline.baseline, headline.level)),
        "Against the baseline": Markup(
            f"{_verdict(headline)}: {difference}<br><small>{against}</small>"
        ),
    }


def _drawing(control, baseline, level):
    """Draw three scores on a line from 0 to 1."""
    axis = Axis({0: "0", 1: "1"})

    def x(score):
        return f"{8 + 184 * axis.share(score):.1f}"

    label = f"From 0 to 1: control {control:.2f}, baseline {baseline:.2f}, level {level:.2f}"
    return (
        f'<svg class="word-picture small" role="img" aria-label="{label}" '
        'viewBox="0 0 200 20" width="200">'
        '<line class="line" x1="8" y1="10" x2="192" y2="10"/>'
        f'<line class="tick" x1="{x(control)}" y1="3" x2="{x(control)}" y2="17"/>'
        f'<circle class="ring" cx="{x(baseline)}" cy="10" r="4.5"/>'
        f'<circle class="mark" cx="{x(level)}" cy="10" r="4.5"/></svg>'
    )
