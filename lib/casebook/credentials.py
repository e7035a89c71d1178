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
_HIDDEN = "***"
_SHORTEST = 8  # characters: a shorter value of a variable may be any word
_SHORTEST_PASSWORD = 4
# User and password end with the last @ before the host; a password may hold a slash, no port may.
_LOGIN = re.compile(r"(:/{1,3})([^\s/?#:]*:(?!\d*[/?#])\S{0,200}|[^\s/?#]*)@")
# Of a text that is an address: with blanks too.
_LOGIN_OF_ADDRESS = re.compile(
    r"[\w.+:-]+?:/{1,3}([^/?#:]*:(?!\d*[/?#]).*|[^/?#]*)@", re.DOTALL
)
# The same without a scheme, as the whole of a text.
_BARE_LOGIN = re.compile(r"[^\s/?#:@]+:[^\s/?#@]+@[\w.-]+(?::\d+)?(?:[/?#]\S*)?")
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
        for spelling in (
            secret,
            quote(secret, safe="", errors="replace"),
            json.dumps(secret)[1:-1],
        ):
            text = text.replace(spelling, _HIDDEN)
    return _without_logins(text)


def holds_secret(value):
    """Whether a text holds an address with a password or a key; or one of several texts."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return any(map(holds_secret, value))
    text = str(value).strip("'\"")
    return bool(_LOGIN_OF_ADDRESS.match(text)) or _without_logins(text) != text


def is_bare_login(value):
    """Whether a text is an address with a password and no scheme: ``me:secret@host``."""
    return bool(_BARE_LOGIN.fullmatch(str(value)))


def _without_logins(text):
    text = _LOGIN.sub(rf"\1{_HIDDEN}@", text)
    return _KEY_IN_QUERY.sub(rf"\1{_HIDDEN}", text)


def _secrets_of(address):
    """Passwords and keys of an address, as a server or a library may repeat them."""
    secrets = {match[2] for match in _KEY_IN_QUERY.finditer(address)}
    for _, login in _LOGIN.findall(address):
        header = base64.b64encode(unquote(login).encode(errors="replace")).decode()
        secrets |= {login.partition(":")[2] or login, header}
    return {
        text
        for text in {*secrets, *map(unquote, secrets)}
        if len(text) >= _SHORTEST_PASSWORD
    }


def _secrets_of_environment():
    """The values of secret variables, and the secrets of the addresses in others."""
    secrets = set()
    for name, value in os.environ.items():
        secrets |= _secrets_of(value)
        is_secret = any(word in name.upper() for word in SECRET_WORDS)
        # A path is no secret. (Path raises where a value is too long for a name.)
        if is_secret and not os.path.exists(value):  # noqa: PTH110
            secrets |= {line for line in value.splitlines() if len(line) >= _SHORTEST}
    return secrets
