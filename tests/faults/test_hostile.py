"""Names and links made to do harm: nothing leaves its folder."""

import pandas as pd
import pytest

from casebook import paths
from casebook.book import build_book
from casebook.data import load
from casebook.errors import CasebookError
from casebook.runs.outputs import RunOutputs
from casebook.runs.registry import locate

NAMES = [
    "..", "../x", "a/b", "/etc/x", "a\x00b", "a\nb", ".hidden", "-rf",
    "a\\b", "a..b", "x" * 300, "", " ", "ä", "．．", "a:b", "a*", "~root", "$(id)",
]  # fmt: skip


def tree(folder):
    return {p.relative_to(folder) for p in folder.rglob("*")}


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_the_results(name, tmp_path, monkeypatch, count):
    inside = tmp_path / "project" / "results"
    inside.mkdir(parents=True)
    monkeypatch.setattr(paths, "RESULTS", inside)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "project" / "cache"))
    before = tree(tmp_path)
    frame = pd.DataFrame({"a": [1]})
    attempts = [
        lambda: RunOutputs(name, "cell").rows(frame),
        lambda: RunOutputs("run", name).rows(frame),
        lambda: RunOutputs("run", "cell").table(name, frame),
        lambda: build_book(name),
        lambda: load(name),
    ]
    if name.strip():  # a blank one stands for none
        attempts.append(lambda: locate(tenant=name))
    for attempt in attempts:
        with pytest.raises((CasebookError, OSError)):
            attempt()
        count("name that points elsewhere")
    cache = tmp_path / "project" / "cache"
    assert all(cache in (p := tmp_path / new, *p.parents) for new in tree(tmp_path) - before)


def test_a_link_in_the_results_is_replaced_and_not_followed(tmp_path, monkeypatch, count):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    outside = tmp_path / "precious.txt"
    outside.write_text("mine")
    outputs = RunOutputs("run", "cell")
    for place in ("rows/cell.csv.gz", "tables/cell.t.csv", "numbers/cell.json"):
        link = tmp_path / "results" / "run" / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside)
        count("link planted in the results")
    outputs.rows(pd.DataFrame({"a": [1]}))
    outputs.table("t", pd.DataFrame({"a": [1]}))
    number = {"value": 0.5, "ci": [0.0, 1.0], "n": 1, "control": 0.1}
    outputs.numbers("e", {"d": {"s": {"m": number}}})
    assert outside.read_text() == "mine"
    assert not any(p.is_symlink() for p in (tmp_path / "results").rglob("*"))
