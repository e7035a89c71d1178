"""Tables as accessible HTML: escaped, sortable, the full value behind each cell."""

import html
import math

import pandas as pd

from casebook.stats.intervals import bounds_text

TALL = 20  # rows above which a table scrolls within the page


class Table:
    """A table that a notebook shows and the book sorts, filters and downloads."""

    def __init__(self, frame, caption, digits=3, formats=None):
        self.frame, self.caption = frame, caption
        self.digits, self.formats = digits, formats or {}

    def _repr_html_(self):
        """Give the HTML that Jupyter and the book show."""
        return to_html(self.frame, self.caption, self.digits, self.formats)

    def __repr__(self):
        return f"<Table: {self.caption} ({len(self.frame)} rows)>"


def to_html(frame, caption, digits=3, formats=None):
    """Write a DataFrame as an HTML table that needs nothing from the network."""
    formats = formats or {}
    caption = caption if len(frame) else f"{caption} (no rows)"
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in frame.columns)
    columns = [_cells(frame[name], formats.get(name, f"z.{digits}f")) for name in frame.columns]
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    size = " tall" if len(frame) > TALL else ""
    return (
        f'<div class="table-scroll{size}" role="region" tabindex="0"'
        f' aria-label="{html.escape(caption)}">\n<table class="data-table">\n'
        f"<caption>{_text(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


class Markup(str):
    """Text that is HTML already and must not be escaped again."""


def _cells(column, spec):
    return [_cell(value, spec) for value in column]


def _cell(value, spec):
    if isinstance(value, Markup):
        return f"<td>{value}</td>"
    if value is None or value is pd.NaT or (_is_number(value) and math.isnan(value)):
        return '<td data-sort=""><span aria-label="not available">–</span></td>'
    if _is_number(value) and not isinstance(value, bool):
        return f'<td class="number" data-sort="{value:.6g}">{_shown(value, spec)}</td>'
    return f"<td>{_text(spec(value) if callable(spec) else value)}</td>"


def _shown(value, spec):
    if callable(spec):
        return _text(spec(value))
    whole = float(value).is_integer() and not isinstance(value, float)
    return f"{value:,}" if whole else format(float(value), spec)


def p_value(p):
    """Write a p-value, which is never 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _is_number(value):
    return hasattr(value, "__float__") and not isinstance(value, str)


def _text(value):
    return html.escape(str(value))


def linked(frame, column, address, prefix=""):
    """Turn the values of a column into links."""
    links = [Markup(f'<a href="{html.escape(address(prefix + value))}">{_text(value)}</a>') for value in frame[column]]
    return frame.assign(**{column: links})


def bullets(lines):
    """Write sentences as a Markdown list."""
    return "\n".join("- " + line.replace("_", "\\_") for line in lines)


def with_interval(frame, value, low, high, digits=3, name=None):
    """Join a value and its interval into one readable column."""
    name = name or value
    joined = [estimate(*row, digits) for row in frame[[value, low, high]].itertuples(index=False, name=None)]
    place = frame.columns.get_loc(value)
    rest = frame.drop(columns=[value, low, high])
    column = pd.Series(joined, index=frame.index, dtype=object)
    rest.insert(min(place, rest.shape[1]), name, column)
    return rest


def with_intervals(frame, digits=3):
    """Join every column that has bounds, named ``<column> low`` and ``<column> high``."""
    for name in [column for column in frame if f"{column} low" in frame]:
        frame = with_interval(frame, name, f"{name} low", f"{name} high", digits)
    return frame


def estimate(value, low, high, digits=3):
    """Write a value with its interval."""
    if value is None or math.isnan(value):
        return None
    return Markup(
        f'<data value="{value:.6g}">{value:z.{digits}f}</data> '
        f'<span class="interval">{bounds_text(low, high, f"z.{digits}f")}</span>'
    )
