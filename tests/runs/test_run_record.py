import datetime
import inspect
import json
from pathlib import Path

import pytest
from cases import not_refused

from casebook.errors import InputError
from casebook.runs.record import (
    PER_QUERY_FIELDS,
    RunRecord,
    comparability_key,
    higher_is_better,
    metric_key,
    metric_label,
    per_query_name,
    read_per_query,
    read_record,
    write_per_query,
    write_record,
)

SCHEMA = Path(inspect.getfile(RunRecord)).with_name("schemas") / "run.schema.json"
MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def record():
    return RunRecord.model_construct(
        run_id="r1",
        workflow="made",
        tenant=None,
        started=MOMENT,
        completed=MOMENT,
        success=True,
        labels={"Seed": 1},
        metrics={"map@1": 0.5},
    )


def test_written_under_the_documented_keys_and_read_back(tmp_path):
    path = write_record(tmp_path / "run.json", record())
    keys = "RunId Workflow Tenant StartedAtUtc CompletedAtUtc Success Labels Metrics"
    assert set(json.loads(path.read_text())) == {
        *keys.split(),
        "SchemaVersion",
        "Outputs",
        "RecordSha256",
    }
    back = read_record(path)
    assert (back.run_id, back.started, back.metrics) == ("r1", MOMENT, {"map@1": 0.5})


def held(metrics):
    fields = {"runid": "r", "workflow": "w", "startedatutc": "2026-01-02T03:04:05Z"}
    return RunRecord.model_validate(fields | {"metrics": metrics}).metrics


def test_one_spelling_and_no_value_that_is_not_a_number():
    assert metric_key(" nDCG@3 ") == "ndcg@3"
    metrics = held({"MAP@1": 0.5, "x": float("nan"), "y": None, "Y": None})
    assert metrics == {"map@1": 0.5, "x": None, "y": None}
    with pytest.raises(InputError, match="needs a name"):
        metric_key("  ")


def test_direction():
    better = {name: higher_is_better(name) for name in ("nDCG@10", "recall@100", "precision@1")}
    better["rbp"] = higher_is_better("smoke.full.RBP(p=0.9)")
    worse = ("NdcgEvaluator.duration_ms", "x.y.ECE", "mean_displacement", "Brier")
    assert all(better.values()) and not any(higher_is_better(name) for name in worse)


def test_comparability_is_data_and_metric_version_not_the_system():
    a = {"Inputs": {"data": {"dataset": "1"}, "parameters": {"k": 1}}}
    b = {"Inputs": {"data": {"dataset": "1"}, "parameters": {"k": 2}}}
    assert comparability_key(a) == comparability_key(b)
    assert comparability_key(a | {"MetricVersion": 2}) != comparability_key(a)
    assert comparability_key(a) != comparability_key({"Inputs": {"data": {"dataset": "2"}}})
    assert comparability_key({}) is comparability_key({"Inputs": {"data": {}}}) is None


def test_a_documents_formula_has_a_prefix_for_readers_and_its_key_in_records():
    assert metric_key("original:ndcg@3") == "ndcg@3" == metric_key("NDCG@3")
    assert metric_label("ndcg@3") == "original:ndcg@3" and metric_label("rr") == "rr"
    # A chapter may report both: they are two keys of its record.
    assert len(held({"smoke.ridge.nDCG@3": 0.5, "smoke.ridge.original:ndcg@3": 0.6})) == 2


def test_documented_fields_and_names(tmp_path, rows_of):
    path = write_per_query(tmp_path / per_query_name("posneg"), rows_of([1, 2, 3, 4]))
    assert path.name == "eval.perQuery.posneg.json"
    records = json.loads(path.read_text())
    assert set(records[0]) == set(PER_QUERY_FIELDS) - set(PER_QUERY_FIELDS[7:])
    # Ranks 1 to 4, as documented: 1, 0.631, 0.5 and nothing.
    assert [r["Ndcg3"] for r in records] == pytest.approx([1, 0.63093, 0.5, 0], abs=1e-5)
    back = read_per_query(path)
    assert list(back.columns) == [*PER_QUERY_FIELDS, "Group"]
    assert back["Rank"].tolist() == [1, 2, 3, 4]
    assert back["Top2Score"].isna().all()
    with pytest.raises(InputError, match="not allowed"):
        per_query_name("../x")


def test_bad_records_are_one_clear_line(tmp_path, rows_of):
    path = write_per_query(tmp_path / "eval.perQuery.json", rows_of([1, 1]))
    records = json.loads(path.read_text())

    def read(change):
        path.write_text(json.dumps([records[0] | change, records[1]]))
        return read_per_query(path)

    cases = [
        ({"TopDocId": None}, "lacks TopDocId"),
        ({"QueryId": "Q1"}, "a query occurs twice"),
    ]
    assert not_refused(read, cases) == []
    for text in ("", "{}", "[]", "[1]", '{"a": 1}'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"Query\.json: "):
            read_per_query(path)


def test_the_shipped_schema_describes_what_is_written(tmp_path):
    schema = json.loads(SCHEMA.read_text())
    written = json.loads(write_record(tmp_path / "run.json", record()).read_text())
    assert set(written) == set(schema["properties"])
    model = RunRecord.model_json_schema(mode="serialization")
    assert set(model["required"]) <= set(schema["required"]) <= set(written)
    for name, described in model["properties"].items():
        del described["title"]
        if name in ("StartedAtUtc", "CompletedAtUtc"):  # pydantic says text of what we write
            assert "date-time" in json.dumps(schema["properties"][name])
        else:
            assert schema["properties"][name] == described, name
