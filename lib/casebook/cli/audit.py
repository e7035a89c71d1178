"""``casebook audit``: look for defects in labels and in reported tables."""

import json
from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json

app = typer.Typer(help="Look for defects in labels and in reported tables.", no_args_is_help=True)


@app.callback()
def _group():
    """Look for defects in labels and in reported tables."""


@app.command()
def labels(
    source: Annotated[
        str, typer.Argument(metavar="PATH|DATASET", help="Data set, BEIR folder, TREC judgements, or CSV of positions.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Of the permutations.")] = 0,
    as_json: Json = False,
):
    """Audit relevance labels; exit 2 if a check is flagged.

    A flag means: beyond what the natural structure of a collection gives. A pattern is
    flagged if labels in random order do not make it, no sound collection that we know
    goes as far, and the words of the questions do not speak for their labels.

    Example: casebook audit labels pdpabench --json
    """
    from casebook.audits.labels import audit_labels

    finish(audit_labels(source, seed), as_json)


@app.command()
def tables(
    source: Annotated[Path, typer.Argument(help="CSV or JSON of reported rows, see the methods page.")],
    n: Annotated[int | None, typer.Option("--n", help="Claims, for rows that do not say.")] = None,
    positives: Annotated[int | None, typer.Option(help="Positive claims, for rows that do not say.")] = None,
    decimals: Annotated[int | None, typer.Option(min=0, max=12, help="Of all values; else as shown.")] = None,
    rounding: Annotated[str, typer.Option(help="half, down or either.")] = "either",
    as_json: Json = False,
):
    """Say which reported scores no confusion table gives; exit 2 if there are any.

    Example: casebook audit tables reported.csv --n 10 --positives 8
    """
    from casebook.audits import tables as checks
    from casebook.audits.tables import COLUMNS, read_tables
    from casebook.errors import CheckFailed

    reported = read_tables(source, n, positives)
    unread = [name for name in reported if name not in COLUMNS]
    if unread:
        typer.echo(f"note: {source}: columns not read: {', '.join(unread)}", err=True)
    rows = checks.check_tables(reported, decimals=decimals, rounding=rounding)
    parts = {"summary": checks.summary(rows), "rows": rows, "conflicts": checks.conflicts(rows)}
    _show_parts(parts, as_json)
    wrong = rows["verdict"] == "impossible"
    if wrong.any():
        raise CheckFailed(f"{source}: {wrong.sum()} of {len(rows)} rows are impossible")


def _show_parts(parts, as_json):
    if as_json:
        found = {k: json.loads(v.to_json(orient="records")) for k, v in parts.items()}
        print_json(found)
        return
    for name, frame in parts.items():
        if len(frame):
            typer.echo(f"{name}:")
            typer.echo(frame.to_string(index=False, float_format="%.4g", na_rep=""))


def finish(audit, as_json):
    """Print an audit, and fail if anything is flagged."""
    from casebook.audits.labels import FLAGGED
    from casebook.errors import CheckFailed

    if as_json:
        typer.echo(audit.as_json())
    else:
        for finding in audit.findings:
            typer.echo(_line(finding))
    flagged = [f.check for f in audit.findings if f.verdict == FLAGGED]
    if flagged:
        raise CheckFailed(f"{audit.name}: flagged: {', '.join(flagged)}")


def _line(finding):
    from casebook.inference.intervals import bounds_text

    head = f"{finding.verdict:14} {finding.check}"
    if finding.value is None:
        return f"{head}: {finding.reason}"
    parts = [f"{finding.value:.3f} {bounds_text(finding.low, finding.high)}"]
    parts.append(f"n={finding.n}")
    if finding.chance is not None:
        parts.append(f"chance {finding.chance:.3f}")
    if finding.p is not None:
        parts.append(f"p={finding.p:.2g}")
    lines = [f"{head}: {', '.join(parts)} ({finding.statistic})"]
    return "\n".join([*lines, *(f"{'':15}{text}" for text in finding.evidence)])
