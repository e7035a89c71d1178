"""Where things live, whatever the working directory, and which names are allowed."""

import contextlib
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

_INSTALLED = Path(os.path.realpath(__file__)).parent / "shipped"
GRID = "notebooks/experiments.yml"
CONFIGURATION = "_config.yml"
LOCK = "requirements.lock"


def _shipped():
    """Give the folder of what comes with the library: the clone's, or the installed package's."""
    clone = Path(__file__).parents[2]
    return clone if (clone / GRID).is_file() else _INSTALLED


def _project():
    """Give the folder of the project: of the variable, around the working directory, or ours."""
    if os.environ.get(PROJECT_VARIABLE):
        return Path(os.environ[PROJECT_VARIABLE])
    with contextlib.suppress(FileNotFoundError):  # the working directory was removed
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / GRID).is_file() and (folder / CONFIGURATION).is_file():
                return folder
    return SHIPPED


def _output():
    """Give the folder of outputs: of a variable, the project, or where somebody works."""
    for name in OUTPUT_VARIABLES:
        if os.environ.get(name):
            return Path(os.environ[name])
    return Path.cwd() if ROOT == _INSTALLED else ROOT


SHIPPED = Path(os.path.realpath(_shipped()))
"""Notebooks, collections, cards and pages that come with the library."""

ROOT = Path(os.path.realpath(_project()))
"""The project: ours, or a user's (`casebook init`)."""

NOTEBOOKS = ROOT / "notebooks"
DATA = SHIPPED / "data"
CARDS = ROOT / "data" / "cards"
OUTPUT = Path(os.path.realpath(_output()))
RESULTS = OUTPUT / "results"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)
}


def card_files():
    """Give the data cards by key: those of the project before those that are shipped."""
    folders = (DATA / "cards", CARDS)
    cards = {path.stem: path for folder in folders for path in folder.glob("*.yml")}
    return dict(sorted(cards.items()))


def notebook_files():
    """Give the numbered notebooks by name: those of the project before those that are shipped."""
    folders = (SHIPPED / "notebooks", NOTEBOOKS)
    return {path.name: path for folder in folders for path in folder.glob("[0-9]*_*.ipynb")}


def notebook_file(name):
    """Give the file of a notebook: of the project, or the shipped one of that name."""
    path = NOTEBOOKS / name
    return path if path.exists() else notebook_files().get(name, path)


def collection_folder(name):
    """Give the folder below ``data/`` that a card names: the project's, or a shipped one."""
    folder = ROOT / "data" / name
    return folder if folder.exists() else DATA / name


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
    is_project = (ROOT / GRID).is_file() or CARDS.is_dir()
    if os.environ.get(PROJECT_VARIABLE) and not is_project:
        raise InputError(
            f"{PROJECT_VARIABLE}: {ROOT}: is no project: it has neither {GRID} nor data/cards; "
            "'casebook init FOLDER' makes one"
        )
    existing = next(path for path in (OUTPUT, *OUTPUT.parents) if path.exists())
    if not existing.is_dir() or (existing != OUTPUT and not os.access(existing, os.W_OK)):
        variable = next(filter(os.environ.get, OUTPUT_VARIABLES), "outputs")
        raise InputError(f"{variable}: {OUTPUT}: is no folder that outputs can go to")
