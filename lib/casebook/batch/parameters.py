"""The parameters of notebooks: names, types and defaults, and what paths among them mean.

They are read from the cell tagged ``parameters``; nothing is executed, and no kernel is started.
Papermill's `inspect_notebook` reads that cell by a regular expression: it does not see parameters
annotated as ``Path | None`` or ``Literal["all", "run"]``, and cuts texts with ``#``.
"""

import ast
import contextlib
import re
import typing
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from casebook import parameters as types
from casebook.credentials import holds_secret, is_bare_login
from casebook.errors import InputError
from casebook.models.language import URL_VARIABLE
from casebook.paths import home_path
from casebook.plugins import is_plugin, source_of
from casebook.readers import did_you_mean, parse_yaml, read_json
from casebook.runs.locations import exists, recorded, with_paths

# Parameters that name data, which are hashed: cards, folders and functions.
DATA_PARAMETERS = ("dataset", "datasets", "rating_set", "paraphrases", "sets")
# Parameters that name models, which may be folders.
MODEL_PARAMETERS = (
    *("encoder", "reranker", "second_encoder", "stance", "judge", "judges"),
    "pipeline",  # settings by name, of which the reranker is a model
)

_NAMES = vars(typing) | vars(types) | {"Path": str}  # what annotations may be made of

# --- what a notebook declares


def declarations(source):
    """Annotation (text or None) and syntax of the default of each parameter of a notebook."""
    notebook = read_json(source)
    statements = []
    try:
        for cell in notebook["cells"]:
            if "parameters" in cell["metadata"].get("tags", []):
                statements = ast.parse("".join(cell["source"])).body
    except (ValueError, SyntaxError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{source}: is no notebook, or is damaged: {error}") from error
    found = {}
    for statement in statements:
        if isinstance(statement, ast.AnnAssign):
            annotation = ast.unparse(statement.annotation)
            found[ast.unparse(statement.target)] = (annotation, statement.value)
        elif isinstance(statement, ast.Assign):
            for name in map(ast.unparse, statement.targets):
                annotation = (
                    "str | list[str] | None" if name in DATA_PARAMETERS else None
                )
                found[name] = (annotation, statement.value)
    return found


def defaults(source):
    values = {}
    for name, (_, value) in declarations(source).items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(value)
    return values


def annotations(source):
    declared = declarations(source).items()
    return {name: annotation for name, (annotation, _) in declared if annotation}


def values_of(texts, sources):
    """Values of ``-p name=text``: text where notebooks take names and files only, else YAML."""
    values = {}
    for name, text in texts.items():
        kinds = " ".join(annotations(source).get(name, "any") for source in sources)
        words = set(re.findall(r"\w+", kinds))
        are_texts = words <= {"str", "Path", "None", "list", "dict"}
        if are_texts and (exists(text) or not words & {"list", "dict"}):
            values[name] = None if text == "null" and "None" in words else text
        else:
            values[name] = parse_yaml(text, f"-p {name}", as_text=are_texts)
    return values


# --- files, folders and objects that they name


def resolved(parameters, source):
    """Parameters in which files and folders have whole paths, for hashes and records."""
    kinds = annotations(source)
    changed = dict(parameters)
    for name, value in parameters.items():
        if name in DATA_PARAMETERS:
            changed[name] = with_paths(
                value, lambda path: _whole(path) if "/" in path else path
            )
        elif name in MODEL_PARAMETERS or "Path" in kinds.get(name, ""):
            changed[name] = with_paths(value, _whole)
    return changed


def _whole(path):
    return str(home_path(path).resolve())


def portable_parameters(parameters, source):
    """Parameters in which paths count from the project: no record shows the author's."""
    return recorded(resolved(parameters, source))


def plugin_sources(parameters):
    """The sources of a user's own objects that parameters name, by parameter."""
    found = {}
    for name, value in parameters.items():
        parts = list(value.values()) if isinstance(value, dict) else value
        for text in parts if isinstance(parts, list) else [parts]:
            if isinstance(text, str) and is_plugin(text):
                with contextlib.suppress(InputError):  # a text with a colon
                    found.setdefault(name, []).append(str(source_of(text)))
    return found


# --- what is refused


def check(source, parameters):
    """Refuse names that a notebook lacks, and values of wrong types; its readers refuse files."""
    declared = declarations(source)
    for name in parameters.keys() - declared.keys():
        known = (
            f"{did_you_mean(name, declared)}; it takes {', '.join(sorted(declared))}"
        )
        raise InputError(f"{Path(source).name} has no parameter {name}{known}")
    usual = defaults(source)
    for name, value in (usual | parameters).items():
        # The name of a model may hold an @, as in entailment:model@v2.
        is_login = name not in MODEL_PARAMETERS and is_bare_login(value)
        if holds_secret(value) or is_login:
            problem = (
                "the address holds a password or a key, and parameters are published"
            )
            raise InputError(f"{name}: {problem}: leave it out, and set {URL_VARIABLE}")
    kinds = annotations(source)
    for name in parameters.keys() & kinds.keys():
        if repr(parameters[name]) != repr(usual.get(name)):  # 1 is no truth value
            check_type(name, kinds[name], parameters[name])


def check_type(name, annotation, value):
    holder = type("Parameter", (), {"__annotations__": {"kind": annotation}})
    try:
        kind = typing.get_type_hints(holder, None, _NAMES, include_extras=True)["kind"]
    except (NameError, AttributeError, SyntaxError, TypeError):
        # A type of the notebook's own.
        return
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        wanted = [
            fault["msg"].removeprefix("Input should be ") for fault in error.errors()
        ]
        wanted = " or ".join(dict.fromkeys(wanted))
        raise InputError(f"{name} should be {wanted}, not {value!r:.100}") from None
