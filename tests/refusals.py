"""Tables of what a reader refuses."""

import re

from casebook.errors import InputError


def not_refused(read, cases):
    """The cases (argument, pattern) that `read` does not refuse in one line of that pattern."""
    wrong = []
    for argument, pattern in cases:
        try:
            said = f"read as {read(argument)!r:.200}"
        except InputError as error:
            said = str(error)
            if re.search(pattern, said) and "\n" not in said:
                continue
        wrong.append((argument, pattern, said))
    return wrong
