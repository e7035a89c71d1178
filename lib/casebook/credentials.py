"""Passwords, keys and tokens: what is kept, printed or published holds none.

An address may name a user and a password (``https://me:secret@host``) or a key (``?api_key=secret``), a variable of the
environment is secret by its name. Anything else is not recognised: a secret in a path, or one that a text spells out.
"""

import base64
import json
import os
import re
from urllib.parse import quote, unquote

SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE")
"""A variable of the environment whose name holds one of these is a secret."""
_HIDDEN = "***"
_SHORTEST = 8  # characters of a secret variable: a shorter value may be any word
_SHORTEST_PASSWORD = 4
# User and password end with the last @ before the host; a password may hold a slash, a port may not.
_USER = re.compile(r"(:/{1,3})([^\s/?#:]*:(?!\d*[/?#])\S{0,200}|[^\s/?#]*)@")
# Of an address that stands alone: with blanks too.
_WHOLE = re.compile(r"[\w.+:-]+?:/{1,3}([^/?#:]*:(?!\d*[/?#]).*|[^/?#]*)@", re.DOTALL)
_QUERY = re.compile(
    r"([?&#][^\s=&#?]{0,40}"
    r"(?:key|token|secret|passw\w*|passphrase|pwd|sig|signature|auth|authorization|credential|(?<![a-z])code)(?![a-z])"
    r"[^\s=&#?]{0,40}=)([^\s&#\"'<>]+)",
    re.IGNORECASE,
)


def without_secrets(text, *addresses):
    """Replace what is secret in the addresses in a text, in the addresses named, and in the environment."""
    text = str(text)
    secrets = set().union(_of_environment(), *map(_of_address, addresses))
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return _public(text)


def holds_secret(value):
    """Say whether a text is or holds an address with a password or a key; of a list or a mapping, whether one does."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return any(map(holds_secret, value))
    return isinstance(value, str) and bool(_WHOLE.match(value) or _public(value) != value)


def _public(text):
    text = _USER.sub(rf"\1{_HIDDEN}@", text)
    return _QUERY.sub(rf"\1{_HIDDEN}", text)


def _of_address(address):
    """Give the secrets of an address, as a server or a library may repeat them."""
    found = {value for match in _QUERY.finditer(address) for value in (match[2], unquote(match[2]))}
    if match := _WHOLE.match(address):
        user, _, password = unquote(match[1]).partition(":")
        secret = password or user
        written = match[1].partition(":")[2] or match[1]
        login = base64.b64encode(f"{user}:{password}".encode(errors="replace")).decode()
        found |= {secret, written, login}
    return _spellings(text for text in found if len(text) >= _SHORTEST_PASSWORD)


def _of_environment():
    """Give the values of secret variables, and the secrets of the addresses that others hold."""
    found = set()
    for name, value in os.environ.items():
        found |= _of_address(value)
        named = any(word in name.upper() for word in SECRET_WORDS)
        if named and not os.path.exists(value):  # noqa: PTH110 - Path raises where a value is too long for a name
            found |= _spellings(line for line in value.splitlines() if len(line) >= _SHORTEST)
    return found


def _spellings(secrets):
    """Give secrets as they are, and as addresses and JSON write them."""
    found = set()
    for secret in secrets:
        found |= {secret, quote(secret, safe="", errors="replace"), json.dumps(secret)[1:-1]}
    return found
