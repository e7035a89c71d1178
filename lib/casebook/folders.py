"""Folders that are copied, replaced as a whole, or gone with the process they serve."""

import contextlib
import ctypes
import os
import shutil
import tempfile
from pathlib import Path

from casebook.errors import InputError
from casebook.files import locked, naming

SCRATCH = "CASEBOOK_SCRATCH"
_PREFIX, _OWNER, _WORK = "casebook-", ".owner", "work-"
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def copy_folder(source, target):
    """Copy the files of a folder that are not hidden."""
    for folder, folders, files in os.walk(source, onerror=_raised, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        place = Path(target, os.path.relpath(folder, source))
        place.mkdir(parents=True, exist_ok=True)
        for name in sorted(name for name in files if not name.startswith(".")):
            copy_file(Path(folder, name), place)


def _raised(error):
    raise error


def copy_file(source, folder):
    """Copy a file into a folder; an error names the copy."""
    with naming(folder / source.name):
        shutil.copyfile(source, folder / source.name)


@contextlib.contextmanager
def working(place):
    """Give an empty folder to work in, which does not outlive the block."""
    for old in place.glob(f"{_WORK}*"):
        shutil.rmtree(old, ignore_errors=True)
    with _temporary(prefix=_WORK, dir=place) as folder:
        yield folder


@contextlib.contextmanager
def scratch():
    """Give a temporary folder, which is gone after the block."""
    outer = os.environ.get(SCRATCH)
    if outer and Path(outer).is_dir():
        with _temporary(dir=outer) as folder:
            yield folder
        return
    _remove_abandoned(Path(tempfile.gettempdir()))
    with _temporary(prefix=_PREFIX) as folder, locked(folder / _OWNER, str):
        os.environ[SCRATCH] = str(folder)
        try:
            yield folder
        finally:
            os.environ.pop(SCRATCH, None)


@contextlib.contextmanager
def _temporary(**place):
    folder = tempfile.mkdtemp(**place)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(place):
    """Remove the folders of our own whose process is gone: nobody holds their lock."""
    for owner in place.glob(f"{_PREFIX}*/{_OWNER}"):
        with contextlib.suppress(InputError, OSError):
            ours = owner.parent.lstat().st_uid == os.getuid()
            # Who has just made the file may not have locked it; then it is empty.
            if ours and owner.stat().st_size:
                with locked(owner, str):
                    shutil.rmtree(owner.parent)  # which refuses a link


def put_in_place(new, path):
    """Put a folder in the place of another one, which is removed."""
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
