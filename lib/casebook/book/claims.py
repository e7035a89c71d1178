"""What the documented systems state, beside what was measured here."""

import html

import pandas as pd

from casebook.errors import InputError
from casebook.paths import ROOT, run_dir
from casebook.readers import read_yaml
from casebook.runs.outputs import read_numbers
from casebook.tables import Markup, estimate, to_html

CLAIMS = ROOT / "book" / "claims.yml"
_FIELDS = {"system", "stated", "value", "measured", "name", "finding"}


def claims_table(run, path=CLAIMS):
    """Write the table of claims with the numbers of one run."""
    numbers = _numbers(run)
    rows = []
    for place, claim in enumerate(read_yaml(path, "list of claims"), 1):
        if not isinstance(claim, dict) or set(claim) != _FIELDS:
            raise InputError(f"{path}: claim {place}: give {sorted(_FIELDS)}")
        rows.append(_row(claim, *_measured(numbers, *claim["measured"])))
    return to_html(pd.DataFrame(rows), "Stated, and measured here")


def _numbers(run):
    """Give experiment, dataset, system, measure to number, and the cell it is from."""
    found = {}
    for path in sorted((run_dir(run) / "numbers").glob("*.json")):
        for experiment, sets in read_numbers(run, path.stem).items():
            for dataset, systems in sets.items():
                found[experiment, dataset] = (path.stem, systems)
    return found


def _measured(numbers, experiment, datasets, system, measure):
    for dataset in datasets:
        cell, systems = numbers.get((experiment, dataset), (None, {}))
        number = systems.get(system, {}).get(measure)
        if number is not None:
            return cell, dataset, number
    return None, None, None


def _row(claim, cell, dataset, number):
    measured = "not in this run"
    if number is not None:
        control = number["control"]
        known = "" if control is None else f", control {control:.3f}"
        label = html.escape(f"{claim['name']}; {dataset}, n = {number['n']}{known}")
        measured = Markup(
            f"{estimate(number['value'], *number['ci'])}<br>"
            f'<small><a href="run/notebooks/{cell}.html">{label}</a></small>'
        )
    return {
        "System": claim["system"],
        "Stated": claim["stated"],
        "Stated value": claim["value"],
        "Measured here [95 % interval]": measured,
        "What explains it": claim["finding"],
    }
