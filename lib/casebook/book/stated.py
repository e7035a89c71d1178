"""What the four documented systems state, the same quantity measured in a run, and where each of their terms is here.

``data/stated.yml`` holds the statements. A value is a path into ``numbers.json`` (``number``: system, measure) or into
``contrasts.json`` (``contrast``: measure, system, against); every number of a row is read from there.
``data/concordance/<document>.yml`` holds the terms of one document.
"""

import html
import re
from types import SimpleNamespace

from casebook.book.chapters import code
from casebook.book.front import answer_row, drawing
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
CONCORDANCES = DATA / "concordance"
TERM_FIELDS = ("section", "term", "aliases", "means", "here", "documented", "corrected", "trap")
_LABELS = {"here": "In Casebook", "documented": "Original", "corrected": "Standard", "trap": "Pitfall"}
_PLAIN = re.compile(r"[^\W\d_][\w ,'’()–-]*")  # words; all else is written as code


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
        found = found | {"low": found["ci"][0], "high": found["ci"][1]}
    else:
        measure, system, against = where["contrast"]
        rows = read_contrasts(run, cell).get(experiment, {}).get(dataset, {}).get(measure, [])
        found = next((r for r in rows if (r["system"], r["against"]) == (system, against)), None)
        if not found:
            return None
        found = found | {"value": found["difference"], "control": None}
    chosen = {name: found[name] for name in ("value", "low", "high", "n", "control")}
    return SimpleNamespace(**chosen, bounds=bounds_text(chosen["low"], chosen["high"]))


# --- the section of the front page


def stated_section(run):
    """Write the section, if the run holds a chapter that measures one of the statements; else nothing."""
    lines = []
    for row in read_stated() if STATED.is_file() else []:
        lines.append((row, measured(run, row) if row["rule"] != "cannot" else None))
    held = {row["experiment"] for row, found in lines if found}
    held &= {name for cell in _cells(run) for name in read_numbers(run, cell)}
    lines = [(row, found) for row, found in lines if row["experiment"] in held and (found or row["rule"] == "cannot")]
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
    source = html.escape(f"{row['system']}, {row['section']}")
    text = f"<strong>{html.escape(row['statement'])}</strong>"
    text += f'<br><small><a href="documents/{row["document"]}.html">{source}</a></small>'
    picture = count = link = ""
    if found:
        unit, spec = (100, "z.0f") if row.get("points") else (1, "z.3f")
        stated = " / ".join(_stated(value["stated"], unit, spec) for value in row["values"])
        ours = " / ".join(_measured(number, unit, spec) for number in numbers)
        text += html.escape(f"\n{row['quantity']}. Stated: {stated}. Measured: {ours}.").replace("\n", "<br>")
        picture = pair_drawing(row["values"], numbers, unit)
        count = f"n = {max(number.n for number in numbers):,}, {dataset_name(dataset)}"
        link = f'<a href="run/notebooks/{cell}.html">chapter</a>'
    known = {f"value{place}": number for place, number in enumerate(numbers, 1)} | also
    why = " ".join(filter(None, (_filled(sentence, known) for sentence in row["why"])))
    return answer_row(f"{text}<br><small>{html.escape(why)}</small>", picture, (kind, word), count, link)


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
    lines = []
    for value, number in zip(values, numbers, strict=True):
        stated = None if isinstance(value["stated"], str) else value["stated"]
        name = f"{value['name']}: measured {unit * number.value:.3g}"
        name += "" if stated is None else f", stated {unit * stated:.3g}"
        lines.append((name, number.value, number.low, number.high, stated))
    ends = [0.0, *(end for _, *line in lines for end in line if end is not None)]
    ticks = {place: f"{unit * place:z.2g}" for place in sorted({min(ends), 0.0, max(ends)})}
    return drawing(lines, ticks, "Stated and measured: " + "; ".join(value["name"] for value in values))


# --- one page for each document: every term in its order, and where it is here


def read_concordance(document):
    """Read the table of one document; an error names the first wrong row."""
    path = CONCORDANCES / f"{document}.yml"
    table = read_yaml(path, "concordance")
    for place, row in enumerate(table["rows"], 1):
        if set(row) != set(TERM_FIELDS) or not isinstance(row["aliases"], list):
            raise InputError(f"{path}: row {place}: give {', '.join(TERM_FIELDS)}; aliases is a list")
    return table


def documents():
    """Name the documents that have a table."""
    return sorted(path.stem for path in CONCORDANCES.glob("*.yml"))


def concordance_page(document):
    """Write the page of one document."""
    table = read_concordance(document)
    lines = [
        f"# {table['title']}: terms and metrics",
        "",
        table["about"],
        "",
        "Terms follow the order of the document. *Original* is the definition or value that the document states, "
        "*standard* the usual definition or the value that we find. See also the [glossary](../methods/glossary.md).",
        "",
    ]
    for row in table["rows"]:
        lines += [f"## {_name(str(row['term']))}", ""]
        section = str(row["section"])
        also = f"; also: {', '.join(_name(str(alias)) for alias in row['aliases'])}" if row["aliases"] else ""
        lines += [f"{'Section ' if section[:1].isdigit() else ''}{section}{also}", "", str(row["means"]), ""]
        for key, label in _LABELS.items():
            if row[key]:
                lines += [f"{label}\n: {' '.join(str(row[key]).split())}", ""]
    return "\n".join(lines)


def _name(text):
    """Write a term: words as they are, names of files, keys and commands as code."""
    return text if _PLAIN.fullmatch(text) and "_" not in text else code(text)
