"""Where things live, whatever the working directory, and which names are allowed."""

import os
import re
from pathlib import Path

import platformdirs

from casebook.errors import InputError

ROOT = Path(os.environ.get("CASEBOOK_ROOT") or Path(__file__).resolve().parents[2])
NOTEBOOKS = ROOT / "notebooks"
DATA = ROOT / "data"
CARDS = DATA / "cards"
# EMBEDDINGSHIFT_ROOT moves what is written, not the notebooks and cards of the project.
OUTPUT = Path(
    os.environ.get("CASEBOOK_ROOT") or os.environ.get("EMBEDDINGSHIFT_ROOT") or ROOT
).resolve()
RESULTS = OUTPUT / "results"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)
}


def valid_name(name, kind="name"):
    """Check a name that will become a file or folder name.

    Parameters
    ----------
    name : str
        Candidate: 1 to 100 ASCII letters, digits, ``_``, ``-`` and ``.``, starting
        with a letter or digit, without ``..`` and not reserved by an operating system.
    kind : str
        What the name is for, quoted in the error.

    Returns
    -------
    str
        The name, unchanged: names are validated, never sanitised.

    Raises
    ------
    InputError
        If the name is not allowed.
    """
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
    """Give the folder that holds everything one named run produced.

    Parameters
    ----------
    run : str
        Name of the run.

    Returns
    -------
    pathlib.Path
        ``results/<run>``; not created.
    """
    return RESULTS / valid_name(run, "run")


def cache_dir(*parts):
    """Give a folder of the user's cache (``CASEBOOK_CACHE`` overrides the place).

    Parameters
    ----------
    *parts : str
        Sub-folders.

    Returns
    -------
    pathlib.Path
        The folder; not created, since who only reads may have a home that is read-only.

    Raises
    ------
    InputError
        If the user has no home.
    """
    base = os.environ.get("CASEBOOK_CACHE")
    try:
        base = base or platformdirs.user_cache_dir("casebook")
    except RuntimeError as error:  # a user whom the system does not know
        why = "no home folder: set CASEBOOK_CACHE to a folder for the cache"
        raise InputError(why) from error
    return Path(base).joinpath(*parts)


def check_readable():
    """Refuse a project whose path the locale cannot express.

    Raises
    ------
    InputError
        Python would pass the name on to others in letters that they do not take.
    """
    for folder in (ROOT, OUTPUT):
        try:
            str(folder).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{str(folder)!a}: not a name in this locale: set PYTHONUTF8=1, or "
                "rename the folder"
            ) from None
