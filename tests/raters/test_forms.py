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
from toy_study import RATERS, SECRET, read_form, toy_answers

from casebook import sheets
from casebook.assistant.log import read_log
from casebook.errors import InputError
from casebook.raters import layouts
from casebook.raters.answers import answers_of_log
from casebook.raters.forms import Plan, make_forms, make_likert_forms
from casebook.raters.layouts import LIKERT, RUBRIC, SHEET
from casebook.raters.read import read_forms
from casebook.raters.unblinding import join_with_key, read_key

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


def test_a_further_scale_has_columns_and_is_asked_for(monkeypatch):
    monkeypatch.setitem(RUBRIC["paired"]["scales"], "brevity", {"levels": list("abcde")})
    layout = layouts._layout("paired", layouts.FORM_SIDES)
    rated = ["factuality", "usefulness", "brevity"]
    ratings = [f"{scale}_{side}" for side in ("s1", "s2") for scale in rated]
    assert layout.names == [*DOCUMENTED[:5], *ratings, "comment"]
    assert layout.task[2].startswith("Rate factuality, usefulness and brevity of each answer")


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
        ({"study": "../pilot"}, "study or rater"),
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


def test_answers_are_joined_with_an_account(tmp_path):
    """By question, the systems by the names of their files; passages once, whoever had them."""
    questions = [f"May I {n}?" for n in range(4)]
    one = [{"question": q, "answer": f"a {q}", "contexts": ["You may."]} for q in questions]
    two = [{"question": q, "answer": "", "contexts": ["You may. ", "No."]} for q in questions[:3]]
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, records in zip(paths, (one, two), strict=True):
        path.write_text("\n".join(map(json.dumps, records)))
    log = read_log(paths)
    with pytest.raises(InputError, match=r"b lacks 1 of 4 items \(first: May I 3\?\)"):
        answers_of_log(log)
    answers, account = answers_of_log(log, ["b", "a"], common=True)
    assert account == {"items": 3, "left_out": {"b": ["May I 3?"]}}
    assert list(answers)[3:] == ["b", "a", "evidence"]
    assert answers["b"].tolist() == ["(no answer)"] * 3
    assert answers["evidence"].tolist() == [["You may.", "No."]] * 3
    with pytest.raises(InputError, match="no answers of 'c'"):
        answers_of_log(log, ["c"])


def explanations():
    return pd.DataFrame(
        [
            (f"case{n // 2}", f"c{n}", s, f"=because {n}", f"Section {n}")
            for n in range(4)
            for s in ("grounded", "plain")
        ],
        columns=["case_id", "chunk_id", "system", "explanation_text", "source_chunk_text"],
    )


def test_evidence_is_the_same_for_both_answers_and_tells_no_system(tmp_path):
    """Whose passages they are would tell the system, above all if one retrieves nothing."""
    evidence = [[f"Clause {n} says so.", "Another text."] for n in range(6)]
    answers = toy_answers(6).assign(evidence=evidence)
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
    ratings, defects = join_with_key(read_forms(paths), key, "likert")
    assert len(ratings) == 24
    assert set(ratings["system"]) == {"grounded", "plain"}
    assert [(d.kind, d.row, d.column) for d in defects] == [
        ("not_a_choice", 2, "clarity_1_to_5")
    ] * 3
    assert ratings.groupby("rater")["usefulness_1_to_5"].first().tolist() == [2, 3, 4]


# Of the documents, from 1 to 5.
RUBRICS = {
    "usefulness": "Not Useful; Weakly Useful; Moderately Useful; Useful; Highly Useful",
    "factuality": "Ungrounded / Incorrect; Weakly Grounded / Partially Incorrect; "
    "Moderately Grounded / Partially Correct; Well Grounded / Largely Correct; "
    "Fully Grounded / Correct",
    "clarity_1_to_5": "Incomprehensible; Confusing in parts; Understandable but could be clearer; "
    "Clear with minor ambiguity; Perfectly clear, easy to understand",
    "legal_accuracy_1_to_5": "Legally incorrect; Contains significant legal errors; "
    "Partially accurate; Mostly accurate, minor issues; Legally precise and correct",
    "usefulness_1_to_5": "Not useful at all; Marginally useful; Somewhat useful; "
    "Useful with minor improvements needed; Highly useful for legal research",
}


def test_levels_of_the_forms_have_the_names_of_the_documents(tmp_path):
    raters = {"anna": "lay", "ben": "expert"}
    options = {"secret": SECRET, "formats": ("xlsx",)}
    make_forms(toy_answers(3), tmp_path / "paired", Plan("pilot", raters), secret=SECRET)
    make_likert_forms(explanations(), tmp_path / "likert", "expl", raters, **options)
    told = {}
    for path in tmp_path.glob("*/for_raters/*.xlsx"):
        for point, text in load_workbook(path)["rubric"].iter_rows(max_col=2, values_only=True):
            if text == "what it means":
                levels = told.setdefault((path.stem, point), {})
            elif point in {"1", "2", "3", "4", "5"}:
                levels[int(point)] = text.partition(". ")[0]
    assert len(told) == 2 * len(RUBRICS)
    for (_, scale), levels in told.items():
        assert levels == dict(enumerate(RUBRICS[scale].split("; "), 1))
