"""Nothing that a verdict rests on is altered or taken away without anybody noticing."""

import json
import re
import shutil

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.runs.decide import compare_runs, decide
from casebook.runs.outputs import merge_numbers, require_report
from casebook.runs.promotions import active_promotion, promote
from casebook.runs.record import SEAL, read_record, write_record
from casebook.runs.registry import find_run

RNG = np.random.default_rng(0)
WEAK = RNG.integers(1, 8, 60)
STRONG = np.maximum(1, WEAK - 2)
ROWS = "eval.perQuery.json"
WHY = "test"


@pytest.fixture
def two(registry):
    return registry.add("old", ranks=WEAK), registry.add("new", ranks=STRONG, minutes=1)


def permuted(path):
    rows = json.loads(path.read_text())
    names = [row["QueryId"] for row in rows]
    for row, name in zip(rows, names[1:] + names[:1], strict=True):
        row["QueryId"] = name
    path.write_text(json.dumps(rows))


DAMAGE = {"gone": lambda path: path.unlink(), "altered": permuted}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_promoted_run_is_checked_before_it_is_used(registry, two, damage):
    listing = registry.read()
    promote(listing, find_run(listing, "old"), "ndcg@3", WHY)
    DAMAGE[damage](two[0] / ROWS)
    for use in (
        lambda: decide(listing, "ndcg@3"),
        lambda: active_promotion(listing.root, "ndcg@3"),
    ):
        with pytest.raises(InputError, match=f"old/{ROWS}"):
            use()


def test_a_record_that_was_altered_is_no_run(registry, two):
    path = two[1] / "run.json"
    record = json.loads(path.read_text())
    for change in (
        {"Metrics": {"ndcg@3": 1.0}},
        {"Success": False},
        {"Labels": {"DatasetHash": "x"}},
        {SEAL: "0" * 64},
    ):
        path.write_text(json.dumps(record | change))
        listing = registry.read()
        assert listing.runs["run"].tolist() == ["old"]
        with pytest.raises(InputError, match="no run"):
            find_run(listing, "new")
    path.write_text(json.dumps({name: value for name, value in record.items() if name != SEAL}))
    assert registry.read().runs["run"].tolist() == ["old"]


def test_an_output_outside_of_the_run_is_not_read(registry, two, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("mine")
    path = two[1] / "run.json"
    record = read_record(path)
    record.outputs["../../../../../secret.txt"] = sha256_file(secret)
    write_record(path, record)
    with pytest.raises(InputError, match="lies outside"):
        compare_runs(two[1], two[0], "ndcg@3")


# --- a report


@pytest.fixture
def report(tmp_path, monkeypatch, results, smoke_run):
    shutil.copytree(smoke_run, results / "mine")
    return results / "mine"


KINDS = [
    "notebooks",
    "numbers",
    "contrasts",
    "headlines",
    "items",
    "rows",
    "tables",
    "figures",
    "runs",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_with_a_file_altered_or_gone_is_refused(report, kind):
    path = sorted(path for path in (report / kind).rglob("*") if path.is_file())[0]
    content = path.read_bytes()
    place = (
        re.search(rb"\d(?=\D*$)", content).start() if path.suffix != ".gz" else len(content) // 2
    )
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(InputError, match=re.escape(str(path))):
        require_report("mine")
    path.unlink()
    if kind == "runs":
        # The notebook of a chapter without a record came from nobody knows where.
        path = report / "notebooks" / f"{path.parent.name}.ipynb"
    with pytest.raises(InputError, match=re.escape(str(path))):
        require_report("mine")


def test_the_merged_numbers_are_those_of_the_chapters(report):
    for name in ("numbers.json", "contrasts.json"):
        content = json.loads((report / name).read_text())
        del content[next(iter(content))]
        (report / name).write_text(json.dumps(content))
        with pytest.raises(InputError, match=f"{name}: is not what the chapters report"):
            require_report("mine")
        merge_numbers("mine")
        require_report("mine")
    left = report / "tables" / "unfinished.t.csv"  # by an interrupted cell
    left.touch()
    assert left not in require_report("mine")
