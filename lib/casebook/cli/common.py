"""What commands print: lines and tables for people, JSON for programs."""

import json
import math
import os
import re

import typer

from casebook import models
from casebook.files import write_json

CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"  # all but new lines and tabs


def use_models(device, precision, batch_size):
    settings = models.device.model_settings(device, precision, batch_size)
    os.environ.update(settings.environment())


def visible(text, hidden=CONTROLS):
    r"""Text whose control characters are seen, as \x1b, and do nothing; those of direction too."""
    return re.sub(f"[{hidden}]", lambda found: found[0].encode("unicode_escape").decode(), text)


def in_line(text):
    """Text of others as part of one line: `visible`, new lines and tabs too."""
    return visible(text, f"\t\n{CONTROLS}")


def echo(text, err=False, nl=True):
    """Print text for people; what it quotes of the data does nothing to their terminal."""
    typer.echo(visible(text), err=err, nl=nl)


def say(line):
    """Print how the work goes on standard error: standard output is for results."""
    echo(line, err=True)


def show(report, as_json, *parts, digits="z.4f", out=None):
    """Print a report as JSON, or for people lines and tables: those given, else all of it."""
    if out is not None:
        write_json(out, plain(report))
        parts = [*parts, str(out)]
    if as_json:
        text = json.dumps(plain(report), indent=2, ensure_ascii=False, allow_nan=False, default=str)
        typer.echo(re.sub(f"[{CONTROLS}]", lambda found: f"\\u{ord(found[0]):04x}", text))
        return
    for part in parts or lines_of(report):
        echo(table_text(part, digits) if hasattr(part, "columns") else part)


def lines_of(report):
    """A line for each value of a report that is there; tables below their names."""
    for name, value in report.items():
        if hasattr(value, "columns"):
            yield f"\n{name}"
            yield value
        elif isinstance(value, dict):
            yield from lines_of({f"{name} {inner}": each for inner, each in value.items()})
        else:
            items = value if isinstance(value, list | tuple) else [value]
            texts = [_short(item) for item in items if item is not None]
            if any(texts):
                yield f"{name}: {', '.join(texts)}"


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def table_text(frame, digits="z.4f", markdown=False):
    """A table as text or Markdown; what is undefined is a dash."""

    def text_of(cell):
        return format(cell, digits) if isinstance(cell, float) else in_line(str(cell))

    if frame.empty:
        return "none"
    cells = frame.astype(object).where(frame.notna(), "-").map(text_of)
    if markdown:
        return cells.to_markdown(index=False, disable_numparse=True)
    return cells.to_string(index=False)


def plain(value):
    """What JSON can hold: frames as lists of rows, undefined numbers as None."""
    if hasattr(value, "to_json"):
        return json.loads(value.to_json(orient="records", double_precision=15, date_format="iso"))
    if hasattr(value, "number"):  # an interval
        return plain(value.number())
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
