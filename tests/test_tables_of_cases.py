"""A table of cases lists the rows that fail, and those alone."""

import pytest
from cases import failing, misnamed

from casebook.errors import InputError


def test_rows_that_fail_are_listed():
    def check(number):
        assert number < 2

    assert [row for row, _ in failing(check, [(1,), (2,), (3,)])] == [(2,), (3,)]


def test_rows_that_are_not_refused_or_in_other_words_are_listed():
    def call(text):
        if text:
            raise InputError(text)

    rows = [(("",), "no"), (("no row",), "no"), (("no\nrow",), "no"), (("yes",), "no")]
    assert [row[0] for row, _ in misnamed(call, rows, InputError)] == [
        ("",),
        ("no\nrow",),
        ("yes",),
    ]
    with pytest.raises(ValueError, match="fault"):
        misnamed(lambda _: int("fault"), [(("",), "no")], InputError)
