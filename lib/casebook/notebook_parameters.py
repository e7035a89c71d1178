"""The parameters of a notebook: which it declares, their defaults, which are refused.

They are read from the source of its cell tagged ``parameters``; nothing is executed.
"""

import ast
import contextlib
import re
from pathlib import Path

from casebook.data.cards import card_of, cards
from casebook.errors import InputError
from casebook.paths import data_folder

DATA = ("dataset", "datasets", "rating_set", "annotated_on", "paraphrases", "judgments")
MODELS = ("encoder", "reranker", "second_encoder")
FILES = ("forms", "key", "ratings", "ratings_key")


def parameter_names(source):
    """List the parameters that a notebook declares."""
    import papermill

    if not Path(source).is_file():
        raise InputError(f"{source}: no such notebook; see notebooks/experiments.yml")
    try:
        found = papermill.inspect_notebook(str(source))
    except Exception as error:  # papermill raises many kinds on damaged files
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{source}: is no notebook, or is damaged: {why}") from error
    return {name: item["default"] for name, item in found.items()}


def defaults(source):
    """Give the values that a notebook's parameters have if nothing else is given."""
    values = {}
    for name, text in parameter_names(source).items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(text)
    return values


def check_parameters(source, parameters):
    """Refuse parameters that the notebook does not declare."""
    known = parameter_names(source)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise InputError(
            f"{Path(source).name} has no parameter {', '.join(unknown)}; it takes {', '.join(sorted(known))}"
        )
    return parameters


def resolved(parameters, taken):
    """Give parameters whose paths are absolute: kernels work in another folder."""
    found = dict(parameters)
    for names, change in ((DATA, _data), (MODELS, _model), (FILES, _file)):
        for name in found.keys() & set(names):
            value = found[name]
            if isinstance(value, list):
                found[name] = [change(name, item, taken) for item in value]
            else:
                found[name] = change(name, value, taken)
    return found


def _data(name, value, taken):
    if not isinstance(value, str) or not value:
        return value
    if value not in cards() and data_folder(value) is None and Path(value).is_dir():
        value = f"./{value}"
    own = data_folder(value)
    if own is None:
        return value
    called, folder = own[0], own[1].absolute()
    if not folder.exists():
        raise InputError(f"{name} {value!r}: no such folder ({folder})")
    folder, number, free = folder.resolve(), 1, called
    while card_of(free) or taken.get(free, folder) != folder:
        number += 1
        free = f"{called}-{number}"
    taken[free] = folder
    return str(folder) if free == folder.name else f"{free}={folder}"


def _model(name, value, _taken):
    """Make folders absolute, in ``cross-encoder:FOLDER`` too; other names are kept."""

    def place(found):
        folder = Path(found[0]).expanduser()
        local = found[0].startswith((".", "~")) or (folder / "config.json").is_file()
        local |= (folder / "modules.json").is_file()
        return str(folder.resolve()) if local else found[0]

    return re.sub(r"[^:=,]+", place, value) if isinstance(value, str) else value


def _file(name, value, _taken):
    if not isinstance(value, str) or not value:
        return value
    path = Path(value).expanduser().resolve()
    if not path.exists():
        raise InputError(f"{name} {value!r}: no such file or folder ({path})")
    return str(path)
