"""What changed: between two runs (paired differences, rows that changed most), and since the earlier record."""

import html

import numpy as np
import pandas as pd

from casebook import paths
from casebook.batch.run_folder import same_data
from casebook.book.items import item_links
from casebook.book.titles import as_cards, page_link, raw
from casebook.errors import InputError
from casebook.frames import contrasts, count_verdicts
from casebook.paths import run_dir
from casebook.runs import promotions
from casebook.runs.decide import PROMOTE, kept_decisions
from casebook.runs.evidence import output_faults
from casebook.runs.headlines import read_headlines
from casebook.runs.outputs import finished_cells, require_report
from casebook.runs.record import read_record
from casebook.runs.registry import locate, read_rows
from casebook.stats.intervals import bounds_text
from casebook.tables import Markup, to_html, with_interval, with_intervals

# What names a row in the tables that chapters keep, what was measured on it, and the
# cluster that it belongs to where no column "group" says so.
_KEYS = (
    (["query_id"], "system", "query_id"),
    (["id"], "system", "id"),
    (["case_id", "node"], "system", "case_id"),
    (["condition", "explanation", "source", "sentence"], "rule", "explanation"),
    (["audited"], "check", "audited"),
)
FLIPPED = 20  # rows shown of each kind


def comparison(run, other):
    """Write the page that compares a run with another one."""
    if not finished_cells(other):
        raise InputError(f"results/{other}: no such run to compare with")
    require_report(other)
    found, silent = differences(run, other)
    title = f"# What changed from {other} to {run}\n\n"
    lead = (
        "Each line pairs the rows of one system on one measure. Rows of one cluster "
        "(case, contract, claim pair) are resampled together; with fewer than six clusters intervals are over rows "
        "and speak of new rows of these clusters. Intervals and p-values are corrected for all lines of this page: "
        "a line is better or worse exactly where its interval excludes 0, or where all its rows differ by the same. "
        "Undecided does not mean unchanged. Rows without a partner, or undefined in one run, are left out "
        "and counted. Configurations with different data are not compared.\n\n"
    )
    left = ""
    if silent:
        left = "\n## Not compared\n\n" + "".join(
            f"- {cell}: {why}\n" for cell, why in silent.items()
        )
    if found.empty:
        return f"{title}No number differs between the two runs.\n{left}"
    lead += f"{count_verdicts(found['verdict'], 'differences')}\n\n"
    body = _table(_shown(found), f"{run} minus {other}, paired by row")
    flips = raw(to_html(_flips(found, run), "Largest changes"))
    return f"{title}{lead}{body}\n## Rows that changed most\n\n{flips}{left}"


def differences(run, other):
    """Pair the rows of two runs: a frame of tested differences, and why cells are not compared."""
    pairs, silent = [], {}
    cells = {name: set(finished_cells(name)) for name in (run, other)}
    for cell in sorted(cells[run] | cells[other]):
        if cell not in cells[run] & cells[other]:
            silent[cell] = f"only in {run if cell in cells[run] else other}"
            continue
        reason, changed = _paired(cell, run, other)
        pairs += [(cell, *pair) for pair in changed]
        if reason or not changed:
            silent[cell] = reason or "every row is the same"
    return tested(pairs), silent


def tested(pairs):
    """Test all lines, (cell, system, measure, frame), as one family: max-T among those that share their rows."""
    sets = {}
    for cell, system, measure, pair in pairs:
        sets.setdefault((cell, tuple(pair.index)), []).append((system, measure, pair))
    lines = []
    for (cell, _), members in sets.items():
        changes = [pair["now"] - pair["before"] for _, _, pair in members]
        scores = pd.concat([*changes, 0 * changes[0]], axis=1, ignore_index=True)
        against_nothing = [(k, len(changes)) for k in range(len(changes))]
        groups, level = members[0][2]["cluster"], 1 - 0.05 / len(sets)
        found = contrasts(scores, against_nothing, groups, level=level).to_dict("records")
        for row, change, (system, measure, pair) in zip(found, changes, members, strict=True):
            row["p_adjusted"] = min(1.0, row["p_adjusted"] * len(sets))
            known = {
                "cell": cell,
                "system": system,
                "measure": measure,
                "left out": pair.attrs["left out"],
            }
            lines.append(
                row
                | known
                | {"now": pair["now"].mean(), "before": pair["before"].mean(), "rows": change}
            )
    order = ["cell", "system", "measure"]
    found = pd.DataFrame(lines, columns=None if lines else order)
    return found.sort_values(order, kind="stable", ignore_index=True)


def _paired(cell, run, other):
    """Give why two cells cannot be paired, or the pairs of values that differ."""
    if not same_data(run, other, cell):
        return "other data: incomparable", []
    files = [run_dir(name) / "rows" / f"{cell}.csv.gz" for name in (run, other)]
    if not all(path.is_file() for path in files):
        return "one of them kept no rows", []
    now, before = map(read_rows, files)
    both = set(now) & set(before)
    units, system, cluster = next(
        (key for key in _KEYS if {*key[0], key[1]} <= both), (None, None, None)
    )
    if units is None or any(table.duplicated([*units, system]).any() for table in (now, before)):
        return "its rows name no unit and system that pair them", []
    alone = {"systems": set(now[system]) ^ set(before[system]), "columns": set(now) ^ set(before)}
    reasons = [
        f"{kind} in one run only: {', '.join(sorted(map(str, names)))}"
        for kind, names in alone.items()
        if names
    ]
    changed = _changed(now, before, units, system, "group" if "group" in both else cluster)
    return "; ".join(reasons) or None, list(changed)


def _changed(now, before, units, system, cluster):
    """Give system, measure and paired rows of what differs anywhere."""
    both = now.merge(before, how="outer", on=[*units, system], suffixes=("", " other"))
    both.index = both[units].astype(str).agg(" ".join, axis=1)
    measures = [
        name
        for name in now.select_dtypes(["number", "bool"])
        if name not in (*units, system, cluster) and name in before
    ]
    for name, rows in both.groupby(system, sort=True):
        for measure in measures:
            every = rows[[measure, f"{measure} other"]].set_axis(["now", "before"], axis=1)
            pair = every.dropna().astype(float)
            pair["cluster"] = rows.loc[every.notna().all(axis=1), cluster].astype(str)
            pair.attrs["left out"] = len(every) - len(pair)
            if not np.array_equal(pair["now"], pair["before"]):
                yield name, measure, pair


def _shown(found):
    shown = with_interval(found, "difference", "low", "high", name="Difference [95 % interval]")
    shown["cell"] = [page_link(cell, "../") for cell in found["cell"]]
    shown["Better"], shown["Worse"] = (
        [int((sign * rows > 0).sum()) for rows in found["rows"]] for sign in (1, -1)
    )
    names = {
        "cell": "Configuration",
        "system": "System",
        "measure": "Measure",
        "now": "Now",
        "before": "Before",
        "Difference [95 % interval]": "Difference [95 % interval]",
        "verdict": "Verdict",
        "p_adjusted": "p, corrected",
        "n": "n",
        "groups": "Groups",
        "reason": "Note on the interval",
        "left out": "Left out",
        "Better": "Better",
        "Worse": "Worse",
    }
    return shown[list(names)].rename(columns=names)


def _flips(found, run):
    """Give the rows that changed most, of each line as many, with links to their items."""
    lines = []
    links = {cell: item_links(run, cell) for cell in set(found["cell"])}
    for row in found.itertuples():
        changed = row.rows[row.rows != 0].sort_values(key=lambda by: -by.abs(), kind="stable")
        for unit, change in changed.head(max(1, FLIPPED // len(found))).items():
            address = links[row.cell].get(unit)
            name = (
                Markup(f'<a href="{html.escape(address)}">{html.escape(unit)}</a>')
                if address
                else unit
            )
            lines.append((row.cell, row.system, row.measure, name, change))
    return pd.DataFrame(lines, columns=["Configuration", "System", "Measure", "Row", "Change"])


# --- promotions, rollbacks, and the inputs of a cell since its former record


def changes(run, cells):
    """Write the page of promotions, rollbacks and changed inputs."""
    root = locate().root
    parts = ["## Promoted runs", *_promotions(root)]
    kept = kept_decisions(root)
    kept = kept[kept["action"] != PROMOTE].drop(columns="action")
    if len(kept):
        parts += [
            "## Decisions that promoted nothing",
            "*undecided*: the interval contains the improvement asked for; *incomparable*: the runs were measured on "
            "different data. Neither means that two runs are equal.",
            _table(with_intervals(kept), "Decisions, latest first"),
        ]
    rows = [row for cell in cells for row in _since(run, cell)]
    parts.append("## Inputs and answers since the earlier record")
    none = "This run holds no record of an executed notebook."
    parts.append(_table(pd.DataFrame(rows), f"{run} and the records before it") if rows else none)
    return "\n\n".join(parts) + "\n"


def _table(frame, caption):
    return raw(as_cards(to_html(frame, caption)))


def _promotions(root):
    """Give the active runs and the log, or that there is none, or what is wrong."""
    faults = promotions.verify(root)
    try:
        entries = promotions.read_promotions(root)
    except InputError as error:
        entries, faults = [], faults or [str(error)]
    if faults:
        lines = "".join(f"<li>{html.escape(fault)}</li>" for fault in faults)
        yield raw(f"<p>The log of promotions is damaged:</p><ul>{lines}</ul>")
    elif not entries:
        yield (
            "No run has been promoted or rolled back yet. "
            "`casebook runs decide --apply` and `casebook runs promote` do that."
        )
    if entries:
        last = {(e.get("metric"), e.get("profile")): e for e in entries}
        active = pd.DataFrame([_entry_row(entry) for entry in last.values()])
        yield _table(active.drop(columns="What"), "Promoted runs")
        yield "## Promotions and rollbacks"
        log = pd.DataFrame([_entry_row(entry) for entry in reversed(entries)])
        yield _table(log, "Log, latest first; each line holds the hash of the one before")


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
        "Verdict": decision.get("verdict", "none: chosen by hand") + stamp,
        "Difference from the run before": _difference(decision),
        "Gate (SHA-256)": (entry.get("gateSha256") or "none")[:12],
    }


def _difference(decision):
    """Write the paired difference with its interval, or why there is none."""
    found, notes = decision.get("improvement"), "; ".join(decision.get("notes", []))
    if found is None:
        return notes or "not compared"
    if decision.get("low") is None:
        return f"{found:+z.3f}, no interval: {notes}"
    bounds = bounds_text(decision["low"], decision["high"], "+z.3f")
    return f"{found:+z.3f} {bounds}, n = {decision.get('n')}"


def _since(run, cell):
    """Give one row for each headline of a cell, with the answer in the latest record before this run's."""
    records = {}
    for path in sorted(paths.RESULTS.glob(f"*/runs/{cell}/run.json")):
        try:
            record = read_record(path)
        except InputError:
            continue  # the comparison of runs lists what cannot be read
        if (
            record.completed
            and "Inputs" in record.labels
            and not output_faults(path.parent, record)
        ):
            records[path.parents[2].name] = record
    if run not in records:
        return
    now = records.pop(run)
    earlier = [name for name, record in records.items() if record.completed < now.completed]
    former = max(earlier, key=lambda name: records[name].completed, default=None)
    row, past = {"Chapter": page_link(cell), "Earlier record": "none"}, {}
    if former:
        inputs, before = now.labels["Inputs"], records[former].labels["Inputs"]
        changed = [
            name for name in sorted({*inputs, *before}) if inputs.get(name) != before.get(name)
        ]
        day = f"{records[former].completed:%Y-%m-%d}"
        row["Earlier record"] = f"{former}, {day}; changed: {', '.join(changed) or 'nothing'}"
        past = {
            (each.question, each.dataset): each.sentence for each in read_headlines(former, cell)
        }
    same = former and same_data(run, former, cell)
    found = read_headlines(run, cell)
    for each in found:
        shown = past.get((each.question, each.dataset), former and "not reported")
        yield row | {
            "Question": each.question,
            "Before": "other data: not compared" if former and not same else shown,
            "Now": each.sentence,
        }
    if not found:
        yield row | {"Question": "no answer reported", "Before": None, "Now": None}
