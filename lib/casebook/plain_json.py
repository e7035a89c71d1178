"""JSON from files of others: whatever is wrong with it is one kind of error."""

import json
from pathlib import Path

from casebook.errors import InputError


def parse_json(text):
    """Parse JSON.

    Parameters
    ----------
    text : str or bytes
        The document.

    Returns
    -------
    object
        As ``json.loads``.

    Raises
    ------
    json.JSONDecodeError
        Also where ``json.loads`` raises something else: for text that is nested too
        deeply, numbers of thousands of digits, and bytes that are not UTF-8.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise json.JSONDecodeError(why, "", 0) from None


def read_json(path):
    """Read a JSON file, with or without a byte-order mark.

    Parameters
    ----------
    path : path-like
        File.

    Returns
    -------
    object
        What it holds.

    Raises
    ------
    InputError
        If it cannot be read, or is not JSON in UTF-8.
    """
    path = Path(path)
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON in UTF-8: {error}") from error
