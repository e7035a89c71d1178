"""Where things live, whatever the working directory, and which names are allowed."""

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path

import platformdirs

from casebook.errors import InputError

PROJECT_VARIABLE = "CASEBOOK_PROJECT"
"""Environment: where notebooks, data cards and book are."""

OUTPUT_VARIABLES = ("CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT")
"""Environment: where outputs go, by the one of them that is set."""

FOLDER_VARIABLES = (
    PROJECT_VARIABLE,
    *OUTPUT_VARIABLES,
    "CASEBOOK_CACHE",
    "CASEBOOK_DATA_MIRROR",
)
"""Environment: all folders."""

ROOT = Path(os.path.realpath(os.environ.get(PROJECT_VARIABLE) or Path(__file__).parents[2]))
NOTEBOOKS = ROOT / "notebooks"
DATA = ROOT / "data"
CARDS = DATA / "cards"

_output_folders = [os.environ[name] for name in OUTPUT_VARIABLES if os.environ.get(name)]
OUTPUT = Path(os.path.realpath(_output_folders[0] if _output_folders else ROOT))
RESULTS = OUTPUT / "results"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)
}


def valid_name(name, kind="name"):
    """Check a name that will become a file or folder name."""
    text = str(name)
    stem = text.split(".")[0].lower()
    allowed = _NAME.fullmatch(text) and ".." not in text and not text.endswith(".")
    if not allowed or stem in _RESERVED:
        raise InputError(
            f"{kind} {text!r} is not allowed: use letters, digits, '_', '-' and '.', "
            "at most 100, starting with a letter or digit"
        )
    return text


def run_dir(run):
    """Give the folder that holds everything one named run produced."""
    return RESULTS / valid_name(run, "run")


def cache_dir(*parts):
    """Give a folder of the user's cache (``CASEBOOK_CACHE`` overrides the place)."""
    base = os.environ.get("CASEBOOK_CACHE")
    try:
        base = base or platformdirs.user_cache_dir("casebook")
    except RuntimeError as error:  # a user whom the system does not know
        why = "no home folder: set CASEBOOK_CACHE to a folder for the cache"
        raise InputError(why) from error
    return Path(base).joinpath(*parts)


def data_folder(text):
    """Give name and path of a user's folder of data; None for the name of a data card.

    ``FOLDER`` is called after its last part, ``NAME=FOLDER`` as the user says.
    """
    name, equals, path = os.fspath(text).partition("=")
    if not equals or not _NAME.fullmatch(name):
        name = None
        path = os.fspath(text)
    if not isinstance(text, Path) and "/" not in path and os.sep not in path:
        return None
    folder = home_path(path)
    try:
        return valid_name(name or _plain_name(folder), "dataset folder"), folder
    except InputError as error:
        raise InputError(f"{error}; or call it: NAME={folder}") from None


def _plain_name(folder):
    """Give the name of a folder in plain letters: "Meine Fälle" is Meine_Falle."""
    name = unicodedata.normalize("NFKD", folder.resolve().name)
    name = name.encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.")


def refuse_unusable(name, path):
    """Refuse the path of an option that leads nowhere, or at which reading would wait for ever."""
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(
                f"{name}: {path}: goes through links that lead to themselves: remove them"
            ) from None
        return
    piped = os.path.realpath(path).startswith("/proc/")  # by the shell: <(zcat run.gz), /dev/stdin
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or piped):
        raise InputError(
            f"{name}: {path}: is no file or folder, but a pipe or a device: name a file"
        )


def refuse_whole_disk(folder):
    """Refuse to look for files on all of a disk, which takes hours."""
    path = Path(os.path.realpath(folder))
    if path == Path(path.anchor):
        raise InputError(f"{folder}: is the whole disk: name the folder that is meant")


def home_path(path):
    """Give a path in which ``~`` is spelt out."""
    if "\0" in os.fspath(path):
        raise InputError(f"{os.fspath(path)!r}: no path holds a null character: leave it out")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: whose home folder is meant? write the whole path") from None


def check_folders():
    """Refuse folders that cannot serve, before anything is read or written."""
    for name in FOLDER_VARIABLES:
        refuse_unusable(name, os.environ.get(name, ""))
    for folder in (ROOT, OUTPUT):
        try:
            str(folder).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{str(folder)!a}: not a name in this locale: set PYTHONUTF8=1, "
                "or rename the folder"
            ) from None
    if not CARDS.is_dir() and os.environ.get(PROJECT_VARIABLE):
        raise InputError(f"{PROJECT_VARIABLE}: {ROOT}: is no project: it has no data/cards")
    existing = next(path for path in (OUTPUT, *OUTPUT.parents) if path.exists())
    if not existing.is_dir() or (existing != OUTPUT and not os.access(existing, os.W_OK)):
        variable = next(filter(os.environ.get, OUTPUT_VARIABLES), "outputs")
        raise InputError(f"{variable}: {OUTPUT}: is no folder that outputs can go to")
