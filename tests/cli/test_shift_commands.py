"""``casebook shift`` and ``casebook segments``: files, output, exit codes."""

import json
import runpy
import shutil
from pathlib import Path

import pytest

from casebook import paths
from casebook.data import load
from casebook.paths import DATA
from casebook.runs.record import read_record
from casebook.shift.artifacts import (
    Setup,
    documented_measure_means,
    prepare,
    read_training,
    selection_score,
)
from casebook.shift.learn import CANDIDATE_SCALES
from casebook.shift.segments import decisions_of

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
    assert {"map@1", "ndcg@3", "train.map@1"} <= set(base.metrics)
    assert base.labels["SplitHash"] == moved.labels["SplitHash"]
    assert base.labels["Scale"] == 0
    values = found["values"]
    assert values["MapBaseline"] == pytest.approx(base.metrics["map@1"])
    delta = values["MapPosNeg"] - values["MapBaseline"]
    assert values["DeltaMap"] == pytest.approx(delta)
    assert values["EffectiveQueryCount"] == trained["result"]["Labels"]["SplitSizes"]["test"]


def test_a_folder_of_ones_own_with_a_blank_in_its_name(casebook, tmp_path, monkeypatch):
    runpy.run_path(str(DATA / "make" / "mini_insurance.py"))["write"](
        load("smoke"), tmp_path / "my tickets"
    )
    monkeypatch.chdir(tmp_path)
    code, out, _ = casebook("shift", "train", "my tickets", *FAST)
    assert code == 0 and "my_tickets-posneg-training_" in out
    for scale in (0.5, 2):
        assert casebook("shift", "run", "./my tickets", "--scale", scale)[0] == 0
    rows = json.loads(casebook("runs", "list", "--json")[1])["runs"]
    assert {row["dataset"] for row in rows} == {"my_tickets"}
    shifted = [row for row in rows if row["workflowName"] == "my_tickets-PosNeg"]
    assert sorted(row["parameters"]["scale"] for row in shifted) == [0.5, 2]
    assert casebook("data", "check", "./my tickets")[0] == 0  # the same layout
    shutil.copytree(DATA / "smoke", tmp_path / "plain folder")
    code, _, err = casebook("shift", "train", "plain folder", *FAST)
    assert code == 1 and "write ./plain folder" in err


def test_training_says_when_there_was_nothing_to_learn(casebook, tmp_path, monkeypatch):
    rows = [
        {"_id": name, "text": f"a {name} story"}
        for name in ("fox", "ship", "tower", "violin", "harbour", "kettle")
    ]
    (tmp_path / "easy/qrels").mkdir(parents=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "easy/corpus.jsonl").write_text(lines)
    (tmp_path / "easy/queries.jsonl").write_text(lines)
    judged = "".join(f"{row['_id']}\t{row['_id']}\t1\n" for row in rows)
    (tmp_path / "easy/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    monkeypatch.chdir(tmp_path)
    code, out, _ = casebook("shift", "train", "./easy", *FAST)
    assert code == 0 and "nothing to learn" in out
    assert "nothing was measured" in casebook("shift", "run", "./easy", "--latest")[1]


def test_training_chooses_stores_and_prints_one_score(casebook):
    """By nDCG@10 scale 0.5 was chosen here, while the stored and printed score was -0.0811."""
    arguments = ("shift", "train", "smoke_dev", *FAST, "--mode", "posneg-contrast", "--seed", "1")
    code, out, _ = casebook(*arguments, "--json")
    result = json.loads(out)["result"]
    assert code == 0
    assert (result["Scale"], result["SelectionScore"]) == (0.0, 0.0)
    assert result["SelectionMapAt1Shifted"] == result["SelectionMapAt1Baseline"]
    out = casebook(*arguments)[1]
    assert "scale 0.0: selection score +0.0000" in out and "map@1" in out
    assert "no scale raised the selection score" in out


def test_the_chosen_scale_has_the_highest_stored_score(casebook, trained):
    result = trained["result"]
    setup = Setup("smoke")
    _, parts, _ = prepare(setup)
    vector = read_training(trained["folder"]).vector
    dev = parts["dev"]
    means = {
        scale: documented_measure_means(dev, dev.queries + scale * vector)
        for scale in CANDIDATE_SCALES
    }
    scores = {scale: selection_score(means[0.0], shifted) for scale, shifted in means.items()}
    assert result["SelectionScore"] == pytest.approx(max(scores.values()))
    assert scores[result["Scale"]] == pytest.approx(max(scores.values()))


def test_the_recorded_command_repeats_a_run_from_any_folder(casebook, tmp_path, monkeypatch):
    # As a relative folder of the caller, with a scale of its own.
    shutil.copytree(DATA / "smoke", tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert casebook("shift", "train", "./mine", *FAST)[0] == 0
    found = json.loads(casebook("shift", "run", "./mine", "--scale", 0.5, "--json")[1])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    request = read_json(Path(found["runs"][1]) / "run_request.json")["request"]["commandArgs"]
    assert request[-4:] == ["--tenant", "trial", "--scale", "0.5"]
    again = json.loads(casebook(*request, "--json")[1])
    assert again["measures"] == found["measures"] and again["runs"] != found["runs"]


def test_rows_carry_the_groups_that_are_held_together(casebook, trained):
    found = json.loads(casebook("shift", "run", "smoke", "--scale", 1, "--json")[1])
    rows = read_json(Path(found["runs"][1]) / "eval.perQuery.json")
    groups = load("smoke").groups
    pairs = {(r["Group"], groups[r["QueryId"]]) for r in rows}
    assert len(pairs) == len({ours for ours, _ in pairs}) < len(rows)
    base, moved = (Path(path).name for path in found["runs"])
    code, out, _ = casebook("runs", "compare", moved, base, "-m", "map@1", "--json")
    compared = json.loads(out)
    assert code == 0 and compared["groups"] == len({r["Group"] for r in rows})
    delta = found["measures"]["map@1"]["delta"]
    assert [compared["low"], compared["high"]] == delta["ci"]


def test_a_shift_that_is_not_applied_is_said_so(casebook, trained):
    folder = Path(trained["folder"]) / "shift-training-result.json"
    values = read_json(folder)
    for change, why in (
        ({"Scale": 0.0}, "the scale is 0"),
        ({"IsCancelled": True, "CancelReason": "too short"}, "cancelled: too short"),
    ):
        folder.write_text(json.dumps(values | change))
        options = ("smoke", "--training", trained["folder"])
        for command, further in (("run", ()), ("eval", LOW_BAR)):
            code, out, _ = casebook("shift", command, *options, *further)
            assert code in (0, 4) and "no shift was applied" in out and why in out
            found = json.loads(casebook("shift", command, *options, *further, "--json")[1])
            assert why in found["note"]
            if command == "run":
                assert "delta not measured (no shift was applied)" in out
                assert found["values"]["DeltaMap"] is None and found["values"]["DeltaMapCi"] == [
                    None,
                    None,
                ]
    folder.write_text(json.dumps(values))
    assert "no shift was applied" not in casebook("shift", "run", *options, "--scale", 1)


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
    assert found["counts"]["groups"] == len(
        {record["Group"] for record in read_json(name.format("baseline"))}
    )
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
    assert manifest["diagnostic"] is manifest["usedSim"] is False


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
    code, out, _ = casebook("shift", "train", folder, "--json")
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
    (["shift", "train", "smoke", "--mode", "micro", *FAST], "unknown mode"),
    (["shift", "train", "smoke", "--hardneg-topk", "0", *FAST], "hardneg-topk"),
    (["shift", "eval", "smoke", "--training", "nowhere"], "shift-training-result"),
    (["segments", "compare", "--segments", "nowhere.json"], "no such segments file"),
    (
        ["shift", "train", "smoke", "--mode", "posneg-contrast", "--hardneg-topk", "2"],
        "--hardneg-topk has no effect",
    ),
    (["shift", "run", "smoke", "--latest", "--training", "x"], "--latest has no effect"),
    (
        ["shift", "eval", "smoke", "--no-baseline", "--gate-eps", "1"],
        "--gate-eps has no effect with --no-baseline",
    ),
    (
        ["shift", "eval", "smoke", "--shift", "zero", "--scale", "1"],
        "--scale has no effect with --shift zero",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_clear_line(casebook, arguments, message):
    code, out, err = casebook(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("scale", ["inf", "nan", "1e308", "-1e7"])
def test_a_scale_out_of_range(casebook, trained, scale):
    code, out, err = casebook("shift", "run", "smoke", f"--scale={scale}")
    assert (code, out) == (1, "") and "scale must" in err
