"""Tables as accessible HTML: escaped, sortable, the full value behind each cell."""

import html
import re
from numbers import Integral, Number
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.readers import read_yaml
from casebook.stats.intervals import bounds_text

TALL = 20  # rows above which a table scrolls within the page
COLUMNS_SHOWN = 7  # that a page shows before a reader asks for the others
_MARKS = re.compile(r"<[^>]*>")
# What begins a block or a span; a bracket only where an address or a name follows it.
_MARKDOWN = re.compile(
    r"[\\`*_#|$]|\](?=[(\[:])|\[(?=\^)|:(?=::)|~(?=~)|(?<=\))=|\{(?=\{)|^%|^[-+](?= )"
)
_WORDS = read_yaml(Path(__file__).with_suffix(".yml"))
REASON_TEXTS = _WORDS["reasons"]
FACTS = _WORDS["facts"]
_CODE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_WHY = re.compile(r"\b(reason|why|because)\b", re.IGNORECASE)


def reason_text(codes):
    """Reason codes, alone or within a sentence, in words; files keep the codes."""
    return codes and _CODE.sub(
        lambda code: REASON_TEXTS.get(code[0], code[0].replace("_", " ")), codes
    )


class Table:
    """A table that a notebook shows and the book sorts and filters; nothing if it has no rows."""

    def __init__(self, frame, caption):
        self.frame = frame
        self.caption = caption

    def _repr_html_(self):
        """The HTML that Jupyter and the book show; what is equal in all rows is in the caption."""
        columns = {name: _cells(column) for name, column in self.frame.items()}
        equal = {}
        for name, cells in list(columns.items())[1:]:
            text = html.unescape(_MARKS.sub("", cells[0])) if len(set(cells)) == 1 else ""
            if 0 < len(text) <= 60:
                equal[name] = text
        # Of one row, and of rows that differ in their names only, all is shown.
        if len(self.frame) < 2 or len(equal) == len(columns) - 1:
            equal = {}
        texts = [f"{_title(name)}: {text}" for name, text in equal.items() if text != "–"]
        caption = f"{self.caption} (in all rows {'; '.join(texts)})" if texts else self.caption
        return to_html(self.frame.drop(columns=list(equal)), caption)

    def __repr__(self):
        return f"<Table: {self.caption} ({len(self.frame)} rows)>" if len(self.frame) else ""


def to_html(frame, caption):
    """A frame as an HTML table that needs no network; an empty one is nothing."""
    if frame.empty:
        return ""
    head = "".join(f'<th scope="col">{html.escape(_title(name))}</th>' for name in frame)
    columns = [_cells(column) for _, column in frame.items()]
    rows = map("".join, zip(*columns, strict=True))
    body = "\n".join([f"<tr>{row}</tr>" for row in rows])
    size = " tall" if len(frame) > TALL else ""
    more = f' data-shown="{COLUMNS_SHOWN}"' if len(frame.columns) > COLUMNS_SHOWN else ""
    caption = html.escape(caption)
    return (
        f'<div class="table-scroll{size}" role="region" tabindex="0" aria-label="{caption}">\n'
        f'<table class="data-table"{more}>\n<caption>{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _title(name):
    return str(name).replace("_", " ").strip() or "row"


class Markup(str):
    """Text that is HTML already and must not be escaped again."""


def _cells(column):
    spec = p_value if column.name == "corrected p" else "z.3f"
    if pd.api.types.is_float_dtype(column):
        defined = column.dropna()
        # Counts that pandas made floats because one is missing; shares of 0 and 1 stay shares.
        if (defined % 1 == 0).all() and defined.abs().max() > 1:
            spec = "z,.0f"
    has_reasons = _WHY.search(str(column.name))
    cells = []
    for value in column:
        if type(value) is str and (has_reasons or value in REASON_TEXTS):
            value = reason_text(value)
        cells.append(f"<td{_cell(value, spec)}</td>")
    return cells


def _cell(value, spec):
    if isinstance(value, Markup):
        return f">{value}"
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ' data-sort=""><span aria-label="not available">–</span>'
    if isinstance(value, bool | np.bool_):
        return ">yes" if value else ">no"
    if isinstance(value, Number):
        text = decimal(value, "," if isinstance(value, Integral) else spec)
        return f' class="number" data-sort="{value:.6g}">{html.escape(text)}'
    return f">{html.escape(str(value))}"


def decimal(value, spec="z.3f"):
    """A number by a format or a function: with a minus, and a space before per cent."""
    text = spec(value) if callable(spec) else format(value, spec)
    return with_minus(text).replace("%", "\u00a0%")


def with_minus(text):
    """Numbers as text with a minus in place of a hyphen."""
    return text.replace("-", "\u2212")


def interval_text(low, high):
    """The bounds of an interval."""
    return with_minus(bounds_text(low, high))


def p_value(p):
    """A p-value, which is never written as 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def enumerated(names, last="and"):
    """Names as a sentence lists them: a, b and c."""
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def escape_markdown(text):
    """A text of others on one line of Markdown: no mark-up, role, formula or link."""
    line = " ".join(str(text).split())
    return html.escape(_MARKDOWN.sub(r"\\\g<0>", line), quote=False)


def with_interval(frame, value, low, high):
    """A frame whose column `value` shows its interval, too."""
    joined = []
    for number, *bounds in frame[[value, low, high]].itertuples(index=False):
        text = None
        if pd.notna(number):
            text = Markup(
                f'<data value="{number:.6g}">{decimal(number)}</data> '
                f'<span class="interval">{interval_text(*bounds)}</span>'
            )
        joined.append(text)
    joined = pd.Series(joined, frame.index, dtype=object)
    return frame.assign(**{value: joined}).drop(columns=[low, high])
