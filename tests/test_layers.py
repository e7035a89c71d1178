"""Lower layers never import higher ones, and torch stays where it belongs."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import casebook
from casebook.runs import record

LAYERS = [
    {
        "paths",
        "lazy",
        "credentials",
        "errors",
        "files",
        "readers",
        "sheets",
        "trec",
        "plugins",
        "progress",
        "parameters",
        "verdicts",
    },
    {"text", "stats", "measures", "frames"},
    {"figures", "tables", "plots", "scores"},
    {"data", "runs", "models"},
    {"sentences", "notebook"},
    {"retrieval"},
    {"sensitivity"},
    {"explain"},
    {"factcheck", "raters", "shift", "audits", "assistant"},
    {"batch", "book", "project", "starter"},
    {"cli", "__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
LIBRARY = Path(casebook.__file__).parent


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports(path):
    return list(imports_of(parsed(path)))


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules():
    return [p for p in LIBRARY.rglob("*.py") if p != LIBRARY / "__init__.py"]


def name_of(path):
    parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def part(path):
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def test_every_module_has_a_layer():
    assert {part(path) for path in modules()} <= set(RANK)


def test_lower_layers_never_import_higher_ones():
    upward = [
        f"{path.relative_to(LIBRARY)} imports {name}"
        for path in modules()
        for name in imports(path)
        if name.startswith("casebook.") and RANK.get(name.split(".")[1], 0) > RANK[part(path)]
    ]
    assert upward == []


# File by file, inside a package too, and wherever in a file the import stands.
def test_no_files_import_each_other_in_a_circle():
    paths = {name_of(path): path for path in modules()}
    needs = {}
    for name, path in paths.items():
        imported = set(imports(path)) & paths.keys() - {name}
        # `from casebook.data import cards` is of a file, and of its package in name only.
        packages = {each.rpartition(".")[0] for each in imported}
        needs[name] = imported - packages
    while free := [name for name, needed in needs.items() if not needed & needs.keys()]:
        for name in free:
            del needs[name]
    assert sorted(needs) == []


# Only the user's own objects are named ``module:object``.
def test_no_import_hides_in_a_text():
    named = [
        f"{path.relative_to(LIBRARY)}: {node.value}"
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and re.fullmatch(r"casebook(\.\w+)+:\w+", str(node.value))
    ]
    assert named == []


# Whatever computes stands below these layers, and so never imports them.
def test_the_library_digest_leaves_out_what_no_number_can_depend_on():
    left_out = {name.removesuffix(".py") for name in record._OUTSIDE}
    assert left_out - {"shipped"} == set().union(*LAYERS[9:])


def test_only_models_import_torch():
    heavy = {"torch", "sentence_transformers", "transformers"}
    importers = {
        part(path) for path in modules() for name in imports(path) if name.split(".")[0] in heavy
    }
    assert importers == {"models"}


def test_help_does_not_import_the_heavy_packages():
    heavy = "'numpy', 'pandas', 'scipy', 'torch', 'papermill'"
    code = f"import sys, casebook.cli; print([name for name in ({heavy}) if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_notebook_begins_with_a_request_for_widgets():
    assert not subprocess.run(
        [
            sys.executable,
            "-c",
            "import casebook, warnings, tqdm.notebook as t; warnings.warn(t.WARN_NOIPYW)",
        ],
        capture_output=True,
        check=True,
    ).stderr
