"""The comparison of a run with the committed numbers tells noise from change."""

import runpy
from pathlib import Path

REFERENCE = runpy.run_path(Path(__file__).with_name("reference.py"))
NUMBERS = {"value": 0.514344, "n": 7, "far": 12345.678901, "none": None, "rows": [{"p": 1.0}]}


def test_last_places_are_noise_and_anything_else_is_a_line():
    noise = [{"value": 0.514343}, {"far": 12345.7}, {"value": 0.514344 + 9e-6}]
    changes = {
        "/value: 0.514344 became 0.5145": {"value": 0.5145},
        "/value: 0.514344 became -0.514344": {"value": -0.514344},
        "/value: 0.514344 became None": {"value": None},
        "/n: 7 became 8": {"n": 8},
        "/n: 7 became 7.0": {"n": 7.0},
        "/far: 12345.678901 became 12346.0": {"far": 12346.0},
        "/none: None became 0.0": {"none": 0.0},
        "/rows/0/p: 1.0 became 0.9": {"rows": [{"p": 0.9}]},
        "/rows: [{'p': 1.0}] became []": {"rows": []},
        "/more: new": {"more": 1},
    }
    found = {
        line: list(REFERENCE["differences"](NUMBERS, NUMBERS | change))
        for line, change in changes.items()
    }
    assert found == {line: [line] for line in changes}
    assert [list(REFERENCE["differences"](NUMBERS, NUMBERS | change)) for change in noise] == [
        []
    ] * 3
    less = {name: value for name, value in NUMBERS.items() if name != "n"}
    assert list(REFERENCE["differences"](NUMBERS, less)) == ["/n: gone"]
