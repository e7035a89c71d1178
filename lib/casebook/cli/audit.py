"""``casebook audit``: look for impossible rows of reported tables."""

from pathlib import Path

from casebook import audits, data
from casebook.cli.common import Json, argument, command_group, option, say, show
from casebook.errors import CheckFailed

app = command_group("audit", "Look for impossible rows of reported tables.")


@app.command()
def tables(
    source: argument(Path, "Table: row, accuracy, precision, recall, f1, n, positives."),
    n: option(int | None, "Number of claims, in place of a column n.", "--n") = None,
    positives: option(int | None, "Number of positive claims, in place of a column.") = None,
    decimals: option(
        int | None, "Decimals of all values; default: as shown.", min=0, max=12
    ) = None,
    rounding: option(str, "How values were rounded: half, down or either.") = "either",
    as_json: Json = False,
):
    """Find reported scores that no confusion matrix gives; exit 2 if there are any.

    Example: casebook audit tables reported.csv --n 10 --positives 8
    """
    reported = audits.tables.read_tables(source, n, positives)
    say(data.tables.reading_text(reported.attrs["reading"]))
    rows = audits.tables.check_tables(reported, decimals=decimals, rounding=rounding)
    parts = {
        "summary": audits.tables.count_impossible(rows),
        "rows": rows,
    }
    sections = []
    for name, frame in parts.items():
        if len(frame):
            sections += [[f"{name}:"], frame]
    show(parts, as_json, *sections, digits=".4g")
    wrong = rows["verdict"] == "impossible"
    if wrong.any():
        raise CheckFailed(f"{source}: {wrong.sum()} of {len(rows)} rows are impossible")
