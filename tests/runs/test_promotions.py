import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest

from casebook.errors import InputError
from casebook.runs import promotions
from casebook.runs.decide import decide
from casebook.runs.promotions import (
    active_promotion,
    pointer_path,
    promote,
    read_promotions,
    rollback,
    verify,
)
from casebook.runs.registry import find_run

WHY = "because"


def promote_all(registry, *names, metric="ndcg@3"):
    listing = registry.read()
    for name in names:
        promote(listing, find_run(listing, name), metric, WHY)
    return listing.root


@pytest.fixture
def three(registry):
    for name, score in (("low", 0.3), ("mid", 0.5), ("high", 0.7)):
        registry.add(name, score)
    return registry


def test_the_log_holds_who_what_and_why(three, monkeypatch):
    monkeypatch.setenv("CASEBOOK_ACTOR", "ada")
    root = promote_all(three, "low", "mid", metric="nDCG@3")
    first, second = read_promotions(root)
    assert (first["seq"], second["seq"]) == (1, 2)
    assert first["previous"] == "0" * 64
    assert second["actor"] == "ada" and second["reason"] == "because"
    assert active_promotion(root, "NDCG@3")["runId"] == "mid"
    assert active_promotion(root, "map@1") is None
    pointer = json.loads((root / "_active" / "active_ndcg@3.json").read_text())
    assert [pointer[name] for name in ("metricKey", "workflowName", "runId", "score")] == [
        "ndcg@3",
        "PosNeg",
        "mid",
        0.5,
    ]
    assert pointer["runJsonPath"].endswith("PosNeg/mid/run.json")


def test_pointers_of_any_metric_are_safe_and_of_one_metric():
    metrics = ("nDCG@3", "a/b", "a_b", "a:b", "../a", "smoke.full.rbp(p=0.9)")
    paths = [pointer_path(Path("root"), metric) for metric in metrics]
    assert paths[0].name == "active_ndcg@3.json" and len(set(paths)) == len(metrics)
    assert {path.parent for path in paths} == {Path("root/_active")}


def test_each_rollback_goes_one_step_further_and_never_toggles(three):
    root = promote_all(three, "low", "mid", "high")
    assert [rollback(root, "ndcg@3", WHY)["runId"] for _ in range(2)] == ["mid", "low"]
    with pytest.raises(InputError, match="nothing to roll back to"):
        rollback(root, "ndcg@3", WHY)
    assert active_promotion(root, "ndcg@3")["score"] == 0.3
    promote_all(three, "high")
    assert rollback(root, "ndcg@3", WHY)["runId"] == "low"
    assert [entry["seq"] for entry in read_promotions(root)] == list(range(1, 8))
    assert verify(root) == []


def edited(line):
    return line.replace(b'"score": 0.5', b'"score": 0.9')


TAMPERING = {
    "a line changed": lambda lines: [lines[0], edited(lines[1]), *lines[2:]],
    "a line removed": lambda lines: [lines[0], *lines[2:]],
    "the first removed": lambda lines: lines[1:],
    "the last removed": lambda lines: lines[:-1],
    "two swapped": lambda lines: [lines[1], lines[0], lines[2]],
    "one inserted": lambda lines: [*lines[:2], lines[1], lines[2]],
    "not JSON": lambda lines: [lines[0], b"{", lines[2]],
    "the last changed": lambda lines: [*lines[:2], lines[2].replace(b"low", b"LOW")],
    "emptied": lambda lines: [],
}


def test_verify_finds_every_change_of_the_log(three):
    root = promote_all(three, "low", "mid", "low")
    path = root / "_active" / "history.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1]
    for how, tamper in TAMPERING.items():
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        assert verify(root) == [], how
        changed = tamper(lines)
        assert changed != lines, how
        path.write_bytes(b"".join(line + b"\n" for line in changed))
        assert verify(root), how
        assert_nothing_is_added(three, path)


def assert_nothing_is_added(registry, path):
    """Promote, roll back and decide: each is refused with one line, nothing changes."""
    listing = registry.read()
    before = path.exists() and path.read_bytes()
    high = find_run(listing, "high")
    for attempt in (
        lambda: promote(listing, high, "ndcg@3", WHY),
        lambda: rollback(listing.root, "ndcg@3", WHY),
        lambda: decide(listing, "ndcg@3"),
    ):
        with pytest.raises(InputError, match="restore it from a copy") as refused:
            attempt()
        assert "\n" not in str(refused.value)
    assert (path.exists() and path.read_bytes()) == before
    assert verify(listing.root)


@pytest.mark.parametrize("gone", ["history.jsonl", "."])
def test_a_log_that_is_gone_is_no_new_one(three, gone):
    root = promote_all(three, "low", "mid")
    path = root / "_active"
    if gone == ".":
        shutil.rmtree(path)
    else:
        (path / gone).unlink()
    assert verify(root)
    assert_nothing_is_added(three, path / "history.jsonl")


@pytest.mark.parametrize("dies_at", ["head", "pointer"])
def test_a_writer_killed_between_its_writes_loses_nothing(three, monkeypatch, dies_at):
    root = promote_all(three, "low")
    real = promotions.write_json
    dies = "_heads" if dies_at == "head" else "_active"

    def die(path, value):
        if dies in path.parts:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(path, value)

    with monkeypatch.context() as patch:
        patch.setattr(promotions, "write_json", die)
        fork = multiprocessing.get_context("fork")
        writer = fork.Process(target=promote_all, args=(three, "mid"))
        writer.start()
        writer.join()
    assert writer.exitcode == -signal.SIGKILL
    assert verify(root) == [] and active_promotion(root, "ndcg@3")["runId"] == "mid"
    promote_all(three, "high")
    assert [entry["runId"] for entry in read_promotions(root)] == ["low", "mid", "high"]
    assert verify(root) == []


def test_a_head_that_is_none_and_a_changed_run_are_noticed(three):
    root = promote_all(three, "low", "mid")
    head = root / "_heads" / "history.json"
    genuine = head.read_bytes()
    for text in ("{}", "[", "[3]"):
        head.write_text(text)
        assert verify(root)
    head.unlink()
    assert verify(root)
    head.write_bytes(genuine)
    record = root / "PosNeg" / "mid" / "run.json"
    record.write_text(record.read_text().replace("0.5", "0.6"))
    with pytest.raises(InputError, match="gone, or changed since"):
        active_promotion(root, "ndcg@3")


def test_a_line_that_was_never_completed_is_not_an_entry(three):
    root = promote_all(three, "low", "mid")
    path = root / "_active" / "history.jsonl"
    with path.open("ab") as log:
        log.write(b'{"seq": 3, "previous": "half')
    assert active_promotion(root, "ndcg@3")["runId"] == "mid"
    assert verify(root) == []
    promote_all(three, "high")
    assert [entry["seq"] for entry in read_promotions(root)] == [1, 2, 3]
    assert verify(root) == []
