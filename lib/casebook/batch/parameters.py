"""The parameters of notebooks: which there are, what paths among them mean, what is refused.

They are read from the cell tagged ``parameters``; nothing is executed, and no kernel is started.
Annotations say what names a file of the user's own: ``cases: Path = None`` is a path,
``explanations: Path | str`` a path or a name of ours, ``dataset: str`` a name.
"""

import ast
import contextlib
import json
import re
from pathlib import Path

from casebook.batch.chapters import (
    CHAPTERS,
    as_list,
    model_of_unknown_notebook,
    naming_parameter,
    settings_of,
)
from casebook.credentials import holds_secret
from casebook.data.cards import card_of, cards
from casebook.data.registry import load
from casebook.data.sources import Absent
from casebook.errors import InputError
from casebook.models.language import URL_VARIABLE
from casebook.paths import data_folder, home_path
from casebook.plugins import is_plugin, plugin
from casebook.runs.locations import in_project, recorded

DATA_PARAMETERS = (
    "dataset",
    "datasets",
    "rating_set",
    "annotated_on",
    "paraphrases",
    "transfer_sets",
)
"""Parameters that name data: they are hashed, and paths among them are made absolute."""

MODEL_PARAMETERS = ("encoder", "reranker", "second_encoder", "stance", "judge", "further_judges")
"""Parameters that name models: they are hashed, and paths among them are made absolute."""

JUDGE_PARAMETERS = ("stance", "judge", "further_judges")
"""Parameters that may name a model as a judge, ``entailment:FOLDER``."""

PLUGINS = {
    "dataset": "casebook.data.registry:load",
    "decomposition": "casebook.factcheck.claims:PluginDecomposer",
    "encoder": "casebook.models.encoders:load_encoder",
    "further_judges": "casebook.factcheck.stance:PluginStance",
    "judge": "casebook.assistant.judge:check_judge",
    "measures": "casebook.measures.ranking:parse_measure",
    "reranker": "casebook.retrieval.rerank:load_reranker",
    "retriever": "casebook.retrieval.ablation:load_retriever",
    "stance": "casebook.factcheck.stance:PluginStance",
    "systems": "casebook.retrieval.ablation:load_retriever",
}
"""Parameters that may be the user's own objects, and what imports them and checks their type."""

_FILE = re.compile(r".*\.(csv|json|jsonl|md|txt|tsv|xlsx|ya?ml)", re.IGNORECASE)


# --- what a notebook declares


def declarations(source):
    """Give the statements of a notebook's parameters, by name.

    Papermill's `inspect_notebook` reads the cell line by line: it misses what is annotated with
    ``str | None`` or stands on several lines, and gives values as text.
    """
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
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        else:
            target = getattr(statement, "target", None)
        if isinstance(target, ast.Name):
            by_name[target.id] = statement
    return by_name


def defaults(source):
    """Give the values that a notebook's parameters have if nothing else is given."""
    values = {}
    for name, statement in declarations(source).items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(statement.value)
    return values


def annotations(source):
    """Give the annotations of a notebook's parameters, as text."""
    return {
        name: ast.unparse(statement.annotation)
        for name, statement in declarations(source).items()
        if isinstance(statement, ast.AnnAssign)
    }


def path_parameters(source):
    """Give the parameters that name files or folders, and whether names of ours may stand there."""
    return {name: "str" in text for name, text in annotations(source).items() if "Path" in text}


# --- what is refused


def check_names(source, parameters):
    """Refuse parameters that the notebook lacks, and folders where it takes names only."""
    declared_names = set(declarations(source))
    unknown = sorted(set(parameters) - declared_names)
    if unknown:
        takes = ", ".join(sorted(declared_names))
        raise InputError(
            f"{Path(source).name} has no parameter {', '.join(unknown)}; it takes {takes}"
        )
    for name, annotation in annotations(source).items():
        if annotation != "str":
            continue
        for value in as_list(parameters.get(name)):
            if isinstance(value, str) and data_folder(value):
                for_files = ", ".join(f"{path}=" for path in path_parameters(source)) or "none"
                raise InputError(
                    f"{Path(source).name} takes no folder as {name}, only a name that 'casebook "
                    f"data list' shows; parameters for your own files: {for_files}"
                )


def check_cell(cell):
    """Refuse what cannot work, and read all data of the user's own; gives notes on them."""
    values = defaults(cell.source) | cell.parameters
    refuse_secrets(values)
    settings = _settings(cell)
    notes = [settings.read()]
    if values.get("dataset") and data_folder(values["dataset"]) is not None:
        for data in _splits(values):
            if data.missing:
                notes.append(f"{data.name}: {data.missing}")
    return "; ".join(filter(None, notes))


def refuse_secrets(values):
    """Refuse addresses with a password or a key: parameters are kept and published."""
    for name, value in values.items():
        if holds_secret(value):
            raise InputError(
                f"{name}: the address holds a password or a key, and parameters are published: "
                f"leave it out, and set {URL_VARIABLE} for a language model, or let your notebook "
                "read another variable of the environment"
            )


def check_before_running(cell):
    """Refuse data, models and plugins with which a cell that has to run would fail."""
    settings = _settings(cell)
    values = defaults(cell.source) | cell.parameters
    _check_models(cell.parameters)
    for parameter, names in plugins_in(cell.parameters).items():
        load_plugin = plugin(PLUGINS[parameter])
        for name in names:
            load_plugin(name)
    with contextlib.suppress(Absent):
        if "titles" in values:  # a notebook about the questions of a collection
            for data in _splits(values):
                settings.check_questions(data)
        settings.check_data()


def _settings(cell):
    """Check the parameters of a cell by the model of its notebook; gives the model's object."""
    usual = defaults(cell.source)
    values = usual | cell.parameters | {"cell": cell.name}
    if not Path(cell.notebook).is_absolute() and cell.experiment in CHAPTERS:
        return settings_of(CHAPTERS[cell.experiment], values, usual)
    names = [*DATA_PARAMETERS, *MODEL_PARAMETERS, *path_parameters(cell.source)]
    model = model_of_unknown_notebook(values, names)
    values = {name: values[name] for name in model.model_fields}
    return settings_of(model, values, usual)


def _splits(values):
    """Load every split that a notebook will read."""
    options = {key: values[key] for key in ("titles", "max_missing") if key in values}
    for parameter in ("split", "development", "held_out"):
        split = values.get(parameter)
        if not split and parameter != "split":
            continue
        with naming_parameter(parameter if split else "dataset", values["dataset"]):
            data = load(values["dataset"], split, **options)
        yield data


def _check_models(parameters):
    """Find the models that parameters name: a missing one stops the batch."""
    from casebook.models.encoders import PACKAGED, load_encoder

    for name in MODEL_PARAMETERS:
        if name not in parameters or name in JUDGE_PARAMETERS:  # the chapter's model checks judges
            continue
        value = parameters[name]
        with naming_parameter(name, value):
            if name == "reranker":
                _check_reranker(value)
            elif value not in (None, PACKAGED):
                load_encoder(value, cache=False)


def _check_reranker(name):
    from casebook.models.encoders import locate_model
    from casebook.retrieval.settings import CROSS_ENCODER, PipelineConfig

    model = PipelineConfig(reranker=name).reranker or ""
    if model.startswith(CROSS_ENCODER):
        locate_model(model.removeprefix(CROSS_ENCODER))


def plugins_in(parameters):
    """Give the names of the user's own objects that parameters name, by parameter."""
    by_parameter = {}
    for parameter, value in parameters.items():
        names = [name for name in as_list(value) if is_plugin(name)]
        if names and parameter in PLUGINS:
            by_parameter[parameter] = names
    return by_parameter


# --- paths count from the folder of the command's caller; kernels work in another


def absolute_paths(value):
    """Give the absolute paths in the value of a parameter."""
    return [path for path in as_list(value) if isinstance(path, str) and Path(path).is_absolute()]


def portable_parameters(parameters, source):
    """Give parameters in which paths count from the project: no record shows the author's."""
    files = path_parameters(source)
    changed = dict(parameters)
    for name, value in parameters.items():
        if name in (*DATA_PARAMETERS, *MODEL_PARAMETERS):
            changed[name] = recorded(value, folder=True)
        elif name in files:
            changed[name] = recorded(value)
        else:  # its content is not hashed, so two of one name must not become one
            changed[name] = in_project(value)
    return changed


def with_absolute_paths(parameters, folders, paths=()):
    """Give parameters whose paths are absolute.

    ``folders`` are the user's data that the run reads already, by name; new ones are added.
    ``paths`` are the parameters annotated as paths, from `path_parameters`.
    """
    return {
        name: _with_absolute_path(name, value, folders, paths) for name, value in parameters.items()
    }


def _with_absolute_path(name, value, folders, paths):
    if isinstance(value, list):
        return [_with_absolute_path(name, item, folders, paths) for item in value]
    if not isinstance(value, str) or not value:
        return value
    if name in DATA_PARAMETERS:
        return _absolute_data(name, value, folders)
    if name in MODEL_PARAMETERS:
        return re.sub(r"[^:=,]+", _absolute_part, value)  # in cross-encoder:FOLDER too
    if name in paths:
        return _absolute_file(name, value, may_be_name=paths[name])
    return value


def _absolute_data(parameter, value, folders):
    """Give a folder under a name that no card and no other folder of the run has."""
    if value not in cards() and data_folder(value) is None and Path(value).is_dir():
        value = f"./{value}"
    name_and_folder = data_folder(value)
    if name_and_folder is None:
        return value
    stem, folder = name_and_folder
    folder = folder.absolute()
    if not folder.exists():
        raise InputError(f"{parameter} {value!r}: no such folder ({str(folder)!r})")
    folder = folder.resolve()
    name = stem
    number = 1
    while card_of(name) or folders.get(name, folder) != folder:
        number += 1
        name = f"{stem}-{number}"
    folders[name] = folder
    return str(folder) if name == folder.name else f"{name}={folder}"


def _absolute_part(match):
    """Make a folder with a model absolute; other names stay."""
    part = match[0]
    folder = home_path(part)
    if (
        part.startswith((".", "~"))
        or (folder / "config.json").is_file()
        or (folder / "modules.json").is_file()
    ):
        return str(folder.resolve())
    return part


def _absolute_file(parameter, value, may_be_name):
    if may_be_name and "://" in value:  # an object store
        return value
    path = home_path(value).absolute()
    if may_be_name and not (path.exists() or "/" in value or _FILE.fullmatch(value)):
        return value
    if not path.exists():
        raise InputError(f"{parameter} {value!r}: no such file or folder ({str(path)!r})")
    return str(path.resolve())
