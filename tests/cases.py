"""Tables of cases: a test checks all rows, and lists those that fail."""

import pytest

from casebook.errors import InputError


# Rows of arguments on which a check fails, each with what it said.
def failing(check, rows):
    wrong = []
    for row in rows:
        try:
            check(*row)
        except (AssertionError, pytest.fail.Exception) as failure:
            wrong.append((row, str(failure)))
    return wrong


# Rows (arguments, pattern) that a call does not refuse in one line with these words.
def misnamed(call, rows, error):
    def check(arguments, pattern):
        with pytest.raises(error, match=pattern) as refusal:
            call(*arguments)
        assert "\n" not in str(refusal.value)

    return failing(check, rows)


# Cases (arguments, then a pattern) that ``read`` takes, or refuses in other words or more lines.
def not_refused(read, cases):
    rows = [(arguments, pattern) for *arguments, pattern in cases]
    return misnamed(read, rows, InputError)


# Make a check a test of all rows, which lists those that fail.
def table(rows):
    def of(check):
        def test():
            assert failing(check, rows) == []

        return test

    return of
