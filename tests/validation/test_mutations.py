"""What mutants change, by hand; that each of them is another program, for a module of the
library."""

import ast

import pytest
from validation.mutations import places

from casebook.paths import ROOT


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a < b", {("flip", "x = (a >= b)"), ("boundary", "x = (a <= b)")}),
        ("x = a and b", {("logic", "x = (a or b)")}),
        ("x = not a", {("not", "x = (a)")}),
        ("x = (a + b) * c", {("swap", "x = ((a + b) / c)"), ("swap", "x = ((a - b)) * c")}),
        ("x = f(1.5, True)", {("shift", "x = f(2.5, True)"), ("boolean", "x = f(1.5, False)")}),
        (
            "x = a if b else c",
            {("boolean", "x = a if True else c"), ("boolean", "x = a if False else c")},
        ),
        ("x = g(x)", {("delete", "pass")}),
        ("x += a", {("delete", "pass")}),
        ("raise E", {("delete", "pass")}),
        ('"a text"', set()),
        ('x = f"{a < b}" + c', set()),
        ("x = y", set()),  # later lines would only miss the name
    ],
)
def test_what_is_done_to_a_line(line, expected):
    assert {(place["kind"], place["new"]) for place, _ in places(line.encode())} == expected


def test_functions_give_nothing_or_end_at_once():
    gives = b'def f(a):\n    """Text."""\n    return a\n'
    acts = b'def f(a):\n    """Text."""\n    a.clear()\n    a.sort()\n'
    assert [(place["line"], place["new"]) for place, _ in places(gives)] == [(3, "return None")]
    assert {(place["line"], place["kind"], place["new"]) for place, _ in places(acts)} == {
        (3, "return", "return"),
        (3, "delete", "pass"),
        (4, "delete", "pass"),
    }


def test_every_mutant_is_another_program():
    source = (ROOT / "lib/casebook/measures/rankshift.py").read_bytes()
    changes = [change for _, change in places(source)]
    programs = {
        ast.dump(ast.parse(source[:first] + new + source[last:])) for first, last, new in changes
    }
    assert ast.dump(ast.parse(source)) not in programs and len(changes) > 100
