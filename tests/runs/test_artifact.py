import datetime
import json

import pytest

from casebook.errors import InputError
from casebook.runs import artifact

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def record():
    return artifact.RunRecord.model_construct(
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
    path = artifact.write_record(tmp_path / "run.json", record())
    keys = "RunId Workflow Tenant StartedAtUtc CompletedAtUtc Success Labels Metrics"
    assert set(json.loads(path.read_text())) == {*keys.split(), "SchemaVersion"}
    back = artifact.read_record(path)
    assert (back.run_id, back.started, back.metrics) == ("r1", MOMENT, {"map@1": 0.5})


def test_the_other_spelling_is_read_in_any_case_and_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "run.json"
    text = (
        '{"runid": "r", "WorkflowName": "w", "startedUTC": "2026-01-02T03:04:05Z", '
        '"FinishedUtc": "2026-01-02T03:04:06Z", "Metrics": {"ndcg@3": 1}, "Notes": ""}'
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    back = artifact.read_record(path)
    assert (back.workflow, back.started, back.success) == ("w", MOMENT, True)


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '{"RunId": 1, "Workflow": "w"}'])
def test_a_damaged_record_is_one_clear_line(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"run\.json: ") as caught:
        artifact.read_record(path)
    assert "\n" not in str(caught.value)


def test_a_fixed_epoch_gives_a_fixed_time(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert artifact.now() == datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)
