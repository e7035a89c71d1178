"""``casebook runs`` and ``casebook gate``: output, files, exit codes."""

import json

import numpy as np
import pytest
import scipy.stats
from cases import failing

from casebook.runs.registry import locate

WEAK = np.random.default_rng(0).integers(1, 8, 100)
EACH = (
    "list",
    "compare",
    "active",
    "history",
    "verify",
    "decide",
    "promote",
    "rollback",
    "matrix",
)


@pytest.fixture
def add(registry):
    return lambda run_id, ranks, **labels: registry.add(run_id, ranks=ranks, labels=labels)


def test_from_the_first_run_to_a_rollback(casebook, add):
    add("one", WEAK)
    reminder = "nothing was promoted: --apply promotes this run"
    code, out, _ = casebook("runs", "decide")
    assert code == 0 and "action: Promote" in out and reminder in out
    assert casebook("runs", "history", "--json")[1] == "[]\n"
    code, out, _ = casebook("runs", "decide", "--apply")
    assert code == 0 and "action: Promote" in out and reminder not in out
    add("two", np.maximum(1, WEAK - 2))
    code, out, _ = casebook("runs", "decide", "-m", "NDCG@3", "--apply", "--json")
    assert code == 0
    assert json.loads(out)["evidence"]["basis"] == "paired_randomisation"
    entry = json.loads(casebook("runs", "active", "--json")[1])
    assert entry["runId"] == "two" and entry["decision"]["verdict"] == "pass"
    assert casebook("runs", "rollback", "--reason", "regression")[0] == 0
    assert json.loads(casebook("runs", "active", "--json")[1])["runId"] == "one"
    code, out, _ = casebook("runs", "history", "--json")
    assert [e["action"] for e in json.loads(out)] == ["rollback", "promote", "promote"]
    assert casebook("runs", "verify")[:2] == (0, "3 entries, the chain holds\n")
    log = locate().root / "_active" / "history.jsonl"
    log.write_text(log.read_text().replace("regression", "routine"))
    code, out, err = casebook("runs", "verify")
    assert code == 2 and "line 3" in out and err.count("\n") == 1


def test_verdicts_are_exit_codes(casebook, add):
    add("old", WEAK, DatasetHash="1")
    casebook("runs", "promote", "--run", "old", "--reason", "first")
    add("noise", np.roll(WEAK, 1), DatasetHash="1")
    add("worse", WEAK + 2, DatasetHash="1")
    add("other", np.ones(100, int), DatasetHash="2")
    codes = {"noise": 4, "worse": 2, "other": 5, "old": 0}
    for name, code in codes.items():
        assert casebook("runs", "decide", "--run", name)[0] == code, name
        assert casebook("gate", "run", name)[0] == code, name
    assert "verdict: incomparable" in casebook("runs", "decide", "--run", "other")[1]
    arguments = ["runs", "promote", "--run", "other", "--reason", "new data"]
    assert casebook(*arguments)[0] == 5
    assert casebook(*arguments, "--force")[0] == 0
    assert json.loads(casebook("runs", "active", "--json")[1])["incomparable"] is True
    assert casebook("runs", "compare", "other", "old")[0] == 5


def test_a_star_ranks_every_system_of_every_run(casebook, registry):
    registry.add(
        "one", metrics={"smoke.full.ndcg@10": 0.7, "smoke.bm25.ndcg@10": 0.5, "smoke.full.rr": 0.9}
    )
    registry.add("two", metrics={"smoke.full.ndcg@10": 0.6, "other.full.ndcg@10": 1.0})
    code, out, _ = casebook("runs", "compare", "-m", "smoke.*.ndcg@10", "--json")
    rows = [
        (row["rank"], row["run"], row["metric"], row["score"]) for row in json.loads(out)["top"]
    ]
    assert code == 0 and rows == [
        (1, "one", "smoke.full.ndcg@10", 0.7),
        (2, "two", "smoke.full.ndcg@10", 0.6),
        (3, "one", "smoke.bm25.ndcg@10", 0.5),
    ]


def test_every_score_has_its_n_and_interval(casebook, add):
    add("one", WEAK)
    (row,) = json.loads(casebook("runs", "compare", "--json")[1])["top"]
    again = scipy.stats.bootstrap(
        (np.where(WEAK <= 3, 1 / np.log2(WEAK + 1), 0.0),), np.mean, method="percentile", rng=1
    ).confidence_interval
    assert row["n"] == 100 and row["control"] is None and row["reason"] is None
    assert [row["low"], row["high"]] == pytest.approx([again.low, again.high], abs=0.01)
    assert f"{row['low']:.4f}" in casebook("runs", "compare")[1]


def test_a_matrix_is_compared_and_a_failure_is_exit_3(casebook, add, tmp_path):
    add("one", WEAK)
    spec = tmp_path / "m.json"  # comments aside, JSON with trailing commas is YAML
    spec.write_text(
        '{"stopOnFailure": false, "after": {"compareMetric": "map@1"}, "variants": ['
        '{"name": "a", "args": ["--version"],}, {"name": "b", "args": ["nonsense"]},]}'
    )
    assert casebook("runs", "matrix", "--spec", spec, "--dry")[1] == "a: --version\nb: nonsense\n"
    code, out, err = casebook("runs-matrix", "--spec", spec)
    assert code == 3 and err.splitlines()[-1].endswith("1 of 2 variants: b")
    assert "original:map@1, 1 runs" in out


BAD = [
    (["runs", "compare", "one"], "no run or two"),
    (["runs", "compare", "one", "zwei"], "no run 'zwei'"),
    (["runs", "promote", "--run", "one"], "--reason"),
    (["runs", "matrix", "--spec", "spec.yml"], "spec.yml: expected variants"),
    (["runs", "rollback", "--reason", "x"], "nothing to roll back"),
    (["runs", "decide", "--eps", "-1"], "--eps"),
    (["runs", "decide", "--run", " "], "it is empty"),
    (["runs", "--domain", "x", "--runs-root", ".", "list"], "--domain has no effect"),
    (["runs", "--tenant", "../x", "list"], "not allowed"),
    (["runs", "--runs-root", "/no/such/folder", "list"], "no such registry"),
    (["runs", "matrix", "--spec", "/no/such/file.yml"], "file.yml: cannot be read"),
    (["gate", "run", "one"], "no run is promoted"),
]


def test_wrong_use_is_one_clear_line(refused, add, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yml").write_text("{variants: [3]}")
    add("one", WEAK)
    assert failing(refused, BAD) == []


def test_labels_that_differ_are_said(casebook, add):
    same = {"data": {"dataset": "1"}, "parameters": {"dataset": "claims", "seed": 0}}
    add("old", WEAK, Inputs=same | {"device": "cpu"})
    add("new", WEAK[::-1], Inputs=same | {"device": "cuda"})
    code, out, _ = casebook("runs", "compare", "new", "old")
    assert code == 0 and "labels Inputs.device: cuda, cpu" in out.splitlines()
    assert "seed" not in out


def test_names_of_embeddingshift_are_read_and_answered_with_ours(casebook):
    names = {f"runs-{name}": f"runs {name}" for name in EACH[1:]}
    names |= {
        "segment-compare": "segments compare",
        "posneg-train": "shift train",
        "posneg-run": "shift run",
    }
    for theirs, ours in names.items():
        code, out, err = casebook(theirs, "--help")
        assert (code, err) == (0, "")
        assert out == casebook(*ours.split(), "--help")[1]


def test_the_documents_option_names_the_metric(casebook, add):
    """`runs-compare --metric <key>`, in any letter case."""
    add("first", [1, 4])  # map@1 .625, ndcg@3 .5
    add("even", [2, 2])  # map@1 .5, ndcg@3 .631
    for key, best in {"MAP@1": "first", "map@1": "first", "nDCG@3": "even"}.items():
        for option in (["--metric", key], [f"--metric={key}"]):
            code, out, err = casebook("runs-compare", *option, "--json")
            assert code == 0, err
            assert json.loads(out)["top"][0]["run"] == best
