"""Output that the commands share: JSON, lines for people, tables."""

import json
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(value, **options):
    """Print a value as indented JSON."""
    typer.echo(json.dumps(value, indent=2, **options))


def show(value, as_json, lines):
    """Print JSON, or lines for people."""
    if as_json:
        print_json(value, ensure_ascii=False)
        return
    for line in lines:
        typer.echo(line)


def filled_lines(values):
    """Yield a line for each value that is there."""
    for name, value in values.items():
        items = value if isinstance(value, list) else [value]
        texts = [f"{item:.6g}" if isinstance(item, float) else str(item) for item in items]
        if value is not None and None not in items and items:
            yield f"{name}: {', '.join(texts)}"


def show_report(report, as_json):
    """Print a report that knows both of its forms."""
    if as_json:
        print_json(report.as_dict(), allow_nan=False)
    else:
        typer.echo(report.as_text())


def records(tables):
    """Give tables as lists of rows, undefined values as None."""
    return {name: json.loads(table.to_json(orient="records", double_precision=15)) for name, table in tables.items()}


def show_tables(tables, as_json):
    """Print tables as JSON, or one below the other."""
    if as_json:
        print_json(records(tables))
        return
    for name, table in tables.items():
        typer.echo(f"\n{name}")
        empty = "nothing found" if name == "leaks" else "nothing to report"
        filled = table.astype(object).where(table.notna(), "-")
        text = filled.to_string(index=False, float_format="{:.4g}".format)
        typer.echo(text if len(table) else empty)


def table_lines(rows, columns):
    """Yield an aligned text table."""
    from casebook.runs.record import cell

    grid = [list(columns), *([cell(row[c]) for c in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    for line in grid:
        yield "  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip()
