"""Where things live, whatever the working directory, and which names are allowed."""

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path

import platformdirs

from casebook.errors import InputError

# CASEBOOK_PROJECT says where notebooks, data cards and book are, CASEBOOK_ROOT (else
# EMBEDDINGSHIFT_ROOT) where outputs go.
PROJECT, OUTPUTS = "CASEBOOK_PROJECT", ("CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT")
FOLDER_VARIABLES = (PROJECT, *OUTPUTS, "CASEBOOK_CACHE", "CASEBOOK_DATA_MIRROR")
ROOT = Path(os.path.realpath(os.environ.get(PROJECT) or Path(__file__).parents[2]))
NOTEBOOKS = ROOT / "notebooks"
DATA = ROOT / "data"
CARDS = DATA / "cards"
OUTPUT = Path(os.path.realpath(next(filter(None, map(os.environ.get, OUTPUTS)), ROOT)))
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


def data_folder(name):
    """Tell a user's folder of data from the name of a data card."""
    given, equals, place = os.fspath(name).partition("=")
    if not (equals and _NAME.fullmatch(given)):
        given, place = None, os.fspath(name)
    if not isinstance(name, Path) and not {"/", os.sep} & set(place):
        return None
    folder = home_path(place)
    # "Meine Fälle" is called Meine_Falle
    plain = unicodedata.normalize("NFKD", folder.resolve().name).encode("ascii", "ignore").decode()
    try:
        return valid_name(
            given or re.sub(r"[^A-Za-z0-9_.-]+", "_", plain).strip("_."), "dataset folder"
        ), folder
    except InputError as error:
        raise InputError(f"{error}; or call it: NAME={folder}") from None


def refuse_unusable(name, place):
    """Refuse a path, given as `name`, that leads nowhere, or at which reading would wait for ever."""
    try:
        kind = Path(place).stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(
                f"{name}: {place}: goes through links that lead to themselves: remove them"
            ) from None
        return
    piped = os.path.realpath(place).startswith("/proc/")  # by the shell: <(zcat run.gz), /dev/stdin
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or piped):
        raise InputError(
            f"{name}: {place}: is no file or folder, but a pipe or a device: name a file"
        )


def refuse_whole_disk(folder):
    """Refuse to look for files on all of a disk, which takes hours."""
    place = Path(os.path.realpath(folder))
    if place == Path(place.anchor):
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
                f"{str(folder)!a}: not a name in this locale: set PYTHONUTF8=1, or rename the folder"
            ) from None
    if not CARDS.is_dir() and os.environ.get(PROJECT):
        raise InputError(f"{PROJECT}: {ROOT}: is no project: it has no data/cards")
    there = next(place for place in (OUTPUT, *OUTPUT.parents) if place.exists())
    if not there.is_dir() or (there != OUTPUT and not os.access(there, os.W_OK)):
        named = next(filter(os.environ.get, OUTPUTS), "outputs")
        raise InputError(f"{named}: {OUTPUT}: is no folder that outputs can go to")
