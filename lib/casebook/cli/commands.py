"""How commands are declared: ``commands.yml`` has their texts, arguments, options and defaults."""

import functools
import inspect
import math
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from casebook.errors import InputError
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
KEYWORD = Parameter.KEYWORD_ONLY

app = typer.Typer(
    name="casebook", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
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
        group.command(words[-1], cls=Command, help=text)(declared(function, " ".join(words)))
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
    if default is None and not is_required:
        kind = kind | None
    names = flags if make is typer.Option else ()
    annotation = Annotated[kind, make(*names, **settings)]
    if is_required:
        default = Parameter.empty
    return Parameter(name, KEYWORD, default=default, annotation=annotation)


# Repeated options of a form such as NAME=VALUE or LABEL:KIND.
def _pairs(texts, form):
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
        flags = [flag for each in self.params if each.name in also for flag in each.opts]
        if flags:
            formatter.write_text(f"Also {' '.join(flags)}: see casebook --help.")

    def invoke(self, context):
        """Run the command, unless an option has no effect beside another one, or no end."""
        flags = {each.name: max(each.opts, key=len) for each in self.params}
        for name, given in context.params.items():
            for value in given if isinstance(given, list | tuple) else [given]:
                if isinstance(value, float) and not math.isfinite(value):
                    raise InputError(f"{flags[name]} must be a finite number, not {value}")
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
    is_plain = isinstance(parameter.default, str | int | float) and not parameter.is_flag
    default = f" [{parameter.default}]" if is_plain else ""
    return ", ".join(parameter.opts), f"{parameter.help}{default}"
