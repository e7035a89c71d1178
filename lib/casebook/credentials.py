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

# Of a variable of the environment that is a secret.
SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE", re.IGNORECASE)
_HIDDEN = "***"
_SHORTEST = 8  # characters: a shorter value of a variable may be any word
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
    """A text without the secrets of its addresses, of further addresses, of the environment."""
    text = str(text)
    secrets = _secrets_of_environment().union(*map(_secrets_of, addresses))
    for secret in sorted(secrets, key=len, reverse=True):
        # As it is, and as addresses and JSON write it.
        in_address = quote(secret, safe="", errors="replace")
        for spelling in (secret, in_address, json.dumps(secret)[1:-1]):
            text = text.replace(spelling, _HIDDEN)
    return _without_logins(text)


def holds_secret(value):
    """Whether a text, or one in a list or dictionary, holds an address with a password or a key."""
    return _without_logins(str(value)) != str(value)


def _without_logins(text):
    text = _LOGIN.sub(rf"\1{_HIDDEN}@", text)
    return _KEY_IN_QUERY.sub(rf"\1{_HIDDEN}", text)


def _secrets_of(address):
    """Passwords and keys of an address, as a server or a library may repeat them."""
    secrets = {match[2] for match in _KEY_IN_QUERY.finditer(address)}
    for _, login in _LOGIN.findall(address):
        header = base64.b64encode(unquote(login).encode(errors="replace")).decode()
        secrets |= {login.partition(":")[2] or login, header}
    return {text for text in {*secrets, *map(unquote, secrets)} if len(text) >= _SHORTEST_PASSWORD}


def _secrets_of_environment():
    """The values of secret variables, and the secrets of the addresses in others."""
    secrets = set()
    for name, value in os.environ.items():
        secrets |= _secrets_of(value)
        # A path is no secret. (Path raises where a value is too long for a name.)
        if SECRET_NAME.search(name) and not os.path.exists(value):  # noqa: PTH110
            secrets |= {line for line in value.splitlines() if len(line) >= _SHORTEST}
    return secrets
