"""Blind forms: nothing tells the system, nothing runs, every change is reported."""

import csv
import io
import json
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import load_workbook
from toy_study import RATERS, SECRET, toy_answers

from casebook import sheets
from casebook.errors import InputError
from casebook.raters.answers import read_answers
from casebook.raters.forms import Plan, make_forms, make_likert_forms, one_sided_words
from casebook.raters.layouts import LIKERT, RUBRIC, SHEET
from casebook.raters.read import read_form, read_forms
from casebook.raters.unblinding import read_key, unblind_likert

DOCUMENTED = [
    *("prompt_id", "prompt_text", "system1_output", "system2_output", "preferred"),
    *("factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2", "comment"),
]
LEVELS = RUBRIC["paired"]["scales"]["factuality"]["levels"]


def contents(path):
    """All bytes of a form that are not compressed any more, and its names."""
    if path.suffix != ".xlsx":
        return path.name.encode() + path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        parts = [name.encode() + archive.read(name) for name in archive.namelist()]
    return b"".join([path.name.encode(), *parts])


def test_nothing_a_rater_gets_tells_the_system(tmp_path):
    for number in range(5):
        folder = tmp_path / str(number)
        plan = Plan("pilot", {"r1": "lay", "r2": "expert"}, formats=("xlsx", "csv"))
        secret = f"{number:064x}"
        make_forms(toy_answers(3), folder, plan, secret=secret)
        given = list((folder / "for_raters").iterdir())
        assert len(given) == 6  # two workbooks, two CSV files, and the rubrics that these lack
        for path in given:
            found = contents(path)
            for level in LEVELS:  # documented words, no system's name
                found = found.replace(level.encode(), b"")
            for word in (rb"grounded", rb"\bplain\b", rb"\bfocus\b", secret.encode()):
                assert not re.search(word, found, re.IGNORECASE), (path, word)
            assert not re.search(rb">q\d+<|,q\d+,", found)


def test_the_documented_columns_are_kept_and_only_answers_can_be_written(study):
    book = load_workbook(study / "for_raters" / "pilot_r1.xlsx")
    sheet = book[SHEET]
    assert [cell.value for cell in sheet[1]] == DOCUMENTED  # the key column is not among them
    assert all(sheet.protection.sheet for sheet in book)
    free = {DOCUMENTED[c.column - 1] for r in sheet for c in r if not c.protection.locked}
    assert free == set(DOCUMENTED[4:])
    rules = {str(r.sqref): r.formula1 for r in sheet.data_validations.dataValidation}
    assert rules == {"E2:E13": '"S1,S2,Tie"', **{f"{c}2:{c}13": '"1,2,3,4,5"' for c in "FGHI"}}


MODES = """
import os, sys
from pathlib import Path
os.umask(int(sys.argv[2], 8))

def refused(*_, **__):
    raise AssertionError("a file that is closed afterwards was open before")

os.chmod = os.fchmod = refused
import pandas as pd
from casebook.raters.forms import Plan, make_forms, make_likert_forms
sys.path.insert(0, sys.argv[3])
from toy_study import RATERS, make_study

place = Path(sys.argv[1])
make_study(place / "new" / "paired", count=4)
columns = {name: [f"{name} {n}" for n in range(3)] for name in ("case_id", "chunk_id")}
table = pd.DataFrame(columns | {"explanation_text": "because", "source_chunk_text": "text"})
make_likert_forms(table, place / "new" / "likert", "expl", RATERS)
"""


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_what_is_sealed_whatever_the_umask(tmp_path, mask):
    """Nor could for a moment: rights are given when a file is made, and nothing changes
    them later."""
    command = [sys.executable, "-c", MODES, str(tmp_path), f"{mask:o}", str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def rights(path):
        return stat.S_IMODE(path.stat().st_mode)

    for kind in ("paired", "likert"):
        study = tmp_path / "new" / kind
        assert rights(study / "sealed") == 0o700
        sealed = {path.name: rights(path) for path in (study / "sealed").iterdir()}
        assert sealed == {"key.json": 0o600, "report.json": 0o600}
        # What is handed out or published stays as the umask has it.
        for path in (study / "preregistration.json", *(study / "for_raters").iterdir()):
            assert rights(path) == 0o666 & ~mask, path
        assert rights(study) == rights(study / "for_raters") == 0o777 & ~mask


HOSTILE = {
    '=HYPERLINK("http://x","y")': [],
    "bad\x00\x0b\x1f\ud800 control": ["control_characters"],
    "x" * 40_000: ["cut"],
    "🙂" * 20_000: ["cut"],
    "  ": ["empty"],
    "+1 -1 @a\r\nline _x0041_ 契約解除 ﷽": ["line_ends"],
    # Blanks before the sign, and signs of full width, do not keep a spreadsheet from running it.
    **{text: [] for text in (" =1+1", "\u3000@SUM(A1)", "＝cmd|x", "\u200b-2+3")},
}


def test_hostile_text_is_text_and_every_change_is_reported(tmp_path):
    answers = toy_answers(len(HOSTILE)).assign(grounded=list(HOSTILE))
    plan = Plan("pilot", RATERS, formats=("xlsx", "csv"))
    report = make_forms(answers, tmp_path / "s", plan, secret=SECRET)
    changes = {row["item"]: row["changes"] for row in report["text_changes"]}
    assert changes == {f"q{n}": kinds for n, kinds in enumerate(HOSTILE.values()) if kinds}
    rows = {row["id"]: row for row in read_key(tmp_path / "s")["forms"]["r1"]["rows"]}
    for kind in ("xlsx", "csv"):
        form = read_form(tmp_path / "s" / "for_raters" / f"pilot_r1.{kind}")
        assert not [defect for defect in form.defects if defect.kind == "formula"]
        for shown in form.rows.to_dict("records"):
            row = rows[shown["prompt_id"]]
            side = "system1_output" if row["left"] == "grounded" else "system2_output"
            assert shown[side] == sheets.clean(list(HOSTILE)[int(row["item"][1:])])[0]
    text = (tmp_path / "s/for_raters/pilot_r1.csv").read_text(encoding="utf-8-sig")
    written = {cell for row in csv.reader(io.StringIO(text, "")) for cell in row}
    assert {f"'{cell}" for cell in list(HOSTILE)[6:]} <= written and not written & set(
        list(HOSTILE)[6:]
    )


@pytest.mark.parametrize(
    "change, message",
    [
        ({"study": "grounded-pilot"}, "contains that of the system"),
        ({"raters": {"r1": "lay", "plainr": "lay"}}, "contains that of the system"),
        ({"focus": "other"}, "is no system"),
        ({"margin": 0.6}, "margin: Input should be less than 0.5"),
        ({"items": 99}, "99 items are asked for"),
    ],
)
def test_bad_plans_write_nothing(tmp_path, change, message):
    plan = Plan(**{"study": "pilot", "raters": RATERS, **change})
    with pytest.raises(InputError, match=message):
        make_forms(toy_answers(4), tmp_path / "s", plan, secret=SECRET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("said", "items", "found"), [(5, 5, 5), (4, 4, 0), (9, 10, 9), (8, 10, 0)])
def test_words_of_one_side_stand_in_nine_of_ten_pairs_and_five(said, items, found):
    one = [f"I say so {n}" if n < said else f"so {n}" for n in range(items)]
    words = one_sided_words(one, [f"so {n}" for n in range(items)])
    assert words == ({"i": found, "say": found} if found else {})


def write_jsonl(path, records):
    path.write_text("\n".join(json.dumps(r) for r in records), encoding="utf-8")
    return path


def test_answers_are_joined_with_an_account(tmp_path):
    one = [{"item_id": f"q{n}", "prompt": "p", "answer": f"a{n}"} for n in range(4)]
    files = {
        "a": write_jsonl(tmp_path / "a.jsonl", one),
        "b": write_jsonl(tmp_path / "b.jsonl", one[:3]),
    }
    with pytest.raises(InputError, match=r"b lacks 1 of 4 items \(first: q3\)"):
        read_answers(files)
    answers, account = read_answers(files, common=True)
    assert account == {"items": 3, "left_out": {"b": ["q3"]}}
    assert answers["b"].tolist() == ["a0", "a1", "a2"]
    pd.DataFrame(one).to_csv(tmp_path / "c.csv", index=False)
    from_csv, _ = read_answers({"a": files["a"], "c": tmp_path / "c.csv"})
    assert from_csv["a"].equals(from_csv["c"].rename("a"))


@pytest.mark.parametrize(
    "records, message",
    [
        ([{"item_id": "q", "prompt": "p"}], "has no answer .answer.; it has item_id, prompt"),
        (
            [{"item_id": "q", "prompt": "p", "answer": ""}] * 2,
            ":2: item 'q' stands in an earlier row already",
        ),
        ([{"item_id": "q", "prompt": "other", "answer": ""}], "another question"),
        ([{"item_id": "z", "prompt": "p", "answer": ""}], "lacks 1 of 2"),
    ],
)
def test_bad_answers_are_named(tmp_path, records, message):
    good = [{"item_id": "q", "prompt": "p", "answer": "a"}]
    files = {
        "a": write_jsonl(tmp_path / "a.jsonl", good),
        "b": write_jsonl(tmp_path / "b.jsonl", records),
    }
    with pytest.raises(InputError, match=message):
        read_answers(files)


def explanations():
    return pd.DataFrame(
        [
            (f"case{n // 2}", f"c{n}", s, f"=because {n}", f"Section {n}")
            for n in range(4)
            for s in ("grounded", "plain")
        ],
        columns=["case_id", "chunk_id", "system", "explanation_text", "source_chunk_text"],
    )


def with_evidence(count=6):
    answers = toy_answers(count)
    answers["evidence"] = [[f"Clause {n} says so.", "Another text."] for n in range(count)]
    return answers


def test_evidence_is_the_same_for_both_answers_and_tells_no_system(tmp_path):
    """Whose passages they are would tell the system, above all if one retrieves nothing."""
    answers = with_evidence()
    plan = Plan("pilot", {"r1": "lay", "r2": "expert"}, formats=("xlsx", "csv"))
    make_forms(answers, tmp_path / "study", plan, secret=SECRET)
    swapped = answers.rename(columns={"grounded": "plain", "plain": "grounded"})
    make_forms(swapped, tmp_path / "swapped", plan, secret=SECRET)
    texts = {}
    for folder in ("study", "swapped"):
        rows = read_form(tmp_path / folder / "for_raters" / "pilot_r1.csv").rows
        assert list(rows)[1:5] == ["prompt_id", "prompt_text", "evidence", "system1_output"]
        texts[folder] = dict(zip(rows["prompt_text"], rows["evidence"], strict=True))
    assert texts["study"] == texts["swapped"]  # though other systems stand behind the passages
    first = [text.partition("\n")[0] for text in texts["study"].values()]
    assert 0 < first.count("Another text.") < 6  # in the order of the secret, not of the systems
    sheet = load_workbook(tmp_path / "study" / "for_raters" / "pilot_r1.xlsx")["rubric"]
    assert any("the same for both answers" in str(row[0]) for row in sheet.values)


def test_long_evidence_is_cut_visibly_and_counted(tmp_path):
    answers = with_evidence(8)
    answers["evidence"] = [["x" * 35_000, "y" * 30], *[[]] * 7]
    report = make_forms(answers, tmp_path / "s", Plan("pilot", {"r1": "lay"}, formats=("csv",)))
    (change,) = report["text_changes"]
    assert change == {"item": "q0", "column": "evidence", "changes": ["cut"]}
    rows = read_form(tmp_path / "s" / "for_raters" / "pilot_r1.csv").rows.set_index("prompt_text")
    evidence = rows["evidence"].drop("May clause 0 be waived?")
    assert (evidence == "(no passages)").all()
    answers["evidence"] = "a text"
    with pytest.raises(InputError, match="evidence of item 'q0' is no list of texts"):
        make_forms(answers, tmp_path / "u", Plan("pilot", {"r1": "lay"}))


def test_passages_are_read_with_the_answers_each_once(tmp_path):
    def write(name, record):
        return write_jsonl(tmp_path / name, [record])

    question = {"item_id": "q1", "prompt": "May I?"}
    with_texts = {
        **question,
        "answer": "Yes.",
        "contexts": ["You may.", "See s. 2."],
    }
    rag = write("rag.jsonl", with_texts)
    base = write("base.jsonl", {**question, "answer": "No.", "contexts": ["You may. "]})
    answers, _ = read_answers({"rag": rag, "base": base})
    assert answers["evidence"].tolist() == [["You may.", "See s. 2."]]
    table = pd.DataFrame([with_texts | {"contexts": json.dumps(["You may."])}])
    table.to_csv(tmp_path / "rag.csv", index=False)
    from_csv, _ = read_answers({"rag": tmp_path / "rag.csv", "base": base})
    assert from_csv["evidence"].tolist() == [["You may."]]
    plain = write("plain.jsonl", {**question, "answer": "No."})
    without, _ = read_answers({"one": plain, "two": plain})
    assert "evidence" not in without
    with pytest.raises(InputError, match=r"bad\.jsonl:1: contexts '3' is no JSON list"):
        read_answers({"rag": write("bad.jsonl", with_texts | {"contexts": 3}), "base": base})
    with pytest.raises(InputError, match="a system cannot be called 'prompt'"):
        read_answers({"prompt": plain, "two": plain})


def test_likert_forms_are_blind_and_come_back(tmp_path):
    raters = {"anna": "expert", "ben": "expert", "cleo": "expert"}
    options = {"secret": SECRET, "formats": ("csv", "xlsx")}
    make_likert_forms(explanations(), tmp_path / "s", "expl", raters, **options)
    folder = tmp_path / "s" / "for_raters"
    for path in folder.iterdir():
        assert b"grounded" not in contents(path) and b"case1" not in contents(path)
    paths = []
    for number, rater in enumerate(raters):
        frame = pd.read_csv(folder / f"expl_{rater}.csv", dtype=str)
        assert list(frame) == LIKERT.names
        assert set(frame["annotator_id"]) == {rater}
        for column in LIKERT.answers:
            frame[column.name] = str(2 + number)
        frame.loc[0, "clarity_1_to_5"] = "7"
        paths.append(tmp_path / f"{rater}.csv")
        frame.to_csv(paths[-1], index=False)
    key = read_key(tmp_path / "s" / "sealed" / "key.json")
    ratings, defects = unblind_likert(read_forms(paths), key)
    assert len(ratings) == 24
    assert set(ratings["system"]) == {"grounded", "plain"}
    assert [(d.kind, d.row, d.column) for d in defects] == [
        ("not_a_choice", 2, "clarity_1_to_5")
    ] * 3
    assert ratings.groupby("rater")["usefulness_1_to_5"].first().tolist() == [2, 3, 4]
