import json
import os

import numpy as np
import pandas as pd
import pytest

from casebook.errors import Incomparable, InputError
from casebook.runs.outputs import RunOutputs
from casebook.runs.record import write_per_query, write_record
from casebook.runs.registry import NoRows, best, check_tenant, data_root, discover, find, locate, order, query_scores

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


def test_unreadable_files_are_listed_with_the_reason(registry):
    registry.add("good", 0.5)
    for name, data in BAD.items():
        put(registry, name, data)
    (registry.layout.root / "folder" / "run.json").mkdir(parents=True)
    listing = registry.read()
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


def test_where_things_lie(results, monkeypatch):
    assert locate().root == results
    assert locate().home == results / "insurance" / "runs"
    assert locate(domain="claims").root == results / "claims" / "runs"
    own = results / "insurance" / "tenants" / "acme"
    assert locate(tenant="acme").root == own / "runs"
    assert locate(tenant="acme").data == data_root() / "tenants" / "acme"
    monkeypatch.setenv("EMBEDDINGSHIFT_TENANT", "acme")
    assert locate().root == own / "runs"
    monkeypatch.setenv("CASEBOOK_TENANT", "other")
    assert locate().tenant == "other"
    assert locate(tenant="third").tenant == "third"


@pytest.mark.parametrize("name", ["../b", "a/b", "a\\b", "CON", ".", "a..b", " ", "é"])
def test_names_are_validated(name, monkeypatch):
    with pytest.raises(InputError, match="not allowed"):
        locate(tenant=name)
    with pytest.raises(InputError, match="not allowed"):
        locate(domain=name)
    if name.strip():
        monkeypatch.setenv("CASEBOOK_TENANT", name)
        with pytest.raises(InputError, match="not allowed"):
            locate()


def test_names_that_differ_in_case_only_are_refused(registry_of):
    registry_of(tenant="acme").add("r1", 0.5)
    with pytest.raises(InputError, match="letter case"):
        locate(tenant="Acme")
    with pytest.raises(InputError, match="letter case"):
        registry_of(tenant="acme").add("R1", 0.5)


def test_a_tenant_never_reads_another_ones_runs(registry_of, registry, results):
    a, b = registry_of(tenant="a"), registry_of(tenant="b")
    a.add("secret", 0.9)
    b.add("own", 0.1)
    registry.add("shared", 0.5)
    assert [run.run_id for run in b.read().runs] == ["own"]
    # Neither the default registry nor a root above the tenants shows them.
    for everyone in (registry_of(), registry_of(runs_root=results)):
        assert [run.run_id for run in everyone.read().runs] == ["shared"]
    assert [run.run_id for run in registry.read().runs] == ["shared"]


def test_a_tenant_cannot_name_another_ones_folder(registry_of, results, tmp_path):
    a = registry_of(tenant="a")
    a.add("secret", 0.9)
    link = tmp_path / "link"
    link.symlink_to(a.layout.root)
    for root in (a.layout.root, link, a.layout.root / "PosNeg"):
        for tenant in ("b", None):
            with pytest.raises(InputError, match="belongs to tenant a"):
                locate(tenant=tenant, runs_root=root)
    assert locate(tenant="a", runs_root=link).root == a.layout.root
    with pytest.raises(InputError, match="belongs to tenant"):
        check_tenant(results / "x" / "tenants" / "a" / ".." / "b", "a")


def test_links_into_another_tenant_are_not_followed(registry_of):
    a, b = registry_of(tenant="a"), registry_of(tenant="b")
    a.add("secret", 0.9)
    b.add("own", 0.1)
    (b.layout.root / "trick").symlink_to(a.layout.root)
    assert [run.run_id for run in b.read().runs] == ["own"]


def test_a_copied_run_of_another_tenant_is_unreadable(registry_of):
    a, b = registry_of(tenant="a"), registry_of(tenant="b")
    text = (a.add("secret", 0.9) / "run.json").read_text()
    assert json.loads(text)["Tenant"] == "a"
    copy = b.layout.root / "copy" / "run.json"
    copy.parent.mkdir(parents=True)
    copy.write_text(text)
    listing = b.read()
    assert not listing.runs
    assert listing.unreadable == {"copy/run.json": "belongs to tenant a"}


def test_rows_of_a_run_are_those_of_its_metric(registry):
    folder = registry.add("r", ranks=[1, 2, 4])
    assert query_scores(folder, "NDCG@3")["score"].tolist() == pytest.approx([1, 0.63093, 0])
    assert query_scores(folder, "map@1")["score"].mean() == pytest.approx((1 + 0.5 + 0.25) / 3)
    for metric in ("ndcg@10", "p@1"):
        with pytest.raises(NoRows, match="holds no value of"):
            query_scores(folder, metric)
    with pytest.raises(NoRows, match="no rows"):
        query_scores(registry.add("s", 0.5), "ndcg@3")


def test_rows_that_were_changed_or_belong_to_others_are_refused(registry, rows_of):
    folder = registry.add("r", ranks=[1, 2, 4])
    write_per_query(folder / "eval.perQuery.json", rows_of([1, 1, 1]))
    with pytest.raises(InputError, match="changed since"):
        query_scores(folder, "ndcg@3")
    other = registry.add("s", 0.5)
    write_per_query(other / "eval.perQuery.json", rows_of([1, 1, 1]))
    with pytest.raises(NoRows, match="mean is 1"):
        query_scores(other, "ndcg@3")
    write_per_query(other / "eval.perQuery.b.json", rows_of([1, 1, 1]))
    with pytest.raises(NoRows, match="several"):
        query_scores(other, "ndcg@3")


def test_rows_of_a_report_by_system_and_column(registry_of, results, record_of):
    ids = [f"q{n}" for n in range(4)] * 2
    values = np.array([1, 0, 0, 0, 1, 1, 0, 0.5])
    frame = pd.DataFrame({"query_id": ids, "system": ["a"] * 4 + ["b"] * 4})
    RunOutputs("mine", "cell").rows(frame.assign(**{"nDCG@10": values}))
    metrics = {"set.a.ndcg@10": 0.25, "set.b.ndcg@10": 0.625, "half.b.ndcg@10": 1.0}
    folder = results / "mine" / "runs" / "cell"
    write_record(folder / "run.json", record_of("r", metrics))
    assert query_scores(folder, "set.B.nDCG@10")["score"].tolist() == [1, 1, 0, 0.5]
    with pytest.raises(NoRows, match="mean is"):
        query_scores(folder, "half.b.ndcg@10")
