"""How commands are declared, and what they print.

``commands.yml`` has their texts, arguments, options and defaults. They print lines and tables for
people, JSON for programs.
"""

import functools
import inspect
import json
import math
import os
import re
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from casebook import models
from casebook.errors import InputError
from casebook.files import write_json
from casebook.readers import read_yaml

DECLARED = read_yaml(Path(__file__).with_name("commands.yml"))
SHARED = DECLARED["shared"]["options"]  # of several commands
# Type of each kind, and what an option that is not given is.
KINDS = {
    "bool": (bool, False),
    "int": (int, None),
    "float": (float, None),
    "str": (str, None),
    "path": (Path, None),
    "paths": (list[Path], []),
    "texts": (list[str], []),
    "pairs": (list[str], []),
    "numbers": (list[float], []),
}
SHARED_OPTIONS = "Shared options. " + DECLARED["shared"]["text"]
SCREEN = 80  # columns
NEW_LINES = "\t\n"
# All control characters but new lines and tabs.
CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
KEYWORD = Parameter.KEYWORD_ONLY

app = typer.Typer(
    name="casebook",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def command_group(name, text):
    group = typer.Typer(name=name, help=text, no_args_is_help=True)
    app.add_typer(group)
    return group


def command(group=app, name=None):
    """Make a function a command, which takes what is declared under its name."""

    def register(function):
        words = [name or function.__name__]
        if group is not app:
            words.insert(0, group.info.name)
        text = DECLARED[" ".join(words)]["help"]
        group.command(words[-1], cls=Command, help=text)(
            declared(function, " ".join(words))
        )
        return function

    return register


def declared(function, words):
    declaration = DECLARED[words]
    shared = {name: SHARED[name] for name in declaration.get("also", ())}
    options = declaration.get("options", {}) | shared
    arguments = declaration.get("arguments", {})
    parameters = [_parameter(*each, typer.Argument) for each in arguments.items()]
    parameters += [_parameter(*each, typer.Option) for each in options.items()]
    if "context" in inspect.signature(function).parameters:
        parameters.append(Parameter("context", KEYWORD, annotation=typer.Context))

    @functools.wraps(function)
    def callback(**values):
        for name, settings in options.items():
            if "metavar" in settings:
                values[name] = _pairs(values[name], settings["metavar"])
        return function(**values)

    callback.__signature__ = Signature(parameters)
    return callback


def _parameter(name, settings, make):
    settings = {"help": settings} if isinstance(settings, str) else dict(settings)
    flags = settings.pop("flags", "--" + name.replace("_", "-")).split()
    is_required = settings.pop("required", make is typer.Argument)
    kind, empty = KINDS[settings.pop("type", "str")]
    default = settings.pop("default", empty)
    names = flags if make is typer.Option else ()
    annotation = Annotated[kind, make(*names, **settings)]
    if is_required:
        default = Parameter.empty
    return Parameter(name, KEYWORD, default=default, annotation=annotation)


def _pairs(texts, form):
    """Repeated options of a form such as NAME=VALUE or LABEL:KIND."""
    mark = "=" if "=" in form else ":"
    found = {}
    for text in texts:
        name, between, value = text.partition(mark)
        if not name or not between:
            raise InputError(f"{text!r} is not of the form {form}")
        if found.setdefault(name, value) != value:
            raise InputError(f"{name!r} is named twice: {form} needs different names")
    return found


class Command(TyperCommand):
    """A command whose help fits on one screen, and that refuses options without effect."""

    def format_help(self, context, formatter):
        """Write usage, purpose, example and a line an option; shared ones by their names."""
        formatter.width = SCREEN
        self.format_usage(context, formatter)
        formatter.write_text(inspect.cleandoc(self.help))
        also = _declaration(context).get("also", ())
        rows = [_help_row(each) for each in self.params if each.name not in also]
        if rows:
            formatter.write_dl(rows, col_max=SCREEN // 4)
        flags = [
            flag for each in self.params if each.name in also for flag in each.opts
        ]
        if flags:
            formatter.write_text(f"Also {' '.join(flags)}: see casebook --help.")

    def invoke(self, context):
        """Run the command, unless an option has no effect beside another one, or no end."""
        flags = {each.name: max(each.opts, key=len) for each in self.params}
        for name, given in context.params.items():
            for value in given if isinstance(given, list | tuple) else [given]:
                if isinstance(value, float) and not math.isfinite(value):
                    raise InputError(
                        f"{flags[name]} must be a finite number, not {value}"
                    )
        for condition, options in _declaration(context).get("excludes", {}).items():
            name = condition.removeprefix("no ")
            word = "with" if name == condition else "without"
            holds = bool(context.params[name]) == (word == "with")
            for other in options:
                if holds and context.get_parameter_source(other).name == "COMMANDLINE":
                    where = f"{flags[other]} has no effect {word} {flags[name]}"
                    raise InputError(f"{where}: leave one of them out")
        return super().invoke(context)


def _declaration(context):
    return DECLARED[" ".join(context.command_path.split()[1:])]


def _help_row(parameter):
    if parameter.param_type_name == "argument":
        return parameter.metavar or parameter.name.upper(), parameter.help
    is_plain = (
        isinstance(parameter.default, str | int | float) and not parameter.is_flag
    )
    default = f" [{parameter.default}]" if is_plain else ""
    return ", ".join(parameter.opts), f"{parameter.help}{default}"


# --- what commands print


def use_models(device, precision, batch_size):
    settings = models.device.model_settings(device, precision, batch_size)
    os.environ.update(settings.environment())


def visible(text, others=""):
    r"""Text whose control characters are seen, as \x1b, and do nothing; those of direction too."""
    hidden = f"[{CONTROLS}{others}]"
    return re.sub(
        hidden, lambda found: found[0].encode("unicode_escape").decode(), text
    )


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
        text = json.dumps(
            plain(report), indent=2, ensure_ascii=False, allow_nan=False, default=str
        )
        typer.echo(
            re.sub(f"[{CONTROLS}]", lambda found: f"\\u{ord(found[0]):04x}", text)
        )
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
            yield from lines_of(
                {f"{name} {inner}": each for inner, each in value.items()}
            )
        else:
            items = value if isinstance(value, list | tuple) else [value]
            texts = [_short(item) for item in items if item is not None]
            if any(texts):
                yield f"{name}: {', '.join(texts)}"


def _short(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def table_text(frame, digits="z.4f", markdown=False):
    """A table as text or Markdown; what is undefined is a dash, and reasons are words."""
    from casebook.tables import reason_text

    def text_of(cell):
        if isinstance(cell, float):
            return format(cell, digits)
        return visible(str(cell), NEW_LINES)

    if frame.empty:
        return "none"
    if "reason" in frame:
        frame = frame.assign(
            reason=frame["reason"].map(reason_text, na_action="ignore")
        )
    cells = frame.astype(object).where(frame.notna(), "-").map(text_of)
    if markdown:
        return cells.to_markdown(index=False, disable_numparse=True)
    return cells.to_string(index=False)


def plain(value):
    """What JSON can hold: frames as lists of rows, undefined numbers as None."""
    if hasattr(value, "to_json"):
        return json.loads(
            value.to_json(orient="records", double_precision=15, date_format="iso")
        )
    if hasattr(value, "number"):  # an interval
        return plain(value.number())
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
