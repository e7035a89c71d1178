import os

import pytest

from casebook.errors import Incomparable, InputError
from casebook.runs.layout import locate
from casebook.runs.ordering import best, find, order
from casebook.runs.registry import discover

CSHARP = (
    '{"RunId": "n1", "WorkflowName": "PosNeg", "StartedUtc": '
    '"2026-01-02T03:04:05.1234567+00:00", "FinishedUtc": "2026-01-02T03:04:06+02:00", '
    '"Success": true, "Metrics": {"MAP@1": 0.5, "nDCG@3": NaN}, "Notes": ""}'
)
BAD = {
    "empty": b"",
    "torn": b'{"RunId": "a", "Work',
    "list": b"[]",
    "other": b'{"name": "package", "version": "1"}',
    "binary": bytes(range(256)),
    "deep": b"[" * 100_000,
    "future": b'{"SchemaVersion":2,"RunId":"a","Workflow":"w","StartedAtUtc":"2026-01-02T00:00:00Z"}',
    "early": b'{"RunId":"a","Workflow":"w","StartedAtUtc":"0001-01-01T00:00:00+14:00"}',
    "huge": b'{"RunId":"a","Workflow":"w","StartedAtUtc":"2026-01-02T00:00:00Z","Metrics":[' + b"9" * 5000 + b"]}",
    "text": b'{"RunId":"a","Workflow":"w","StartedAtUtc":"2026-01-02T00:00:00Z","Metrics":{"x":"high"}}',
}


def put(registry, path, data):
    path = registry.layout.root / path / "run.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


@pytest.mark.parametrize("use_index", [True, False])
def test_unreadable_files_are_listed_with_the_reason(registry, use_index):
    registry.add("good", 0.5)
    for name, data in BAD.items():
        put(registry, name, data)
    (registry.layout.root / "folder" / "run.json").mkdir(parents=True)
    for _ in range(2):  # the second time from the index
        listing = discover(registry.layout, use_index)
        assert [run.run_id for run in listing.runs] == ["good"]
        assert set(listing.unreadable) == {f"{name}/run.json" for name in BAD}
        assert all("\n" not in why and why for why in listing.unreadable.values())
        assert "newer than 1" in listing.unreadable["future/run.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission_is_listed(registry):
    (registry.add("locked", 0.5) / "run.json").chmod(0)
    assert "Permission" in str(registry.read().unreadable)


def test_both_spellings_a_byte_order_mark_and_nan(registry):
    put(registry, "PosNeg/n1", b"\xef\xbb\xbf" + CSHARP.encode())
    registry.add("ours", 0.4)
    theirs = find(registry.read(), "n1")
    assert theirs.metrics == {"map@1": 0.5, "ndcg@3": None}
    assert theirs.completed == "2026-01-02T01:04:06.000000Z"
    assert best(registry.read().runs, "nDCG@3").run_id == "ours"


def test_folders_of_the_registry_itself_are_not_runs(registry):
    registry.add("shown", 0.5)
    for name in ("_repo/x", "_matrix/y", ".z.partial"):
        put(registry, name, CSHARP.encode())
    assert [run.run_id for run in registry.read().runs] == ["shown"]
    inside = discover(locate(runs_root=registry.layout.root / "_repo"))
    assert [run.run_id for run in inside.runs] == ["n1"]


def test_the_reports_of_a_batch_are_runs(registry_of, results):
    everything = registry_of()
    put(everything, "nightly/runs/cell", CSHARP.encode())
    registry_of(domain="insurance").add("r", 0.5)
    paths = {run.path for run in everything.read().runs}
    assert paths == {"nightly/runs/cell", "insurance/runs/PosNeg/r"}
    with pytest.raises(InputError, match="no such registry"):
        discover(locate(domain="absent"))


def test_one_order_score_then_time_then_id(registry):
    registry.add("b", 0.5, minutes=1)
    registry.add("c", 0.5, minutes=1)
    registry.add("a", 0.5, minutes=2)
    registry.add("top", 0.7)
    registry.add("failed", 0.9, success=False)
    registry.add("missing", None, minutes=9)
    ranked = [run.run_id for run in order(registry.read().runs, "NDCG@3")]
    assert ranked == ["top", "a", "c", "b", "missing", "failed"]


def test_lower_is_better_for_durations(registry):
    for run_id, seconds in (("slow", 9.0), ("fast", 1.0)):
        registry.add(run_id, metrics={"duration_ms": seconds})
    assert best(registry.read().runs, "Duration_ms").run_id == "fast"


def test_failed_runs_and_missing_metrics_never_win(registry):
    registry.add("failed", 0.9, success=False)
    registry.add("missing", None)
    with pytest.raises(InputError, match="no successful run"):
        best(registry.read().runs, "ndcg@3")


def test_runs_on_different_data_do_not_compete(registry):
    registry.add("x", 0.9, labels={"DatasetHash": "1"})
    registry.add("y", 0.8, labels={"DatasetHash": "2"})
    with pytest.raises(Incomparable, match="different data"):
        best(registry.read().runs, "ndcg@3")
    assert best(registry.read().runs, "ndcg@3", force=True).run_id == "x"


def test_find_by_id_beginning_or_folder(registry):
    registry.add("20260101-aa", 0.5)
    registry.add("20260101-bb", 0.5)
    registry.add("20260101-aa", 0.5, workflow="other")
    listing = registry.read()
    assert find(listing, "20260101-b").run_id == "20260101-bb"
    assert find(listing, "other/20260101-AA").workflow == "other"
    for name, message in (("20260101-aa", "not unique"), ("x", "no run"), ("", "no")):
        with pytest.raises(InputError, match=message):
            find(listing, name)


def test_a_run_is_never_overwritten(registry):
    folder = registry.add("r", 0.5)
    before = (folder / "run.json").read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        registry.add("r", 0.6)
    assert (folder / "run.json").read_bytes() == before
    assert not list(registry.layout.root.rglob("*.partial"))


def test_the_index_follows_the_files(registry, tmp_path):
    folder = registry.add("r", 0.5)
    registry.read()
    record = folder / "run.json"
    record.write_text(record.read_text().replace("0.5", "0.625"))
    assert registry.read().runs[0].metrics["ndcg@3"] == 0.625
    (place,) = (tmp_path / "cache" / "runs").iterdir()
    for damage in (b"", b"[]", b'{"version": 99}', b"\xff"):
        place.write_bytes(damage)
        assert len(registry.read().runs) == 1
    record.unlink()
    assert not registry.read().runs


def test_a_registry_without_a_cache_works(registry, tmp_path, monkeypatch):
    (tmp_path / "blocked").write_text("a file, not a folder")
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "blocked"))
    registry.add("r", 0.5)
    assert len(registry.read().runs) == 1
