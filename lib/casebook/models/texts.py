"""Texts as models take them, and their keys."""

import hashlib

from casebook.errors import InputError


def checked_texts(texts):
    """Check that an input is a sequence of strings."""
    if isinstance(texts, str):
        raise InputError("expected a list of texts, got one string: put it in a list")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {row} is {type(text).__name__}, expected a string")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"text {row} holds half a surrogate pair") from error
    return texts


def text_key(text):
    """Give the key of a text."""
    return hashlib.sha256(text.encode()).digest()
