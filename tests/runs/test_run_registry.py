import json
import os

import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.runs.outputs import RunOutputs
from casebook.runs.record import write_per_query, write_record
from casebook.runs.registry import (
    NoRows,
    check_tenant,
    discover,
    find_run,
    locate,
    query_scores,
    ranked,
    reported_number,
)

CSHARP = (
    '{"RunId": "n1", "WorkflowName": "PosNeg", "StartedUtc": '
    '"2026-01-02T03:04:05.1234567+00:00", "FinishedUtc": "2026-01-02T03:04:06+02:00", '
    '"Success": true, "Metrics": {"MAP@1": 0.5, "nDCG@3": NaN}, "Notes": ""}'
)
GOOD = b'"RunId":"a","Workflow":"w","StartedAtUtc":"2026-01-02T00:00:00Z"'
BAD = {
    "empty": b"",
    "torn": b'{"RunId": "a", "Work',
    "list": b"[]",
    "other": b'{"name": "package", "version": "1"}',
    "binary": bytes(range(256)),
    "deep": b"[" * 100_000,
    "future": b'{"SchemaVersion":2,%s}' % GOOD,
    "huge": b'{%s,"Metrics":[%s]}' % (GOOD, b"9" * 5000),
    "year 1": b'{"RunId":"a","Workflow":"w","StartedAtUtc":"0001-01-01T00:00:00+05:00"}',
    "text": b'{%s,"Metrics":{"x":"high"}}' % GOOD,
}


def put(registry, path, data):
    path = registry.layout.root / path / "run.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


def ids(listing):
    return listing.runs["run"].tolist()


def test_unreadable_files_are_listed_with_the_reason(registry):
    folder = registry.add("good", 0.5)
    for name, data in BAD.items():
        put(registry, name, data)
    (registry.layout.root / "folder" / "run.json").mkdir(parents=True)
    listing = registry.read()
    assert ids(listing) == ["good"] and set(listing.unreadable) == {
        f"{name}/run.json" for name in BAD
    }
    assert all("\n" not in why and why for why in listing.unreadable.values())
    assert "less than or equal to 1" in listing.unreadable["future/run.json"]
    if os.geteuid():  # root reads every file
        (folder / "run.json").chmod(0)
        assert "Permission" in str(registry.read().unreadable)


def test_both_spellings_a_byte_order_mark_and_nan(registry):
    put(registry, "PosNeg/n1", b"\xef\xbb\xbf" + CSHARP.encode())
    registry.add("ours", 0.4)
    theirs = find_run(registry.read(), "n1")
    listing = registry.read()
    assert (listing.score(theirs, "MAP@1"), listing.score(theirs, "ndcg@3")) == (0.5, None)
    assert theirs["completed"] == "2026-01-02T01:04:06Z"
    assert ranked(listing, "nDCG@3")["run"].tolist() == ["ours"]


def test_what_is_part_of_a_registry(registry, registry_of):
    registry.add("shown", 0.5)
    for name in ("_repo/x", "_matrix/y", ".z.partial"):  # of the registry itself
        put(registry, name, CSHARP.encode())
    assert ids(registry.read()) == ["shown"]
    assert ids(discover(locate(runs_root=registry.layout.root / "_repo"))) == ["n1"]
    put(registry_of(), "nightly/runs/cell", CSHARP.encode())  # of a batch
    assert set(registry_of().read().runs["path"]) == {
        "nightly/runs/cell",
        "insurance/runs/PosNeg/shown",
    }
    with pytest.raises(InputError, match="no such registry"):
        discover(locate(domain="absent"))


def test_one_order_score_then_time_then_id(registry):
    for name, score, minutes in (
        ("b", 0.5, 1),
        ("c", 0.5, 1),
        ("a", 0.5, 2),
        ("top", 0.7, 0),
        ("missing", None, 9),
    ):
        registry.add(name, score, minutes=minutes)
    registry.add("failed", 0.9, success=False)
    assert ranked(registry.read(), "NDCG@3")["run"].tolist() == ["top", "a", "c", "b"]
    for run_id, seconds in (("slow", 9.0), ("fast", 1.0)):
        registry.add(run_id, metrics={"duration_ms": seconds})
    assert ranked(registry.read(), "Duration_ms")["run"].tolist() == ["fast", "slow"]


def test_find_by_id_beginning_or_folder(registry):
    registry.add("20260101-aa", 0.5)
    registry.add("20260101-bb", 0.5)
    registry.add("20260101-bb-again", 0.5)
    registry.add("20260101-aa", 0.5, workflow="other")
    listing = registry.read()
    assert find_run(listing, "20260101-bb")["run"] == "20260101-bb"
    assert find_run(listing, "20260101-bb-")["run"] == "20260101-bb-again"
    assert find_run(listing, "other/20260101-AA")["workflow"] == "other"
    for name, message in (("20260101-aa", "not unique"), ("x", "no run"), ("", "no")):
        with pytest.raises(InputError, match=message):
            find_run(listing, name)


def test_a_run_is_never_overwritten(registry):
    record = registry.add("r", 0.5) / "run.json"
    before = record.read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        registry.add("r", 0.6)
    assert record.read_bytes() == before and not list(registry.layout.root.rglob("*.partial"))


# --- tenants and names


def test_where_things_lie(results, monkeypatch):
    assert locate().root == results and locate().home == results / "insurance" / "runs"
    assert locate(domain="claims").root == results / "claims" / "runs"
    own = results / "insurance" / "tenants" / "acme"
    assert locate(tenant="acme").root == own / "runs"
    monkeypatch.setenv("EMBEDDINGSHIFT_TENANT", "acme")
    assert locate().root == own / "runs"
    monkeypatch.setenv("CASEBOOK_TENANT", "other")
    assert locate().tenant == "other" and locate(tenant="third").tenant == "third"
    for name in ("../b", "a..b", " "):
        with pytest.raises(InputError, match="not allowed"):
            locate(domain=name)
    monkeypatch.setenv("CASEBOOK_TENANT", "../b")
    with pytest.raises(InputError, match="not allowed"):
        locate()


def test_a_tenant_never_reads_another_ones_runs(registry_of, registry, results, tmp_path):
    a = registry_of(tenant="a")
    b = registry_of(tenant="b")
    secret = a.add("secret", 0.9)
    b.add("own", 0.1)
    registry.add("shared", 0.5)
    (b.layout.root / "trick").symlink_to(a.layout.root)
    assert ids(b.read()) == ["own"]
    # Neither the default registry nor a root above the tenants shows them.
    for everyone in (registry_of(), registry_of(runs_root=results), registry):
        assert ids(everyone.read()) == ["shared"]
    (tmp_path / "link").symlink_to(a.layout.root)
    for root in (a.layout.root, tmp_path / "link", a.layout.root / "PosNeg"):
        for tenant in ("b", None):
            with pytest.raises(InputError, match="belongs to tenant a"):
                locate(tenant=tenant, runs_root=root)
    assert locate(tenant="a", runs_root=tmp_path / "link").root == a.layout.root
    with pytest.raises(InputError, match="belongs to tenant"):
        check_tenant(results / "x" / "tenants" / "a" / ".." / "b", "a")
    text = (secret / "run.json").read_bytes()
    assert json.loads(text)["Tenant"] == "a"
    put(b, "copy", text)
    assert ids(b.read()) == ["own"] and b.read().unreadable == {
        "copy/run.json": "belongs to tenant a"
    }


# --- rows per query


def test_rows_of_a_run_are_those_of_its_metric(registry, rows_of):
    folder = registry.add("r", ranks=[1, 2, 4])
    assert query_scores(folder, "NDCG@3")["score"].tolist() == pytest.approx([1, 0.63093, 0])
    assert query_scores(folder, "map@1")["score"].mean() == pytest.approx((1 + 0.5 + 0.25) / 3)
    with pytest.raises(NoRows, match="holds no value of"):
        query_scores(folder, "ndcg@10")
    other = registry.add("s", 0.5)
    with pytest.raises(NoRows, match="no rows"):
        query_scores(other, "ndcg@3")
    for name, message in (("eval.perQuery.json", "mean is 1"), ("eval.perQuery.b.json", "several")):
        write_per_query(other / name, rows_of([1, 1, 1]))
        with pytest.raises(NoRows, match=message):
            query_scores(other, "ndcg@3")


def test_rows_of_a_report_by_system_and_column(results, record_of):
    frame = pd.DataFrame(
        {"query_id": [f"q{n}" for n in range(4)] * 2, "system": ["a"] * 4 + ["b"] * 4}
    )
    RunOutputs("mine", "cell").rows(
        frame.assign(**{"nDCG@10": np.array([1, 0, 0, 0, 1, 1, 0, 0.5])})
    )
    folder = results / "mine" / "runs" / "cell"
    metrics = {"set.a.ndcg@10": 0.25, "set.b.ndcg@10": 0.625, "half.b.ndcg@10": 1.0}
    write_record(folder / "run.json", record_of("r", metrics))
    assert query_scores(folder, "set.B.nDCG@10")["score"].tolist() == [1, 1, 0, 0.5]
    with pytest.raises(NoRows, match="mean is"):
        query_scores(folder, "half.b.ndcg@10")


def test_a_chapters_own_number_is_the_one_that_is_shown(smoke_run):
    cell = "query_length-smoke"
    path = smoke_run / "numbers" / f"{cell}.json"
    number = json.loads(path.read_text())["query_length"]["smoke_long"]["full"]["nDCG@10"]
    found = reported_number(smoke_run / "runs" / cell, "smoke_long.full.nDCG@10")
    assert number["n"] == found["n"] == 17
    assert number["ci"] == [found["low"], found["high"]]
