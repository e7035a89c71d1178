"""The comparison of a run with the committed reference tells noise from change."""

import gzip
import os
import runpy
import shutil
import subprocess
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
        (f'"../../rows/a.csv.gz": "{"1" * 64}"', f'"../../rows/a.csv.gz": "{"a" * 64}"'),
    ],
)
def test_last_places_and_hashed_names_are_noise(before, after):
    assert differences(before, after, close) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a,0.5144,7", "a,0.5143,7"),
        ("a,0.5,7", "a,0.5,8"),
        ('"n": 1234567', '"n": 1234568'),
        ("a,0.5,7", "b,0.5,7"),
        ("a,0.5,7", "a,,7"),
        ('"value": 0.0', '"value": null'),
        (f'"notebook": "{"1" * 64}"', f'"notebook": "{"a" * 64}"'),
        ("a,0.5", "a,-0.5"),
    ],
)
def test_anything_else_is_a_change(before, after):
    assert differences(before, after, close) == [(before, after)]


def test_lines_that_come_or_go_are_a_change():
    assert differences("a\nb", "a\nb\nc", close) == [("2 lines", "3 lines")]


@pytest.fixture
def checkout(tmp_path, monkeypatch, capsys):
    """Give a committed reference and a function that compares with it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    place = tmp_path / "results" / "smoke"
    (place / "rows").mkdir(parents=True)
    (place / "numbers.json").write_text('{"value": 0.514344, "n": 7}\n')
    (place / "figure.svg").write_text("L 10.001 20\n")
    (place / "rows" / "a b.csv.gz").write_bytes(gzip.compress(b"x\n0.5\n"))
    author = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "x")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)

    def compare():
        with pytest.raises(SystemExit) as stop:
            REFERENCE["main"](tmp_path)
        return int(stop.value.code), capsys.readouterr().out

    return place, compare


def test_what_is_committed_or_noise_passes(checkout):
    place, compare = checkout
    (place.parent / "other.json").write_text("not of the reference")
    assert compare() == (0, "")
    (place / "numbers.json").write_text('{"value": 0.514343, "n": 7}\n')
    (place / "figure.svg").write_text("L 10.002 20\n")
    (place / "rows" / "a b.csv.gz").write_bytes(gzip.compress(b"x\n0.5000001\n", 1))
    said = "only the last places of numbers differ"
    assert compare() == (
        0,
        f"results/smoke/figure.svg: {said}\n"
        f"results/smoke/numbers.json: {said}\n"
        f"results/smoke/rows/a b.csv.gz: {said}\n",
    )


@pytest.mark.parametrize("staged", [False, True])
def test_changed_new_and_deleted_files_fail_and_are_named(checkout, staged):
    place, compare = checkout
    (place / "numbers.json").write_text('{"value": 0.514344, "n": 8}\n')
    (place / "figure.svg").unlink()
    (place / "rows" / "a b.csv.gz").write_bytes(gzip.compress(b"x\n0.5\n0.5\n"))
    (place / "new").mkdir()
    (place / "new" / "table.csv").write_text("a\n")
    if staged:
        subprocess.run(["git", "add", "-A"], cwd=place, check=True)
    code, told = compare()
    assert code == 1
    assert sorted(told.splitlines()) == [
        "  + 3 lines",
        '  + {"value": 0.514344, "n": 8}',
        "  - 2 lines",
        '  - {"value": 0.514344, "n": 7}',
        "results/smoke/figure.svg: gone",
        "results/smoke/new/table.csv: not committed",
        "results/smoke/numbers.json: lines that differ: 1",
        "results/smoke/rows/a b.csv.gz: lines that differ: 1",
    ]


def test_a_rerun_in_another_folder_is_compared_and_what_is_measured_anew_is_not(
    checkout, tmp_path, capsys
):
    place, _ = checkout
    rerun = tmp_path / "rerun"
    shutil.copytree(place, rerun)
    (rerun / "timings").mkdir()
    (rerun / "timings" / "seconds.csv").write_text("7\n")
    (rerun / "numbers.json").write_text("{}\n")
    with pytest.raises(SystemExit, match="True"):
        REFERENCE["main"](tmp_path, rerun)
    assert (
        capsys.readouterr().out.splitlines()[0]
        == "results/smoke/numbers.json: lines that differ: 1"
    )


def test_a_folder_without_git_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SystemExit, match="no git checkout"):
        REFERENCE["main"](tmp_path)
