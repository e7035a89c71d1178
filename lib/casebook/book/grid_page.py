"""The grid of a run as one table: what was done, what failed, what never ran."""

import html
import json

import pandas as pd

from casebook.book.markup import file_links, page_link
from casebook.book.scorecard import value_text
from casebook.grid import DATA
from casebook.paths import data_folder
from casebook.run import read_failures, read_planned, read_timings, stored_record
from casebook.runs.outputs import headlines
from casebook.tables import Markup, to_html


def grid_page(run, cells):
    """Write the table of the cells of a run."""
    planned, failures = read_planned(run), read_failures(run)
    names = list(dict.fromkeys([*cells, *planned, *failures]))
    states = [_state(run, name, planned, failures) for name in names]
    varying = _varying(states)
    seconds = read_timings(run)
    rows = [_row(run, state, varying, seconds) for state in states]
    whole = dict.fromkeys(("Seconds", "Attempts"), ".0f")
    table = to_html(pd.DataFrame(rows), f"Cells of the run {run}", formats=whole)
    return f"<p>{_count(states)}</p>\n{table}"


def _state(run, name, planned, failures):
    """Collect what is known of a cell; a failure counts over an earlier record."""
    record, failure = stored_record(run, name), failures.get(name)
    asked = planned.get(name, {})
    parameters = asked.get("parameters", {})
    if record:
        parameters = record.labels["Inputs"]["parameters"]
    return {
        "name": name,
        "record": None if failure else record,
        "failure": failure,
        "experiment": record.workflow if record else asked.get("experiment"),
        "parameters": parameters,
    }


def _varying(states):
    """Give the parameters that differ among the cells of each experiment."""
    groups = {}
    for state in states:
        groups.setdefault(state["experiment"], []).append(state["parameters"])
    return {
        experiment: [
            name
            for name in dict.fromkeys(name for given in group for name in given)
            if any(given.get(name) != group[0].get(name) for given in group)
        ]
        for experiment, group in groups.items()
    }


def _count(states):
    failed = sum(state["failure"] is not None for state in states)
    done = sum(state["record"] is not None for state in states)
    never = len(states) - done - failed
    return f"{len(states)} cells: {done} done, {failed} failed, {never} not run."


def _row(run, state, varying, seconds):
    name, record, failure = state["name"], state["record"], state["failure"]
    given = state["parameters"]
    differ = {key: given[key] for key in varying[state["experiment"]] if key in given}
    found = headlines(run, name) if record else ()
    return {
        "Cell": page_link(name) if record else name,
        "Status": _status(record, failure),
        **_headline(list(found)),
        "Experiment": state["experiment"],
        "Parameters that differ": _settings(differ),
        "Seconds": (failure or {}).get("seconds", seconds.get(name)),
        "Attempts": _attempts(record, failure),
        "Completed (UTC)": f"{record.completed:%Y-%m-%d %H:%M}" if record else None,
        "Files": file_links(run, name) if record else None,
    }


def _headline(found):
    """Give what answers the question of a cell, one line a data set."""
    names = [f"{system}, {measure} on {d}" for _, d, system, measure, _ in found]
    numbers = [number for *_, number in found]
    return {
        "Value [95 % interval]": _lines(map(value_text, numbers)),
        "n": _lines(_number(number["n"]) for number in numbers),
        "Control": _lines(_number(number["control"]) for number in numbers),
        "Measure": _lines(map(html.escape, names)),
    }


def _lines(texts):
    """Join lines of HTML in one cell, or give None if there is none."""
    lines = "".join(f"<div>{text}</div>" for text in texts)
    return Markup(f'<div class="lines">{lines}</div>') if lines else None


def _number(value):
    if value is None:
        return "–"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
    return f'<data value="{value:.6g}">{shown}</data>'


def _status(record, failure):
    if not failure:
        return "done" if record else "not run"
    cause = "" if failure["cause"] == "failed" else f", {failure['cause']}"
    why = html.escape(failure["why"])
    return Markup(f"failed{html.escape(cause)}<br><small>{why}</small>")


def _settings(parameters):
    def called(value):
        own = data_folder(value) if isinstance(value, str) else None
        return own[0] if own else value

    parts = []
    for key, value in parameters.items():
        if key in DATA:  # a folder goes by its name
            many = isinstance(value, list)
            value = [*map(called, value)] if many else called(value)
        parts.append(f"{key}={json.dumps(value)}")
    return ", ".join(parts).replace('"', "") or None


def _attempts(record, failure):
    if failure:
        return failure.get("attempts")
    return record.labels.get("Attempts", 1) if record else None
