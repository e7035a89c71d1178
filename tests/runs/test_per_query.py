import json

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.runs.per_query import FIELDS, per_query_name, read_per_query
from casebook.runs.per_query import write_per_query as write
from casebook.runs.rows import NoRows, query_scores


def test_documented_fields_and_names(tmp_path, rows_of):
    path = write(tmp_path / per_query_name("posneg"), rows_of([1, 2, 3, 4]))
    assert path.name == "eval.perQuery.posneg.json"
    records = json.loads(path.read_text())
    assert set(records[0]) == set(FIELDS) - set(FIELDS[7:])
    # Ranks 1 to 4, as documented: 1, 0.631, 0.5 and nothing.
    assert [r["Ndcg3"] for r in records] == pytest.approx([1, 0.63093, 0.5, 0], abs=1e-5)
    back = read_per_query(path)
    assert list(back.columns) == list(FIELDS)
    assert back["Rank"].tolist() == [1, 2, 3, 4]
    assert back["Top2Score"].isna().all()
    with pytest.raises(InputError, match="not allowed"):
        per_query_name("../x")


def test_any_case_a_byte_order_mark_and_more_measures(tmp_path, rows_of):
    frame = rows_of([1, 3]).assign(Ndcg10=[1.0, 0.5])
    path = write(tmp_path / "eval.perQuery.json", frame)
    text = path.read_text().replace("QueryId", "queryID").replace("Rank", "rank")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_per_query(path)["Ndcg10"].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Rank": 2}, "not that of rank 2"),
        ({"Rank": -1}, "Rank -1"),
        ({"Rank": True}, "Rank True"),
        ({"Ap1": "1"}, "Ap1 '1'"),
        ({"TopDocId": None}, "lacks TopDocId"),
        ({"QueryId": "Q1"}, "occurs twice"),
    ],
)
def test_bad_records_are_one_clear_line(tmp_path, rows_of, change, message):
    path = write(tmp_path / "eval.perQuery.json", rows_of([1, 1]))
    records = json.loads(path.read_text())
    records[0] |= change
    path.write_text(json.dumps(records))
    with pytest.raises(InputError, match=message):
        read_per_query(path)


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '{"a": 1}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json: "):
        read_per_query(tmp_path / "x.json")
    with pytest.raises(InputError, match="no such"):
        read_per_query(tmp_path / "absent.json")


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
    write(folder / "eval.perQuery.json", rows_of([1, 1, 1]))
    with pytest.raises(InputError, match="changed since"):
        query_scores(folder, "ndcg@3")
    other = registry.add("s", 0.5)
    write(other / "eval.perQuery.json", rows_of([1, 1, 1]))
    with pytest.raises(NoRows, match="mean is 1"):
        query_scores(other, "ndcg@3")
    write(other / "eval.perQuery.b.json", rows_of([1, 1, 1]))
    with pytest.raises(NoRows, match="several"):
        query_scores(other, "ndcg@3")


def test_rows_of_a_report_by_system_and_column(registry_of, results, record_of):
    import pandas as pd

    from casebook.runs.artifact import write_record
    from casebook.runs.outputs import RunOutputs

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
