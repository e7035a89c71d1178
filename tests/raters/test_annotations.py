"""Ratings with a row per rating, and exports of potato, argilla and Label Studio."""

import json
import random

import krippendorff
import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.measures.agreement import krippendorff_alpha
from casebook.raters.annotations import read_criteria, read_ratings
from casebook.raters.read import read_forms

# Four items, three raters: the same ratings in every layout below.
RATINGS = {
    "ann": {"q1": 4, "q2": 2, "q3": 5, "q4": 1},
    "bob": {"q1": 5, "q2": 2, "q3": 4},
    "cy": {"q1": 4, "q2": 1, "q3": 5, "q4": 1},
}
TONES = {"ann": {"q1": "warm", "q2": "cold"}, "bob": {"q1": "warm", "q2": "warm"}}
PAIRS = [(rater, item, rating) for rater, by in RATINGS.items() for item, rating in by.items()]


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def long_csv(folder):
    rows = ["Worker ID;Question-ID;Score;seconds"]
    rows += [f"{rater};{item};{rating};9" for rater, item, rating in PAIRS]
    return written(folder / "long.csv", "\n".join(rows))


def long_tsv_of_criteria(folder):
    rows = ["annotator\titem\tdimension\tlabel"]
    rows += [f"{rater}\t{item}\tquality\t{rating}" for rater, item, rating in PAIRS]
    for rater, tones in TONES.items():
        rows += [f"{rater}\t{item}\ttone\t{tone}" for item, tone in tones.items()]
    return written(folder / "long.tsv", "\n".join(rows))


def potato_1_table(folder):
    """``annotated_instances.tsv`` of potato 1.2: a column per schema and label, None blank."""
    columns = [f"quality:::scale_{n}" for n in range(1, 6)] + ["tone:::cold", "tone:::warm"]
    rows = ["\t".join(["user", "instance_id", "displayed_text", *columns])]
    for rater, item, rating in PAIRS:
        cells = [str(rating) if n == rating else "" for n in range(1, 6)]
        tone = TONES.get(rater, {}).get(item)
        cells += ["true" if tone == label else "" for label in ("cold", "warm")]
        rows.append("\t".join([rater, item, "A text.", *cells]))
    return written(folder / "annotated_instances.tsv", "\n".join(rows))


def potato_1_folder(folder):
    """Folders of raters as potato 1.2 leaves them: the folder's name is the rater's."""
    for rater, ratings in RATINGS.items():
        records = []
        for item, rating in ratings.items():
            labels = {"quality": {f"scale_{rating}": str(rating)}}
            if tone := TONES.get(rater, {}).get(item):
                labels["tone"] = {tone: "true", "free_response": "because"}
            records.append(
                {
                    "id": item,
                    "displayed_text": "A text.",
                    "label_annotations": labels,
                    "span_annotations": {},
                    "behavioral_data": {"time_string": "Time spent: 0d 0h 0m 5s "},
                }
            )
        written(folder / "out" / rater / "annotated_instances.jsonl", lines(records))
    return folder / "out"


def potato_2_folder(folder):
    """``user_state.json`` of potato 2.12: pairs of label and value; a slider holds a value."""
    for rater, ratings in RATINGS.items():
        labels = {}
        for item, rating in ratings.items():
            labels[item] = [[{"schema": "quality", "name": "slider"}, str(rating)]]
            if tone := TONES.get(rater, {}).get(item):
                labels[item].append([{"schema": "tone", "name": tone}, tone])
        state = {
            "user_id": rater,
            "instance_id_ordering": list(ratings),
            "instance_id_to_label_to_value": labels,
            "instance_id_to_span_to_value": {},
        }
        written(folder / "states" / rater / "user_state.json", state)
    return folder / "states"


def potato_2_csv(folder):
    """``annotations.csv`` of ``potato export`` 2.12; a schema's own column resolves several."""
    rows = [
        "instance_id,user_id,quality.4,quality.5,quality.2,quality.1,quality,tone.warm,tone.cold"
    ]
    for rater, item, rating in PAIRS:
        cells = [str(rating) if n == rating else "" for n in (4, 5, 2, 1)]
        resolved = ""
        if (rater, item) == ("ann", "q1"):
            cells[1] = "5"  # clicked first, as servers before the mending of several choices kept
            resolved = "4"
        tone = TONES.get(rater, {}).get(item)
        cells += [resolved, *[tone if tone == label else "" for label in ("warm", "cold")]]
        rows.append(",".join([item, rater, *cells]))
    return written(folder / "annotations.csv", "\n".join(rows))


def argilla_1(folder):
    """Records of a FeedbackDataset of argilla 1.29, as ``datasets`` writes them."""
    records = []
    for item in ("q1", "q2", "q3", "q4"):
        answers = [
            {"user_id": rater, "value": by[item], "status": "submitted"}
            for rater, by in RATINGS.items()
            if item in by
        ]
        tones = [
            {"user_id": rater, "value": by[item], "status": "submitted"}
            for rater, by in TONES.items()
            if item in by
        ]
        if item == "q4":
            answers.append({"user_id": "bob", "value": 3, "status": "draft"})
            tones.append({"user_id": "cy", "value": "cold", "status": "discarded"})
        record = {"text": "A text.", "quality": answers, "tone": tones, "external_id": item}
        suggestion = {"type": None, "score": None, "agent": None}
        record |= {"quality-suggestion": 3, "quality-suggestion-metadata": suggestion}
        record |= {"tone-suggestion": None, "tone-suggestion-metadata": suggestion}
        records.append(record | {"metadata": "{}"})
    return written(folder / "argilla1.jsonl", lines(records))


def argilla_2(folder):
    """``dataset.records.to_datasets()`` of argilla 2.8: three columns a question."""
    records = []
    for item in ("q1", "q2", "q3", "q4"):
        record = {"id": item, "status": "completed", "_server_id": "0a1b", "text": "A text."}
        for question, table in {"quality": RATINGS, "tone": TONES}.items():
            raters = [rater for rater, by in table.items() if item in by]
            values = [table[rater][item] for rater in raters]
            statuses = ["submitted"] * len(raters)
            if item == "q4" and question == "quality":
                raters, values, statuses = [*raters, "bob"], [*values, 3], [*statuses, "draft"]
            record[f"{question}.responses"] = values or None
            record[f"{question}.responses.users"] = raters or None
            record[f"{question}.responses.status"] = statuses or None
        record["quality.suggestion"] = 3
        records.append(record)
    return written(folder / "argilla2.jsonl", lines(records))


def argilla_2_json(folder):
    """``dataset.records.to_json()`` of argilla 2.8, which keeps no status of responses."""
    records = []
    for item in ("q1", "q2", "q3", "q4"):
        responses = {}
        for question, table in {"quality": RATINGS, "tone": TONES}.items():
            responses[question] = [
                {"value": by[item], "user_id": rater} for rater, by in table.items() if item in by
            ]
        records.append(
            {
                "id": item,
                "fields": {"text": "A text."},
                "metadata": {},
                "suggestions": {"quality": {"value": 3, "score": None, "agent": None}},
                "responses": responses,
                "vectors": {},
                "status": "completed",
                "_server_id": "0a1b",
            }
        )
    return written(folder / "argilla2.json", records)


def label_studio(folder):
    """JSON of Label Studio 1.x: tasks with annotations, drafts and predictions."""
    tasks = []
    for number, item in enumerate(("q1", "q2", "q3", "q4"), start=7):
        annotations = []
        for rater, by in RATINGS.items():
            if item not in by:
                continue
            results = [result("quality", "rating", by[item])]
            if tone := TONES.get(rater, {}).get(item):
                results.append(result("tone", "choices", [tone]))
            annotations.append(annotation(rater, results))
        task = {"id": number, "data": {"text": "A text.", "item": item}, "project": 1}
        task |= {"annotations": annotations, "drafts": [], "predictions": []}
        tasks.append(task)
    tasks[3]["annotations"].append(annotation("bob", [], was_cancelled=True))
    tasks[3]["drafts"] = [{"id": 5, "user": "bob", "result": []}]
    tasks[0]["predictions"] = [{"model_version": "m1", "result": []}]
    return written(folder / "tasks.json", tasks)


def result(tag, kind, value):
    kinds = {"value": {kind: value}, "type": kind}
    return {"id": "a1", "from_name": tag, "to_name": "text", "origin": "manual", **kinds}


def annotation(rater, results, **fields):
    person = {"id": 3, "email": rater, "first_name": "", "last_name": ""}
    return {"completed_by": person, "result": results, "was_cancelled": False, **fields}


def label_studio_csv(folder):
    """CSV of label-studio-sdk 2.1: a row per annotation, ratings as JSON of their values."""
    rows = ["annotation_id,annotator,created_at,id,item,lead_time,quality,text,tone,updated_at"]
    for number, (rater, item, rating) in enumerate(PAIRS):
        quality = f'"[{{""rating"": {rating}}}]"'
        tone = TONES.get(rater, {}).get(item, "")
        rows.append(f'{number},"{rater}",,{item},{item},3.2,{quality},"A text.",{tone},')
    return written(folder / "export.csv", "\n".join(rows))


def label_studio_min(folder):
    """JSON-MIN of label-studio-sdk 2.1."""
    records = []
    for number, (rater, item, rating) in enumerate(PAIRS):
        record = {"text": "A text.", "item": item, "id": item, "quality": [{"rating": rating}]}
        if tone := TONES.get(rater, {}).get(item):
            record["tone"] = tone
        record |= {"annotator": rater, "annotation_id": number, "lead_time": 3.2}
        records.append(record | {"created_at": "2026-01-01T00:00:00Z", "updated_at": None})
    return written(folder / "min.json", records)


EXPORTS = [
    long_tsv_of_criteria,
    potato_1_table,
    potato_1_folder,
    potato_2_folder,
    potato_2_csv,
    argilla_1,
    argilla_2,
    argilla_2_json,
    label_studio,
    label_studio_csv,
    label_studio_min,
]
IN_ORDER = pd.DataFrame(RATINGS).astype(float)


@pytest.mark.parametrize("export", EXPORTS)
def test_every_layout_gives_the_same_ratings(tmp_path, export):
    tables = read_criteria(export(tmp_path))
    assert set(tables) == {"quality", "tone"}
    quality = tables["quality"].sort_index()
    if export is label_studio:
        assert quality.index.tolist() == ["10", "7", "8", "9"]  # numbers of tasks
        quality = quality.loc[["7", "8", "9", "10"]].set_axis(IN_ORDER.index)
    pd.testing.assert_frame_equal(quality[["ann", "bob", "cy"]], IN_ORDER, check_names=False)
    assert tables["tone"].stack().tolist() == ["warm", "warm", "cold", "warm"]  # noqa: PD013


def test_a_row_per_rating_gives_alpha_of_the_raters(tmp_path):
    path = long_csv(tmp_path)
    frame = read_ratings(path)
    assert frame.index.tolist() == ["q1", "q2", "q3", "q4"] and list(frame) == ["ann", "bob", "cy"]
    expected = krippendorff.alpha(IN_ORDER.to_numpy().T, level_of_measurement="ordinal")
    assert krippendorff_alpha(frame, n_resamples=0).estimate == pytest.approx(expected)
    assert frame.attrs["notes"] == [
        "a row per rating: 11 ratings taken of 11 judgements",
        "columns not read: seconds",
    ]
    rows = pd.read_csv(path, sep=";")
    rows.to_excel(tmp_path / "long.xlsx", index=False)
    written(tmp_path / "long.jsonl", rows.to_json(orient="records", lines=True))
    for name in ("long.xlsx", "long.jsonl"):
        pd.testing.assert_frame_equal(read_ratings(tmp_path / name), frame)


@pytest.mark.parametrize(
    ("export", "notes"),
    [
        (argilla_1, ["left out: 1 draft", "left out: 1 discarded"]),
        (argilla_2, ["left out: 1 draft"]),
        (argilla_2_json, ["15 responses without status"]),
        (
            label_studio,
            ["left out: 1 prediction of a model", "left out: 1 skipped", "left out: 1 draft"],
        ),
        (
            label_studio_csv,
            ["left out: 7 blank", "columns in which the annotators of a task never"],
        ),
    ],
)
def test_what_is_left_out_is_counted(tmp_path, export, notes):
    given = read_ratings(export(tmp_path), criterion="quality").attrs["notes"]
    assert given[0].endswith("judgements") and len(given) == 1 + len(notes)
    for line, note in zip(given[1:], notes, strict=True):
        assert line.startswith(note)


@pytest.mark.parametrize("export", [potato_1_table, potato_2_csv])
def test_a_blank_cell_of_potato_is_counted_as_one(tmp_path, export):
    notes = read_ratings(export(tmp_path), criterion="tone").attrs["notes"]
    n_blank = len(PAIRS) - sum(map(len, TONES.values()))
    assert f"left out: {n_blank} blank" in notes


def test_several_choices_are_no_rating_and_a_schema_of_several_options_rates_each(tmp_path):
    state = {
        "user_id": "ann",
        "instance_id_to_label_to_value": {
            "q1": {"topic": {"law": "true", "tax": "true"}, "traits": {"calm": "2", "kind": "4"}},
            "q2": {"topic": {"law": "true", "tax": "false"}, "traits": {"calm": "3", "kind": "5"}},
        },
    }
    tables = read_criteria(written(tmp_path / "user_state.json", state))
    assert tables["topic"]["ann"].to_dict() == {"q2": "law"}
    assert tables["traits, kind"]["ann"].to_dict() == {"q1": 4.0, "q2": 5.0}
    assert "left out: 1 several choices at once" in tables["topic"].attrs["notes"]


def test_equal_repetitions_count_once_and_others_are_refused(tmp_path):
    path = written(tmp_path / "a.csv", "rater,item,score\nann,q1,4\nann,q1,4\nbob,q1,5\n")
    frame = read_ratings(path)
    assert frame.to_dict("index") == {"q1": {"ann": 4.0, "bob": 5.0}}
    assert "1 repeated judgements counted once" in frame.attrs["notes"]
    written(path, "rater,item,score\nann,q1,4\nann,q1,3\nbob,q1,5\nbob,q1,2\n")
    both = r"a.csv:3: ann rates q1 a second time .*in row 2 '4'.*a.csv:5: bob rates q1 .*'5'"
    with pytest.raises(InputError, match=both):
        read_ratings(path)


def test_columns_are_mapped_and_near_names_are_suggested(tmp_path):
    path = written(tmp_path / "a.csv", "who,thing,stars\nann,q1,4\nbob,q1,5\n")
    columns = {"rater": "who", "item": "thing", "rating": "stars"}
    assert read_ratings(path, columns=columns).to_dict("index") == {"q1": {"ann": 4, "bob": 5}}
    written(path, "anotator,item,score\nann,q1,4\nbob,q1,5\n")
    with pytest.raises(InputError, match=r"is it 'anotator'\? Say columns rater=anotator"):
        read_ratings(path)
    with pytest.raises(InputError, match="no column 'x', which is to be read as 'rater'"):
        read_ratings(path, columns={"rater": "x"})
    with pytest.raises(InputError, match="'system' is none of rater, item, rating, criterion"):
        read_ratings(path, columns={"system": "x"})
    path = label_studio(tmp_path)
    frame = read_ratings(path, columns={"item": "item"}, criterion="quality")
    assert frame.index.tolist() == ["q1", "q2", "q3", "q4"]
    with pytest.raises(InputError, match=r"no field 'x': its data has text, item"):
        read_ratings(path, columns={"item": "x"})


def test_several_criteria_have_to_be_chosen_from(tmp_path):
    path = argilla_2(tmp_path)
    with pytest.raises(InputError, match="of several criteria: quality, tone: choose one"):
        read_ratings(path)
    with pytest.raises(InputError, match="no criterion 'x': it has quality, tone"):
        read_ratings(path, criterion="x")


def test_numbers_are_asked_of_the_chosen_criterion_only(tmp_path):
    path = argilla_2(tmp_path)
    assert read_ratings(path, criterion="quality", numbers=True).notna().to_numpy().sum() == 11
    with pytest.raises(
        InputError, match=r"argilla2.jsonl:1: column 'tone': 'warm' is not a number"
    ):
        read_ratings(path, criterion="tone", numbers=True)
    wide = written(tmp_path / "wide.csv", "item,ann,bob\nq1,4,5\n")
    with pytest.raises(InputError, match="so there is no criterion 'tone'"):
        read_ratings(wide, criterion="tone")
    with pytest.raises(InputError, match="columns has no effect where a row holds an item"):
        read_ratings(wide, id_column="item", columns={"rater": "ann"})


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.json", "[]", "holds no records"),
        ("a.json", "[3]", "a.json: element 1 is not an object"),
        ("a.json", '[{"data": 3, "annotations": []}]', "a.json:1: field 'data' is not an object"),
        ("a.json", '[{"data": {}, "annotations": [{"result": []}]}]', "does not say who made it"),
        ("a.json", '[{"data": {}, "annotations": []}]', "holds no ratings: no judgements"),
        ("a.jsonl", '{"label_annotations": {}, "user_id": "ann"}', "names no rater or no item"),
        ("a.jsonl", '{"id": "q1", "label_annotations": 3}', "'label_annotations' is not an object"),
        (
            "a.jsonl",
            '{"q.responses": [1], "q.responses.users": []}',
            "is not as the tool exports it",
        ),
        ("a.jsonl", '{"q": [{"user_id": null, "value": 1, "status": "submitted"}]}', "no user"),
        ("a.csv", "rater,item,score\nann,q1,\n", "holds no ratings: 1 blank"),
        ("a.csv", "annotator,annotation_id,id,tone\nann,1,1,x\nbob,2,1,x\n", "export JSON"),
        ("a.json", '{"x": 1}', "a row per rating needs columns of rater, item and rating"),
    ],
)
def test_damaged_and_other_files_are_refused_in_one_line(tmp_path, name, content, problem):
    with pytest.raises(InputError, match=problem) as caught:
        read_ratings(written(tmp_path / name, content))
    assert "\n" not in str(caught.value)


def test_a_folder_without_answers_is_named(tmp_path):
    with pytest.raises(InputError, match="is a folder without potato's annotated_instances"):
        read_ratings(tmp_path)


def test_parquet_is_read_like_lines(tmp_path):
    pytest.importorskip("pyarrow")
    path = argilla_2(tmp_path)
    pd.read_json(path, lines=True).to_parquet(tmp_path / "a.parquet")
    expected = read_ratings(path, criterion="quality")
    found = read_ratings(tmp_path / "a.parquet", criterion="quality")
    assert np.array_equal(found.to_numpy(), expected.to_numpy(), equal_nan=True)


JUNK = [None, 3, "x", [], {}, [1], {"a": 1}, True, 1e308, "", [[1, 2]], [None]]


def altered(content, chance):
    """Exchange or remove one value anywhere in a copy of nested lists and objects."""
    content = json.loads(json.dumps(content))
    places = [(content, key) for key in range(len(content))]
    for inside, key in places:  # grows while it is walked
        value = inside[key]
        if isinstance(value, dict | list):
            keys = value if isinstance(value, dict) else range(len(value))
            places += [(value, name) for name in keys]
    inside, key = chance.choice(places)
    if isinstance(inside, dict) and chance.random() < 0.3:
        del inside[key]
    else:
        inside[key] = chance.choice(JUNK)
    return content


@pytest.mark.parametrize(
    "export",
    [argilla_1, argilla_2, argilla_2_json, label_studio, label_studio_min, potato_2_folder],
)
def test_an_altered_export_is_read_or_refused_in_one_line(tmp_path, export):
    path = export(tmp_path)
    if path.is_dir():
        path = path / "ann" / "user_state.json"
    text = path.read_text()
    content = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else None
    content = content or json.loads(text)
    content = content if isinstance(content, list) else [content]
    chance = random.Random(export.__name__)
    mutant = tmp_path / f"mutant{path.suffix}"
    for _ in range(60):
        records = altered(content, chance)
        mutant.write_text(lines(records) if path.suffix == ".jsonl" else json.dumps(records))
        for read in (read_criteria, read_forms):
            try:
                read(mutant)
            except InputError as error:
                assert "\n" not in str(error)
