"""What belongs beside a run's metric: n, interval, control, or why there is none."""

from casebook.plain_json import read_json
from casebook.runs.artifact import read_record
from casebook.runs.metrics import canonical
from casebook.runs.rows import TOLERANCE, NoRows, query_scores

UNKNOWN = {"n": None, "ci": [None, None], "control": None}


def figure(folder, metric):
    """Find n, interval and control of a metric of a run."""
    reported = _reported(folder, canonical(metric))
    if reported is not None:
        return reported
    try:
        rows = query_scores(folder, metric)
    except NoRows as reason:
        return UNKNOWN | {"reason": str(reason)}
    from casebook.stats.intervals import bootstrap_mean

    found = bootstrap_mean(rows["score"].to_numpy(), clusters=rows["group"])
    bounds = {"n": found.n, "ci": [found.low, found.high]}
    return UNKNOWN | bounds | {"reason": found.reason}


def _reported(folder, metric):
    """Give what the chapter of a report says, if it says so of this very value."""
    path = folder.parents[1] / "numbers" / f"{folder.name}.json"
    if folder.parent.name != "runs" or not path.is_file():
        return None
    found = dict(_leaves(read_json(path), ())).get(metric)
    value = read_record(folder / "run.json").metric(metric)
    same = found and None not in (value, found.get("value"))
    if not same or abs(found["value"] - value) > TOLERANCE:
        return None
    return {name: found.get(name) for name in ("n", "ci", "control", "reason")}


def _leaves(numbers, names):
    """Yield metric keys, ``<dataset>.<system>.<measure>``, with their numbers."""
    for name, inner in numbers.items():
        if isinstance(inner, dict) and "value" in inner:
            yield ".".join([*names[1:], name]).lower(), inner
        elif isinstance(inner, dict):
            yield from _leaves(inner, (*names, name))
