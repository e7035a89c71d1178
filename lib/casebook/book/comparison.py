"""What changed between two runs: paired differences, and the rows that flipped."""

import html

import numpy as np
import pandas as pd

from casebook.book.history import same_data
from casebook.book.items import item_links
from casebook.book.markup import as_cards, raw
from casebook.errors import InputError
from casebook.estimates import contrasts, count_verdicts
from casebook.formats.celltext import table_from_csv
from casebook.paths import run_dir
from casebook.tables import Markup, estimate, to_html

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
    if not (run_dir(other) / "runs").is_dir():
        raise InputError(f"results/{other}: no such run to compare with")
    found, silent = differences(run, other)
    title = f"# What changed from {other} to {run}\n\n"
    lead = (
        "Each line pairs the rows of one system on one measure. Rows of one group "
        "(case, question group, claim twins) are resampled together. Intervals and "
        "p-values are corrected for all lines of this page: a line is better or worse "
        "exactly where its interval leaves out 0. Undecided is not unchanged. Rows "
        "without a partner, or undefined in one run, are left out and counted. Cells "
        "with other data are not compared.\n\n"
    )
    if len(found):
        lead += f"{count_verdicts(found['verdict'], 'differences')}\n\n"
    silent = "".join(f"- {cell}: {why}\n" for cell, why in silent.items())
    left = f"\n## Not compared\n\n{silent}" if silent else ""
    if found.empty:
        return f"{title}No number differs between the two runs.\n{left}"
    table = to_html(_shown(found), f"{run} minus {other}, paired by row")
    body = raw(as_cards(table))
    flips = raw(to_html(_flips(found, run), "Rows that changed most"))
    return f"{title}{lead}{body}\n## Flipped rows\n\n{flips}{left}"


def differences(run, other):
    """Pair the rows of two runs."""
    pairs, silent = [], {}
    cells = {name: _cells(name) for name in (run, other)}
    for cell in sorted(cells[run] | cells[other]):
        if cell not in cells[run] or cell not in cells[other]:
            silent[cell] = f"only in {run if cell in cells[run] else other}"
            continue
        reason, changed = _paired(cell, run, other)
        pairs += [(cell, *pair) for pair in changed]
        if reason or not changed:
            silent[cell] = reason or "every row is the same"
    return tested(pairs), silent


def tested(pairs):
    """Test all lines as one family: max-T among those that share their rows."""
    sets = {}
    for cell, system, measure, pair in pairs:
        key = (cell, tuple(pair.index))
        sets.setdefault(key, []).append((system, measure, pair))
    lines = []
    for (cell, _), members in sets.items():
        changes = [pair["now"] - pair["before"] for _, _, pair in members]
        scores = pd.concat([*changes, 0 * changes[0]], axis=1, ignore_index=True)
        found = contrasts(
            scores,
            [(k, len(changes)) for k in range(len(changes))],
            members[0][2]["cluster"],
            level=1 - 0.05 / len(sets),
        ).to_dict("records")
        for k, (system, measure, pair) in enumerate(members):
            row = found[k]
            known = {"cell": cell, "system": system, "measure": measure}
            known |= {"left out": pair.attrs["left out"]}
            known |= {"now": pair["now"].mean(), "before": pair["before"].mean()}
            known["rows"] = changes[k]
            row["p_adjusted"] = min(1.0, row["p_adjusted"] * len(sets))
            lines.append(row | known)
    order = ["cell", "system", "measure"]
    found = pd.DataFrame(lines, columns=None if lines else order)
    return found.sort_values(order, kind="stable", ignore_index=True)


def _cells(run):
    return {p.parent.name for p in (run_dir(run) / "runs").glob("*/run.json")}


def _paired(cell, run, other):
    """Give why two cells cannot be paired, or the pairs of values that differ."""
    if not same_data(run, other, cell):
        return "other data: incomparable", []
    tables = []
    for name in (run, other):
        path = run_dir(name) / "rows" / f"{cell}.csv.gz"
        if not path.is_file():
            return "one of them kept no rows", []
        table = pd.read_csv(path, keep_default_na=False, na_values=[""])
        tables.append(table_from_csv(table))
    both = set(tables[0]) & set(tables[1])
    units, system, cluster = next((key for key in _KEYS if {*key[0], key[1]} <= both), (None, None, None))
    if units is None or any(t.duplicated([*units, system]).any() for t in tables):
        return "its rows name no unit and system that pair them", []
    cluster = "group" if "group" in both else cluster
    changed = _changed(*tables, units, system, cluster)
    return _one_sided(*tables, system), list(changed)


def _one_sided(now, before, system):
    """Name the systems and measures that only one of the two runs holds, if any."""
    both = {"systems": [set(t[system]) for t in (now, before)]}
    both["columns"] = [set(t) for t in (now, before)]
    parts = [f"{kind} in one run only: {', '.join(sorted(map(str, a ^ b)))}" for kind, (a, b) in both.items() if a != b]
    return "; ".join(parts) or None


def _changed(now, before, units, system, cluster):
    """Give system, measure and paired rows of what differs anywhere."""
    on = [*units, system]
    both = now.merge(before, how="outer", on=on, suffixes=("", " other"))
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
    links = [Markup(f'<a href="../run/notebooks/{c}.html">{html.escape(c)}</a>') for c in found["cell"]]
    changed = [(int((r > 0).sum()), int((r < 0).sum())) for r in found["rows"]]
    return pd.DataFrame(
        {
            "Cell": links,
            "System": found["system"],
            "Measure": found["measure"],
            "Now": found["now"],
            "Before": found["before"],
            "Difference [95 % interval]": [
                Markup(estimate(d, low, high))
                for d, low, high in zip(found["difference"], found["low"], found["high"], strict=True)
            ],
            "Verdict": found["verdict"],
            "p, corrected": found["p_adjusted"],
            "n": found["n"],
            "Groups": found["groups"],
            "No interval because": found["reason"].map(lambda x: x and x.replace("_", " ")),
            "Left out": found["left out"],
            "Better": [up for up, _ in changed],
            "Worse": [down for _, down in changed],
        }
    )


def _flips(found, run):
    lines = []
    links = {cell: item_links(run, cell) for cell in set(found["cell"])}
    for row in found.itertuples():
        order = row.rows.abs().sort_values(ascending=False, kind="stable").index
        for unit in order[: max(1, FLIPPED // len(found))]:
            if row.rows[unit]:
                name = _linked(unit, links[row.cell].get(unit))
                lines.append((row.cell, row.system, row.measure, name, row.rows[unit]))
    columns = ["Cell", "System", "Measure", "Row", "Change"]
    return pd.DataFrame(lines, columns=columns)


def _linked(name, address):
    if address is None:
        return name
    return Markup(f'<a href="{html.escape(address)}">{html.escape(name)}</a>')
