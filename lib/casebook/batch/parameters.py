"""The parameters of notebooks: which there are, what paths among them mean, and what is refused before a kernel starts.

They are read from the cell tagged ``parameters``; nothing is executed. Annotations say what names a file of the user's
own: ``cases: Path = None`` is a path, ``explanations: Path | str`` a path or a name of ours, ``dataset: str`` a name.
"""

import ast
import contextlib
import json
import re
from pathlib import Path

from casebook.batch.chapters import CHAPTERS, listed, naming, own_model, settings_of
from casebook.credentials import holds_secret
from casebook.data.cards import card_of, cards
from casebook.data.registry import load
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.models.language import URL_VARIABLE
from casebook.paths import data_folder, home_path
from casebook.plugins import is_plugin, plugin

# Parameters that name data and models: they are hashed, and made absolute, as are those annotated as paths.
DATA = ("dataset", "datasets", "rating_set", "annotated_on", "paraphrases", "judgments")
MODELS = ("encoder", "reranker", "second_encoder")
_FILE = re.compile(r".*\.(csv|json|jsonl|md|txt|tsv|xlsx|ya?ml)", re.IGNORECASE)

PLUGINS = {
    "dataset": "casebook.data.registry:load",
    "decomposition": "casebook.factcheck.claims:PluginDecomposer",
    "encoder": "casebook.models.encoders:load_encoder",
    "measures": "casebook.measures.ranking:parse_measure",
    "reranker": "casebook.retrieval.rerank:load_reranker",
    "retriever": "casebook.retrieval.ablation:load_retriever",
    "stance": "casebook.factcheck.stance:PluginStance",
    "systems": "casebook.retrieval.ablation:load_retriever",
}
"""Parameter that may be an object of the user's own to what imports it, and refuses one of the wrong type."""


# --- what is refused


def check(cell, source):
    """Refuse what cannot work, and read all data of the user's own; gives what is to be said of them."""
    values = defaults(source) | cell.parameters
    refuse_secrets(values)
    settings = _settings(cell, source)
    notes = [settings.read()]
    if values.get("dataset") and data_folder(values["dataset"]) is not None:
        notes += [f"{data.name}: {data.missing}" for data in _loaded(values) if data.missing]
    return "; ".join(filter(None, notes))


def refuse_secrets(values):
    """Refuse addresses with a password or a key: parameters are kept with the run, and published."""
    for name, value in values.items():
        if holds_secret(value):
            raise InputError(
                f"{name}: the address holds a password or a key, and parameters are published: leave it out, and set "
                f"{URL_VARIABLE} for a language model, or let your notebook read another variable of the environment"
            )


def check_before_running(cell, source):
    """Refuse data, models and objects of the user's own with which a cell that has to run would fail."""
    settings = _settings(cell, source)
    values = defaults(source) | cell.parameters
    _check_models(cell.parameters)
    for name, names in plugged(cell.parameters).items():
        for each in names:
            plugin(PLUGINS[name])(each)
    with contextlib.suppress(Absent):
        if "titles" in values:  # a notebook about the questions of a collection
            for data in _loaded(values):
                settings.check_questions(data)
        settings.check_data()


def _settings(cell, source):
    """Hold the parameters of a notebook against its model."""
    usual = defaults(source)
    values = usual | cell.parameters | {"cell": cell.name}
    model = None if Path(cell.notebook).is_absolute() else CHAPTERS.get(cell.experiment)
    if model is None:
        model = own_model(values, [*DATA, *MODELS, *path_parameters(source)])
        values = {name: values[name] for name in model.model_fields}
    return settings_of(model, values, usual)


def _loaded(values):
    """Load every split that a notebook will read."""
    reading = {key: values[key] for key in ("titles", "max_missing") if key in values}
    for name in ("split", "development", "held_out"):
        split = values.get(name)
        if split or name == "split":
            with naming(name if split else "dataset", values["dataset"]):
                yield load(values["dataset"], split, **reading)


def _check_models(parameters):
    """Find the models that parameters name: a missing one stops the batch."""
    from casebook.models.encoders import PACKAGED, load_encoder, locate_model

    for name in set(MODELS) & set(parameters):
        value = parameters[name]
        with naming(name, value):
            if name == "reranker":
                from casebook.retrieval.settings import CROSS_ENCODER, PipelineConfig

                model = PipelineConfig(reranker=value).reranker or ""
                if model.startswith(CROSS_ENCODER):
                    locate_model(model.removeprefix(CROSS_ENCODER))
            elif value not in (None, PACKAGED):
                load_encoder(value, cache=False)


def plugged(parameters):
    """Give the objects of the user's own that parameters name, by parameter."""
    found = {
        name: [each for each in listed(value) if is_plugin(each)]
        for name, value in parameters.items()
        if name in PLUGINS
    }
    return {name: values for name, values in found.items() if values}


# --- what a notebook declares


def declared(source):
    """Give the statements of a notebook's parameters, by name."""
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
    found = {}
    for statement in statements:
        target = (
            statement.targets[0]
            if isinstance(statement, ast.Assign)
            else getattr(statement, "target", None)
        )
        if isinstance(target, ast.Name):
            found[target.id] = statement
    return found


def defaults(source):
    """Give the values that a notebook's parameters have if nothing else is given."""
    values = {}
    for name, statement in declared(source).items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(statement.value)
    return values


def annotations(source):
    """Give the words of the annotated parameters."""
    return {
        name: ast.unparse(statement.annotation)
        for name, statement in declared(source).items()
        if isinstance(statement, ast.AnnAssign)
    }


def path_parameters(source):
    """Give the parameters that name files or folders, and whether they may be names of ours too (``Path | str``)."""
    return {name: "str" in words for name, words in annotations(source).items() if "Path" in words}


def named_files(value):
    """Give the absolute paths in the value of a parameter."""
    return [each for each in listed(value) if isinstance(each, str) and Path(each).is_absolute()]


def without_folders(parameters, source):
    """Give parameters in which one's own files stand by their names: a report shows no folder of its author."""
    files = [
        name
        for name in path_parameters(source)
        if name not in DATA and named_files(parameters.get(name))
    ]
    return parameters | {name: _names(parameters[name]) for name in files}


def _names(value):
    """Names of files without their folders, of one or of a list."""
    if isinstance(value, list):
        return [_names(each) for each in value]
    return Path(value).name if isinstance(value, str) else value


def check_parameters(source, parameters):
    """Refuse parameters that the notebook does not declare, and folders where it takes names only."""
    known = declared(source)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        takes = ", ".join(sorted(known))
        raise InputError(
            f"{Path(source).name} has no parameter {', '.join(unknown)}; it takes {takes}"
        )
    for name, words in annotations(source).items():
        for value in listed(parameters.get(name)):
            if words == "str" and isinstance(value, str) and data_folder(value):
                own = ", ".join(f"{path}=" for path in path_parameters(source)) or "none"
                raise InputError(
                    f"{Path(source).name} takes no folder as {name}, only a name that 'casebook data list' shows; "
                    f"parameters for your own files: {own}"
                )


# --- paths count from the folder of the command's caller; kernels work in another


def resolved(parameters, taken, paths=()):
    """Give parameters whose paths are absolute; ``paths`` are those annotated as such, from `path_parameters`."""

    def absolute(name, value):
        if isinstance(value, list):
            return [absolute(name, each) for each in value]
        if isinstance(value, str) and value:
            if name in DATA:
                return _data(name, value, taken)
            if name in MODELS:
                return _model(value)
            if name in paths:
                return _file(name, value, paths[name])
        return value

    return {name: absolute(name, value) for name, value in parameters.items()}


def _data(name, value, taken):
    """Give a folder under a name that is neither a card's nor that of another folder of the run."""
    if value not in cards() and data_folder(value) is None and Path(value).is_dir():
        value = f"./{value}"
    own = data_folder(value)
    if own is None:
        return value
    called, folder = own[0], own[1].absolute()
    if not folder.exists():
        raise InputError(f"{name} {value!r}: no such folder ({str(folder)!r})")
    folder, number, free = folder.resolve(), 1, called
    while card_of(free) or taken.get(free, folder) != folder:
        number += 1
        free = f"{called}-{number}"
    taken[free] = folder
    return str(folder) if free == folder.name else f"{free}={folder}"


def _model(value):
    """Make folders absolute, in ``cross-encoder:FOLDER`` too; other names are kept."""

    def place(found):
        folder = home_path(found[0])
        local = found[0].startswith((".", "~")) or (folder / "config.json").is_file()
        return str(folder.resolve()) if local or (folder / "modules.json").is_file() else found[0]

    return re.sub(r"[^:=,]+", place, value)


def _file(name, value, or_name):
    path = home_path(value).absolute()
    if or_name and not (path.exists() or "/" in value or _FILE.fullmatch(value)):
        return value
    if not path.exists():
        raise InputError(f"{name} {value!r}: no such file or folder ({str(path)!r})")
    return str(path.resolve())
