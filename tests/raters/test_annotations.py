"""Ratings with a row per rating."""

import json
import random

import krippendorff
import pandas as pd
import pytest
from refusals import not_refused

from casebook.errors import InputError
from casebook.measures.agreement import krippendorff_alpha
from casebook.paths import ROOT
from casebook.raters.annotations import ROLES, read_criteria, read_ratings
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


IN_ORDER = pd.DataFrame(RATINGS).astype(float)


def test_each_criterion_is_a_table_of_its_own(tmp_path):
    tables = read_criteria(long_tsv_of_criteria(tmp_path))
    assert set(tables) == {"quality", "tone"}
    pd.testing.assert_frame_equal(tables["quality"], IN_ORDER, check_names=False)
    assert tables["tone"].stack().tolist() == ["warm", "warm", "cold", "warm"]  # noqa: PD013


def test_a_row_per_rating_gives_alpha_of_the_raters(tmp_path):
    pytest.importorskip("pyarrow")
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
    rows.to_parquet(tmp_path / "long.parquet")
    for name in ("long.xlsx", "long.jsonl", "long.parquet"):
        pd.testing.assert_frame_equal(read_ratings(tmp_path / name), frame)


def test_the_names_that_are_read_stand_on_the_methods_page():
    page = (ROOT / "book" / "methods" / "agreement.md").read_text(encoding="utf-8")
    for role, names in ROLES.items():
        assert f"| {role} | {', '.join(f'`{name}`' for name in names)} |" in page


def test_a_blank_rating_is_counted(tmp_path):
    path = written(tmp_path / "a.csv", "rater,item,score\nann,q1,4\nbob,q1,\nbob,q2,5\n")
    frame = read_ratings(path)
    assert frame.attrs["notes"] == [
        "a row per rating: 2 ratings taken of 3 judgements",
        "left out: 1 blank",
    ]
    assert frame.isna().to_numpy().tolist() == [[False, True], [True, False]]


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
    bad = [
        (None, r"is it 'anotator'\? Say columns rater=anotator"),
        ({"rater": "x"}, "no column 'x', which is to be read as 'rater'"),
        ({"system": "x"}, "'system' is none of rater, item, rating, criterion"),
    ]
    assert not_refused(lambda names: read_ratings(path, columns=names), bad) == []


def test_numbers_are_asked_of_the_chosen_criterion_only(tmp_path):
    path = long_tsv_of_criteria(tmp_path)
    assert read_ratings(path, criterion="quality", numbers=True).notna().to_numpy().sum() == 11
    wide = written(tmp_path / "wide.csv", "item,ann,bob\nq1,4,5\n")
    bad = [
        (path, {}, "of several criteria: quality, tone: choose one"),
        (path, {"criterion": "x"}, "no criterion 'x': it has quality, tone"),
        (path, {"criterion": "tone", "numbers": True}, r"long\.tsv:13: .*: 'warm' is not a num"),
        (wide, {"criterion": "tone"}, "so there is no criterion 'tone'"),
        (wide, {"id_column": "item", "columns": {"rater": "ann"}}, "columns has no effect where"),
    ]
    assert not_refused(lambda file, options: read_ratings(file, **options), bad) == []


DAMAGED = [
    (("a.json", "[]"), "holds no records"),
    (("a.json", "[3]"), "a.json: element 1 is not an object"),
    (("a.csv", "rater,item,score\nann,q1,\n"), "holds no ratings: 1 blank"),
    (("a.json", '[{"x": 1}]'), "a row per rating needs columns of rater, item and rating"),
    (("a.json", '{"x": 1}'), "a.json: is not a list of objects"),
    (("folder", None), "folder: is no table: name a .csv"),
]


def test_damaged_and_other_files_are_refused_in_one_line(tmp_path):
    def read(file):
        name, content = file
        return read_ratings(written(tmp_path / name, content) if content else tmp_path / name)

    assert not_refused(read, DAMAGED) == []


JUNK = [None, 3, "x", [], {}, [1], {"a": 1}, True, 1e308, "", [[1, 2]], [None]]


def test_altered_ratings_are_read_or_refused_in_one_line(tmp_path):
    rows = [
        {"rater": rater, "item": item, "criterion": "quality", "rating": rating, "text": "A text."}
        for rater, item, rating in PAIRS
    ]
    chance = random.Random("ratings")
    mutant = tmp_path / "mutant.json"
    for _ in range(120):
        changed = [dict(row) for row in rows]
        chance.choice(changed)[chance.choice(list(rows[0]))] = chance.choice(JUNK)
        mutant.write_text(json.dumps(changed))
        for read in (read_criteria, read_forms):
            try:
                read(mutant)
            except InputError as error:
                assert "\n" not in str(error)
