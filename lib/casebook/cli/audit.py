"""``casebook audit``: look for defects in labels and in reported tables."""

from pathlib import Path

from casebook.cli.common import Json, Seed, argument, command_group, option, say, show
from casebook.errors import CheckFailed

app = command_group("audit", "Look for defects in labels and in reported tables.")


@app.command()
def labels(
    source: argument(
        str, "Data set, BEIR folder, TREC judgements, or CSV of positions.", metavar="PATH|DATASET"
    ),
    seed: Seed = 0,
    as_json: Json = False,
):
    """Check relevance labels for dealt-out lists, leaks and duplicates; exit 2 if flagged.

    A pattern is flagged if labels in random order do not show it, if it is stronger than
    in nine or ten sound collections (never the one that is judged), and if the words of
    the questions do not explain it. The line of each check says what decided.

    Example: casebook audit labels pdpabench --json
    """
    from casebook.audits.labels import FLAGGED, audit_labels

    audit = audit_labels(source, seed)
    findings = [finding._asdict() for finding in audit.findings]
    value = {"name": audit.name, "verdict": audit.verdict, "findings": findings}
    show(value, as_json, map(_line, audit.findings))
    flagged = [finding.check for finding in audit.findings if finding.verdict == FLAGGED]
    if flagged:
        raise CheckFailed(f"{audit.name}: flagged: {', '.join(flagged)}")


def _line(finding):
    from casebook.stats.intervals import bounds_text

    head = f"{finding.verdict:14} {finding.check}"
    if finding.value is None:
        return f"{head}: {finding.reason}"
    parts = [f"{finding.value:.3f} {bounds_text(finding.low, finding.high)}", f"n={finding.n}"]
    if finding.chance is not None:
        parts.append(f"chance {finding.chance:.3f}")
    if finding.p is not None:
        parts.append(f"p={finding.p:.2g}")
    if finding.p_sound is not None:
        parts.append(f"p of soundness={finding.p_sound:.2g}")
    lines = [
        f"{head}: {', '.join(parts)} ({finding.statistic})",
        f"{'':15}decided by {finding.decision}",
    ]
    return "\n".join([*lines, *(f"{'':15}{text}" for text in finding.evidence)])


@app.command()
def tables(
    source: argument(Path, "CSV or JSON: row, accuracy, precision, recall, f1, n, positives."),
    n: option(int | None, "Number of claims, where the file has no column n.", "--n") = None,
    positives: option(
        int | None, "Number of positive claims, where the file has no column positives."
    ) = None,
    decimals: option(
        int | None, "Decimals of all values; default: as shown.", min=0, max=12
    ) = None,
    rounding: option(str, "How values were rounded: half, down or either.") = "either",
    as_json: Json = False,
):
    """Find reported scores that no confusion matrix gives; exit 2 if there are any.

    Example: casebook audit tables reported.csv --n 10 --positives 8
    """
    from casebook.audits.tables import (
        TABLE_COLUMNS,
        check_tables,
        conflicting_values,
        count_impossible,
        read_tables,
    )

    reported = read_tables(source, n, positives)
    unread = [name for name in reported if name not in TABLE_COLUMNS]
    if unread:
        say(f"note: {source}: columns not read: {', '.join(unread)}")
    rows = check_tables(reported, decimals=decimals, rounding=rounding)
    parts = {"summary": count_impossible(rows), "rows": rows, "conflicts": conflicting_values(rows)}
    sections = []
    for name, frame in parts.items():
        if len(frame):
            sections += [[f"{name}:"], frame]
    show(parts, as_json, *sections, digits=".4g")
    wrong = rows["verdict"] == "impossible"
    if wrong.any():
        raise CheckFailed(f"{source}: {wrong.sum()} of {len(rows)} rows are impossible")
