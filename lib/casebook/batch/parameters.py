"""The parameters of notebooks: names, types and defaults, and what paths among them mean.

They are read from the cell tagged ``parameters``; nothing is executed, and no kernel is started.
Papermill's `inspect_notebook` reads that cell by a regular expression: it does not see parameters
annotated as ``Path | None`` or ``Literal["all", "run"]``, and cuts texts with ``#``.
"""

import ast
import contextlib
import functools
import json
import typing
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from casebook import parameters as types
from casebook.credentials import holds_secret
from casebook.errors import InputError
from casebook.models.language import URL_VARIABLE
from casebook.paths import data_folder, home_path
from casebook.plugins import is_plugin, source_of
from casebook.readers import did_you_mean
from casebook.runs.locations import in_project, recorded, with_paths

DATA_PARAMETERS = (
    "dataset",
    "datasets",
    "rating_set",
    "annotated_on",
    "paraphrases",
    "judgments",
    "transfer_sets",
)
"""Parameters that name data: cards, folders and functions, which are hashed."""

MODEL_PARAMETERS = ("encoder", "reranker", "second_encoder", "stance", "judge", "further_judges")
"""Parameters that name models, which are hashed."""

_NAMES = vars(typing) | vars(types) | {"Path": str}
"""What annotations may be made of."""

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
    except (ValueError, SyntaxError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{source}: is no notebook, or is damaged: {why}") from error
    by_name = {}
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            for target in getattr(statement, "targets", None) or [statement.target]:
                by_name[ast.unparse(target)] = statement
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


def path_parameters(source):
    """The parameters that name files or folders, and whether names of ours may stand there."""
    named = (*DATA_PARAMETERS, *MODEL_PARAMETERS)
    return {
        name: "str" in text
        for name, text in annotations(source).items()
        if "Path" in text and name not in named
    }


# --- what is refused


def check(source, parameters):
    """Refuse names that the notebook lacks, wrong types, and files that are not there."""
    declared = declarations(source)
    for name in parameters.keys() - declared.keys():
        near = did_you_mean(name, declared)
        raise InputError(
            f"{Path(source).name} has no parameter {name}{near}; "
            f"it takes {', '.join(sorted(declared))}"
        )
    refuse_secrets(parameters)
    usual = defaults(source)
    for name, text in annotations(source).items():
        if name in parameters and (name not in usual or parameters[name] != usual[name]):
            _check_type(name, text, parameters[name])
            _check_place(source, name, text, parameters[name])


def _check_type(name, annotation, value):
    kind = typing.Any
    holder = type("Parameter", (), {"__annotations__": {"kind": annotation}})
    with contextlib.suppress(NameError, AttributeError, SyntaxError, TypeError):  # of the user's own
        kind = typing.get_type_hints(holder, None, _NAMES, include_extras=True)["kind"]
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        wanted = [fault["msg"].removeprefix("Input should be ") for fault in error.errors()]
        text = repr(value)
        shown = text if len(text) <= 100 else f"{text[:100]}..."
        raise InputError(
            f"{name} should be {' or '.join(dict.fromkeys(wanted))}, not {shown}"
        ) from None


def _check_place(source, name, annotation, value):
    for text in as_list(value):
        if name in DATA_PARAMETERS:
            if "Path" not in annotation and name in annotated and data_folder(text):
                raise InputError("")
        elif names_file(text, may_be_name="str" in annotation) and not home_path(text).exists():
            raise InputError(f"{name} {text!r}: no such file or folder")
