import gzip

import pandas as pd
import pytest

from casebook import paths
from casebook.files import write_json
from casebook.runs.outputs import RunOutputs
from casebook.runs.registry import query_scores


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return tmp_path


def test_no_file_holds_a_negative_zero(results):
    outputs = RunOutputs("study", "cell")
    frame = pd.DataFrame({"gain": [-0.0, -1e-9, 0.5], "mixed": [-1e-9, None, "x"]})
    texts = [outputs.table("gains", frame).read_text()]
    texts.append(gzip.decompress(outputs.rows(frame).read_bytes()).decode())
    number = {"value": -0.0, "ci": [-1e-9, 0.5], "n": 3, "control": -0.0}
    values = {"smoke": {"full": {"gain": number}}}
    texts.append(outputs.numbers("shift", values).read_text())
    assert not any("-0" in text for text in texts)


def test_rows_and_tables_hold_no_formula_and_pairing_finds_the_ids_again(results):
    scores = {"system": "=cmd|s", "nDCG@10": -0.5}
    frame = pd.DataFrame([{"query_id": q, **scores} for q in ("=1+1", "@q", "NA")])
    outputs = RunOutputs("mine", "made")
    rows = gzip.decompress(outputs.rows(frame).read_bytes()).decode()
    assert (
        rows
        == outputs.table("t", frame).read_text()
        == (
            "query_id,system,nDCG@10\n'=1+1,'=cmd|s,-0.500000\n"
            "'@q,'=cmd|s,-0.500000\nNA,'=cmd|s,-0.500000\n"
        )
    )
    metrics = {"smoke.=cmd|s.ndcg@10": -0.5}
    labels = {"Cell": "made"}
    record = {"RunId": "r", "Workflow": "made", "Labels": labels, "Metrics": metrics}
    record |= {"StartedAtUtc": "2026-01-01T00:00:00Z", "Success": True}
    record |= {"CompletedAtUtc": "2026-01-01T00:00:01Z"}
    write_json(results / "mine" / "runs" / "made" / "run.json", record)
    rows = query_scores(results / "mine" / "runs" / "made", "smoke.=cmd|s.ndcg@10")
    assert sorted(rows.index) == ["=1+1", "@q", "NA"]
