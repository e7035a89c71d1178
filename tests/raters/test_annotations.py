"""Doors for ratings: twelve layouts give the same table, odd files are read or asked about."""

import json
import string

import pandas as pd
from cases import not_refused
from hypothesis import given
from hypothesis import strategies as st

from casebook import read_ratings
from casebook.data.tables import reading_text
from casebook.errors import InputError
from casebook.raters.annotations import read_counts, read_criteria

# Four items, three raters: the same ratings in every layout below.
QUALITY = pd.DataFrame(
    {"ann": [4, 2, 5, 1], "bob": [5, 2, 4, None], "cy": [4, 1, 5, 1]}, ["q1", "q2", "q3", "q4"]
)
TONE = pd.DataFrame({"ann": ["warm", "no"], "bob": ["warm", "warm"]}, ["q1", "q2"])


def long_of(frame, criterion):
    rows = frame.rename_axis("item").reset_index().melt("item", None, "rater", "rating")
    return rows.dropna().assign(criterion=criterion)


LONG = long_of(QUALITY, "quality").astype({"rating": int})
BOTH = pd.concat([LONG, long_of(TONE, "tone")])
WIDE = QUALITY.astype("Int64").rename_axis("item").reset_index()
OWN_NAMES = LONG.rename(columns={"item": "text", "rater": "who", "rating": "stars"})
OWN_NAMES["criterion"] = "x"
NAMES = {"item": "text", "rater": "who", "rating": "stars", "criterion": "-"}
BY_CRITERION = BOTH.pivot(index=["item", "rater"], columns="criterion", values="rating")  # noqa: PD010
BY_CRITERION = BY_CRITERION.reset_index()


def csv(frame, **options):
    return frame.to_csv(index=False, **options)


def nested(_):
    rows = [{"task": {"id": r.item}, "by": r.rater, "value": {"stars": r.rating}} for r in
            LONG.itertuples()]  # fmt: skip
    return json.dumps({"export": {"rows": rows}})


WIDE_WITH_CRITERIA = pd.concat(
    [WIDE.assign(criterion="quality"), TONE.rename_axis("item").reset_index().assign(criterion="t")]
)
PATHS = {"item": "task.id", "rater": "by", "rating": "value.stars"}
LAYOUTS = {
    "a row per rating": ("a.csv", csv(LONG), {"criterion": "quality"}),
    "semicolons": ("a.csv", csv(LONG, sep=";"), {}),
    "tabs, two criteria": ("a.tsv", csv(BOTH, sep="\t"), {"criterion": "quality"}),
    "own names": ("a.csv", csv(OWN_NAMES), {"columns": NAMES}),
    "lines of JSON": ("a.jsonl", LONG.to_json(orient="records", lines=True), {}),
    "nested JSON": ("a.json", nested(LONG), {"columns": PATHS, "rows": "export.rows"}),
    "a column per rater": ("a.csv", csv(WIDE.assign(topic="law")), {"raters": "ann,bob,cy"}),
    "a column per rater, ids of another name": (
        "a.csv",
        csv(WIDE.rename(columns={"item": "Frage"})),
        {"raters": ["ann", "bob", "cy"], "columns": {"item": "Frage"}},
    ),
    "raters and criteria": (
        "a.csv",
        csv(WIDE_WITH_CRITERIA),
        {"raters": "ann,bob,cy", "criterion": "quality"},
    ),
    "a column per criterion": (
        "a.csv",
        csv(BY_CRITERION.assign(note="n")),
        {"criteria": "quality,tone", "criterion": "quality"},
    ),
    "one criterion of a column each": ("a.csv", csv(BY_CRITERION), {"criteria": "quality"}),
    "words for numbers": (
        "a.csv",
        csv(LONG.replace({"rating": {5: "very good", 1: "n/a"}})),
        {"values": {"very good": "5", "n/a": "1"}},
    ),
}


def written(folder, name, content):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_twelve_layouts_give_the_same_table(tmp_path):
    for layout, (name, content, options) in LAYOUTS.items():
        frame = read_ratings(written(tmp_path, name, content), **options).sort_index()
        assert frame.equals(QUALITY.astype(float)), layout
        notes = frame.attrs["reading"]["notes"]
        assert "raters ann, bob, cy; numbers from 1 to 5; 1 missing" in notes, layout


def test_each_criterion_has_its_raters_and_its_scale(tmp_path):
    frames = read_criteria(written(tmp_path, "a.csv", csv(BOTH)))
    assert frames["quality"].equals(QUALITY.astype(float))
    assert frames["tone"].to_dict() == TONE.to_dict()
    assert reading_text(frames["tone"].attrs["reading"]) == (
        "a.csv: 15 rows; read: item, rater, criterion, rating; not read: nothing\n"
        "  quality: 4 items; raters ann, bob, cy; numbers from 1 to 5; 1 missing; "
        "tone: 2 items; raters ann, bob; labels warm, no; 0 missing"
    )


# Odd files that are read: content, options, the table as lists.
READ = [
    ("item,A,B\n1,no,yes\n2,no,no\n", {"raters": "A,B"}, [["no", "yes"], ["no", "no"]]),
    ("item,A,B\n1,none,mild\n", {"raters": "A,B", "values": {"none": "none"}}, [["none", "mild"]]),
    (
        "item,A,B\n1,yes,N/A\n2,Yes,yes \n",
        {"raters": "A, B", "values": {"N/A": "", "Yes": "yes", "yes ": "yes"}},
        [["yes", None], ["yes", "yes"]],
    ),
    ("item,A,B\n1,yes,\n2,,\n", {"raters": "A,B"}, [["yes", None], [None, None]]),
    ("A,B\n1,2\n1,3\n", {"raters": "A,B"}, [[1, 2], [1, 3]]),
    ("category,num,A,B\nx,9,1,2\n", {"raters": "A,B"}, [[1, 2]]),
    ("item,A,B\n1,1e0,+2\n", {"raters": "A,B"}, [[1, 2]]),
    ("item,A,B\n1,.5,2.\n", {"raters": "A,B"}, [[0.5, 2]]),
    ("item,A,B\n1,-1,0\n", {"raters": "A,B"}, [[-1, 0]]),
    ("sep=;\nitem;A\n1;2\n", {"raters": "A"}, [[2]]),
    ('item,A\n"a\nb",1\n', {"raters": "A"}, [[1]]),
    ("\ufeffitem,A\n1,2\n", {"raters": "A"}, [[2]]),
    ("item,A,B\n1,1,x\n", {"raters": "A,B", "numbers": False}, [["1", "x"]]),
    ("item,A,B\n1,good,2\n", {"raters": "A,B", "values": {"good": "3"}}, [[3, 2]]),
    ("item,A,B\n1,A,B\n", {"raters": "A,B", "values": {"A": "B", "B": "A"}}, [["B", "A"]]),
    ("item,rater,rating\n1,A,TRUE\n1,B,FALSE\n", {}, [["TRUE", "FALSE"]]),
    ("item,rater,rating\n1,A,2\n1,B,\n", {}, [[2, None]]),
    ("item,rater,score,label\n1,A,2,x\n", {"columns": {"rating": "label"}}, [["x"]]),
    ("item,rater,rating,criterion\n1,A,2,x\n1,A,3,y\n", {"criterion": "y"}, [[3]]),
    ("item,rater,rating,c\n1,A,2,x\n", {"criteria": "rating"}, [[2]]),
    ("item,when,A\n1,2020-01-01,5\n", {"raters": "A"}, [[5]]),
]


def test_odd_files_are_read_as_they_say(tmp_path):
    wrong = []
    for content, options, expected in READ:
        frame = read_ratings(written(tmp_path, "a.csv", content), **options)
        found = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
        wrong += [(content, found)] if found != expected else []
    assert wrong == []


RATERS = {"raters": "A,B"}
SAME = "stands in an earlier row already: keep one"
# Files that are asked about: content, options, part of the line.
REFUSED = [
    # who rates is not said
    ("no,yes\n3,0\n1,2\n", {}, r"no rater .*it has no, yes: type .*--raters A,B.*--counts A,B"),
    ("domain,source,output\nlaw,a,5\n", {}, "no rater .*it has domain, source, output"),
    ("worker,item,rating\nann,q1,4\n", {}, "no rater .*type --columns rater=worker"),
    ("output_id,rater_id,rating\n1,R,1\n", {}, "no item .*--columns item=output_id"),
    ("item,rater,clarity,accuracy\n1,A,2,3\n", {}, r"no rating .*--criteria A,B"),
    ("item,rater,score,label\n1,A,2,x\n", {}, "score, label may each be the rating"),
    # names of columns
    ("item,A\n1,2\n", RATERS, "has no column 'B'; it has item, A"),
    ("item,A,B\n1,2,3\n", {"raters": "A,"}, "has no column ''"),
    ("rater,A,B\nx,2,3\n", {"criteria": "A,B"}, "has no item"),
    # words and numbers
    ("item,A,B\n1,none,mild\n", RATERS, "--values none="),
    ("item,A,B\n1,yes,Yes\n", RATERS, "--values Yes=yes"),
    ("item,A,B\n1,2,good\n", RATERS, ":2: rating 'good' is no number: .*good=NUMBER"),
    ("item,A,B\n1,2,good\n", RATERS, "of labels: casebook agreement --level nominal"),
    ("item,A\n1,yes\n", {"raters": "A", "numbers": True}, "'yes' is no number"),
    # items and raters
    ("item,rater,rating\n1,A,2\n1,A,3\n", {}, f":3: item '1', rater 'A', .*{SAME}"),
    ("item,rater,topic,rating\n1,A,x,2\n1,A,y,2\n", {}, f"{SAME}.*--columns criterion=COLUMN"),
    ("item,A\n1,2\n1,3\n", {"raters": "A"}, SAME),
    ("item,rater,rating\n1,,2\n", {}, ":2: rater .*is empty"),
    ("item,rater,rating\n1,Ann,2\n2,ann,3\n", {}, ":3: rater 'ann' is a name above but for"),
    ("item,rater,rating\nq1,A,2\nq1 ,B,3\n", {}, ":3: item 'q1 ' is a name above"),
    ("item,rater,criterion,rating\n1,A,x,2\n1,A,X,3\n", {}, "criterion 'X' is a name above"),
    ("item,rater,criterion,rating\n1,A,x,2\n1,A,y,3\n", {}, r"criteria x, y: choose one"),
    ("item,rater,rating\n1,A,2\n", {"criterion": "x"}, "the criteria rating: choose one"),
    ("item,rater,rating\n1,A,\n", {}, "holds no ratings: all 1 are empty"),
    ("x" * 400 + ",y\n1,2\n", {}, "no rater .*--raters"),
]


def test_doubtful_files_are_refused_with_what_to_type(tmp_path):
    def read(case):
        content, options = case
        path = written(tmp_path, "a.csv", content)
        try:
            return read_ratings(path, **options)
        except InputError as error:
            assert len(str(error)) <= 300 + len(str(tmp_path)) and "\n" not in str(error)
            raise

    assert not_refused(read, [((text, told), match) for text, told, match in REFUSED]) == []


# --- votes


def test_votes_by_category_keep_the_category_no(tmp_path):
    path = written(tmp_path, "n.csv", "no,yes,other\n3,0,x\n1,2,y\n0,,z\n")
    votes = read_counts(path, "no,yes")
    assert votes.to_numpy().tolist() == [[3, 0], [1, 2], [0, 0]] and list(votes) == ["no", "yes"]
    assert reading_text(votes.attrs["reading"]) == (
        "n.csv: 3 rows; read: no, yes; not read: other\n  items: the rows of the file; 3 items; "
        "categories no, yes; 0, 3 votes an item"
    )
    assert list(read_counts(path, "yes,no")) == ["yes", "no"]


COUNTS_REFUSED = [
    ("no,yes\n3,0.5\n", "votes are no counts"),
    ("no,yes\n3,-1\n", "votes are no counts"),
    ("no,yes\n3,1e12\n", "votes are no counts"),
    ("no,yes\n3,x\n", "yes 'x' is no number"),
    ("no\n3\n", "has no column 'yes'"),
    ("item,no,yes\n1,3,0\n1,3,0\n", SAME),
]


def test_tables_of_votes_are_asked_about(tmp_path):
    def read(content):
        return read_counts(written(tmp_path, "n.csv", content), "no,yes")

    assert not_refused(read, COUNTS_REFUSED) == []


# --- anything at all


words = st.text(string.ascii_letters + string.digits + " -.,;/é", max_size=4)


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=6))
def test_any_ratings_are_read_as_written_or_refused(tmp_path_factory, rows):
    """What is read holds each rating once, with the words of the file."""
    frame = pd.DataFrame(rows, columns=["item", "rater", "rating"])
    path = tmp_path_factory.mktemp("any") / "a.csv"
    frame.to_csv(path, index=False)
    try:
        ratings = read_ratings(path, numbers=False)
    except InputError as error:
        assert "\n" not in str(error)
        return
    for item, rater, rating in filter(any, rows):
        read = ratings.loc[item, rater]
        assert pd.isna(read) if not rating else read == rating or float(read) == float(rating)
