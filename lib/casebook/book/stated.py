"""What the four documented systems state, and what a run measures of it.

``data/stated.yml`` holds the statements. A value is a path into ``numbers.json`` (``number``: system, measure) or into
``contrasts.json`` (``contrast``: measure, system, against), or in a row of a table that the chapter wrote (``table``,
``row``, ``columns``: value, low, high); every number of a row is read from there.
"""

import csv
import html
from types import SimpleNamespace

from casebook.book.front import answer_row, drawing
from casebook.book.titles import dataset_name
from casebook.errors import InputError
from casebook.paths import DATA, run_dir
from casebook.readers import read_yaml
from casebook.runs.outputs import finished_cells, read_contrasts, read_numbers
from casebook.stats.intervals import bounds_text
from casebook.tables import reason_text
from casebook.verdicts import NOT_MEASURED, UNDECIDED

STATED = DATA / "stated.yml"
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
_OPTIONAL = {"values", "also", "points", "constructed"}
_RULES = ("inside", "equal", "above", "below", "cannot")
_CLASSES = {
    CONFIRMED: "helps",
    REPRODUCED: "helps",
    CONTRADICTED: "hurts",
    NOT_MEASURED: "not-measured",
}


def read_stated(path=STATED):
    """Read the statements; an error names the first wrong one."""
    rows = read_yaml(path, "list of statements")
    for place, row in enumerate(rows, 1):
        known = isinstance(row, dict) and _FIELDS <= set(row) <= _FIELDS | _OPTIONAL
        rule = known and str(row["rule"]).partition(" ")[0]
        if rule not in _RULES or (rule != "cannot" and not row.get("values")):
            raise InputError(
                f"{path}: statement {place}: give {sorted(_FIELDS)}, perhaps {sorted(_OPTIONAL)}; rule is inside, "
                "above X, below X or cannot, and all but the last need values"
            )
    return rows


def measured(run, row):
    """Give data set, cell and measured numbers of a statement, or None where the run does not hold them."""
    for dataset in row["datasets"]:
        for cell in finished_cells(run):
            numbers = [
                _number(run, cell, row["experiment"], dataset, value) for value in row["values"]
            ]
            if all(numbers):
                return (
                    dataset,
                    cell,
                    numbers,
                    named_numbers(run, cell, row["experiment"], dataset, row.get("also", {})),
                )
    return None


def named_numbers(run, cell, experiment, dataset, paths):
    """Read the numbers of a cell under the names that sentences give them; None where it has no such number."""
    return {name: _number(run, cell, experiment, dataset, path) for name, path in paths.items()}


def numbers_of(run, experiment, datasets, paths):
    """Read the numbers of the first data set of which a cell of the run holds any."""
    for dataset in datasets:
        for cell in finished_cells(run):
            numbers = named_numbers(run, cell, experiment, dataset, paths)
            if any(numbers.values()):
                return numbers
    return {}


def verdict(row, numbers, dataset=None):
    """Give the verdict on a statement: its rule and the intervals alone decide."""
    if row["rule"] == "cannot":
        return NOT_MEASURED
    if dataset in row.get("constructed", []):
        return BY_CONSTRUCTION
    verdicts = [
        _verdict(row["rule"], value, number)
        for value, number in zip(row["values"], numbers, strict=True)
    ]
    counts = {word: verdicts.count(word) for word in verdicts}
    if len(counts) == 1:
        return verdicts[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _verdict(rule, value, number):
    if number.value is None:
        return NOT_MEASURED
    name, _, limit = rule.partition(" ")
    if name == "equal":
        return (
            REPRODUCED if abs(number.value - value["stated"]) <= value["rounding"] else CONTRADICTED
        )
    if number.low is None or number.high is None:
        return UNDECIDED
    if name == "inside":
        return NOT_CONTRADICTED if number.low <= value["stated"] <= number.high else CONTRADICTED
    low = number.low - float(limit)
    high = number.high - float(limit)
    if name == "below":
        low, high = -high, -low
    if low > 0:
        return CONFIRMED
    return CONTRADICTED if high <= 0 else UNDECIDED


def _number(run, cell, experiment, dataset, path):
    """Read one number of a cell, or give None."""
    if "number" in path:
        system, measure = path["number"]
        number = (
            read_numbers(run, cell)
            .get(experiment, {})
            .get(dataset, {})
            .get(system, {})
            .get(measure)
        )
        row = number and number | {"low": number["ci"][0], "high": number["ci"][1]}
    elif "contrast" in path:
        measure, *pair = path["contrast"]
        rows = read_contrasts(run, cell).get(experiment, {}).get(dataset, {}).get(measure, [])
        contrast = next((row for row in rows if [row["system"], row["against"]] == pair), None)
        row = contrast and contrast | {"value": contrast["difference"], "control": None}
    else:
        row = (
            _table_number(run, cell, path)
            if dataset in read_numbers(run, cell).get(experiment, {})
            else None
        )
    if not row:
        return None
    chosen = {name: row.get(name) for name in ("value", "low", "high", "n", "control", "reason")}
    number = SimpleNamespace(**chosen)
    if (
        number.low is not None and number.high is not None
    ):  # a sentence that needs bounds is left out without them
        number.bounds = bounds_text(number.low, number.high)
    return number


def _table_number(run, cell, path):
    """Read a value, and perhaps its bounds, from a row of a table that the cell wrote."""
    file = run_dir(run) / "tables" / f"{cell}.{path['table']}.csv"
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


# --- the section of the front page


def stated_section(run):
    """Write the section, if the run holds a chapter that measures one of the statements; else nothing."""
    lines = []
    for row in read_stated() if STATED.is_file() else []:
        lines.append((row, measured(run, row) if row["rule"] != "cannot" else None))
    held = {row["experiment"] for row, found in lines if found}
    held &= {name for cell in finished_cells(run) for name in read_numbers(run, cell)}
    lines = [
        (row, found)
        for row, found in lines
        if row["experiment"] in held and (found or row["rule"] == "cannot")
    ]
    if not lines:
        return ""
    return (
        "## What four existing systems state, and what is measured here\n\n"
        "COUNTERCASE, PDPABench, EmbeddingShift and a multi-agent fact-checker publish metrics in their documents. "
        "Each row compares one statement with a measurement of this run; where systems or data differ, the row says "
        "so. *Confirmed* or *contradicted*: the whole interval lies on the stated or on the other side. *Not "
        "contradicted*: the stated value lies within our interval. *Reproduced*: the same votes give the stated "
        "value. *By construction*: the data were made to have it. The diamond is the stated value; the dot is the "
        "measured one with its interval.\n\n"
        f'::::::{{raw}} html\n<ul class="answers stated">{"".join(_row(*line) for line in lines)}</ul>\n::::::\n'
    )


def _row(row, found):
    dataset, cell, numbers, also = found or (None, None, [], {})
    word = verdict(row, numbers, dataset)
    kind = _CLASSES.get(word, "undecided")
    source = html.escape(f"{row['system']}, {row['section']}")
    text = f"<strong>{html.escape(row['statement'])}</strong>"
    text += f'<br><small><a href="documents/{row["document"]}.html">{source}</a></small>'
    picture = count = link = ""
    if found:
        unit, spec = (100, "z.0f") if row.get("points") else (1, "z.3f")
        stated = " / ".join(_stated(value["stated"], unit, spec) for value in row["values"])
        ours = " / ".join(_measured(number, unit, spec) for number in numbers)
        text += html.escape(f"\n{row['quantity']}. Stated: {stated}. Measured: {ours}.").replace(
            "\n", "<br>"
        )
        picture = pair_drawing(row["values"], numbers, unit)
        count = f"n = {max(number.n for number in numbers):,}, {dataset_name(dataset)}"
        link = f'<a href="run/notebooks/{cell}.html">chapter</a>'
    known = {f"value{place}": number for place, number in enumerate(numbers, 1)} | also
    why = " ".join(filled(row["why"], known))
    return answer_row(
        f"{text}<br><small>{html.escape(why)}</small>", picture, (kind, word), count, link
    )


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
        stated = None if isinstance(value["stated"], str) else value["stated"]
        if number.value is None:
            continue
        name = f"{value['name']}: measured {unit * number.value:.3g}"
        name += "" if stated is None else f", stated {unit * stated:.3g}"
        lines.append((name, number.value, number.low, number.high, stated))
    ends = [0.0, *(end for _, *line in lines for end in line if end is not None)]
    ticks = {place: f"{unit * place:z.2g}" for place in sorted({min(ends), 0.0, max(ends)})}
    return drawing(
        lines, ticks, "Stated and measured: " + "; ".join(value["name"] for value in values)
    )
