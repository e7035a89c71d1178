"""The secret of a study: opaque names, hidden chance, and the sealed key."""

import hashlib
import hmac
import json
import secrets

import numpy as np

from casebook.errors import InputError
from casebook.files import write_json
from casebook.readers import read_json

KEY_SCHEMA = "casebook-rater-key-1"
ID_DIGITS = 12
_REQUIRED = ("schema", "study", "layout", "secret", "systems", "forms")


def new_secret():
    """Draw a secret of 256 bits."""
    return secrets.token_hex(32)


def opaque_id(secret, *parts):
    """Name something so that nobody without the secret can tell what it is."""
    return _digest(secret, parts).hex()[:ID_DIGITS]


def hidden_chance(secret, purpose):
    """Random numbers that follow from the secret, not from the public seed."""
    entropy = int.from_bytes(_digest(secret, ("chance", purpose)))
    return np.random.Generator(np.random.PCG64(entropy))


def _digest(secret, parts):
    if len(secret) < 32:
        raise InputError("the secret must have at least 32 characters")
    # JSON keeps ("a", "bc") and ("ab", "c") apart.
    message = json.dumps([str(part) for part in parts]).encode()
    return hmac.digest(secret.encode(), message, hashlib.sha256)


def text_hash(text):
    """Hash a text, so that an edited cell is found without keeping the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_key(path, key):
    """Write the key of a study."""
    return write_json(path, {"schema": KEY_SCHEMA, **key})


def read_key(path):
    """Read the key of a study."""
    key = read_json(path)
    missing = [n for n in _REQUIRED if not isinstance(key, dict) or n not in key]
    if missing or key["schema"] != KEY_SCHEMA:
        lacks = f" (it lacks {', '.join(missing)})" if missing else ""
        raise InputError(f"{path}: is no key of a rater study{lacks}; give key.json")
    return key
