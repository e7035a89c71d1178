"""Folders that are copied, replaced as a whole, or gone with the process they serve."""

import contextlib
import ctypes
import os
import shutil
from pathlib import Path

from casebook.files import naming

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def copy_folder(source, target):
    """Copy the files of a folder that are not hidden.

    Parameters
    ----------
    source : path-like
        What to copy; a link is followed.
    target : path-like
        Where to; files that are there are replaced.

    Raises
    ------
    OSError
        At the first file that cannot be copied, which it names.
    """
    for folder, folders, files in os.walk(source, onerror=_raised, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        place = Path(target, os.path.relpath(folder, source))
        place.mkdir(parents=True, exist_ok=True)
        for name in sorted(name for name in files if not name.startswith(".")):
            copy_file(Path(folder, name), place)


def _raised(error):
    raise error


def copy_file(source, folder):
    """Copy a file into a folder; an error names the copy.

    Parameters
    ----------
    source : pathlib.Path
        What to copy.
    folder : pathlib.Path
        Where to, under the same name.
    """
    with naming(folder / source.name):
        shutil.copyfile(source, folder / source.name)


@contextlib.contextmanager
def working(path):
    """Give an empty folder to work in, which does not outlive the block.

    Parameters
    ----------
    path : pathlib.Path
        The folder. What a killed process left there is removed first.

    Yields
    ------
    pathlib.Path
        The folder.
    """
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def put_in_place(new, path):
    """Put a folder in the place of another one, which is removed.

    Linux exchanges the two at once, so that a reader always finds one of them.
    Elsewhere there is none for a moment between two renames.

    Parameters
    ----------
    new : pathlib.Path
        The folder, on the same file system.
    path : pathlib.Path
        Its place; nothing need be there.
    """
    if not path.exists():
        new.rename(path)
    elif _exchanged(new, path):
        shutil.rmtree(new)
    else:
        old = new.with_name(f"{new.name}.old")
        path.rename(old)
        new.rename(path)
        shutil.rmtree(old)


def _exchanged(one, other):
    try:
        exchange = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):  # another system, or an old one
        return False
    names = [os.fsencode(path) for path in (one, other)]
    return exchange(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0
