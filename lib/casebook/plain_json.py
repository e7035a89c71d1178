"""JSON from files of others: whatever is wrong with it is one kind of error."""

import json
import sys
from pathlib import Path

from casebook.errors import InputError


def parse_json(text):
    """Parse JSON."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        value = _DECODER.decode(text)
        if "\\ud" in text or "\\uD" in text:  # half of a character, if it stands alone
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError:
        why = "a lone surrogate, which is no character"
    except RecursionError:
        why = "nested too deeply"
    except ValueError as error:
        why = str(error)
    raise json.JSONDecodeError(why, "", 0) from None


def _once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def _whole(digits):
    if len(digits) > sys.float_info.max_10_exp:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=_whole)


def read_json(path):
    """Read a JSON file, with or without a byte-order mark."""
    path = Path(path)
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON in UTF-8: {error}") from error
