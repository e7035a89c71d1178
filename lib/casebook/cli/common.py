"""Options and printing that the commands share."""

import json
import math
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from casebook import models
from casebook.errors import InputError
from casebook.files import write_json


def option(kind, text, *names, **settings):
    """Type of an option, with its help and names, as typer reads it from an annotation."""
    return Annotated[kind, typer.Option(*names, help=text, **settings)]


def argument(kind, text, **settings):
    """Type of an argument, with its help."""
    return Annotated[kind, typer.Argument(help=text, **settings)]


def command_group(name, text):
    """A group of commands, with its help."""
    return typer.Typer(name=name, help=text, no_args_is_help=True)


Json = option(bool, "Print JSON.", "--json")
Seed = option(int, "Seed of all random choices.", min=0)
Resamples = option(int, "Number of bootstrap resamples.", min=100, max=1_000_000)
Out = option(Path | None, "Write to this file.", "-o", "--out")
Original = option(bool, "Use the original definitions of the evaluated system.", "--original")
Measures = option(
    list[str] | None,
    "Such as nDCG@10, map, P@5, original:ndcg@3, or module:object; repeatable.",
    "-m",
    "--measure",
)
DOCUMENTS = "Folder of documents: corpus.jsonl (BEIR), or .txt and .md files"
DEFAULT_MEASURES = ["nDCG@10", "RR@10", "R@100", "AP"]

# What a user says of a table, see `casebook.data.tables`.
Columns = option(list[str] | None, "ROLE=COLUMN, or its path a.0.b; repeatable.", "--columns")
Values = option(
    list[str] | None, "WORD=MEANING of labels and scores, WORD= if missing; repeatable.", "--values"
)
Rows = option(str | None, "Path of the list in a JSON object, or sheet of a workbook.", "--rows")
Lists = option(
    str, "How a cell of a CSV holds texts: json, python, one, or the mark between them.", "--lists"
)

RunName = option(str, "Name of the run: results/<run>.", "--run")
Workers = option(int, "Notebooks that run at a time on this machine.", min=1)
Scheduler = option(str | None, "Dask scheduler, such as tls://host:8786.")
Timeout = option(float | None, "Seconds that one notebook may take.", min=1)
# How models run: `use_models`. Commands without these options read the environment alone.
Device = option(
    str | None,
    "Where models run: auto, cpu, cuda, cuda:N or mps; else CASEBOOK_DEVICE, else cpu.",
)
Precision = option(
    str | None,
    "In which they compute: float32, bfloat16 or float16; else CASEBOOK_PRECISION, else float32.",
)
BatchSize = option(int | None, "Texts that they read at a time; else CASEBOOK_BATCH_SIZE.", min=1)


def use_models(device, precision, batch_size):
    """Set how this command, and the processes that it starts, run models; refuse what is absent."""
    settings = models.device.model_settings(device, precision, batch_size)
    if (device, precision, batch_size) != (None, None, None):
        os.environ.update(settings.environment())


# --- what is given


def given(context, name):
    """Whether an option was given, rather than left at its default."""
    return context.get_parameter_source(name).name == "COMMANDLINE"


def exclusive(context, option, *without_effect, but=""):
    """Refuse options that mean nothing with another one that was given."""
    if given(context, option):
        where = f"with {but or _flag(context, option)}"
        refuse_idle(context, without_effect, where, "leave one of them out")


def refuse_idle(context, options, where, remedy="leave it out"):
    """Refuse options that were given where they have no effect."""
    for name in options:
        if given(context, name):
            raise InputError(f"{_flag(context, name)} has no effect {where}: {remedy}")


def _flag(context, name):
    (parameter,) = (each for each in context.command.params if each.name == name)
    return max(parameter.opts, key=len)


def pairs(texts, mark, form):
    """Repeated options of the form NAME=VALUE."""
    values = {}
    for text in texts or []:
        name, _, value = text.partition(mark)
        if not name or not value:
            raise InputError(f"{text!r} is not of the form {form}")
        if values.setdefault(name, value) != value:
            raise InputError(f"{name!r} is named twice: {form} needs different names")
    return values


def said(columns, values, rows, **lists):
    """What options say of a table, for its reader; a word of ``--values`` may hold "="."""
    meanings = {}
    for text in values or []:
        word, between, meaning = text.rpartition("=")
        if not between:
            raise InputError(f"{text!r} is not of the form --values WORD=MEANING")
        meanings[word] = meaning
    columns = pairs(columns, "=", "--columns ROLE=COLUMN")
    return {"columns": columns, "values": meanings, "rows": rows, **lists}


# --- what is printed

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"  # all but new lines and tabs


def visible(text):
    r"""Text whose control characters are seen, as \x1b, and do nothing; those of direction too."""
    return re.sub(f"[{_CONTROLS}]", _escaped, text)


def in_line(text):
    """Text of others as part of one line: `visible`, new lines and tabs too."""
    return re.sub(f"[\t\n{_CONTROLS}]", _escaped, text)


def _escaped(match):
    return match[0].encode("unicode_escape").decode()


def echo(text, err=False, nl=True):
    """Print text for people; what it quotes of the data does nothing to their terminal."""
    typer.echo(visible(text), err=err, nl=nl)


def echo_data(text):
    """Print a format that programs read, CSV or TREC: the data as they are, on a terminal too."""
    # Without color, what looks like a colour would be left out of what is piped.
    typer.echo(text, nl=False, color=True)


def say(line):
    """Tell how the work goes, on standard error: standard output is for results."""
    echo(line, err=True)


def print_json(value):
    """Print JSON, see `plain`."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False, default=str)
    typer.echo(re.sub(f"[{_CONTROLS}]", lambda match: f"\\u{ord(match[0]):04x}", text))


def plain(value):
    """What JSON can hold: frames as lists of rows, undefined numbers as None."""
    if hasattr(value, "to_json"):
        return json.loads(value.to_json(orient="records", double_precision=15, date_format="iso"))
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_text(frame):
    """A table as CSV whose texts no spreadsheet runs."""
    from casebook.sheets import table_for_csv

    return table_for_csv(frame).to_csv(index=False, lineterminator="\n")


def print_frame(frame, form="text", digits="z.4f"):
    """Print a table as text, Markdown or CSV; what is undefined is a dash."""
    if form == "csv":
        echo_data(csv_text(frame))
        return

    def text_of(cell):
        return format(cell, digits) if isinstance(cell, float) else in_line(str(cell))

    sides = ["left" if frame[name].dtype.kind in "OUT" else "right" for name in frame]
    cells = frame.astype(object).where(frame.notna(), "-").map(text_of)
    if form == "markdown":
        echo(cells.to_markdown(index=False, disable_numparse=True, colalign=sides))
    else:
        echo(cells.to_string(index=False) if len(cells) else "none")


def show(value, as_json, *parts, digits="z.4f"):
    """Print JSON, or for people lines and tables."""
    if as_json:
        print_json(value)
        return
    for part in parts:
        if hasattr(part, "columns"):
            print_frame(part, digits=digits)
            continue
        for line in part:
            echo(line)


def show_report(report, as_json, out, *parts):
    """Write a report to a file, if one is named, and print it as JSON or as lines and tables."""
    if out is not None:
        write_json(out, report)
    show(report, as_json, *parts, [str(out)] if out else [])


def show_tables(tables, as_json):
    """Print tables as JSON, or one below the other."""
    parts = []
    for name, table in tables.items():
        parts += [[f"\n{name}"], table if len(table) else ["nothing to report"]]
    show(tables, as_json, *parts, digits=".4g")


def filled_lines(values):
    """A line for each value that is there."""
    for name, value in values.items():
        items = value if isinstance(value, list) else [value]
        if items and None not in items:
            texts = [f"{item:.6g}" if isinstance(item, float) else str(item) for item in items]
            yield f"{name}: {', '.join(texts)}"
