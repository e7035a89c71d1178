"""Where a user's files are: a record names them from the project, and shows no folder of hers.

A file of the project is ``./data/answers.jsonl``; one outside goes by its name. Where folders of
data are stands in a hidden file of the run, which is not published.
"""

import functools
import json
import re
from pathlib import Path

from casebook import paths
from casebook.files import write_json

PRIVATE = ".paths.json"
_PAIR = ("query=", "context=")  # of encoders: query=FOLDER,context=FOLDER
_PREFIX = re.compile(r"([^/]*[:=])?(.*)", re.DOTALL)  # NAME=FOLDER, cross-encoder:FOLDER


def recorded(value, *, folder=False):
    """Give the value of a parameter in which absolute paths have become portable.

    ``folder`` says that a name alone would mean something else: one outside becomes ``./name``.
    """
    return with_paths(value, functools.partial(_portable, folder=folder))


def in_project(value):
    """Give the value of a parameter in which paths of the project count from it, others from home.

    No two paths become one, as they may in `recorded`.
    """
    return with_paths(value, _from_project)


def _from_project(path):
    home = Path.home()
    if project_path(path) is None and Path(path).is_relative_to(home):
        return f"~/{Path(path).relative_to(home).as_posix()}"
    return project_path(path) or path


def _portable(path, folder):
    if not Path(path).is_absolute():
        return path
    outside = f"./{Path(path).name}" if folder else Path(path).name
    return project_path(path) or outside


def with_paths(value, change):
    """Change the paths of a parameter: its own, or those behind ``NAME=`` and the like."""
    if isinstance(value, list):
        return [with_paths(member, change) for member in value]
    if isinstance(value, dict):
        return {name: with_paths(member, change) for name, member in value.items()}
    if not isinstance(value, str) or "://" in value:
        return value
    parts = value.split(",") if value.startswith(_PAIR) else [value]
    matches = [_PREFIX.fullmatch(part) for part in parts]
    return ",".join((match[1] or "") + change(match[2]) for match in matches)


def paths_in(value):
    """The absolute paths in the value of a parameter."""
    found = []

    def collect(path):
        found.append(path)
        return path

    with_paths(value, collect)
    return [path for path in found if Path(path).is_absolute()]


def project_path(path):
    """Give a path from the project, ``./data/answers.jsonl``; None for one outside."""
    for folder in (paths.OUTPUT, paths.ROOT):
        if folder != Path(folder.anchor) and Path(path).is_relative_to(folder):
            return f"./{Path(path).relative_to(folder).as_posix()}"
    return None


def restored(path):
    """The path that `recorded` gives for one of the project, as it was before."""
    folders = (paths.OUTPUT, paths.ROOT)
    base = next((folder for folder in folders if (folder / path).exists()), paths.ROOT)
    return str(base / path)


def read_private(folder):
    """Where the folders of data of a run are, by their names in it."""
    try:
        return dict(json.loads((Path(folder) / PRIVATE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}  # as in a copy of the results on another machine


def write_private(folder, places):
    """Remember where the folders of data of a run are."""
    if places:
        write_json(Path(folder) / PRIVATE, places, private=True)


# --- texts


def without_folders(text, files=(), project="."):
    """Give a text in which no folder of the author is: her files go by their names.

    ``files`` are absolute paths of hers, ``project`` stands for the project, ``~`` for her home.
    What only looks like such a folder, as in an address of the web, stays.
    """
    outside = {path: recorded(path, folder=Path(path).is_dir()) for path in files}
    outside = {path: name for path, name in outside.items() if project_path(path) is None}
    for path in sorted(outside, key=len, reverse=True):
        text = text.replace(path, outside[path])
    folders = {str(Path.home()): "~", str(paths.ROOT): ".", str(paths.OUTPUT): project}
    for folder in sorted(folders, key=len, reverse=True):
        if folder != Path(folder).anchor:
            pattern = rf"(?:(?<=file://)|(?<![\w./~])){re.escape(folder)}(?![\w-]|\.\w)"
            text = re.sub(pattern, folders[folder], text)
    return text
