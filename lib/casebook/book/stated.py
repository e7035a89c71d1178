"""What the four documented systems state, and what a run measures of it.

``stated.yml`` holds the statements. A value is a path into ``numbers.json`` (``number``:
system, measure) or into ``contrasts.json`` (``contrast``: measure, system, against), or in a row of
a table that the chapter wrote (``table``, ``row``, ``columns``: value, low, high); every number of
a row is read from there.
"""

import csv
import html
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from casebook.book.answers import answer_row, drawing
from casebook.book.axis import Axis
from casebook.book.titles import dataset_name, raw
from casebook.errors import InputError
from casebook.paths import run_dir
from casebook.readers import read_yaml
from casebook.stats.intervals import bounds_text
from casebook.tables import reason_text
from casebook.verdicts import NO_DIFFERENCE, NO_UNIT_DIFFERS, NOT_MEASURED, UNDECIDED

STATED = Path(__file__).with_name("stated.yml")
CONFIRMED = "confirmed"
NOT_CONTRADICTED = "not contradicted"
CONTRADICTED = "contradicted"
REPRODUCED = "reproduced"
BY_CONSTRUCTION = "by construction"
_FIELDS = {
    "system",
    "document",
    "section",
    "statement",
    "quantity",
    "experiment",
    "datasets",
    "rule",
    "why",
}
_OPTIONAL = {"values", "comparison", "also", "points", "constructed"}
_GROUPS = {
    "same": "The same quantity on the same data",
    "recomputed": "Recomputed from the document's own data",
    BY_CONSTRUCTION: "On data that were made to have the stated value",
    "similar": "Only similar: another system or other data",
    NOT_MEASURED: "Cannot be measured here",
}
_COMPARISONS = ("same", "recomputed", "similar")
_RULES = ("inside", "equal", "above", "below", "cannot")
_CLASSES = {
    CONFIRMED: "helps",
    REPRODUCED: "helps",
    CONTRADICTED: "hurts",
    NOT_MEASURED: "not-measured",
}


def read_stated(path=STATED):
    """Read the statements; an error names the first wrong one."""
    rows = read_yaml(path)
    for number, row in enumerate(rows, 1):
        if not _is_statement(row):
            raise InputError(
                f"{path}: statement {number}: give {sorted(_FIELDS)}, perhaps {sorted(_OPTIONAL)}; "
                "rule is inside, equal, above X, below X or cannot; all but the last need values "
                "and a comparison: same, recomputed or similar"
            )
    return rows


def _is_statement(row):
    if not (isinstance(row, dict) and _FIELDS <= set(row) <= _FIELDS | _OPTIONAL):
        return False
    rule = str(row["rule"]).partition(" ")[0]
    if rule == "cannot":
        return True
    return rule in _RULES and bool(row.get("values")) and row.get("comparison") in _COMPARISONS


@dataclass(frozen=True)
class Measurement:
    """What a cell of a run measured of a statement."""

    dataset: str
    cell: str
    numbers: list
    numbers_by_name: dict  # of the sentences below the statement


def measured(chapters, row):
    """Give the measurement of a statement, or None where no chapter holds it."""
    experiment = row["experiment"]
    paths = dict(enumerate(row["values"]))
    for dataset, chapter, numbers in _readings(chapters, experiment, row["datasets"], paths):
        if all(numbers.values()):
            by_name = named_numbers(chapter, experiment, dataset, row.get("also", {}))
            return Measurement(dataset, chapter.cell, list(numbers.values()), by_name)
    return None


def numbers_of(chapters, experiment, datasets, paths):
    """Read the numbers of the first data set of which a chapter holds any."""
    readings = _readings(chapters, experiment, datasets, paths)
    return next((numbers for *_, numbers in readings if any(numbers.values())), {})


def _readings(chapters, experiment, datasets, paths):
    """Yield data set, chapter and its numbers by name, those of the first data set first."""
    for dataset in datasets:
        for chapter in chapters:
            yield dataset, chapter, named_numbers(chapter, experiment, dataset, paths)


def named_numbers(chapter, experiment, dataset, paths):
    """Read numbers of a chapter under the names that sentences give them; None for no number."""
    return {name: _number(chapter, experiment, dataset, path) for name, path in paths.items()}


def verdict(row, numbers, dataset=None):
    """Give the verdict on a statement: its rule and the intervals alone decide."""
    if row["rule"] == "cannot":
        return NOT_MEASURED
    if dataset in row.get("constructed", []):
        return BY_CONSTRUCTION
    verdicts = Counter(
        _verdict(row["rule"], value, number)
        for value, number in zip(row["values"], numbers, strict=True)
    )
    if len(verdicts) == 1:
        return next(iter(verdicts))
    return ", ".join(f"{count} {word}" for word, count in verdicts.items())


def _verdict(rule, value, number):
    if number.value is None:
        return NOT_MEASURED
    name, _, limit = rule.partition(" ")
    if name == "equal":
        is_equal = abs(number.value - value["stated"]) <= value["rounding"]
        return REPRODUCED if is_equal else CONTRADICTED
    if number.low is None or number.high is None:
        return NO_DIFFERENCE if number.reason == NO_UNIT_DIFFERS else UNDECIDED
    if name == "inside":
        is_inside = number.low <= value["stated"] <= number.high
        return NOT_CONTRADICTED if is_inside else CONTRADICTED
    limit = float(limit)
    if name == "below":
        is_confirmed = number.high < limit
        is_contradicted = number.low >= limit
    else:
        is_confirmed = number.low > limit
        is_contradicted = number.high <= limit
    if is_confirmed:
        return CONFIRMED
    return CONTRADICTED if is_contradicted else UNDECIDED


def _number(chapter, experiment, dataset, path):
    """Read one number of a chapter, or give None."""
    systems = chapter.numbers.get(experiment, {}).get(dataset)
    row = None
    if "number" in path:
        system, measure = path["number"]
        number = (systems or {}).get(system, {}).get(measure)
        if number:
            low, high = number["ci"]
            row = number | {"low": low, "high": high}
    elif "contrast" in path:
        measures = chapter.contrasts.get(experiment, {}).get(dataset, {})
        row = _contrast(measures, *path["contrast"])
    elif systems is not None:
        row = _table_number(chapter, path)
    if not row:
        return None
    fields = ("value", "low", "high", "n", "control", "reason")
    number = SimpleNamespace(**{name: row.get(name) for name in fields})
    # A sentence that needs bounds is left out without them.
    if number.low is not None and number.high is not None:
        number.bounds = bounds_text(number.low, number.high)
    return number


def _contrast(measures, measure, system, against):
    """Find one contrast of a data set among those by measure."""
    for contrast in measures.get(measure, []):
        if contrast["system"] == system and contrast["against"] == against:
            return contrast | {"value": contrast["difference"], "control": None}
    return None


def _table_number(chapter, path):
    """Read a value, and perhaps its bounds, from a row of a table that the chapter wrote."""
    file = run_dir(chapter.run) / "tables" / f"{chapter.cell}.{path['table']}.csv"
    if not file.is_file():
        return None
    with file.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if all(line.get(column) == value for column, value in path["row"].items()):
                columns = dict(zip(("value", "low", "high"), path["columns"], strict=False))
                return {
                    name: float(line[column]) for name, column in columns.items() if line[column]
                }
    return None


# --- the page


def stated_page(chapters):
    """Write the rows of the page, like with like."""
    pairs = []
    for row in read_stated():
        pairs.append((row, None if row["rule"] == "cannot" else measured(chapters, row)))
    experiments = {row["experiment"] for row, measurement in pairs if measurement}
    groups = {name: [] for name in _GROUPS}
    for row, measurement in pairs:
        if row["experiment"] in experiments and (measurement or row["rule"] == "cannot"):
            groups[_group(row, measurement)].append(_row(row, measurement))
    parts = [
        f"## {_GROUPS[name]}\n\n" + raw(f'<ul class="answers stated">{"".join(rows)}</ul>')
        for name, rows in groups.items()
        if rows
    ]
    return "\n".join(parts) or "No chapter of this run measures one of the statements.\n"


def _group(row, measurement):
    """Give what the rows of a statement's group have in common."""
    if measurement is None:
        return NOT_MEASURED
    if measurement.dataset in row.get("constructed", []):
        return BY_CONSTRUCTION
    return row["comparison"]


def _row(row, measurement):
    source = html.escape(f"{row['system']}, {row['section']}")
    text = f"<strong>{html.escape(row['statement'])}</strong>"
    text += f'<br><small><a href="documents/{row["document"]}.html">{source}</a></small>'
    picture = ""
    count = ""
    link = ""
    numbers_by_name = {}
    if measurement is None:
        word = verdict(row, [])
    else:
        numbers = measurement.numbers
        word = verdict(row, numbers, measurement.dataset)
        unit, spec = (100, "z.0f") if row.get("points") else (1, "z.3f")
        stated = " / ".join(_stated(value["stated"], unit, spec) for value in row["values"])
        values = " / ".join(_measured(number, unit, spec) for number in numbers)
        quantity = html.escape(f"{row['quantity']}. Stated: {stated}. Measured: {values}.")
        text += f"<br>{quantity}"
        picture = pair_drawing(row["values"], numbers, unit)
        largest_n = max(number.n for number in numbers)
        count = f"n = {largest_n:,}, {dataset_name(measurement.dataset)}"
        link = f'<a href="run/notebooks/{measurement.cell}.html">chapter</a>'
        numbers_by_name = {f"value{k}": number for k, number in enumerate(numbers, 1)}
        numbers_by_name |= measurement.numbers_by_name
    why = html.escape(" ".join(filled(row["why"], numbers_by_name)))
    text += f"<br><small>{why}</small>"
    return answer_row(text, picture, (_CLASSES.get(word, "undecided"), word), count, link)


def _stated(value, unit, spec):
    if isinstance(value, str):
        return value
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{unit * value:{spec}}"


def _measured(number, unit, spec):
    if number.value is None:
        return f"{NOT_MEASURED} ({reason_text(number.reason)})"
    text = _stated(number.value, unit, spec)
    if None in (number.low, number.high):
        return text
    return f"{text} {bounds_text(unit * number.low, unit * number.high, spec)}"


def filled(sentences, numbers):
    """Fill sentences with numbers of the run; a sentence without one of them is left out."""
    texts = []
    for sentence in sentences:
        try:
            texts.append(sentence.format_map(numbers))
        except (KeyError, AttributeError, TypeError, ValueError):
            continue
    return texts


def pair_drawing(values, numbers, unit=1):
    """Draw stated and measured values on one axis, a line for each."""
    lines = []
    for value, number in zip(values, numbers, strict=True):
        if number.value is None:
            continue
        stated = None if isinstance(value["stated"], str) else value["stated"]
        name = f"{value['name']}: measured {unit * number.value:.3g}"
        if stated is not None:
            name += f", stated {unit * stated:.3g}"
        lines.append((name, number.value, number.low, number.high, stated))
    positions = [0.0]
    for _, *line in lines:
        positions += [position for position in line if position is not None]
    ends = sorted({min(positions), 0.0, max(positions)})
    axis = Axis({position: f"{unit * position:z.2g}" for position in ends})
    names = "; ".join(value["name"] for value in values)
    return drawing(lines, axis, f"Stated and measured: {names}")
