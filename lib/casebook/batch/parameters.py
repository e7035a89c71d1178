"""The parameters of notebooks: names, types and defaults, and what paths among them mean.

They are read from the cell tagged ``parameters``; nothing is executed, and no kernel is started.
Papermill's `inspect_notebook` reads that cell by a regular expression: it does not see parameters
annotated as ``Path | None`` or ``Literal["all", "run"]``, and cuts texts with ``#``.
"""

import ast
import contextlib
import json
import os
import re
import typing
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from casebook import parameters as types
from casebook.credentials import holds_secret, is_bare_login
from casebook.errors import InputError
from casebook.models.language import URL_VARIABLE
from casebook.paths import data_folder, home_path
from casebook.plugins import is_plugin, source_of
from casebook.readers import did_you_mean, parse_yaml
from casebook.runs.locations import in_project, recorded, with_paths

DATA_PARAMETERS = (
    "dataset",
    "datasets",
    "rating_set",
    "paraphrases",
    "transfer_sets",
)
"""Parameters that name data: cards, folders and functions, which are hashed."""

MODEL_PARAMETERS = ("encoder", "reranker", "second_encoder", "stance", "judge", "further_judges")
"""Parameters that name models, which are hashed."""

SETTINGS = "pipeline"
"""Parameter that holds settings by name, of which the reranker is a model."""

_NAMES = vars(typing) | vars(types) | {"Path": str}
"""What annotations may be made of."""

_NAMING = {"str", "Path", "list", "dict", "None"}
"""Of what annotations are made that take names and files only."""

_LONGEST = 100  # characters of a wrong value that an error repeats
_SUFFIXES = {".csv", ".json", ".jsonl", ".md", ".txt", ".tsv", ".xlsx", ".yaml", ".yml"}


def as_list(value):
    """The value of a parameter, which may be None, one name or several, as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


# --- what a notebook declares


def declarations(source):
    """The statements of a notebook's parameters, by name."""
    source = Path(source)
    if not source.is_file():
        raise InputError(f"{source}: no such notebook")
    try:
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        statements = ast.parse("".join(tagged[0]["source"])).body if tagged else []
    except (
        ValueError,
        SyntaxError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{source}: is no notebook, or is damaged: {why}") from error
    by_name = {}
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            targets = getattr(statement, "targets", None) or [statement.target]
            by_name |= {ast.unparse(target): statement for target in targets}
    return by_name


def defaults(source):
    """The values that a notebook's parameters have if nothing else is given."""
    values = {}
    for name, statement in declarations(source).items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(statement.value)
    return values


def annotations(source):
    """The annotations of a notebook's parameters, as text."""
    texts = dict.fromkeys((*DATA_PARAMETERS, *MODEL_PARAMETERS), "str | list[str] | None")
    declared = declarations(source)
    for name, statement in declared.items():
        if isinstance(statement, ast.AnnAssign):
            texts[name] = ast.unparse(statement.annotation)
    return {name: text for name, text in texts.items() if name in declared}


def values_of(texts, sources):
    """Values of ``-p name=text``: text where notebooks take names and files only, else YAML.

    What is quoted is YAML everywhere, and lists and objects are where they may be given, unless a
    file is so named; their parts are texts then.
    """
    known = {}
    for source in sources:
        for name, annotation in annotations(source).items():
            known.setdefault(name, set()).update(re.findall(r"\w+", annotation))
    values = {}
    for name, text in texts.items():
        kinds = known.get(name, {"any"})
        is_name = kinds <= _NAMING
        if is_name and "None" in kinds and text in ("", "null"):
            values[name] = None
        elif is_name and _is_plain(text, kinds):
            values[name] = text
        else:
            values[name] = parse_yaml(text, f"-p {name}", as_text=is_name)
    return values


def _is_plain(text, kinds):
    """Whether a value is the text as it is, and neither quoted nor a list or an object."""
    may_be = {"[": "list" in kinds, "{": "dict" in kinds, '"': True, "'": True}
    return not may_be.get(text[:1], False) or os.path.exists(text)  # noqa: PTH110 (of any length)


def path_parameters(source):
    """The parameters that name files or folders, and whether names of ours may stand there."""
    named = (*DATA_PARAMETERS, *MODEL_PARAMETERS)
    return {
        name: "str" in text
        for name, text in annotations(source).items()
        if "Path" in text and name not in named
    }


def resolved(parameters, source):
    """Parameters in which files and folders have whole paths, for hashes and records."""
    files = path_parameters(source)
    changed = dict(parameters)
    for name, value in parameters.items():
        if name in DATA_PARAMETERS:
            changed[name] = with_paths(value, _whole_with_separator)
        elif name in MODEL_PARAMETERS or name in files:
            changed[name] = with_paths(value, _whole)
        elif name == SETTINGS and isinstance(value, dict):
            changed[name] = resolved(value, source)
    return changed


def _settings(parameters):
    """Settings of a pipeline, which may name models and objects as parameters do."""
    settings = parameters.get(SETTINGS)
    return settings if isinstance(settings, dict) else {}


def _whole(path):
    place = home_path(path)
    return str(place.resolve()) if path and place.exists() else path


def _whole_with_separator(path):
    return _whole(path) if "/" in path else path


def portable_parameters(parameters, source):
    """Parameters in which paths count from the project: no record shows the author's."""
    files = path_parameters(source)
    changed = {}
    for name, value in resolved(parameters, source).items():
        if name in (*DATA_PARAMETERS, *MODEL_PARAMETERS):
            changed[name] = recorded(value, folder=True)
        elif name in files:
            changed[name] = recorded(value)
        elif name == SETTINGS and isinstance(value, dict):
            changed[name] = portable_parameters(value, source)
        else:  # its content is not hashed, so two of one name must not become one
            changed[name] = in_project(value)
    return changed


def models(parameters):
    """The models that parameters and settings name, by parameter."""
    values = _settings(parameters) | parameters
    return {name: values[name] for name in MODEL_PARAMETERS if name in values}


def plugin_sources(parameters):
    """The sources of the user's own objects that parameters and settings name, by parameter."""
    found = {}
    for name, value in (_settings(parameters) | parameters).items():
        for text in filter(is_plugin, as_list(value)):
            with contextlib.suppress(InputError):  # a text with a colon
                found.setdefault(name, []).append(source_of(text))
    return found


# --- what is refused


def check(source, parameters):
    """Refuse names that a notebook lacks, values of wrong types, and files that are not there."""
    declared = declarations(source)
    for name in parameters.keys() - declared.keys():
        raise InputError(
            f"{Path(source).name} has no parameter {name}{did_you_mean(name, declared)}; "
            f"it takes {', '.join(sorted(declared))}"
        )
    usual = defaults(source)
    refuse_secrets(usual | parameters)
    for name, annotation in annotations(source).items():
        if name in parameters and repr(parameters[name]) != repr(usual.get(name)):
            check_type(name, annotation, parameters[name])
            _check_place(name, annotation, parameters[name])


def check_type(name, annotation, value):
    """Refuse a value that an annotation excludes; pydantic says why."""
    holder = type("Parameter", (), {"__annotations__": {"kind": annotation}})
    try:
        kind = typing.get_type_hints(holder, None, _NAMES, include_extras=True)["kind"]
    except (NameError, AttributeError, SyntaxError, TypeError):  # a type of the notebook's own
        return
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        wanted = [fault["msg"].removeprefix("Input should be ") for fault in error.errors()]
        text = repr(value)
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        raise InputError(
            f"{name} should be {' or '.join(dict.fromkeys(wanted))}, not {shown}"
        ) from None


def _check_place(name, annotation, value):
    """Refuse a file or folder that is not there, and a folder where names alone are taken."""
    for text in as_list(value):
        if name in DATA_PARAMETERS:
            if annotation in ("str", "str | None") and data_folder(text):
                raise InputError(
                    f"{name} {text!r}: this notebook takes no folder as {name}, only a name that "
                    "'casebook data list' shows"
                )
        elif names_file(text, annotation) and not home_path(text).exists():
            raise InputError(f"{name} {text!r}: no such file or folder")


def names_file(text, annotation):
    """Whether the value of a parameter with this annotation is a path rather than a name."""
    if "Path" not in annotation or not isinstance(text, str):
        return False
    is_path = "/" in text or Path(text).suffix.lower() in _SUFFIXES
    return "str" not in annotation or is_path or Path(text).exists()


def refuse_secrets(values):
    """Refuse addresses with a password or a key: parameters are kept and published."""
    for name, value in values.items():
        is_login = name not in MODEL_PARAMETERS and is_bare_login(value)  # entailment:model@v2
        if holds_secret(value) or is_login:
            raise InputError(
                f"{name}: the address holds a password or a key, and parameters are published: "
                f"leave it out, and set {URL_VARIABLE} for a language model, or let your notebook "
                "read another variable of the environment"
            )
