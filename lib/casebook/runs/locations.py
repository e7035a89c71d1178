"""Where a user's files are: a record names them from the project, and shows no folder of theirs.

A file of the project is ``./data/answers.jsonl``; one outside goes by its name.
"""

import re
from pathlib import Path

from casebook import paths

# NAME=FOLDER, cross-encoder:FOLDER, query=FOLDER,context=FOLDER
_PART = re.compile(r"[^:=,]+")


def with_paths(value, change):
    """Change the texts of a value, or the parts of them, that name a file or folder."""
    if isinstance(value, list):
        return [with_paths(member, change) for member in value]
    if isinstance(value, dict):
        return {name: with_paths(member, change) for name, member in value.items()}
    if not isinstance(value, str):
        return value
    if exists(value):
        return change(value)
    return _PART.sub(
        lambda part: change(part[0]) if exists(part[0]) else part[0], value
    )


def exists(text):
    try:
        return paths.home_path(text).exists()
    except (OSError, ValueError):  # too long for a name, a NUL character
        return False


def paths_in(value):
    found = []
    with_paths(value, lambda path: found.append(path) or path)
    return [path for path in found if Path(path).is_absolute()]


def recorded(value):
    return with_paths(value, _portable)


def _portable(path):
    for folder in (paths.OUTPUT, paths.ROOT):
        if Path(path).is_relative_to(folder):
            return f"./{Path(path).relative_to(folder).as_posix()}"
    if not Path(path).is_absolute():
        return path
    # A folder's name alone would mean something else.
    name = Path(path).name
    if Path(path).is_dir():
        return f"./{name}"
    return name


def without_folders(text, files=(), project="."):
    """A text in which no folder of the author is: ``files`` of hers go by their names.

    ``project`` stands for the project, ``~`` for her home. What only looks like such a folder, as
    in an address of the web, stays.
    """
    for path in sorted(files, key=len, reverse=True):
        if not Path(path).is_relative_to(paths.ROOT):
            text = text.replace(path, recorded(path))
    folders = {str(Path.home()): "~", str(paths.ROOT): ".", str(paths.OUTPUT): project}
    for folder in sorted(folders, key=len, reverse=True):
        if folder != Path(folder).anchor:
            pattern = rf"(?:(?<=file://)|(?<![\w./~])){re.escape(folder)}(?![\w-]|\.\w)"
            text = re.sub(pattern, folders[folder], text)
    return text
