"""Tables as accessible HTML: escaped, sortable, the full value behind each cell."""

import html
import math
import numbers
import re

import numpy as np
import pandas as pd

from casebook.stats.intervals import bounds_text

TALL = 20  # rows above which a table scrolls within the page
COLUMNS_SHOWN = 7  # that a page shows before a reader asks for the others
_MARKS = re.compile(r"<[^>]*>")
# What begins a block or a span; a bracket only where an address or a name follows it.
_MARKDOWN = re.compile(
    r"[\\`*_#|$]|\](?=[(\[:])|\[(?=\^)|:(?=::)|~(?=~)|(?<=\))=|\{(?=\{)|^%|^[-+](?= )"
)
# Reason codes whose own words would not do for readers; any other code is read word by word.
REASON_TEXTS = {
    "all_resamples_equal": "all resamples are equal",
    "class_without_gold": "a class has no gold labels",
    "class_without_gold_or_prediction": "a class has neither gold labels nor predictions",
    "dealt_at_random": "the votes of this set were dealt at random to raters",
    "fewer_than_two_clusters": "fewer than two groups",
    "fewer_than_six_clusters": "fewer than six groups",
    "fewer_than_six_units": "fewer than six rows",
    "fewer_than_two_units": "fewer than two rows",
    "interval_by_unit": "fewer than six groups, so the interval is by row: "
    "it speaks of new rows of these groups",
    "no_claim": "no claim to check",
    "no_pairable_items": "no item has two ratings",
    "no_placebo": "no placebo edit fits",
    "no_relevant": "nothing is judged relevant",
    "no_units": "no rows",
    "no_unit_differs": "no row differs",
    "no_variation": "all values are equal",
    "not_asked": "not asked for",
    "out_of_range": "too large to compute",
    "raters_are_drawn": "this model has raters drawn at random",
    "raters_are_fixed": "this model has fixed raters",
    "raters_nested_in_items": "each item has raters of its own",
    "raters_unknown": "who rated is not known",
    "small_expected_counts": "expected counts are too small",
    "too_few_clusters_for_the_family": "too few groups for so many comparisons",
    "too_few_units_for_the_level": "too few rows for this level",
    "undefined_in_resamples": "undefined in some resamples",
}
# Fact types of a case; files keep the keys.
FACTS = {
    "Numerical": "numbers",
    "Section": "provisions",
    "PartyType": "kind of party",
    "Evidence": "evidence",
}
_CODE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_WHY = re.compile(r"\b(reason|why|because)\b", re.IGNORECASE)


def reason_text(codes):
    """Write reason codes, alone or within a sentence, in words; files keep the codes."""
    return codes and _CODE.sub(
        lambda code: REASON_TEXTS.get(code[0], code[0].replace("_", " ")), codes
    )


class Table:
    """A table that a notebook shows and the book sorts and filters; nothing if it has no rows."""

    def __init__(self, frame, caption, digits=3, formats=None):
        self.frame = frame
        self.caption = caption
        self.digits = digits
        self.formats = formats or {}

    def _repr_html_(self):
        """Give the HTML that Jupyter and the book show."""
        frame, caption = self._without_constants()
        return to_html(frame, caption, self.digits, self.formats)

    def __repr__(self):
        return f"<Table: {self.caption} ({len(self.frame)} rows)>" if len(self.frame) else ""

    def _without_constants(self):
        """Move what is equal in all rows from the columns to the caption."""
        frame = self.frame
        constants = {}
        if len(frame) > 1 and frame.columns.is_unique:
            for name in frame.columns[1:]:
                spec = self.formats.get(name, f"z.{self.digits}f")
                cells = {_MARKS.sub("", cell) for cell in _cells(frame[name], spec)}
                text = html.unescape(cells.pop())
                if not cells and len(text) <= 60:
                    constants[name] = f"{_title(name)}: {text}"
        if len(constants) == len(frame.columns) - 1:  # rows that differ in their names only
            return frame, self.caption
        texts = [text for text in constants.values() if not text.endswith(": –")]
        caption = f"{self.caption} (in all rows {'; '.join(texts)})" if texts else self.caption
        return frame.drop(columns=list(constants)), caption


def to_html(frame, caption, digits=3, formats=None):
    """Write a DataFrame as an HTML table that needs no network; an empty one is nothing."""
    if frame.empty:
        return ""
    head = "".join(f'<th scope="col">{_text(_title(name))}</th>' for name in frame.columns)
    columns = [
        _cells(column, (formats or {}).get(name, f"z.{digits}f")) for name, column in frame.items()
    ]
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    size = " tall" if len(frame) > TALL else ""
    more = f' data-shown="{COLUMNS_SHOWN}"' if len(frame.columns) > COLUMNS_SHOWN else ""
    return (
        f'<div class="table-scroll{size}" role="region" tabindex="0"'
        f' aria-label="{html.escape(caption)}">\n<table class="data-table"{more}>\n'
        f"<caption>{_text(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _title(name):
    """Give the title of a column: words, whatever separates them in a file, and never none."""
    return str(name).replace("_", " ").strip() or "row"


class Markup(str):
    """Text that is HTML already and must not be escaped again."""


def _cells(column, spec):
    if pd.api.types.is_float_dtype(column) and not callable(spec):
        defined = column.dropna()
        # Counts that pandas made floats because one is missing; shares of 0 and 1 stay shares.
        if (defined == defined.round()).all() and defined.abs().max() > 1:
            spec = "z,.0f"
    is_reason = _WHY.search(str(column.name))
    cells = []
    for value in column:
        if type(value) is str and (is_reason or value in REASON_TEXTS):
            value = reason_text(value)
        cells.append(_cell(value, spec))
    return cells


def _cell(value, spec):
    if isinstance(value, Markup):
        return f"<td>{value}</td>"
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return '<td data-sort=""><span aria-label="not available">–</span></td>'
    text = value
    attributes = ""
    if isinstance(value, bool | np.bool_):
        text = "yes" if value else "no"
    elif isinstance(value, numbers.Number):
        text = decimal(value, "," if isinstance(value, numbers.Integral) else spec)
        attributes = f' class="number" data-sort="{value:.6g}"'
    return f"<td{attributes}>{_text(text)}</td>"


def decimal(value, spec="z.3f"):
    """Write a number by a format or a function: with a minus, and a space before per cent."""
    text = spec(value) if callable(spec) else format(value, spec)
    return text.replace("-", "\u2212").replace("%", "\u00a0%")


def interval_text(low, high, digits=3):
    """Write the bounds of an interval."""
    return bounds_text(low, high, f"z.{digits}f").replace("-", "\u2212")


def p_value(p):
    """Write a p-value, which is never 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _text(value):
    return html.escape(str(value))


def linked(frame, column, pages):
    """Turn the values of a column into links to pages; a value without a page stays as it is."""
    links = [
        Markup(f'<a href="{html.escape(page)}">{_text(value)}</a>') if page else value
        for value, page in zip(frame[column], pd.Series(pages).fillna(""), strict=True)
    ]
    return frame.assign(**{column: pd.Series(links, frame.index, dtype=object)})


def enumerated(names, last="and"):
    """Write names as a sentence lists them: a, b and c."""
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def escape_markdown(text):
    """Make a text of others safe for one line of Markdown: no mark-up, role, formula or link."""
    line = " ".join(str(text).split())
    return html.escape(_MARKDOWN.sub(r"\\\g<0>", line), quote=False)


def bullets(lines):
    """Write sentences as a Markdown list."""
    return "\n".join(f"- {escape_markdown(line)}" for line in lines)


def with_interval(frame, value, low, high, digits=3, name=None, alone=None):
    """Join a value and its interval into one readable column; `alone` are rows without any."""
    rows = frame[[value, low, high]].itertuples(index=False)
    joined = pd.Series([estimate(*row, digits) for row in rows], frame.index, dtype=object)
    if alone is not None:
        joined = joined.mask(alone, frame[value])
    joined = frame.assign(**{value: joined}).drop(columns=[low, high])
    return joined.rename(columns={value: name or value})


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
        f'<data value="{value:.6g}">{decimal(value, f"z.{digits}f")}</data> '
        f'<span class="interval">{interval_text(low, high, digits)}</span>'
    )
