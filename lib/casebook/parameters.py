"""The parameters of notebooks: which there are, what paths among them mean, and what is refused before a kernel starts.

They are read from the cell tagged ``parameters``; nothing is executed. Annotations say what names a file of the user's
own: ``cases: Path = None`` is a path, ``explanations: Path | str`` a path or a name of ours, ``dataset: str`` a name.
"""

import ast
import contextlib
import json
import re
from pathlib import Path

from casebook.data.cards import card_of, cards
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.plugins import is_plugin, plugin

# Parameters that name data and models: they are hashed, and made absolute, as are those annotated as paths.
DATA = ("dataset", "datasets", "rating_set", "annotated_on", "paraphrases", "judgments")
MODELS = ("encoder", "reranker", "second_encoder")
_FILE = re.compile(r".*\.(csv|json|jsonl|md|txt|tsv|xlsx|ya?ml)", re.IGNORECASE)

# --- the doors of our notebooks: a name stands for ``module:function``, imported when its parameter is given

READERS = {
    "cases": "casebook.sensitivity.cases:read_cases",
    "claims": "casebook.factcheck.claims:read_labelled",
    "corpus": "casebook.data.folders:read_collection",
    "reported": "casebook.audits.tables:read_tables",
}
"""Path parameter to what reads such a file."""
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
TOGETHER = {
    "cases": "casebook.sensitivity.study:check_parameters",
    "explanations": "casebook.explain.study:check_parameters",
    "forms": "casebook.raters.analysis:check_parameters",
    "log": "casebook.assistant.log:check_parameters",
}
"""Parameter to what checks it with all others that belong to it."""
QUESTIONS = {
    "embedding_shift": "casebook.shift.study:check_questions",
    "explanation_quality": "casebook.explain.study:check_questions",
    "query_length": "casebook.parameters:check_lengths",
}
"""Experiment to what refuses data from whose questions it can learn nothing."""
LISTS = {"datasets", "measures", "modes", "systems"}
MANY = LISTS | {"forms", "log", "reported", "retriever"}  # one name, or a list of them
LEAST = {"folds": 2, "k": 1, "resamples": 100, "seed": 0}
"""Whole number to the least that it may be."""


def check(cell, source):
    """Refuse what cannot work, and read all data of the user's own; gives what is to be said of them."""
    usual, paths = defaults(source), path_parameters(source)
    values = usual | cell.parameters
    ours = not Path(cell.notebook).is_absolute()
    named = {*DATA, *MODELS, *paths, *(PLUGINS if ours else ())}
    optional = {name for name, each in declared(source).items() if "None" in ast.unparse(each)} | {"reranker"}
    for name in sorted(named & values.keys()):
        _check_name(name, values[name], usual.get(name), name in optional, ours)
    _check_numbers(values, usual, LEAST if ours else {"resamples": LEAST["resamples"]})
    if ours:
        _check_systems(values)
    for name in READERS.keys() & paths.keys():
        for path in named_files(values[name]):
            plugin(READERS[name])(Path(path))
    notes = []
    for name in TOGETHER.keys() & paths.keys():
        if name == "forms" or named_files(values[name]):
            notes.append(plugin(TOGETHER[name])(values))
    for own in {"cases", "claims"} & values.keys():
        if (values[own] is None) != (values.get("corpus") is None):
            raise InputError(f"your own {own} need a folder of documents: give both {own}=FILE and corpus=FOLDER")
    for name in values.get("datasets") or ():
        if own := data_folder(name):
            plugin("casebook.audits.sources:read_labels")(own[1])
    if values.get("dataset") and data_folder(values["dataset"]) is not None:
        notes += [f"{data.name}: {data.missing}" for data in _loaded(values) if data.missing]
    return "; ".join(filter(None, notes))


def check_before_running(cell, source):
    """Refuse data, models and objects of the user's own with which a cell that has to run would fail."""
    from casebook.data.sources import Absent

    values = defaults(source) | cell.parameters
    _check_models(cell.parameters)
    for name, names in plugged(cell.parameters).items():
        for each in names:
            plugin(PLUGINS[name])(each)
    if "titles" in values:  # a notebook about the questions of a collection
        with contextlib.suppress(Absent):
            for data in _loaded(values):
                if cell.experiment in QUESTIONS:
                    plugin(QUESTIONS[cell.experiment])(data, values)


def _loaded(values):
    """Load every split that a notebook will read."""
    from casebook.data.registry import load

    reading = {key: values[key] for key in ("titles", "max_missing") if key in values}
    further = filter(None, map(values.get, ("development", "held_out")))
    splits = dict.fromkeys([values.get("split"), *further])
    return [load(values["dataset"], split, **reading) for split in splits]


def check_lengths(data, _values):
    """Refuse questions of which none is longer than the others."""
    words = data.queries.set_index("query_id")["text"].str.split().str.len()
    if (words <= words.median()).reindex(data.qrels).dropna().nunique() < 2:
        raise InputError(f"{data.name}: no question is longer than the others, so there is nothing to compare")


def _check_name(name, value, usual, optional, ours):
    """Refuse what is no name where one has to stand."""
    many = isinstance(value, list) and (name in MANY or isinstance(usual, list) or not ours)
    if name in TOGETHER and value == [] != usual:
        raise InputError(f"{name}: [] is no name: give text, or leave it out")
    for each in value if many else [value]:
        lacking = each is None and isinstance(usual, str) and usual and not optional
        if not isinstance(each, str | None) or (each == "" and name in PLUGINS) or lacking:
            raise InputError(f"{name}: {each!r} is no name: give text, or leave it out")


def _check_numbers(values, usual, least):
    """Refuse what is no whole number, or too small, where the notebook has one."""
    for name in [name for name in least if isinstance(usual.get(name), int)]:
        value = values[name]
        if type(value) is not int or value < least[name]:  # a truth value is an int too
            why = ": an interval needs that many" if name == "resamples" else ""
            raise InputError(f"{name}: give a whole number of at least {least[name]}, not {value!r}{why}")


def _check_systems(values):
    """Refuse measures, modes and retrievers that there are not."""
    for name in sorted(LISTS):
        if isinstance(values.get(name), str):
            raise InputError(f"{name}: give a list: {name}=[{values[name]}]")
    for name in values.get("measures") or ():
        plugin(PLUGINS["measures"])(name)
    for name in listed(values.get("retriever")):
        if not is_plugin(name):
            raise InputError(f"retriever: {name!r} is no module:object; systems of ours are chosen by modes=")
    systems = values.get("systems")
    if systems is not None and not systems:
        raise InputError("systems: name at least one")
    if systems and values.get("shown") not in (None, *systems):
        raise InputError(f"shown: {values['shown']!r} is none of the systems: choose from {', '.join(systems)}")
    modes = values.get("modes")
    if modes is not None and not (isinstance(modes, list) and modes):
        raise InputError(f"modes: give a list such as [bm25, dense], not {modes!r}")
    ours = [system for system in systems or () if not is_plugin(system)]
    for name in [*ours, *(modes or ())]:
        plugin("casebook.retrieval.settings:config_for")(name)


def _check_models(parameters):
    """Find the models that parameters name: a missing one stops the batch."""
    from casebook.models.encoders import PACKAGED, load_encoder, locate_model

    for name in set(MODELS) & set(parameters):
        value = parameters[name]
        if name == "reranker":
            from casebook.retrieval.settings import CROSS_ENCODER, PipelineConfig

            value = PipelineConfig(reranker=value).reranker or ""
            if value.startswith(CROSS_ENCODER):
                locate_model(value.removeprefix(CROSS_ENCODER))
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


def listed(value):
    """Give the value of a parameter as a list: nothing, one name, or several."""
    return value if isinstance(value, list) else [] if value is None else [value]


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
    except (ValueError, SyntaxError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{source}: is no notebook, or is damaged: {why}") from error
    found = {}
    for statement in statements:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
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


def check_parameters(source, parameters):
    """Refuse parameters that the notebook does not declare, and folders where it takes names only."""
    known = declared(source)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        takes = ", ".join(sorted(known))
        raise InputError(f"{Path(source).name} has no parameter {', '.join(unknown)}; it takes {takes}")
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
        raise InputError(f"{name} {value!r}: no such folder ({folder})")
    folder, number, free = folder.resolve(), 1, called
    while card_of(free) or taken.get(free, folder) != folder:
        number += 1
        free = f"{called}-{number}"
    taken[free] = folder
    return str(folder) if free == folder.name else f"{free}={folder}"


def _model(value):
    """Make folders absolute, in ``cross-encoder:FOLDER`` too; other names are kept."""

    def place(found):
        folder = Path(found[0]).expanduser()
        local = found[0].startswith((".", "~")) or (folder / "config.json").is_file()
        return str(folder.resolve()) if local or (folder / "modules.json").is_file() else found[0]

    return re.sub(r"[^:=,]+", place, value)


def _file(name, value, or_name):
    path = Path(value).expanduser().absolute()
    if or_name and not (path.exists() or "/" in value or _FILE.fullmatch(value)):
        return value
    if not path.exists():
        raise InputError(f"{name} {value!r}: no such file or folder ({path})")
    return str(path.resolve())
