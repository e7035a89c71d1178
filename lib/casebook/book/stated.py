"""What the four documented systems state, and the same quantity measured in a run.

``data/stated.yml`` holds the statements. A value is a path into ``numbers.json`` (``number``: system, measure) or into
``contrasts.json`` (``contrast``: measure, system, against); every number of a row is read from there.
"""

import html
from types import SimpleNamespace

from casebook.book.titles import dataset_name
from casebook.errors import InputError
from casebook.paths import DATA, run_dir
from casebook.readers import read_yaml
from casebook.runs.outputs import read_contrasts, read_numbers
from casebook.stats.intervals import bounds_text

STATED = DATA / "stated.yml"
CONFIRMED, REFUTED, UNDECIDED = "confirmed", "not confirmed", "undecided"
NOT_MEASURED = "cannot be measured"
_FIELDS = {"system", "document", "section", "statement", "quantity", "experiment", "datasets", "rule", "why"}
_OPTIONAL = {"values", "also", "points"}
_RULES = ("inside", "above", "below", "cannot")


def read_stated(path=STATED):
    """Read the statements; an error names the first wrong one."""
    rows = read_yaml(path, "list of statements")
    for place, row in enumerate(rows, 1):
        if not isinstance(row, dict) or _FIELDS - set(row) or set(row) - _FIELDS - _OPTIONAL:
            raise InputError(f"{path}: statement {place}: give {sorted(_FIELDS)}, and perhaps {sorted(_OPTIONAL)}")
        if str(row["rule"]).partition(" ")[0] not in _RULES:
            raise InputError(
                f"{path}: statement {place}: rule {row['rule']!r}: one of inside, above X, below X, cannot"
            )
        if row["rule"] != "cannot" and not row.get("values"):
            raise InputError(f"{path}: statement {place}: name the values to measure")
    return rows


def measured(run, row):
    """Give data set, cell and measured numbers of a statement, or None where the run does not hold them."""
    for dataset in row["datasets"]:
        for cell in _cells(run):
            found = [_number(run, cell, row["experiment"], dataset, each) for each in row["values"]]
            if all(found):
                also = {
                    key: _number(run, cell, row["experiment"], dataset, where)
                    for key, where in row.get("also", {}).items()
                }
                return dataset, cell, found, also
    return None


def verdict(row, numbers):
    """Judge a statement by its rule and the intervals alone."""
    if row["rule"] == "cannot":
        return NOT_MEASURED
    each = [_judged(row["rule"], value, number) for value, number in zip(row["values"], numbers, strict=True)]
    if len(set(each)) == 1:
        return each[0]
    return f"{each.count(CONFIRMED)} of {len(each)} {CONFIRMED}"


def _judged(rule, value, number):
    name, _, limit = rule.partition(" ")
    low, high = number.low, number.high
    if value.get("point"):  # a p-value has no interval
        low = high = number.value
    if None in (low, high):
        return UNDECIDED
    if name == "inside":
        return CONFIRMED if low <= value["stated"] <= high else REFUTED
    limit, sign = float(limit), 1 if name == "above" else -1
    near, far = (low, high) if sign > 0 else (high, low)
    if (near - limit) * sign > 0:
        return CONFIRMED
    return REFUTED if (far - limit) * sign <= 0 else UNDECIDED


def _cells(run):
    return sorted({path.stem for kind in ("numbers", "contrasts") for path in (run_dir(run) / kind).glob("*.json")})


def _number(run, cell, experiment, dataset, where):
    """Read one number of a cell, or give None."""
    if "number" in where:
        system, measure = where["number"]
        found = read_numbers(run, cell).get(experiment, {}).get(dataset, {}).get(system, {}).get(measure)
        if not found or found["value"] is None:
            return None
        value, (low, high), n, control = found["value"], found["ci"], found["n"], found["control"]
    else:
        measure, system, against = where["contrast"]
        rows = read_contrasts(run, cell).get(experiment, {}).get(dataset, {}).get(measure, [])
        found = next((r for r in rows if (r["system"], r["against"]) == (system, against)), None)
        if not found:
            return None
        value, low, high, n, control = found["difference"], found["low"], found["high"], found["n"], None
    return SimpleNamespace(value=value, low=low, high=high, n=n, control=control, bounds=bounds_text(low, high))


# --- the section of the front page


def stated_section(run):
    """Write the section, if the run holds a chapter that measures one of the statements; else nothing."""
    rows, held = read_stated() if STATED.is_file() else [], set()
    lines, experiments = [], {name for cell in _cells(run) for name in read_numbers(run, cell)}
    for row in rows:
        found = measured(run, row) if row["rule"] != "cannot" else None
        if found:
            held.add(row["experiment"])
        if found or row["rule"] == "cannot":
            lines.append((row["experiment"], row, found))
    lines = [(row, found) for experiment, row, found in lines if experiment in held & experiments]
    if not lines:
        return ""
    return (
        "## What four existing systems state, and the same quantity measured here\n\n"
        "COUNTERCASE, PDPABench, EmbeddingShift and a multi-agent fact-checker publish metrics in their documents. "
        "Each row compares one statement with the same quantity, measured in this run. The diamond is the stated "
        "value; the dot is the measured one with its interval.\n\n"
        f'::::::{{raw}} html\n<ul class="answers stated">{"".join(_row(*line) for line in lines)}</ul>\n::::::\n'
    )


def _row(row, found):
    dataset, cell, numbers, also = found or (None, None, [], {})
    word = verdict(row, numbers)
    kind = {CONFIRMED: "helps", REFUTED: "hurts", NOT_MEASURED: "not-measured"}.get(word, "undecided")
    source = f"{row['system']}, {row['section']}"
    texts = [f"<strong>{html.escape(row['statement'])}</strong>"]
    texts.append(f'<br><small><a href="documents/{row["document"]}.html">{html.escape(source)}</a></small>')
    picture = counts = ""
    if found:
        unit = 100 if row.get("points") else 1
        spec = "z.0f" if row.get("points") else "z.3f"
        values = row["values"]
        stated = " / ".join(_stated(value["stated"], unit, spec) for value in values)
        ours = " / ".join(_measured(number, unit, spec) for number in numbers)
        texts.append(
            f"<br>{html.escape(row['quantity'])}. Stated: {html.escape(stated)}. Measured: {html.escape(ours)}."
        )
        picture = pair_drawing(values, numbers, unit)
        counts = f"n = {max(number.n for number in numbers):,}, {html.escape(dataset_name(dataset))}"
    known = {f"value{place}": number for place, number in enumerate(numbers, 1)} | also
    why = " ".join(filter(None, (_filled(sentence, known) for sentence in row["why"])))
    link = f'<a href="run/notebooks/{cell}.html">chapter</a>' if cell else ""
    return (
        f'<li class="answer-row"><div class="answer-text">{"".join(texts)}<br><small>{html.escape(why)}</small></div>'
        f'<div class="answer-effect">{picture}</div>'
        f'<div class="answer-count"><span class="verdict verdict-{kind}">{html.escape(word)}</span>'
        f'<br><small>{counts}</small></div><div class="answer-links">{link}</div></li>\n'
    )


def _stated(value, unit, spec):
    if isinstance(value, str):
        return value
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{unit * value:{spec}}"


def _measured(number, unit, spec):
    text = f"{unit * number.value:{spec}}"
    if None in (number.low, number.high):
        return text
    return f"{text} {bounds_text(unit * number.low, unit * number.high, spec)}"


def _filled(sentence, known):
    """Fill a sentence with numbers of the run; without one of them it is left out."""
    try:
        return sentence.format_map(known)
    except (KeyError, AttributeError, TypeError, ValueError):
        return None


def pair_drawing(values, numbers, unit=1):
    """Draw stated and measured values on one axis, a line for each."""
    ends = [0.0]
    for value, number in zip(values, numbers, strict=True):
        ends += [x for x in (value["stated"], number.value, number.low, number.high) if isinstance(x, int | float)]
    low, high = min(ends), max(ends)
    span, height = (high - low) or 1.0, 16 * len(values)

    def x(value):
        return f"{25 + 210 * (value - low) / span:.1f}"

    marks = [f'<path class="axis" d="M{x(0)} 2V{height + 2}"/>']
    for place, (value, number) in enumerate(zip(values, numbers, strict=True)):
        y = 10 + 16 * place
        said = [f"{value['name']}: measured {unit * number.value:.3g}"]
        if number.low is not None and number.high is not None:
            marks.append(f'<path class="interval" d="M{x(number.low)} {y}H{x(number.high)}"/>')
        if not isinstance(value["stated"], str):
            said.append(f"stated {unit * value['stated']:.3g}")
            at = x(value["stated"])
            marks.append(f'<path class="stated-value" d="M{at} {y - 6}l5 6l-5 6l-5 -6z"/>')
        name = html.escape(", ".join(said))
        marks.append(f'<circle class="value" cx="{x(number.value)}" cy="{y}" r="4"><title>{name}</title></circle>')
    for at in sorted({low, 0.0, high}):
        if at in (low, high) or min(at - low, high - at) > 0.2 * span:
            marks.append(f'<text x="{x(at)}" y="{height + 14}" text-anchor="middle">{unit * at:z.2g}</text>')
    label = html.escape("Stated and measured: " + "; ".join(value["name"] for value in values))
    return f'<svg class="effect" viewBox="0 0 260 {height + 18}" role="img" aria-label="{label}">{"".join(marks)}</svg>'
