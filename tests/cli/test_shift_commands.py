"""``casebook shift`` and ``casebook segments``: files, output, exit codes."""

import json
from pathlib import Path

import pytest

from casebook import paths
from casebook.runs.artifact import read_record
from casebook.shift.segments_file import decisions_of

FAST = ("--embedder", "semantic-hash")
LOW_BAR = ("--gate-eps", "0.9")


@pytest.fixture
def casebook(casebook, monkeypatch, tmp_path):
    """Run commands whose results lie in a folder of their own."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("CASEBOOK_TENANT", "trial")
    return casebook


@pytest.fixture
def trained(casebook):
    code, out, _ = casebook("shift", "train", "smoke", *FAST, "--json")
    assert code == 0
    return json.loads(out)


def read_json(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_train_writes_what_it_prints(trained, tmp_path):
    folder = tmp_path / "results" / "insurance" / "tenants" / "trial"
    assert trained["folder"].startswith(str(folder / "smoke-posneg-training_"))
    labels = trained["result"]["Labels"]
    assert labels["SplitSizes"].keys() == {"train", "dev", "test"}
    assert len(labels["SplitHash"]) == 64
    assert trained["stats"]["QueriesUsed"] > 0


def test_run_records_two_comparable_runs(casebook, trained):
    code, out, _ = casebook("shift", "run", "smoke", "--json")
    found = json.loads(out)
    assert code == 0
    records = [read_record(f"{path}/run.json") for path in found["runs"]]
    assert [r.workflow for r in records] == ["smoke-PosNeg-Baseline", "smoke-PosNeg"]
    base, moved = records
    assert {"map@1", "ndcg@3", "train.map@1"} <= set(base.metrics)
    assert base.labels["SplitHash"] == moved.labels["SplitHash"]
    assert base.labels["Scale"] == 0
    values = found["values"]
    assert values["MapBaseline"] == pytest.approx(base.metrics["map@1"])
    delta = values["MapPosNeg"] - values["MapBaseline"]
    assert values["DeltaMap"] == pytest.approx(delta)
    assert (
        values["EffectiveQueryCount"]
        == trained["result"]["Labels"]["SplitSizes"]["test"]
    )


def test_run_can_be_segmented(casebook, trained, tmp_path):
    _, out, _ = casebook("shift", "run", "smoke", "--scale", 1, "--json")
    folder = json.loads(out)["folder"]
    name = f"{folder}/eval.perQuery.{{}}.json"
    queries = [record["QueryId"] for record in read_json(name.format("baseline"))]
    values = {
        "Metric": "ndcg@3",
        "BaselinePath": name.format("baseline"),
        "PosNegPath": name.format("posneg"),
        "Decisions": decisions_of(queries, [True] * len(queries)),
    }
    path = tmp_path / "segments.json"
    path.write_text(json.dumps(values))
    code, out, _ = casebook("segments", "compare", "--segments", path, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["kpi"]["Segmented"] == found["kpi"]["PosNeg"]
    assert "apply" in casebook("segments", "compare", "--segments", path)[1]


def test_eval_writes_manifest_and_gate(casebook, trained):
    code, out, err = casebook("shift", "eval", "smoke", *LOW_BAR, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["n"] > 0
    people = casebook("shift", "eval", "smoke", *LOW_BAR)[1]
    assert f"means over n = {found['n']} test questions" in people
    gate = read_json(f"{found['folder']}/acceptance_gate.json")
    assert gate["Passed"] is True and gate["Epsilon"] == 0.9
    manifest = read_json(f"{found['folder']}/run_manifest.json")
    assert manifest["kind"] == "evaluation+baseline"
    assert manifest["diagnostic"] is False and manifest["usedSim"] is True


def test_zero_vectors_fail_the_gate(casebook, trained):
    code, _, err = casebook("shift", "eval", "smoke", "--shift", "zero", *LOW_BAR)
    assert code == 2
    assert "degenerate" in err and err.count("\n") == 1


def test_identity_passes_and_no_baseline_has_no_gate(casebook, trained):
    assert casebook("shift", "eval", "smoke", "--shift", "identity")[0] == 0
    code, out, _ = casebook("shift", "eval", "smoke", "--no-baseline", "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, None)
    assert not [key for key in found["metrics"] if key.endswith(".delta")]


def test_files_of_another_tenant_are_refused(casebook, trained, tmp_path):
    folder = trained["folder"]
    options = ("--tenant", "rival", "--training", folder)
    code, _, err = casebook("shift", "run", "smoke", *options)
    assert code == 1 and "belongs to tenant trial" in err
    other = "results/insurance/tenants/rival/eval.perQuery.json"
    values = {"BaselinePath": other, "PosNegPath": other, "Decisions": {}}
    path = tmp_path / "segments.json"
    path.write_text(json.dumps(values))
    code, _, err = casebook("segments", "compare", "--segments", path)
    assert code == 1 and "belongs to tenant rival" in err


@pytest.mark.data
def test_documented_folder_layout(casebook, mirror):
    """Five questions make three groups: one each to learn, to choose and to test."""
    folder = mirror / "embeddingshift" / "samples" / "insurance"
    options = ("--embedder", "sha256", "--json")
    code, out, _ = casebook("shift", "train", folder, *options)
    result = json.loads(out)["result"]
    assert code == 0
    assert result["WorkflowName"] == "mini-insurance-posneg"
    assert result["Labels"]["SplitSizes"] == {"train": 3, "dev": 1, "test": 1}


def test_training_of_other_data_is_refused(casebook, trained):
    folder = trained["folder"]
    code, _, err = casebook("shift", "run", "smoke_dev", "--training", folder)
    assert code == 1
    assert "was trained with another DatasetHash" in err


BAD = [
    (["shift", "run", "smoke"], "no training of smoke-posneg"),
    (["shift", "train", "bogus"], "unknown dataset"),
    (["shift", "train", "smoke", "--mode", "micro", *FAST], "unknown mode"),
    (["shift", "train", "smoke", "--hardneg-topk", "0", *FAST], "hardneg-topk"),
    (["shift", "train", "smoke", "--by", "topic", *FAST], "unknown grouping"),
    (["shift", "train", "smoke", "--tenant", "../x", *FAST], "not allowed"),
    (["shift", "eval", "smoke", "--training", "nowhere"], "shift-training-result"),
    (["segments", "compare", "--segments", "nowhere.json"], "no such segments file"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_clear_line(casebook, arguments, message):
    code, out, err = casebook(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("option", ["--gate-profile", "--gate-eps", "--gate-decision"])
def test_bad_gate_options(casebook, trained, option):
    value = "-1" if option == "--gate-eps" else "lenient"
    code, _, err = casebook("shift", "eval", "smoke", option, value)
    assert code == 1 and err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [("shift", "train"), ("shift", "run"), ("shift", "eval"), ("segments", "compare")],
)
def test_every_command_has_an_example(casebook, command):
    code, out, _ = casebook(*command, "--help")
    assert code == 0
    assert f"Example: casebook {' '.join(command)}" in out
