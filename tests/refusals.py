"""What a reader refuses, as a table of inputs, each with the words of its one line."""

import re

from casebook.errors import InputError


def not_refused(read, cases):
    """The cases that ``read`` takes, or refuses in other words or more lines.

    A case ends in the pattern of its message; what is before are the arguments.
    """
    wrong = []
    for *given, pattern in cases:
        try:
            message = f"taken as {read(*given)!r}"
        except InputError as error:
            message = str(error)
            if re.search(pattern, message) and "\n" not in message:
                continue
        wrong.append((given, pattern, message))
    return wrong
