"""Tables as accessible HTML: escaped, sortable, the full value behind each cell."""

import html
import re
from dataclasses import dataclass
from numbers import Integral, Number

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
    "all_rows_counted": "these are all rows, not a sample",
    "all_resamples_equal": "all resamples are equal",
    "class_without_gold": "a class has no gold labels",
    "class_without_gold_or_prediction": "a class has neither gold labels nor predictions",
    "dealt_at_random": "which rater cast which vote of this set is made up",
    "fewer_than_two_clusters": "fewer than two groups",
    "fewer_than_six_clusters": "fewer than six groups",
    "fewer_than_six_units": "fewer than six rows",
    "fewer_than_two_units": "fewer than two rows",
    "interval_by_unit": "fewer than six groups, so the interval is by row: "
    "it holds for new rows of these groups",
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
    """Reason codes, alone or within a sentence, in words; files keep the codes."""
    return codes and _CODE.sub(
        lambda code: REASON_TEXTS.get(code[0], code[0].replace("_", " ")), codes
    )


@dataclass
class Table:
    """A table that a notebook shows and the book sorts and filters; nothing if it has no rows."""

    frame: pd.DataFrame
    caption: str
    digits: int = 3
    formats: dict | None = None

    def _repr_html_(self):
        """The HTML that Jupyter and the book show; what is equal in all rows is in the caption."""
        frame = self.frame
        constants = {}
        for name in frame.columns[1:] if len(frame) > 1 else ():
            cells = _cells(frame[name], self.digits, self.formats)
            text = html.unescape(_MARKS.sub("", cells[0]))
            if len(set(cells)) == 1 and len(text) <= 60:
                constants[name] = text
        if len(constants) == len(frame.columns) - 1:  # rows that differ in their names only
            constants = {}
        texts = [f"{_title(name)}: {text}" for name, text in constants.items() if text != "–"]
        caption = f"{self.caption} (in all rows {'; '.join(texts)})" if texts else self.caption
        return to_html(frame.drop(columns=list(constants)), caption, self.digits, self.formats)

    def __repr__(self):
        return f"<Table: {self.caption} ({len(self.frame)} rows)>" if len(self.frame) else ""


def to_html(frame, caption, digits=3, formats=None):
    """A frame as an HTML table that needs no network; an empty one is nothing."""
    if frame.empty:
        return ""
    head = "".join(f'<th scope="col">{html.escape(_title(name))}</th>' for name in frame)
    columns = [_cells(column, digits, formats) for _, column in frame.items()]
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    size = " tall" if len(frame) > TALL else ""
    more = f' data-shown="{COLUMNS_SHOWN}"' if len(frame.columns) > COLUMNS_SHOWN else ""
    caption = html.escape(caption)
    return (
        f'<div class="table-scroll{size}" role="region" tabindex="0" aria-label="{caption}">\n'
        f'<table class="data-table"{more}>\n<caption>{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _title(name):
    return str(name).replace("_", " ").strip() or "row"


class Markup(str):
    """Text that is HTML already and must not be escaped again."""


def _cells(column, digits, formats):
    spec = (formats or {}).get(column.name, f"z.{digits}f")
    if pd.api.types.is_float_dtype(column) and not callable(spec):
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
    return text.replace("-", "\u2212").replace("%", "\u00a0%")


def interval_text(low, high, digits=3):
    """The bounds of an interval."""
    return bounds_text(low, high, f"z.{digits}f").replace("-", "\u2212")


def p_value(p):
    """A p-value, which is never written as 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def linked(frame, column, pages):
    """A frame whose column links to pages; a value without a page stays as it is."""
    links = [
        Markup(f'<a href="{html.escape(page)}">{html.escape(str(value))}</a>') if page else value
        for value, page in zip(frame[column], pd.Series(pages).fillna(""), strict=True)
    ]
    return frame.assign(**{column: pd.Series(links, frame.index, dtype=object)})


def enumerated(names, last="and"):
    """Names as a sentence lists them: a, b and c."""
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def escape_markdown(text):
    """A text of others on one line of Markdown: no mark-up, role, formula or link."""
    line = " ".join(str(text).split())
    return html.escape(_MARKDOWN.sub(r"\\\g<0>", line), quote=False)


def with_interval(frame, value, low, high, digits=3, alone=None):
    """A frame whose column `value` shows its interval, too; `alone` are rows without any."""
    joined = []
    for number, *bounds in frame[[value, low, high]].itertuples(index=False):
        text = None
        if pd.notna(number):
            text = Markup(
                f'<data value="{number:.6g}">{decimal(number, f"z.{digits}f")}</data> '
                f'<span class="interval">{interval_text(*bounds, digits)}</span>'
            )
        joined.append(text)
    joined = pd.Series(joined, frame.index, dtype=object)
    if alone is not None:
        joined = joined.mask(alone, frame[value])
    return frame.assign(**{value: joined}).drop(columns=[low, high])
