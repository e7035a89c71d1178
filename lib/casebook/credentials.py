"""Passwords, keys and tokens: what is kept, printed or published holds none.

An address may name a user and a password (``https://me:secret@host``) or a key
(``?api_key=secret``), a variable of the environment is secret by its name. Anything else is not
recognised: a secret in a path, or one that a text spells out.
"""

import base64
import json
import os
import re
from urllib.parse import quote, unquote

# A variable of the environment whose name holds one of these is a secret.
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE")
_SHORTEST_VARIABLE = 8  # characters: a shorter value may be any word
_SHORTEST_PASSWORD = 4
# User and password end with the last @ before the host; a password may hold a slash, no port may.
_LOGIN = re.compile(r"(:/{1,3})([^\s/?#:]*:(?!\d*[/?#])\S{0,200}|[^\s/?#]*)@")
_KEY_IN_QUERY = re.compile(
    r"([?&#][^\s=&#?]{0,40}"
    r"(?:key|token|secret|passw\w*|passphrase|pwd|sig|signature|auth|authorization|credential"
    r"|(?<![a-z])code)(?![a-z])"
    r"[^\s=&#?]{0,40}=)([^\s&#\"'<>]+)",
    re.IGNORECASE,
)


def without_secrets(text, *addresses):
    """A text without the secrets of its addresses, of further addresses and of the environment."""
    secrets = set()
    for address in (*addresses, *os.environ.values()):
        secrets |= _secrets_of(address)
    for name, value in os.environ.items():
        named_secret = any(word in name.upper() for word in SECRET_WORDS)
        # A path is no secret. (Path raises where a value is too long for a name.)
        if named_secret and not os.path.exists(value):  # noqa: PTH110
            secrets |= {line for line in value.splitlines() if len(line) >= _SHORTEST_VARIABLE}
    # As they are, and as addresses and JSON write them.
    secrets |= {quote(secret, safe="", errors="replace") for secret in secrets}
    secrets |= {json.dumps(secret)[1:-1] for secret in secrets}
    text = str(text)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _without_logins(text)


def holds_secret(value):
    """Whether a text, or one of several, holds an address with a password or a key."""
    return _without_logins(str(value)) != str(value)


def _without_logins(text):
    return _KEY_IN_QUERY.sub(r"\1***", _LOGIN.sub(r"\1***@", text))


def _secrets_of(address):
    """The secrets of an address, as a server or a library may repeat them."""
    secrets = {match[2] for match in _KEY_IN_QUERY.finditer(address)}
    for match in _LOGIN.finditer(address):
        login = unquote(match[2])
        encoded = base64.b64encode(login.encode(errors="replace")).decode()
        secrets |= {encoded, match[2].partition(":")[2] or match[2]}
    secrets |= set(map(unquote, secrets))
    return {secret for secret in secrets if len(secret) >= _SHORTEST_PASSWORD}
