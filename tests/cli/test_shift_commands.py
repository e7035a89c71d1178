"""``casebook shift`` and ``casebook segments``: files, output, exit codes."""

import json
import re
import uuid
from pathlib import Path

import pytest
from beir_folders import write_beir
from cases import failing

from casebook import paths
from casebook.runs.record import read_record

FAST = ("--encoder", "minilm")
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


def test_run_records_two_comparable_runs(casebook, trained):
    code, out, _ = casebook("shift", "run", "smoke", "--scale", 1, "--json")
    found = json.loads(out)
    assert code == 0
    records = [read_record(f"{path}/run.json") for path in found["runs"]]
    assert [r.workflow for r in records] == ["smoke-PosNeg-Baseline", "smoke-PosNeg"]
    base, moved = records
    assert {"map@1", "ndcg@3"} <= set(base.metrics)
    assert base.labels["SplitHash"] == moved.labels["SplitHash"]
    assert base.labels["Scale"] == 0
    values = found["values"]
    assert values["MapBaseline"] == pytest.approx(base.metrics["map@1"])
    delta = values["MapPosNeg"] - values["MapBaseline"]
    assert values["DeltaMap"] == pytest.approx(delta)
    assert values["EffectiveQueryCount"] == trained["result"]["Labels"]["SplitSizes"]["test"]


def test_a_shift_that_is_not_applied_is_said_so(casebook, trained):
    path = Path(trained["folder"]) / "shift-training-result.json"
    values = read_json(path)
    for change, why in (
        ({"Scale": 0.0}, "the scale is 0"),
        ({"IsCancelled": True, "CancelReason": "too short"}, "cancelled: too short"),
    ):
        path.write_text(json.dumps(values | change))
        options = ("smoke", "--training", trained["folder"], "--json")
        found = json.loads(casebook("shift", "run", *options)[1])
        assert why in found["note"] and found["values"]["DeltaMap"] is None
        code, out, _ = casebook("shift", "eval", *options)
        assert code == 0 and why in json.loads(out)["note"]


def test_eval_writes_manifest_and_gate(casebook, trained):
    code, out, err = casebook("shift", "eval", "smoke", *LOW_BAR, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["n"] > 0
    people = casebook("shift", "eval", "smoke", *LOW_BAR)[1]
    assert f"means over n = {found['n']} test questions in {found['groups']} groups" in people
    gate = read_json(f"{found['folder']}/acceptance_gate.json")
    assert gate["Passed"] is True and gate["Epsilon"] == 0.9
    manifest = read_json(f"{found['folder']}/run_manifest.json")
    assert manifest["kind"] == "evaluation+baseline"
    assert manifest["diagnostic"] is manifest["usedSim"] is False


def test_files_of_another_tenant_are_refused(casebook, trained, tmp_path):
    options = ("--tenant", "rival", "--training", trained["folder"])
    code, _, err = casebook("shift", "run", "smoke", *options)
    assert code == 1 and "belongs to tenant trial" in err
    other = "results/insurance/tenants/rival/eval.perQuery.json"
    values = {"BaselinePath": other, "PosNegPath": other, "Decisions": {}}
    path = tmp_path / "segments.json"
    path.write_text(json.dumps(values))
    code, _, err = casebook("segments", "compare", "--segments", path)
    assert code == 1 and "belongs to tenant rival" in err


def test_training_of_other_data_is_refused(casebook, trained):
    code, _, err = casebook("shift", "run", "smoke_dev", "--training", trained["folder"])
    assert code == 1 and "was trained with another DatasetHash" in err


BAD = [
    (["shift", "run", "smoke"], "no training of smoke-posneg"),
    (["shift", "train", "smoke", "--mode", "micro", *FAST], "unknown mode"),
    (["shift", "train", "smoke", "--hardneg-topk", "0", *FAST], "hardneg-topk"),
    (["shift", "eval", "smoke", "--training", "nowhere"], "shift-training-result"),
    (["shift", "eval", "smoke", "--gate-eps", "-1"], "gate-eps"),
    (["segments", "compare", "--segments", "nowhere.json"], "cannot be read"),
    (["shift", "run", "smoke", "--latest", "--training", "x"], "--latest has no effect"),
    (
        ["shift", "eval", "smoke", "--no-baseline", "--gate-eps", "1"],
        "--gate-eps has no effect without --baseline",
    ),
]


def test_bad_input_is_one_clear_line(refused):
    assert failing(refused, BAD) == []


# Section 1 of the document, of the tenant "trial".
TREE = """
insurance/tenants/trial/runs/MiniInsurance-PosNeg-Baseline/<RunId>/run.json
insurance/tenants/trial/runs/MiniInsurance-PosNeg/<RunId>/run.json
insurance/tenants/trial/mini-insurance-posneg-run_<time>_fff/eval.perQuery.baseline.json
insurance/tenants/trial/mini-insurance-posneg-run_<time>_fff/eval.perQuery.posneg.json
insurance/tenants/trial/mini-insurance-posneg-run_<time>_fff/metrics-posneg.json
insurance/tenants/trial/mini-insurance-posneg-run_<time>_fff/metrics-posneg.md
insurance/tenants/trial/mini-insurance-posneg-training_<time>_fff/shift-training-result.json
insurance/tenants/trial/mini-insurance-posneg-training_<time>_fff/shift-training-result.md
tenants/trial/<time>_evaluation+baseline_<RunId>/run_manifest.json
tenants/trial/<time>_evaluation+baseline_<RunId>/acceptance_gate.json
tenants/trial/<time>_evaluation_<RunId>/run_manifest.json
"""


@pytest.fixture
def insurance(tmp_path):
    """A folder whose questions ask abroad and mean the policy at home."""
    words = ("fire", "theft", "storm", "flood", "glass", "frost", "hail", "smoke")
    documents, questions, judged = [], [], []
    for word in words:
        for place in ("home", "abroad"):
            text = f"This policy covers {word}, {place} only."
            documents.append({"_id": f"{word}-{place}", "text": text})
        for number, text in enumerate((f"Is {word} covered abroad?", f"cover for {word} abroad")):
            questions.append({"_id": f"{word}{number}", "text": text})
            judged.append((f"{word}{number}", f"{word}-home", 1))
    return write_beir(tmp_path / "insurance", documents, questions, {"test": judged})


def test_files_and_metrics_are_those_of_the_document(casebook, insurance, tmp_path):
    for words in ("train", "run --scale 1", "eval --gate-eps 0.9", "eval --no-baseline"):
        command, *options = words.split()
        assert casebook("shift", command, insurance, *options)[0] in (0, 2, 4)
    root = tmp_path / "results"
    files = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    named = [re.sub(r"(?<=_)\d{3}(?=/)", "fff", name) for name in files]
    named = [re.sub(r"\d{8}_\d{6}", "<time>", name) for name in named]
    named = [re.sub(r"[0-9a-f]{32}", "<RunId>", name) for name in named]
    assert set(TREE.split()) <= set(named)
    assert sum("acceptance_gate" in name for name in named) == 1
    (folder,) = root.glob("insurance/tenants/trial/mini-insurance-posneg-run_*")
    gain = {1: 1.0, 2: 0.6309, 3: 0.5}
    means = {}
    for system, end in {"baseline": "-Baseline", "posneg": ""}.items():
        rows = read_json(folder / f"eval.perQuery.{system}.json")
        ranks = [row["Rank"] for row in rows]
        assert [row["Ap1"] for row in rows] == [1 / rank for rank in ranks]
        means[system] = [sum(1 / rank for rank in ranks) / len(ranks)]
        means[system].append(sum(gain.get(rank, 0) for rank in ranks) / len(ranks))
        (path,) = root.glob(f"insurance/tenants/trial/runs/MiniInsurance-PosNeg{end}/*/run.json")
        record = read_json(path)
        assert record["RunId"] == uuid.UUID(record["RunId"]).hex == path.parent.name
        kpi = [record["Metrics"][name] for name in ("map@1", "ndcg@3")]
        assert kpi == pytest.approx(means[system], abs=1e-4)
    values = read_json(folder / "metrics-posneg.json")
    changes = [after - before for before, after in zip(*means.values(), strict=True)]
    assert [values["DeltaMap"], values["DeltaNdcg3"]] == pytest.approx(changes, abs=2e-4)
    assert changes[0] and values["PolicyCount"] == 16
