"""How commands are declared: ``commands.yml`` has their arguments, options and defaults."""

import functools
import inspect
import typing
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from casebook.errors import InputError
from casebook.readers import read_yaml

DECLARED = read_yaml(Path(__file__).with_name("commands.yml"))
SHARED = DECLARED["shared"]["options"]  # of several commands
TYPES = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "path": Path,
    "paths": list[Path],
    "texts": list[str],
    "pairs": list[str],
    "numbers": list[float],
}
SHARED_OPTIONS = "Shared options. " + DECLARED["shared"]["text"]
SCREEN = 80  # columns

app = typer.Typer(
    name="casebook", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


def command_group(name, text):
    """A group of commands below ``casebook``."""
    group = typer.Typer(name=name, help=text, no_args_is_help=True)
    app.add_typer(group)
    return group


def command(group=app, name=None):
    """Make a function a command, which takes what is declared under its name."""

    def register(function):
        words = [name or function.__name__]
        if group is not app:
            words.insert(0, group.info.name)
        group.command(words[-1], cls=Command)(declared(function, " ".join(words)))
        return function

    return register


def declared(function, words):
    """A function with the signature that is declared, as typer reads it."""
    declaration = DECLARED[words]
    options = {name: SHARED[name] for name in declaration.get("also", ())}
    options = declaration.get("options", {}) | options
    arguments = declaration.get("arguments", {})
    parameters = [_parameter(*item, typer.Argument) for item in arguments.items()]
    parameters += [_parameter(*item, typer.Option) for item in options.items()]
    if "context" in inspect.signature(function).parameters:
        parameters.append(_keyword("context", Parameter.empty, typer.Context))
    forms = {name: option["metavar"] for name, option in options.items() if _are_pairs(option)}

    @functools.wraps(function)
    def callback(**values):
        for name, form in forms.items():
            values[name] = _pairs(values[name], form)
        return function(**values)

    callback.__signature__ = Signature(parameters)
    return callback


def _parameter(name, settings, make):
    settings = {"help": settings} if isinstance(settings, str) else dict(settings)
    flags = settings.pop("flags", "--" + name.replace("_", "-")).split()
    is_required = settings.pop("required", make is typer.Argument)
    default = settings.pop("default", None)
    kind = TYPES[settings.pop("type", "str" if default is None else type(default).__name__)]
    if kind is bool:
        default = bool(default)
    elif default is None and not is_required:
        default = [] if typing.get_origin(kind) else None
        kind = kind if default == [] else kind | None
    info = make(*flags, **settings) if make is typer.Option else make(**settings)
    return _keyword(name, Parameter.empty if is_required else default, Annotated[kind, info])


def _keyword(name, default, kind):
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _are_pairs(option):
    return isinstance(option, dict) and option.get("type") == "pairs"


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
        own = []
        shared = []
        for parameter in self.params:
            if parameter.name in also:
                shared += parameter.opts
            elif parameter.param_type_name == "argument":
                own.append((parameter.metavar or parameter.name.upper(), parameter.help))
            else:
                own.append((", ".join(parameter.opts), _with_default(parameter)))
        if own:
            formatter.write_dl(own, col_max=SCREEN // 4)
        if shared:
            formatter.write_text(f"Also {' '.join(shared)}: see casebook --help.")

    def invoke(self, context):
        """Run the command, unless an option was given that has no effect beside another one."""
        for condition, options in _declaration(context).get("excludes", {}).items():
            where = _holding(context, condition)
            for name in options:
                if where and context.get_parameter_source(name).name == "COMMANDLINE":
                    flag = _flag(context, name)
                    raise InputError(f"{flag} has no effect {where}: leave one of them out")
        return super().invoke(context)


def _declaration(context):
    return DECLARED[" ".join(context.command_path.split()[1:])]


def _with_default(option):
    is_plain = isinstance(option.default, str | int | float) and not option.is_flag
    return f"{option.help} [{option.default}]" if is_plain else option.help


def _holding(context, condition):
    """A condition in words if it holds: ``run``, ``no corpus``, ``shift=zero``; else None."""
    is_absent = condition.startswith("no ")
    name, _, value = condition.removeprefix("no ").partition("=")
    found = context.params[name]
    holds = found == value if value else bool(found) != is_absent
    where = "without" if is_absent else "with"
    return f"{where} {_flag(context, name)} {value}".rstrip() if holds else None


def _flag(context, name):
    (parameter,) = (each for each in context.command.params if each.name == name)
    return max(parameter.opts, key=len)
