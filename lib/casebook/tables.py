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
# What begins a block or a span; a bracket only where an address or a name follows it.
_MARKDOWN = re.compile(
    r"[\\`*_#|$]|\](?=[(\[:])|\[(?=\^)|:(?=::)|~(?=~)|(?<=\))=|\{(?=\{)|^%|^[-+](?= )"
)
_WORDS = read_yaml(Path(__file__).with_suffix(".yml"))
REASON_TEXTS = _WORDS["reasons"]
FACTS = _WORDS["facts"]
ABOUT = _WORDS["about"]
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
        """The HTML that Jupyter and the book show."""
        return to_html(self.frame.dropna(axis=1, how="all"), self.caption)

    def __repr__(self):
        return (
            f"<Table: {self.caption} ({len(self.frame)} rows)>"
            if len(self.frame)
            else ""
        )


def to_html(frame, caption):
    """A frame as an HTML table that needs no network; an empty one is nothing."""
    if frame.empty:
        return ""
    head = "".join(
        f'<th scope="col">{html.escape(_title(name))}</th>' for name in frame
    )
    columns = [_cells(column) for _, column in frame.items()]
    rows = map("".join, zip(*columns, strict=True))
    body = "\n".join([f"<tr>{row}</tr>" for row in rows])
    size = " tall" if len(frame) > TALL else ""
    more = (
        f' data-shown="{COLUMNS_SHOWN}"' if len(frame.columns) > COLUMNS_SHOWN else ""
    )
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
        is_count = (
            column.name in ("better", "equal", "worse") or defined.abs().max() > 1
        )
        if (defined % 1 == 0).all() and is_count:
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

    def joined(row):
        interval = interval_text(row[low], row[high])
        text = f'<data value="{row[value]:.6g}">{decimal(row[value])}</data> '
        return Markup(f'{text}<span class="interval">{interval}</span>')

    texts = frame.apply(joined, axis=1).where(frame[value].notna(), None)
    return frame.assign(**{value: texts}).drop(columns=[low, high])
