"""``casebook audit``: look for impossible rows of reported tables."""

from casebook import audits, data
from casebook.cli.commands import command, command_group
from casebook.cli.common import say, show
from casebook.errors import CheckFailed

group = command_group("audit", "Look for impossible rows of reported tables.")


@command(group)
def tables(
    source,
    n,
    positives,
    decimals,
    rounding,
    as_json,
):
    """Find reported scores that no confusion matrix gives; exit 2 if there are any.

    Example: casebook audit tables reported.csv --n 10 --positives 8
    """
    reported = audits.tables.read_tables(source, n, positives)
    say(data.tables.reading_text(reported.attrs["reading"]))
    rows = audits.tables.check_tables(reported, decimals=decimals, rounding=rounding)
    report = {"summary": audits.tables.count_impossible(rows), "rows": rows}
    show(report, as_json, digits=".4g")
    n_wrong = (rows["verdict"] == "impossible").sum()
    if n_wrong:
        raise CheckFailed(f"{source}: {n_wrong} of {len(rows)} rows are impossible")
