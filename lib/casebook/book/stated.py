"""What the four documented systems state, and what a run measures of it.

``stated.yml`` holds the statements. A value is a path into ``numbers.json`` (``number``:
system, measure) or into ``contrasts.json`` (``contrast``: measure, system, against), or in a row of
a table that the chapter wrote (``table``, ``row``, ``columns``: value, low, high); every number of
a row is read from there.
"""

import csv
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from casebook.book.axis import Axis
from casebook.book.front import TEMPLATES
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
_FIELDS = ("value", "low", "high", "n", "control", "reason")


def read_stated():
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
    found = {}
    experiment = row["experiment"]
    for dataset, chapter in product(row["datasets"], chapters):
        numbers = [
            _number(chapter, experiment, dataset, value) for value in row["values"]
        ]
        if dataset not in found and all(numbers):
            by_name = named_numbers(chapter, experiment, dataset, row.get("also", {}))
            found[dataset] = Measurement(dataset, chapter.cell, numbers, by_name)
    return list(found.values())


def numbers_of(chapters, experiment, datasets, paths):
    """The numbers of each data set of which a chapter holds any, and its name."""
    found = {}
    for dataset, chapter in product(datasets, chapters):
        if dataset in found:
            continue
        numbers = named_numbers(chapter, experiment, dataset, paths)
        if any(numbers.values()):
            found[dataset] = numbers | {"data": dataset_name(dataset)}
    return list(found.values())


def named_numbers(chapter, experiment, dataset, paths):
    """Numbers of a chapter under the names that sentences give them; None for no number."""
    return {
        name: _number(chapter, experiment, dataset, path)
        for name, path in paths.items()
    }


def verdicts(row, measurement):
    """The verdict on each value of a statement: its rule and the intervals alone decide."""
    if measurement.dataset in row.get("constructed", []):
        return [BY_CONSTRUCTION for _ in row["values"]]
    pairs = zip(row["values"], measurement.numbers, strict=True)
    return [_verdict(row["rule"], value, number) for value, number in pairs]


def _verdict(rule, value, number):
    """Whether a number confirms a stated value, by the rule of the statement."""
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
    bounds = number.low - float(limit), number.high - float(limit)
    if name == "below":
        bounds = -bounds[1], -bounds[0]
    if bounds[0] > 0:
        return CONFIRMED
    return CONTRADICTED if bounds[1] <= 0 else UNDECIDED


def _number(chapter, experiment, dataset, path):
    """One number of a chapter, or None."""
    row = _stored(chapter, experiment, dataset, path)
    if row is None:
        return None
    number = SimpleNamespace(**{name: row.get(name) for name in _FIELDS})
    # A sentence that needs bounds is left out without them.
    if number.low is not None and number.high is not None:
        number.bounds = bounds_text(number.low, number.high)
    return number


def _stored(chapter, experiment, dataset, path):
    """The stored number, contrast or row of a table; None without one."""
    systems = chapter.numbers.get(experiment, {}).get(dataset)
    if "number" in path:
        system, measure = path["number"]
        number = (systems or {}).get(system, {}).get(measure)
        if number is None:
            return None
        low, high = number["ci"]
        return number | {"low": low, "high": high}
    if "contrast" in path:
        measure, *pair = path["contrast"]
        for row in (
            chapter.contrasts.get(experiment, {}).get(dataset, {}).get(measure, [])
        ):
            if [row["system"], row["against"]] == pair:
                return row | {"value": row["difference"], "control": None}
        return None
    return (
        _table_number(chapter, path)
        if systems or dataset in chapter.contrasts.get(experiment, {})
        else None
    )


def _table_number(chapter, path):
    """A value, and perhaps its bounds, from a row of a table that the chapter wrote."""
    file = run_dir(chapter.run) / "tables" / f"{chapter.cell}.{path['table']}.csv"
    if not file.is_file():
        return None
    for line in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        if path["row"].items() <= line.items():
            cells = [line[column] for column in path["columns"]]
            numbers = [float(cell) if cell else None for cell in cells]
            return dict(zip(("value", "low", "high"), numbers, strict=False))
    return None


# --- the page


def stated_page(chapters):
    rows = []
    for row in read_stated():
        measurements = measured(chapters, row) if "values" in row else []
        found = [word for each in measurements for word in verdicts(row, each)]
        place = min(map(list(_CLASSES).index, found), default=len(_CLASSES))
        rows.append((place, _row(row, measurements)))
    rows.sort(key=lambda row: row[0])
    template = TEMPLATES.get_template("stated.html")
    return raw(template.render(rows=[row for _, row in rows]))


def _row(row, measurements):
    return row | {
        "why": " ".join(filled(row["why"], *map(_named, measurements))),
        "word": NOT_MEASURED if row["rule"] == "cannot" else "not measured in this run",
        "plots": [_plot(row, measurement) for measurement in measurements],
    }


def _named(measurement):
    """What the sentences of a statement call the numbers and their data set."""
    return {
        **{f"value{k}": number for k, number in enumerate(measurement.numbers, 1)},
        **measurement.numbers_by_name,
        "data": dataset_name(measurement.dataset),
    }


def _plot(row, measurement):
    unit = 100 if row.get("points") else 1
    words = verdicts(row, measurement)
    lanes = []
    for value, number, word in zip(
        row["values"], measurement.numbers, words, strict=True
    ):
        is_similar = row.get("comparison") == "similar"
        lane = {
            "name": value["name"],
            "word": _ELSEWHERE.get(word, word) if is_similar else word,
            "colour": _CLASSES[word],
            "page": f"run/notebooks/{measurement.cell}.html",
            "numbers": f"stated {_text(value['stated'], unit)}, {_measured(number, unit)}",
            "stated": value["stated"],
            # What the data were made to have is no measurement, so it is not drawn.
            "value": None if word == BY_CONSTRUCTION else number.value,
            "low": number.low,
            "high": number.high,
        }
        lanes.append(lane)
    ends = [lane[name] for lane in lanes for name in ("stated", "value", "low", "high")]
    ends = [0.0, *(end for end in ends if isinstance(end, int | float))]
    texts = [f"{lane['name']}: {lane['numbers']}" for lane in lanes]
    largest_n = max(number.n or 0 for number in measurement.numbers)
    return {
        "axis": Axis(min(ends), max(ends), unit=unit),
        "lanes": lanes,
        "about": f"{dataset_name(measurement.dataset)}, n = {largest_n:,}. {'; '.join(texts)}.",
    }


def _text(value, unit):
    if isinstance(value, str):
        return value
    if 0 < abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{unit * value:z.0f}" if unit == 100 else f"{value:z.3f}"


def _measured(number, unit):
    if number.value is None:
        return f"{NOT_MEASURED} ({reason_text(number.reason)})"
    text = f"measured {_text(number.value, unit)}"
    if number.low is None or number.high is None:
        return text
    spec = "z.0f" if unit == 100 else "z.3f"
    return f"{text} {bounds_text(unit * number.low, unit * number.high, spec)}"


def filled(sentences, *of_data):
    """Fill sentences with numbers of the run; a sentence without one of them is left out.

    One that names its {data} is said of each data set, any other of the first.
    """
    of_data = of_data or ({},)
    texts = []
    for sentence in sentences:
        for numbers in of_data if "{data}" in sentence else of_data[:1]:
            try:
                texts.append(sentence.format_map(numbers))
            except (KeyError, AttributeError, TypeError, ValueError):
                continue
    return texts
