"""Forms that were filled in an annotation tool: the judgements of all raters in one file."""

import json

import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.raters.read import read_forms
from casebook.raters.unblinding import open_forms

VOTES = ["rater", "item_id", "choice", "factuality_left", "usefulness_right", "text_left"]
ANSWERS = ["preferred", "factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2"]
FIELDS = ["prompt_id", "prompt_text", "system1_output", "system2_output"]


@pytest.fixture
def filled(returned):
    """Give the rows of all forms, with the rater's name."""
    tables = [pd.read_excel(path).assign(who=path.stem) for path in returned]
    rows = pd.concat(tables, ignore_index=True)
    return rows.astype(dict.fromkeys(ANSWERS[1:], int))


def as_table(filled, folder):
    """All raters in one CSV, a row per judgement."""
    path = folder / "all.csv"
    filled.rename(columns={"who": "Rater"}).to_csv(path, index=False)
    return path


def as_long_rows(filled, folder):
    """A row per rating; the texts are not in the file."""
    path = folder / "long.csv"
    rows = filled.melt(["who", "prompt_id"], ANSWERS, "criterion", "rating")
    rows.rename(columns={"who": "annotator"}).to_csv(path, index=False)
    return path


def as_label_studio(filled, folder):
    """JSON of Label Studio 1.x: a task per row of a form."""
    tasks = []
    for number, row in enumerate(filled.to_dict("records"), start=1):
        results = [result("preferred", {"choices": [row["preferred"]]}, "choices")]
        results += [result(name, {"rating": row[name]}, "rating") for name in ANSWERS[1:]]
        person = {"completed_by": {"id": 1, "email": row["who"]}, "was_cancelled": False}
        data = {name: row[name] for name in FIELDS}
        tasks.append({"id": number, "data": data, "annotations": [person | {"result": results}]})
    path = folder / "tasks.json"
    path.write_text(json.dumps(tasks))
    return path


def result(tag, value, kind):
    return {"from_name": tag, "to_name": "prompt_text", "type": kind, "value": value}


def as_label_studio_csv(filled, folder):
    """CSV of label-studio-sdk 2.1: a row per annotation, ratings as JSON of their values."""
    rows = filled[[*FIELDS, *ANSWERS]].assign(annotator=filled["who"])
    for name in ANSWERS[1:]:
        rows[name] = [json.dumps([{"rating": value}]) for value in rows[name]]
    rows = rows.assign(annotation_id=range(len(rows)), id=range(len(rows)), lead_time=2.5)
    path = folder / "export.csv"
    rows.to_csv(path, index=False)
    return path


def as_argilla(filled, folder):
    """``to_datasets()`` of argilla 2.8, as JSON lines."""
    records = []
    for row in filled.to_dict("records"):
        record = {"id": row["prompt_id"], "status": "completed"}
        record |= {name: row[name] for name in FIELDS[1:]}
        for name in ANSWERS:
            record[f"{name}.responses"] = [row[name]]
            record[f"{name}.responses.users"] = [row["who"]]
            record[f"{name}.responses.status"] = ["submitted"]
        records.append(record)
    path = folder / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def as_potato(filled, folder):
    """``user_state.json`` of potato 2.12, a folder per rater."""
    for rater, rows in filled.groupby("who"):
        labels = {}
        for row in rows.to_dict("records"):
            values = {name: str(row[name]) for name in ANSWERS}
            labels[row["prompt_id"]] = [
                [{"schema": name, "name": value}, value] for name, value in values.items()
            ]
        path = folder / "annotation_output" / rater / "user_state.json"
        path.parent.mkdir(parents=True)
        state = {"user_id": rater, "instance_id_to_label_to_value": labels}
        path.write_text(json.dumps(state))
    return folder / "annotation_output"


@pytest.mark.parametrize(
    "export",
    [as_table, as_long_rows, as_label_studio, as_label_studio_csv, as_argilla, as_potato],
)
def test_forms_filled_in_a_tool_are_unblinded_like_workbooks(
    study, returned, filled, tmp_path, export
):
    expected = open_forms(read_forms(returned), study)
    votes = open_forms(read_forms(export(filled, tmp_path)), study)
    names = [
        name for name in VOTES if export not in (as_long_rows, as_potato) or name != "text_left"
    ]
    assert votes.frame[names].equals(expected.frame[names])
    lost = [defect for defect in votes.defects if defect.effect == "lost"]
    assert votes.registered and [defect for defect in lost if defect.column in ANSWERS] == []


def test_what_the_tool_left_out_is_a_defect_of_the_form(study, filled, tmp_path):
    path = as_label_studio(filled, tmp_path)
    tasks = json.loads(path.read_text())
    tasks[0]["annotations"][0] |= {"was_cancelled": True, "result": []}
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["S1", "Tie"]
    path.write_text(json.dumps(tasks))
    votes = open_forms(read_forms(path), study)
    found = {(defect.row, defect.column, defect.kind) for defect in votes.defects}
    assert (1, None, "skipped") in found and (2, "preferred", "several choices at once") in found
    assert (None, "prompt_id", "missing_row") in found and len(votes.frame) == 47


def test_a_key_in_the_data_of_the_tool_and_other_names_of_columns(filled, tmp_path):
    """Raters who share the tasks, and a field that says on which side the system stands."""
    rows = filled[filled["who"] == filled["who"][0]].assign(side=["S1", "S2"] * 6)
    shared = pd.concat([rows.assign(who=name) for name in ("ann", "bob")])
    path = as_table(shared.rename(columns={"preferred": "choice", "who": "person"}), tmp_path)
    columns = {"preferred": "choice", "rater": "person"}
    votes = open_forms(read_forms(path, columns), side_column="side")
    assert votes.raters == ("ann", "bob") and len(votes.frame) == 24
    assert votes.frame["choice"].isin(["RAG", "BASE", "Tie"]).all()
    with pytest.raises(InputError, match="column 'person' names no rater"):
        shared.assign(preferred="S1", who=None).rename(columns={"who": "person"}).to_csv(
            path, index=False
        )
        read_forms(path, {"rater": "person"})


def test_a_form_with_a_column_of_that_rater_stays_one_form(returned, study, tmp_path):
    path = tmp_path / "r1.csv"
    pd.read_excel(returned[0]).assign(annotator="r1").to_csv(path, index=False)
    form, *others = read_forms([path, *returned[1:]])
    assert form.rater == "r1" and len(form.rows) == 12 and len(others) == 3


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.json", "[{}]", "no column names the raters"),
        ("a.json", '[{"rater": "ann", "x": 1}]', "no column 'preferred'"),
        ("a.csv", "rater,item,rating\nann,q1,\n", "holds no ratings: 1 blank"),
    ],
)
def test_files_without_judgements_are_refused_in_one_line(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        read_forms(tmp_path / name)
    assert "\n" not in str(caught.value)
