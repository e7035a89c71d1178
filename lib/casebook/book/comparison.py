"""What changed between two runs, and since the earlier record.

Between two runs: paired differences, and the rows that changed most.
"""

import html

import numpy as np
import pandas as pd

from casebook import paths
from casebook.batch.run_folder import same_data
from casebook.book.items import item_links
from casebook.book.results import ChapterResults
from casebook.book.titles import as_cards, page_link, raw
from casebook.errors import InputError
from casebook.frames import contrasts, count_verdicts
from casebook.paths import run_dir
from casebook.runs import promotions
from casebook.runs.decide import PROMOTE, stored_decisions
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
)
MOST_FLIPS = 20  # rows of all lines together


def comparison(run, compared_run):
    """Write the page that compares a run with another one."""
    if not finished_cells(compared_run):
        raise InputError(f"results/{compared_run}: no such run to compare with")
    require_report(compared_run)
    table, not_compared = differences(run, compared_run)
    title = f"# What changed from {compared_run} to {run}\n\n"
    lead = (
        "Each line pairs the rows of one system on one measure. Rows of one cluster "
        "(case, contract, claim pair) are resampled together; with fewer than six clusters "
        "intervals are over rows and speak of new rows of these clusters. Intervals and p-values "
        "are corrected for all lines of this page: a line is better or worse exactly where its "
        "interval excludes 0, or where all its rows differ by the same. Undecided does not mean "
        "unchanged. Rows without a partner, or undefined in one run, are left out and counted. "
        "Configurations with different data are not compared.\n\n"
    )
    reasons = ""
    if not_compared:
        lines = [f"- {cell}: {reason}\n" for cell, reason in not_compared.items()]
        reasons = "\n## Not compared\n\n" + "".join(lines)
    if table.empty:
        return f"{title}No number differs between the two runs.\n{reasons}"
    lead += f"{count_verdicts(table['verdict'], 'differences')}\n\n"
    body = _table(_for_readers(table), f"{run} minus {compared_run}, paired by row")
    flips = raw(to_html(_flips(table, run), "Largest changes"))
    return f"{title}{lead}{body}\n## Rows that changed most\n\n{flips}{reasons}"


def differences(run, compared_run):
    """Pair the rows of two runs: a frame of tested differences, and why cells are not compared."""
    pairs = []
    not_compared = {}
    cells = set(finished_cells(run))
    compared_cells = set(finished_cells(compared_run))
    for cell in sorted(cells | compared_cells):
        if cell not in cells & compared_cells:
            not_compared[cell] = f"only in {run if cell in cells else compared_run}"
            continue
        reason, changed = _paired(cell, run, compared_run)
        pairs += [(cell, *pair) for pair in changed]
        if reason or not changed:
            not_compared[cell] = reason or "every row is the same"
    return tested(pairs), not_compared


def tested(pairs):
    """Test all lines, (cell, system, measure, frame), as one family.

    Lines that share their rows are corrected by max-T, the sets of such lines by Bonferroni.
    """
    sets = {}
    for cell, system, measure, pair in pairs:
        sets.setdefault((cell, tuple(pair.index)), []).append((system, measure, pair))
    lines = []
    for (cell, _), members in sets.items():
        for line in _tested_together(members, n_sets=len(sets)):
            lines.append(line | {"cell": cell})
    order = ["cell", "system", "measure"]
    table = pd.DataFrame(lines, columns=None if lines else order)
    return table.sort_values(order, kind="stable", ignore_index=True)


def _tested_together(members, n_sets):
    """Test lines, (system, measure, frame), that share their rows."""
    changes = [pair["now"] - pair["before"] for _, _, pair in members]
    no_change = 0 * changes[0]
    scores = pd.concat([*changes, no_change], axis=1, ignore_index=True)
    against_no_change = [(k, len(changes)) for k in range(len(changes))]
    clusters = members[0][2]["cluster"]
    rows = contrasts(scores, against_no_change, clusters, level=1 - 0.05 / n_sets)
    for row, change, (system, measure, pair) in zip(
        rows.to_dict("records"), changes, members, strict=True
    ):
        yield row | {
            "p_adjusted": min(1.0, row["p_adjusted"] * n_sets),
            "system": system,
            "measure": measure,
            "left out": pair.attrs["left out"],
            "now": pair["now"].mean(),
            "before": pair["before"].mean(),
            "rows": change,
        }


def _paired(cell, run, compared_run):
    """Give why two cells cannot be paired, or the pairs of values that differ."""
    if not same_data(run, compared_run, cell):
        return "other data: incomparable", []
    files = [run_dir(name) / "rows" / f"{cell}.csv.gz" for name in (run, compared_run)]
    if not all(path.is_file() for path in files):
        return "one of them kept no rows", []
    now, before = map(read_rows, files)
    columns = set(now) & set(before)
    key = next((key for key in _KEYS if {*key[0], key[1]} <= columns), None)
    if key is None or _has_duplicates(now, key) or _has_duplicates(before, key):
        return "its rows name no unit and system that pair them", []
    units, system, cluster = key
    in_one_run = {
        "systems": set(now[system]) ^ set(before[system]),
        "columns": set(now) ^ set(before),
    }
    reasons = [
        f"{kind} in one run only: {', '.join(sorted(map(str, names)))}"
        for kind, names in in_one_run.items()
        if names
    ]
    changed = _changed(now, before, units, system, "group" if "group" in columns else cluster)
    return "; ".join(reasons) or None, list(changed)


def _has_duplicates(table, key):
    units, system, _ = key
    return table.duplicated([*units, system]).any()


def _changed(now, before, units, system, cluster):
    """Give system, measure and paired rows of what differs anywhere."""
    joined = now.merge(before, how="outer", on=[*units, system], suffixes=("", " other"))
    joined.index = joined[units].astype(str).agg(" ".join, axis=1)
    measures = [
        name
        for name in now.select_dtypes(["number", "bool"])
        if name not in (*units, system, cluster) and name in before
    ]
    for name, rows in joined.groupby(system, sort=True):
        for measure in measures:
            values = rows[[measure, f"{measure} other"]].set_axis(["now", "before"], axis=1)
            pair = values.dropna().astype(float)
            pair["cluster"] = rows.loc[values.notna().all(axis=1), cluster].astype(str)
            pair.attrs["left out"] = len(values) - len(pair)
            if not np.array_equal(pair["now"], pair["before"]):
                yield name, measure, pair


def _for_readers(table):
    titles = {
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
        "better": "Better",
        "worse": "Worse",
    }
    readable = with_interval(table, "difference", "low", "high", name="Difference [95 % interval]")
    readable["cell"] = [page_link(cell, "../") for cell in table["cell"]]
    readable["better"] = [int((changes > 0).sum()) for changes in table["rows"]]
    readable["worse"] = [int((changes < 0).sum()) for changes in table["rows"]]
    return readable[list(titles)].rename(columns=titles)


def _flips(table, run):
    """Give the rows that changed most, of each line as many, with links to their items."""
    rows = []
    links = {cell: item_links(ChapterResults(run, cell)) for cell in set(table["cell"])}
    most = max(1, MOST_FLIPS // len(table))
    for line in table.itertuples():
        changed = line.rows[line.rows != 0]
        largest = changed.iloc[np.argsort(-changed.abs(), kind="stable")].head(most)
        for unit, change in largest.items():
            name = unit
            if unit in links[line.cell]:
                address = html.escape(links[line.cell][unit])
                name = Markup(f'<a href="{address}">{html.escape(unit)}</a>')
            rows.append((line.cell, line.system, line.measure, name, change))
    return pd.DataFrame(rows, columns=["Configuration", "System", "Measure", "Row", "Change"])


# --- promotions, rollbacks, and the inputs of a cell since its former record


def changes(run, chapters):
    """Write the page of promotions, rollbacks and changed inputs."""
    root = locate().root
    parts = ["## Promoted runs", *_promotions(root)]
    decisions = stored_decisions(root)
    decisions = decisions[decisions["action"] != PROMOTE].drop(columns="action")
    if len(decisions):
        parts += [
            "## Decisions that promoted nothing",
            "*undecided*: the interval contains the improvement asked for; *incomparable*: "
            "the runs were measured on different data. Neither means that two runs are equal.",
            _table(with_intervals(decisions), "Decisions, latest first"),
        ]
    rows = [row for chapter in chapters for row in _since(run, chapter)]
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
        entries = []
        faults = faults or [str(error)]
    if faults:
        lines = "".join(f"<li>{html.escape(fault)}</li>" for fault in faults)
        yield raw(f"<p>The log of promotions is damaged:</p><ul>{lines}</ul>")
    elif not entries:
        yield (
            "No run has been promoted or rolled back yet. "
            "`casebook runs decide --apply` and `casebook runs promote` do that."
        )
    if entries:
        latest = {(entry.get("metric"), entry.get("profile")): entry for entry in entries}
        active = pd.DataFrame([_entry_row(entry) for entry in latest.values()])
        yield _table(active.drop(columns="What"), "Promoted runs")
        yield "## Promotions and rollbacks"
        log = pd.DataFrame([_entry_row(entry) for entry in reversed(entries)])
        yield _table(log, "Log, latest first; each line holds the hash of the one before")


def _entry_row(entry):
    decision = entry.get("decision") or {}
    metric = str(entry.get("metric"))
    if entry.get("profile"):
        metric += f" ({entry['profile']})"
    verdict = decision.get("verdict", "none: chosen by hand")
    if entry.get("incomparable"):
        verdict += ", incomparable by force"
    return {
        "When (UTC)": str(entry.get("at", ""))[:16].replace("T", " "),
        "What": entry.get("action"),
        "Metric": metric,
        "Run": entry.get("runId"),
        "By": entry.get("actor"),
        "Why": entry.get("reason"),
        "Verdict": verdict,
        "Difference from the run before": _difference(decision),
        "Gate (SHA-256)": (entry.get("gateSha256") or "none")[:12],
    }


def _difference(decision):
    """Write the paired difference with its interval, or why there is none."""
    improvement = decision.get("improvement")
    notes = "; ".join(decision.get("notes", []))
    if improvement is None:
        return notes or "not compared"
    if decision.get("low") is None:
        return f"{improvement:+z.3f}, no interval: {notes}"
    bounds = bounds_text(decision["low"], decision["high"], "+z.3f")
    return f"{improvement:+z.3f} {bounds}, n = {decision.get('n')}"


def _since(run, chapter):
    """Give a row for each headline of a chapter, with the answer in the latest record before."""
    cell = chapter.cell
    records = _intact_records(cell)
    if run not in records:
        return
    record = records.pop(run)
    earlier = [name for name in records if records[name].completed < record.completed]
    former = max(earlier, key=lambda name: records[name].completed, default=None)
    row = {"Chapter": page_link(cell), "Earlier record": "none"}
    former_answers = {}
    if former:
        row["Earlier record"] = _changed_inputs(former, records[former], record)
        for headline in read_headlines(former, cell):
            former_answers[headline.question, headline.dataset] = headline.sentence
    other_data = former is not None and not same_data(run, former, cell)
    for headline in chapter.headlines:
        before = None
        if other_data:
            before = "other data: not compared"
        elif former:
            key = (headline.question, headline.dataset)
            before = former_answers.get(key, "not reported")
        yield row | {"Question": headline.question, "Before": before, "Now": headline.sentence}
    if not chapter.headlines:
        yield row | {"Question": "no answer reported", "Before": None, "Now": None}


def _intact_records(cell):
    """Read the records of a cell in all runs, without those that are damaged or unfinished."""
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
    return records


def _changed_inputs(former, former_record, record):
    """Name the earlier run, its day, and the inputs that have changed since."""
    inputs = record.labels["Inputs"]
    former_inputs = former_record.labels["Inputs"]
    changed = [
        name
        for name in sorted({*inputs, *former_inputs})
        if inputs.get(name) != former_inputs.get(name)
    ]
    day = f"{former_record.completed:%Y-%m-%d}"
    return f"{former}, {day}; changed: {', '.join(changed) or 'nothing'}"
