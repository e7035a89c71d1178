"""What changed since the last report: what is in force, and other inputs of a cell."""

import html

import pandas as pd

from casebook import paths
from casebook.book.history import same_data
from casebook.book.markup import as_cards, raw
from casebook.book.scorecard import value_text
from casebook.errors import InputError
from casebook.inference.intervals import bounds_text
from casebook.runs import promotions as audit
from casebook.runs import promotions as promotion
from casebook.runs import registry as layout
from casebook.runs.decide import PROMOTE, kept_decisions
from casebook.runs.outputs import headlines
from casebook.runs.record import read_record
from casebook.tables import Markup, to_html, with_intervals


def changes(run, cells):
    """Write the page of promotions, rollbacks and changed inputs."""
    root = layout.locate().root
    parts = ["## In force", *_promotions(root), *_decisions(root)]
    rows = [row for cell in cells for row in _cell_rows(run, cell)]
    parts.append("## Inputs and headline numbers since the former record")
    if rows:
        table = to_html(pd.DataFrame(rows), f"{run} beside the records before it")
        parts.append(raw(as_cards(table)))
    else:
        parts.append("This run holds no record of an executed notebook.")
    return "\n\n".join(parts) + "\n"


def _promotions(root):
    """Give the active runs and the log, or that there is none, or what is wrong."""
    faults = audit.verify(root)
    try:
        entries = promotion.history(root)
    except InputError as error:
        entries, faults = [], faults or [str(error)]
    if faults:
        lines = "".join(f"<li>{html.escape(fault)}</li>" for fault in faults)
        yield raw(f"<p>The log of promotions is not sound:</p><ul>{lines}</ul>")
    if not entries:
        if not faults:
            yield (
                "Nothing was ever promoted or rolled back, so no run is in force. "
                "`casebook runs decide --apply` and `casebook runs promote` do that."
            )
        return
    last = {(e.get("metric"), e.get("profile")): e for e in entries}
    active = pd.DataFrame([_entry_row(entry) for entry in last.values()])
    yield raw(as_cards(to_html(active.drop(columns="What"), "Active runs")))
    yield "## Promotions and rollbacks"
    log = pd.DataFrame([_entry_row(entry) for entry in reversed(entries)])
    table = to_html(log, "Log, the latest first; each line holds the hash before it")
    yield raw(as_cards(table))


def _decisions(root):
    """Give the decisions that promoted nothing: failed, undecided or incomparable."""
    kept = kept_decisions(root)
    kept = kept[kept["action"] != PROMOTE].drop(columns="action")
    if len(kept):
        yield "## Decisions that promoted nothing"
        yield (
            "*undecided*: the interval contains the improvement that was asked for; "
            "*incomparable*: the runs were measured on other data. Neither says that "
            "two runs are equal."
        )
        table = to_html(with_intervals(kept), "Kept decisions, the latest first")
        yield raw(as_cards(table))


def _entry_row(entry):
    decision, profile = entry.get("decision") or {}, entry.get("profile")
    stamp = ", incomparable by force" if entry.get("incomparable") else ""
    return {
        "When (UTC)": str(entry.get("at", ""))[:16].replace("T", " "),
        "What": entry.get("action"),
        "Metric": f"{entry.get('metric')}{f' ({profile})' if profile else ''}",
        "Run": entry.get("runId"),
        "By": entry.get("actor"),
        "Why": entry.get("reason"),
        "Verdict": decision.get("verdict", "none: named by hand") + stamp,
        "Difference from the run before": _difference(decision),
        "Gate (SHA-256)": (entry.get("gateSha256") or "none")[:12],
    }


def _difference(decision):
    """Write the paired difference with its interval, or why there is none."""
    found, notes = decision.get("improvement"), "; ".join(decision.get("notes", []))
    if found is None:
        return notes or "not weighed"
    if decision.get("low") is None:
        return f"{found:+z.3f}, no interval: {notes}"
    bounds = bounds_text(decision["low"], decision["high"], "+z.3f")
    return f"{found:+z.3f} {bounds}, n = {decision.get('n')}"


def _cell_rows(run, cell):
    """Give one row for each headline number of a cell."""
    records = _records(cell)
    if run not in records:
        return
    now = records.pop(run)
    earlier = [n for n, r in records.items() if r.completed < now.completed]
    former = max(earlier, key=lambda name: records[name].completed, default=None)
    link = Markup(f'<a href="run/notebooks/{cell}.html">{html.escape(cell)}</a>')
    past = "none"
    if former:
        day = f"{records[former].completed:%Y-%m-%d}"
        past = f"{former}, {day}; changed: {_changed(now, records[former])}"
    row = {"Chapter": link, "Former record": past}
    numbers = list(headlines(run, cell)) or [None]
    for number in numbers:
        yield row | _headline(run, cell, former, number)


def _records(cell):
    """Read the records that all runs of this project hold of a cell."""
    found = {}
    for path in sorted(paths.RESULTS.glob(f"*/runs/{cell}/run.json")):
        try:
            record = read_record(path)
        except InputError:
            continue  # the comparison of runs lists what cannot be read
        if record.completed and "Inputs" in record.labels:
            found[path.parents[2].name] = record
    return found


def _changed(now, before):
    inputs, past = now.labels["Inputs"], before.labels["Inputs"]
    names = [n for n in sorted({*inputs, *past}) if inputs.get(n) != past.get(n)]
    return ", ".join(names) or "nothing"


def _headline(run, cell, former, number):
    if number is None:
        return {"Headline": "none", "Before": None, "Now": None}
    *key, value = number
    past = {tuple(k): v for *k, v in headlines(former, cell)} if former else {}
    before = past.get(tuple(key))
    if former and not same_data(run, former, cell):
        shown = "other data: not compared"
    elif before is None:
        shown = "not reported" if former else None
    else:
        shown = _with_n(before)
    _, dataset, system, measure = key
    what = f"{measure} of {system} on {dataset}"
    return {"Headline": what, "Before": shown, "Now": _with_n(value)}


def _with_n(number):
    known = "" if number["control"] is None else f", control {number['control']:.3f}"
    label = html.escape(f"n = {number['n']}{known}")
    return Markup(f"{value_text(number)}<br><small>{label}</small>")
