"""The comparison of a run with the committed reference tells noise from change."""

import runpy
from pathlib import Path

import pytest

REFERENCE = runpy.run_path(Path(__file__).with_name("reference.py"))
differences, close = REFERENCE["differences"], REFERENCE["CLOSE"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a,0.514344,7", "a,0.514343,7"),
        ("-1.0e-07", "1e-7"),
        ('"n": 131, "value": 12345.678901', '"n": 131, "value": 12345.678902'),
        ("url(#pcd16666b23) L 1.0 2", "url(#pe0eb4fe676) L 1 2.000001"),
    ],
)
def test_last_places_and_hashed_names_are_noise(before, after):
    assert differences(before, after, close) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a,0.5144,7", "a,0.5143,7"),
        ("a,0.5,7", "a,0.5,8"),
        ("a,0.5,7", "b,0.5,7"),
        ("a,0.5,7", "a,,7"),
        ('"value": 0.0', '"value": null'),
        ("a,0.5", "a,-0.5"),
    ],
)
def test_anything_else_is_a_change(before, after):
    assert differences(before, after, close) == [(before, after)]


def test_lines_that_come_or_go_are_a_change():
    assert differences("a\nb", "a\nb\nc", close) == [("2 lines", "3 lines")]
