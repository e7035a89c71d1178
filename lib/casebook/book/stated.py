"""What the four documented systems state, and what a run measures of it.

``stated.yml`` holds the statements. A value is a path into ``numbers.json`` (``number``:
system, measure) or into ``contrasts.json`` (``contrast``: measure, system, against), or in a row of
a table that the chapter wrote (``table``, ``row``, ``columns``: value, low, high); every number of
a row is read from there.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from casebook.book.answers import TEMPLATES
from casebook.book.axis import Axis
from casebook.book.titles import dataset_name, raw
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
ROOM = 0.2  # of an axis: a tick that is nearer to an end is left out
# Verdict to the class of its colour, in the order of the page.
_CLASSES = {
    CONTRADICTED: "hurts",
    UNDECIDED: "undecided",
    NO_DIFFERENCE: "no-effect",
    NOT_CONTRADICTED: "no-effect",
    CONFIRMED: "helps",
    REPRODUCED: "helps",
    BY_CONSTRUCTION: "no-effect",
    NOT_MEASURED: "not-measured",
}
# Of another system or other data a statement is neither right nor wrong.
_ELSEWHERE = {CONTRADICTED: "differs here", CONFIRMED: "holds here too"}


def read_stated():
    """The statements; a test holds their fields."""
    return read_yaml(STATED)


@dataclass(frozen=True)
class Measurement:
    """What a cell of a run measured of a statement."""

    dataset: str
    cell: str
    numbers: list
    numbers_by_name: dict  # of the sentences below the statement


def measured(chapters, row):
    """The measurements of a statement, one of each data set that some chapter holds."""
    experiment = row["experiment"]
    paths = dict(enumerate(row.get("values", ())))
    found = {}
    for dataset, chapter, numbers in _readings(chapters, experiment, row["datasets"], paths):
        if dataset not in found and all(numbers.values()):
            by_name = named_numbers(chapter, experiment, dataset, row.get("also", {}))
            values = list(numbers.values())
            found[dataset] = Measurement(dataset, chapter.cell, values, by_name)
    return list(found.values())


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


def verdicts(row, measurement):
    """The verdict on each value of a statement: its rule and the intervals alone decide."""
    if measurement.dataset in row.get("constructed", []):
        return [BY_CONSTRUCTION for _ in row["values"]]
    pairs = zip(row["values"], measurement.numbers, strict=True)
    return [_verdict(row["rule"], value, number) for value, number in pairs]


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
    """All statements, those first that a measurement contradicts."""
    rows = []
    for row in read_stated():
        measurements = measured(chapters, row)
        found = [word for each in measurements for word in verdicts(row, each)]
        place = min(map(list(_CLASSES).index, found), default=len(_CLASSES))
        rows.append((place, _row(row, measurements)))
    rows.sort(key=lambda row: row[0])
    template = TEMPLATES.get_template("stated.html")
    return raw(template.render(rows=[row for _, row in rows]))


def _row(row, measurements):
    """What the template shows of a statement."""
    numbers = {}
    if measurements:
        first = measurements[0]
        numbers = {f"value{k}": number for k, number in enumerate(first.numbers, 1)}
        numbers |= first.numbers_by_name
    return {
        "statement": row["statement"],
        "document": row["document"],
        "source": f"{row['system']}, {row['section']}",
        "quantity": row["quantity"],
        "why": " ".join(filled(row["why"], numbers)),
        "word": NOT_MEASURED if row["rule"] == "cannot" else "not measured in this run",
        "plots": [_plot(row, measurement) for measurement in measurements],
    }


def _plot(row, measurement):
    """Stated and measured values of one data set on one axis."""
    unit, spec = (100, "z.0f") if row.get("points") else (1, "z.3f")
    positions = [0.0]
    for value, number in zip(row["values"], measurement.numbers, strict=True):
        ends = [value["stated"], number.value, number.low, number.high]
        positions += [end for end in ends if isinstance(end, int | float)]
    ends = sorted({min(positions), 0.0, max(positions)})
    axis = Axis({position: f"{unit * position:z.2g}" for position in ends})
    lanes = []
    words = verdicts(row, measurement)
    for value, number, word in zip(row["values"], measurement.numbers, words, strict=True):
        said = _ELSEWHERE.get(word, word) if row.get("comparison") == "similar" else word
        stated = _stated(value["stated"], unit, spec)
        lane = {
            "name": value["name"],
            "word": said,
            "colour": _CLASSES[word],
            "page": f"run/notebooks/{measurement.cell}.html",
            "numbers": f"stated {stated}, measured {_measured(number, unit, spec)}",
        }
        # What the data were made to have is no measurement, so it is not drawn.
        if number.value is not None and word != BY_CONSTRUCTION:
            lane["marks"] = axis.marks(number.value, number.low, number.high)
            if not isinstance(value["stated"], str):
                lane["stated"] = axis.percent(value["stated"])
        lanes.append(lane)
    texts = [f"{lane['name']}: {lane['numbers']}" for lane in lanes]
    is_drawn = any("marks" in lane for lane in lanes)
    largest_n = max(number.n or 0 for number in measurement.numbers)
    return {
        "zero": axis.percent(0),
        "lanes": lanes,
        "ticks": axis.spaced_ticks(ROOM) if is_drawn else [],
        "about": f"{dataset_name(measurement.dataset)}, n = {largest_n:,}. {'; '.join(texts)}.",
    }


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
