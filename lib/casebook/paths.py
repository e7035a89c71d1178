"""Where things live, whatever the working directory, and which names are allowed."""

import os
import re
from pathlib import Path

import platformdirs

from casebook.errors import InputError

# Variables of the environment: where notebooks, data cards and book are, and where outputs go.
PROJECT_VARIABLE = "CASEBOOK_PROJECT"
OUTPUT_VARIABLES = ("CASEBOOK_ROOT", "EMBEDDINGSHIFT_ROOT")
GRID = "notebooks/experiments.yml"
CONFIGURATION = "_config.yml"
INSTALLED = Path(__file__).resolve().parent / "shipped"
_CLONE = Path(__file__).resolve().parents[2]
# Notebooks, collections, cards and pages that come with the library.
SHIPPED = _CLONE if (_CLONE / GRID).is_file() else INSTALLED


# The folder of the project: of the variable, around the working directory, or ours.
_HERE = Path.cwd()
_AROUND = [folder for folder in (_HERE, *_HERE.parents) if (folder / GRID).is_file()]
_PROJECT = os.environ.get(PROJECT_VARIABLE) or next(iter(_AROUND), SHIPPED)
ROOT = Path(os.path.realpath(_PROJECT))
_USUAL_OUTPUT = _HERE if ROOT == INSTALLED else ROOT
OUTPUT = next(filter(None, map(os.environ.get, OUTPUT_VARIABLES)), _USUAL_OUTPUT)
OUTPUT = Path(os.path.realpath(OUTPUT))
RESULTS = OUTPUT / "results"
NOTEBOOKS = ROOT / "notebooks"
DATA = SHIPPED / "data"
CARDS = ROOT / "data" / "cards"

# No dot at the end, and no two together.
_NAME = r"[A-Za-z0-9](?:[\w-]|\.(?=[\w-])){0,99}"
_NAMED_FOLDER = re.compile(rf"(?:({_NAME})=)?(.*)", re.ASCII | re.DOTALL)


def card_files():
    """The data cards by key: those of the project before those that are shipped."""
    files = [*(DATA / "cards").glob("*.yml"), *CARDS.glob("*.yml")]
    return dict(sorted((path.stem, path) for path in files))


def notebook_files():
    """The numbered notebooks by name: those of the project before those that are shipped."""
    folders = (SHIPPED / "notebooks", NOTEBOOKS)
    return {
        path.name: path for folder in folders for path in folder.glob("[0-9]*_*.ipynb")
    }


def collection_folder(name):
    """The folder below ``data/`` that a card names: the project's, or a shipped one."""
    folder = ROOT / "data" / name
    return folder if folder.exists() else DATA / name


def valid_name(name, kind="name"):
    """A name that will become a file or folder name; others are refused, never changed."""
    if not re.fullmatch(_NAME, str(name), re.ASCII):
        raise InputError(
            f"{kind} {str(name)!r} is not allowed: use letters, digits, '_', '-' and single '.', "
            "at most 100, starting with a letter or digit"
        )
    return str(name)


def run_dir(run):
    """The folder that holds everything one named run produced."""
    return RESULTS / valid_name(run, "run")


def cache_dir(*parts):
    """A folder of the user's cache (``CASEBOOK_CACHE`` overrides the place)."""
    base = os.environ.get("CASEBOOK_CACHE") or platformdirs.user_cache_dir("casebook")
    return Path(base, *parts)


def data_folder(text):
    """Name and path of a user's folder of data; None for the name of a data card.

    ``FOLDER`` is called after its last part, ``NAME=FOLDER`` as the user says.
    """
    name, path = _NAMED_FOLDER.fullmatch(os.fspath(text)).groups()
    if not isinstance(text, Path) and os.sep not in path:
        return None
    folder = home_path(path)
    try:
        return valid_name(
            name or folder.resolve().name.replace(" ", "_"), "dataset folder"
        ), folder
    except InputError as error:
        raise InputError(f"{error}; or call it: NAME={folder}") from None


def refuse_unusable(name, path):
    """Refuse a path of the command line that leads to itself, or that is a pipe without an end."""
    try:
        is_pipe = Path(path).resolve().is_fifo()
    except RuntimeError:  # Python before 3.13
        raise InputError(
            f"{name}: {path}: goes through links that lead to themselves"
        ) from None
    except OSError:
        # Such as a value that is too long for a name: whoever reads it says so.
        return
    if is_pipe:  # no path leads to a pipe of the shell: <(zcat run.gz), /dev/stdin
        raise InputError(
            f"{name}: {path}: is no file or folder, but a pipe: name a file"
        )


def home_path(path):
    """A path in which ``~`` is spelt out, where it means a folder."""
    return Path(os.path.expanduser(path))  # noqa: PTH111, which raises for an unknown user


def writable(folder):
    """Whether files can be written to a folder, which may still be missing."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK)
