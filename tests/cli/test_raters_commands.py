"""The group ``casebook raters`` on the command line."""

import functools
import json
import os
import re
import shutil
import sys
from pathlib import Path

import krippendorff
import nbformat
import pandas as pd
import pytest
from openpyxl import load_workbook

from casebook.errors import InputError
from casebook.paths import NOTEBOOKS
from casebook.raters.read import read_forms
from casebook.raters.unblinding import open_forms, read_key

sys.path.insert(0, str(Path(__file__).parents[1] / "raters"))
from forms_as_documented import write_forms

QUICK = ("--resamples=200", "--permutations=19")
EXAMPLE = Path(__file__).parents[1] / "raters" / "documented_example.txt"


@pytest.fixture
def casebook(casebook):
    """Run commands of the group."""
    return functools.partial(casebook, "raters")


def write_answers(folder, count=20):
    for name in ("alpha", "omega"):
        lines = [
            json.dumps({"item_id": f"q{n}", "prompt": f"p{n}", "answer": f"{name[0]}{n}"})
            for n in range(count)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return [f"--system={n}={folder / n}.jsonl" for n in ("alpha", "omega")]


@pytest.fixture
def study(casebook, tmp_path):
    """Make a study and fill its forms, as the page for readers shows."""
    systems = write_answers(tmp_path)
    raters = ["--rater=r1:lay", "--rater=r2:lay", "--rater=r3:expert"]
    code, out, _ = casebook("forms", tmp_path / "pilot", *systems, *raters)
    assert code == 0 and "publish" in out
    code, out, _ = casebook("simulate", tmp_path / "pilot", tmp_path / "back", "--blank=0.05")
    assert code == 0 and "not judged" in out
    return tmp_path


def test_results_are_written_once_and_whole(casebook, study):
    arguments = ["analyse", study / "back", "--key", study / "pilot", *QUICK]
    code, out, err = casebook(*arguments, "--out", study / "found", "--json")
    assert code == 0, err
    values = json.loads(out)
    assert "3 raters and new items: alpha wins" in values["answer"][0]
    assert {row["kind"] for row in values["tables"]["defects"]} == {"blank"}
    table = pd.read_csv(study / "found" / "tables" / "intervals.csv")
    assert len(table) == 8
    assert json.loads((study / "found" / "analysis.json").read_text())["answer"]
    code, _, err = casebook(*arguments, "--out", study / "found")
    assert code == 1 and "exists" in err


def test_blind_forms_stay_blind_without_key_and_until_all_are_in(casebook, study):
    code, _, err = casebook("analyse", study / "back")
    assert code == 1 and "give the sealed key" in err
    for name in ("sealed/key.json", "preregistration.json"):
        code, _, err = casebook("analyse", study / "back", *QUICK)
        assert code == 1 and err.count("\n") == 1
        shutil.copy(study / "pilot" / name, study / "back")
    assert "back/key.json: is used only with its preregistration.json" in err
    code, out, _ = casebook("analyse", study / "back", *QUICK)  # the key lies with the forms
    assert code == 0 and "alpha wins" in out and "Nothing was registered" not in out
    (study / "back" / "pilot_r3.xlsx").unlink()
    arguments = ["analyse", study / "back", "--key", study / "pilot", *QUICK]
    code, _, err = casebook(*arguments)
    assert code == 1 and "1 of 3 forms are not in (r3)" in err
    code, _, _ = casebook(*arguments, "--force")
    assert code == 0


def test_audit_before_and_after(casebook, study):
    forms = study / "pilot" / "for_raters"
    code, out, _ = casebook("audit", forms, "--key", study / "pilot")
    assert code == 0 and "nothing found" in out and "position" not in out
    code, out, _ = casebook("audit", study / "back", "--key", study / "pilot", "--json")
    tables = json.loads(out)
    assert code == 0 and tables["leaks"] == []
    assert tables["arm_guess"][0]["n"] == 20 and len(tables["duplicates"]) == 3


def test_altered_keys_and_pre_registrations_are_one_line_in_every_command(casebook, study):
    key, public = study / "pilot/sealed/key.json", study / "pilot/preregistration.json"
    commands = (
        ("analyse", study / "back", "--key", study / "pilot"),
        ("analyse", study / "back", "--key", study / "pilot", "--original"),
        ("analyse", study / "back", "--key", key, "--force"),
        ("audit", study / "back", "--key", study / "pilot"),
        ("audit", study / "pilot/for_raters", "--key", study / "pilot"),
        ("simulate", study / "pilot", study / "again"),
    )
    margin = json.loads(public.read_text())["primary"]["no_difference"]
    assert margin == [0.45, 0.55]
    for path, old, new in (
        (key, '"left": "alpha"', '"left": "omega"'),
        (key, '"forms": {', '"forms": [], "other": {'),
        (public, "0.55", "0.65"),
    ):
        whole = path.read_text()
        assert old in whole
        path.write_text(whole.replace(old, new))
        for command in commands:
            code, out, err = casebook(*command)
            assert (code, out) == (1, "") and err.count("\n") == 1 and path.name in err, (
                command,
                err,
            )
        path.write_text(whole)
    assert not (study / "again").exists()


def test_a_link_to_itself_is_one_line(casebook, study):
    loop = study / "loop.xlsx"
    loop.symlink_to(loop)
    (study / "forms").mkdir()
    (study / "forms" / "r1.xlsx").symlink_to(loop)
    (study / "ring").symlink_to(study / "ring")
    back, pilot = study / "back", study / "pilot"
    for arguments in (
        ["analyse", loop],
        ["analyse", study / "forms"],
        ["analyse", study / "ring"],
        ["analyse", study / "ring" / "r1.xlsx"],
        ["analyse", back, loop, "--key", pilot],
        ["analyse", back, "--key", loop],
        ["analyse", back, "--key", pilot, "--out", study / "ring", *QUICK],
        ["analyse", back, "--key", pilot, "--out", study / "ring" / "out", *QUICK],
        ["audit", loop],
        ["simulate", study / "ring", study / "new"],
        ["simulate", pilot, study / "ring"],
        ["forms", study / "ring", *write_answers(study), "--rater=r1:lay"],
        ["forms", study / "new", "--explanations", loop, "--rater=r1:lay"],
    ):
        code, out, err = casebook(*arguments)
        named = any(name in err for name in ("loop.xlsx", "r1.xlsx", "ring"))
        assert (
            (code, out) == (1, "") and err.count("\n") == 1 and named and ".partial" not in err
        ), (arguments, err)


def test_options_without_effect_are_refused(casebook, study, tmp_path):
    back, pilot, blank = study / "back", study / "pilot", study / "pilot/for_raters"
    documented = tmp_path / "documented"
    documented.mkdir()
    write_forms(documented)
    known = {"case_id": [f"c{n}" for n in range(6)], "chunk_id": [f"k{n}" for n in range(6)]}
    table = pd.DataFrame(known | {"explanation_text": "because", "source_chunk_text": "text"})
    table.to_csv(tmp_path / "e.csv", index=False)
    likert = (
        "forms",
        tmp_path / "likert",
        "--explanations",
        tmp_path / "e.csv",
        "--rater=r1:lay",
        "--rater=r2:lay",
    )
    assert casebook(*likert)[0] == 0
    assert casebook("simulate", tmp_path / "likert", tmp_path / "rated")[0] == 0
    rated = ("analyse", tmp_path / "rated", "--key", tmp_path / "likert")
    for arguments, option in (
        (("analyse", back, "--key", pilot, "--side-col=nope"), "--side-col"),
        (("analyse", back, "--key", pilot, "--last-column"), "--last-column"),
        (("analyse", back, "--key", pilot, "--original", "--side-col=nope"), "--side-col"),
        (("analyse", documented, "--force"), "force"),
        (("analyse", documented, "--original", "--force"), "force"),
        (("analyse", documented, "--original", "--permutations=50"), "--permutations"),
        (("audit", back, "--key", pilot, "--side-col=nope"), "--side-col"),
        (("audit", blank, "--side-col=nope"), "--side-col"),
        (("audit", blank, "--key", pilot, "--force"), "--force"),
        (("audit", blank, "--permutations=50"), "--permutations"),
        (("audit", back, "--against=omega"), "--against"),
        ((*rated, "--against=omega"), "--against"),
        ((*rated, "--resamples=200"), "--resamples"),
        ((*rated, "--permutations=50"), "--permutations"),
        (("analyse", tmp_path / "rated", "--side-col=nope"), "--side-col"),
        (("simulate", tmp_path / "likert", tmp_path / "new", "--effect=1"), "--effect"),
        (("simulate", tmp_path / "likert", tmp_path / "new", "--ties=0.2"), "--ties"),
        ((*likert, "--common"), "--common"),
        ((*likert, "--seed=3"), "--seed"),
        ((*likert, "--id-field=x"), "--id-field"),
    ):
        code, out, err = casebook(*arguments)
        assert (code, out) == (1, "") and "has no effect" in err and option in err, (arguments, err)
        assert err.count("\n") == 1
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="side_column has no effect"):
        open_forms(read_forms([back]), pilot, "nope")


def write_log(path, says="", count=12):
    """Write a log of two systems in RAGAS's columns; the first may name itself in every answer."""
    lines = []
    for n in range(count):
        question = f"May I keep Spätzle no. {n}?"
        lines.append({"user_input": question, "response": f"{says}yes, {n} days", "system": "rag"})
        lines.append(
            {
                "user_input": question,
                "response": f"yes, {n + 1} days" if n else "",
                "system": "base",
            }
        )
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_a_run_that_failed_is_not_put_before_raters(casebook, tmp_path):
    log = write_log(tmp_path / "answers.jsonl")
    failed = {
        "user_input": "May I stay?",
        "system": "rag",
        "response": None,
        "no_answer": "no answer within 60 s",
    }
    rows = [failed, failed | {"system": "base", "response": "yes", "no_answer": None}]
    with log.open("a") as stream:
        stream.write("".join(f"\n{json.dumps(row)}" for row in rows))
    code, _, err = casebook("forms", tmp_path / "s", "--log", log, *RATERS)
    assert code == 1 and "rag lacks 1 of 13 items (first: May I stay?)" in err
    code, out, err = casebook("forms", tmp_path / "s", "--log", log, *RATERS, "--common", "--json")
    assert code == 0, err
    account = json.loads(out)["account"]
    assert account["left_out"] == {"rag": ["May I stay?"]} and account["no_answer"] == {"base": 1}


RATERS = ("--rater=r1:lay", "--rater=r2:lay", "--rater=r3:expert")


def test_a_log_becomes_a_blind_study_and_its_analysis(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = write_log(tmp_path / "answers of May.jsonl")
    code, out, err = casebook("forms", "my study", "--log", log, *RATERS, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["preregistration"]["study"] == "study" and len(report["draw"]) == 12
    assert report["account"]["no_answer"] == {"base": 1} and report["words_of_one_system"] == []
    sheet = load_workbook(tmp_path / "my study/for_raters/study_r1.xlsx")["ratings"]
    shown = {
        text
        for row in sheet.iter_rows(min_row=2, min_col=3, max_col=4, values_only=True)
        for text in row
    }
    assert (
        "(no answer)" in shown
        and "yes, 11 days" in shown
        and not any("rag" in text for text in shown)
    )
    assert casebook("simulate", "my study", "back")[0] == 0
    code, out, err = casebook("analyse", "back", "--key", "my study", *QUICK, "--json")
    assert code == 0 and json.loads(out)["tables"]["win_rates"][-1]["n"] == 36, err
    chosen = casebook(
        "forms", "other", "--log", log, "--system=base", "--system=rag", *RATERS, "--json"
    )[1]
    assert json.loads((tmp_path / "other/sealed/key.json").read_text())["focus"] == "base", chosen


def test_the_audit_finds_what_making_the_forms_warned_of(casebook, tmp_path):
    log = write_log(tmp_path / "log.jsonl", says="rag says: ")
    code, _, err = casebook("forms", tmp_path / "pilot", "--log", log, *RATERS)
    assert (
        code == 0 and "12 answers of rag name a system" in err and "answers only: rag, says" in err
    )
    code, out, _ = casebook("audit", tmp_path / "pilot/for_raters", "--json")
    leaks = json.loads(out)["leaks"]
    kinds = {row["kind"] for row in leaks}
    assert (
        code == 0
        and kinds == {"word_in_text", "word_of_one_side"}
        and len({row["file"] for row in leaks}) == 3
    )
    # Away from their key the forms show the words still, though not whose they are.
    (tmp_path / "elsewhere").mkdir()
    form = (tmp_path / "pilot/for_raters/pilot_r1.xlsx").rename(tmp_path / "elsewhere/r1.xlsx")
    (row,) = json.loads(casebook("audit", form, "--json")[1])["leaks"]
    assert row["kind"] == "word_of_one_side" and row["found"].startswith(
        "rag, says: in one of two answers of 12 rows"
    )


def test_the_chapter_refuses_forms_that_it_cannot_analyse(study, monkeypatch):
    monkeypatch.chdir(study)
    (study / "pilot").rename(study / "my pilot")
    (study / "back").rename(study / "zurück gekommen")
    (study / "empty").mkdir()
    write_log(study / "log.jsonl")
    (study / "one.jsonl").write_text((study / "log.jsonl").read_text().splitlines()[0])
    for values, message in [
        ({"forms": "empty"}, "no forms"),
        ({"forms": "zurück gekommen"}, "give the sealed key"),
        ({"forms": "my pilot/for_raters"}, "no form holds a judgement"),
        (
            {"forms": "zurück gekommen", "key": "my pilot", "columns": {"preferred": "choice"}},
            "no column 'choice'",
        ),
        ({"log": "one.jsonl"}, "holds one system, rag"),
        ({"log": "log.jsonl", "systems": ["rag", "nope"]}, "its systems are rag, base"),
        ({"questions": "one.jsonl"}, "questions has no effect without corpus and model"),
        ({"key": "my pilot"}, "key has no effect without forms"),
        ({"log": "log.jsonl", "side_column": "side"}, "side_column has no effect without forms"),
        ({"model": "m"}, "model has no effect without questions"),
        ({"systems": ["a", "b"]}, "systems has no effect without log"),
        ({"dataset": None, "against": "nope"}, "against"),
    ]:
        with pytest.raises(InputError, match=message):
            executed_until("tables", "06_rater_agreement.ipynb", run="t", cell="mine", **values)


def executed_until(name, notebook, **parameters):
    """Execute the code of a notebook in this process, with other parameters, until a name
    is there."""
    values = {"display": lambda *_: None}
    for cell in nbformat.read(NOTEBOOKS / notebook, 4).cells:
        if cell.cell_type == "code" and name not in values:
            exec(cell.source, values)
            values |= parameters if "parameters" in cell.metadata.get("tags", []) else {}
    return values


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_rehearsed_chapter_tells_nothing_of_the_forms_that_are_handed_out(
    tmp_path, monkeypatch, mask
):
    """Its rows and its page of items, which are published, hold sides and places: not those of the
    real study."""
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    log = write_log(tmp_path / "log.jsonl")
    before = os.umask(mask)
    try:
        votes, again = (
            executed_until("votes", "06_rater_agreement.ipynb", run="t", cell="mine", log=str(log))[
                "votes"
            ]
            for _ in range(2)
        )
    finally:
        os.umask(before)
    studies = tmp_path / "results/t/studies"
    rights = {
        path.name: path.stat().st_mode & 0o777
        for path in (studies, *studies.glob("mine/sealed/**/*"))
    }
    assert rights == {"studies": 0o700, "key.json": 0o600, "report.json": 0o600}
    sealed = [
        (rater, row["item"], row["left"], place)
        for rater, form in read_key(studies / "mine")["forms"].items()
        for place, row in enumerate(form["rows"], start=1)
    ]
    shown = votes.frame[["rater", "item_id", "left", "place"]]
    told = set(shown.itertuples(index=False, name=None))
    assert {row[:2] for row in told} == {row[:2] for row in sealed}
    assert len(told & {*sealed}) < len(sealed) / 2  # by chance one in 24
    assert again.frame.equals(votes.frame)


@pytest.mark.parametrize("registered", ["yes", "no"])
def test_the_chapter_says_whether_anything_was_registered(study, monkeypatch, registered):
    monkeypatch.setattr("casebook.paths.RESULTS", study / "results")
    forms = (
        {"forms": str(study / "back"), "key": str(study / "pilot")}
        if registered == "yes"
        else {"dataset": None}
    )
    chapter = executed_until(
        "description",
        "06_rater_agreement.ipynb",
        run="t",
        **forms,
        n_resamples=100,
        permutations=19,
    )
    assert chapter["description"]["registered before the votes"] == registered


def test_the_chapter_answers_on_ratings_alone(tmp_path, monkeypatch):
    """Each criterion has its answer, and no stranger's preference stands beside it."""
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    rows = ["who,item,dimension,label"]
    for item in range(8):
        rows += [f"{rater},q{item},quality,{1 + item % 5}" for rater in ("ann", "bob", "cy")]
    tones = {"ann": "abababab", "bob": "ababaabb"}
    rows += [f"{rater},q{n},tone,{tone}" for rater in tones for n, tone in enumerate(tones[rater])]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(rows))
    values = executed_until(
        "the end",
        "11_rating_agreement.ipynb",
        run="t",
        ratings=str(path),
        columns={"rater": "who"},
        n_resamples=100,
    )
    answers = {answer.question: answer for answer in values["chapter"].headlines}
    questions = [
        "Do the 3 raters agree on quality beyond chance?",
        "Do the 2 raters agree on tone beyond chance?",
    ]
    assert list(answers) == questions
    expected = krippendorff.alpha(
        [list(tone) for tone in tones.values()], level_of_measurement="nominal"
    )
    assert answers[questions[0]].value == pytest.approx(1.0)
    assert answers[questions[1]].value == pytest.approx(expected)
    assert {(answer.n, answer.dataset) for answer in answers.values()} == {(8, "tickets")}
    assert values["finding"] == (
        "The raters agree beyond chance on quality; on tone that is not shown. That other raters "
        "would agree is shown for quality."
    )
    assert values["finding_alike"] == "quality: all raters of an item agree on 8 of 8 items."
    files = [file.name for file in (tmp_path / "results/t").glob("*/*")]
    assert not [name for name in files if "win_rates" in name]
    numbers = json.loads((tmp_path / "results/t/numbers/rating_agreement.json").read_text())
    assert set(numbers["rating_agreement"]["tickets"]) == {"quality", "tone"}


def test_agreement_says_what_it_read_of_a_row_per_rating(casebook, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("who,item,rating\nann,1,yes\nbob,1,no\nann,2,yes\nbob,2,no\nbob,3,\n")
    words = ("agreement", path, "--columns=rater=who", "--resamples=0")
    code, out, _ = casebook.func(*words)
    assert code == 0 and out.startswith(
        "a row per rating: 4 ratings taken of 5 judgements\nleft out: 1 blank\n2 items x 2 raters"
    )
    code, out, err = casebook.func(*words, "--json")
    assert code == 0 and json.loads(out) and "left out: 1 blank" in err
    code, _, err = casebook.func("agreement", path, "--form=counts", "--criterion=ok")
    assert code == 1 and "--criterion has no effect on --form counts" in err


def test_documented_forms(casebook, tmp_path):
    paths = write_forms(tmp_path)
    code, out, _ = casebook("analyse", *paths, "--original")
    assert code == 0 and out == EXAMPLE.read_text()
    code, out, _ = casebook("analyse", tmp_path, "--original", "--json")
    values = json.loads(out)
    pooled = values["Pairwise preference (aggregate, per-row mapping)"]
    assert pooled["p_value_sign_test"] == 0.00020218969307107758
    code, out, err = casebook("audit", tmp_path, "--word=rag")
    assert code == 2 and "leaks besides the texts" in err and "key_column" in out
    code, _, err = casebook("analyse", *paths, "--side-col=nope")
    assert code == 1 and "no key column 'nope'" in err


def test_columns_of_other_names(casebook, tmp_path):
    """What is missing is named beside what is there, one column after the other."""
    head = "case,question,left,right,choice,side"
    for rater, votes in (
        ("ann", ["S1", "S2", "S1", "S2", "Tie"]),
        ("bob", ["S1", "S1", "S2", "S2", "S1"]),
    ):
        rows = [f"{n},Why {n}?,x{n},y{n},{vote},S{1 + n % 2}" for n, vote in enumerate(votes)]
        (tmp_path / f"{rater}.csv").write_text("\n".join([head, *rows]))
    given = []
    for option, message in [
        ("--columns=preferred=choice", "no column 'preferred'.*has case, question, left, right"),
        ("--columns=_rag_side_for_analysis=side", "no key column"),
        ("--columns=prompt_text=question", "'prompt_text' or 'prompt_id'"),
    ]:
        code, _, err = casebook("analyse", tmp_path, *given, *QUICK)
        assert code == 1 and re.search(message, err) and err.count("\n") == 1
        given.append(option)
    code, out, err = casebook("analyse", tmp_path, *given, *QUICK, "--json")
    assert code == 0 and "object at 0x" not in out, err
    pooled = json.loads(out)["tables"]["preference"][-1]
    assert (pooled["wins"], pooled["losses"], pooled["ties"]) == (7, 2, 1)
    assert "cohen_kappa\n" in casebook("analyse", tmp_path, *given, *QUICK)[1]
    assert (
        "'rag_wins': 7, 'rag_losses': 2, 'ties': 1"
        in casebook("analyse", tmp_path, *given, "--original")[1]
    )


def test_two_systems_that_are_one_are_refused(casebook, tmp_path):
    write_answers(tmp_path)
    file = tmp_path / "alpha.jsonl"
    systems = [f"--system={name}={file}" for name in ("one", "two")]
    code, _, err = casebook("forms", tmp_path / "x", *systems, "--rater=r1:lay")
    assert code == 1 and "give the same answer to all 20 items" in err
    assert not (tmp_path / "x").exists()
    lines = (tmp_path / "omega.jsonl").read_text().splitlines()
    lines[3] = file.read_text().splitlines()[3]
    (tmp_path / "omega.jsonl").write_text("\n".join(lines))
    systems = [f"--system={n}={tmp_path / n}.jsonl" for n in ("alpha", "omega")]
    code, _, err = casebook("forms", tmp_path / "x", *systems, "--rater=r1:lay")
    assert code == 0 and "1 pairs of answers are the same (items q3" in err


def test_likert_forms(casebook, tmp_path):
    known = {"case_id": [f"c{n}" for n in range(6)], "chunk_id": [f"k{n}" for n in range(6)]}
    table = pd.DataFrame(known | {"explanation_text": "because", "source_chunk_text": "text"})
    table.to_csv(tmp_path / "e.csv", index=False)
    raters = ["--rater=ann:expert", "--rater=bob:expert"]
    code, _, err = casebook(
        "forms", tmp_path / "ex", "--explanations", tmp_path / "e.csv", "--format=csv", *raters
    )
    assert code == 0, err
    back = [tmp_path / "back_ann.csv", tmp_path / "back_bob.csv"]
    for path in back:
        form = pd.read_csv(tmp_path / "ex/for_raters" / path.name.replace("back", "ex"), dtype=str)
        form[[n for n in form if n.endswith("_1_to_5")]] = "4"
        form.to_csv(path, index=False)
    code, out, _ = casebook("analyse", *back, "--key", tmp_path / "ex", "--json")
    values = json.loads(out)
    assert values["documented"]["overall"]["clarity_1_to_5"] == 4.0
    row = values["tables"]["ratings"][0]
    assert row["mean"] == 4 and row["alpha"] is None and row["reason"]
    code, _, err = casebook("analyse", *back)
    assert code == 1 and "need their sealed key" in err
    code, _, err = casebook("analyse", *back, "--original", "--key", tmp_path / "ex")
    assert (
        code == 1
        and err == f"casebook: {back[0]}: is a Likert form; give forms that ask for a preference\n"
    )


def test_a_likert_study_can_be_rehearsed(casebook, tmp_path):
    known = {"case_id": [f"c{n}" for n in range(6)], "chunk_id": [f"k{n}" for n in range(6)]}
    table = pd.DataFrame(known | {"explanation_text": "because", "source_chunk_text": "text"})
    table.to_csv(tmp_path / "e.csv", index=False)
    raters = ["--rater=ann:expert", "--rater=bob:expert"]
    casebook("forms", tmp_path / "study", "--explanations", tmp_path / "e.csv", *raters)
    code, out, err = casebook("simulate", tmp_path / "study", tmp_path / "back")
    assert code == 0 and "simulated, not judged" in out and "win rate" not in out, err
    code, out, err = casebook("analyse", tmp_path / "back", "--key", tmp_path / "study", "--json")
    assert code == 0, err
    assert [row["ratings"] for row in json.loads(out)["tables"]["ratings"]] == [12, 12, 12]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["forms", "x"], "name the raters"),
        (["forms", "x", "--rater=r1"], "not of the form LABEL:KIND"),
        (["forms", "x", "--rater=r1:lay", "--system=a"], "not of the form NAME=FILE"),
        (["forms", "x", "--rater=r1:lay"], "give the answers"),
        (["forms", "x", "--log=one.jsonl", *RATERS], "holds one system, rag"),
        (
            ["forms", "x", "--log=log.jsonl", "--system=gpt", *RATERS],
            "no answers of 'gpt'; its systems are rag, base",
        ),
        (["forms", "x", "--log=log.jsonl", "--stratify=topic", *RATERS], "has no column 'topic'"),
        (["forms", "x", "--log=none.jsonl", *RATERS], "cannot be read"),
        (
            ["forms", "x", "--log=log.jsonl", "--id-field=qid", *RATERS],
            "--id-field has no effect with --log",
        ),
        (
            ["forms", "x", "--log=log.jsonl", "--rater=r1:judge"],
            "raters.r1: Input should be 'lay' or 'expert'",
        ),
        (["analyse", "absent.xlsx"], "cannot be read"),
        (["analyse", "x", "--columns=prefered=choice"], "'prefered' is none of prompt_id"),
        (
            ["analyse", "x", "--columns=preferred=a", "--columns=comment=a"],
            "a column is given twice",
        ),
        (["simulate", "absent", "x"], "cannot be read"),
    ],
)
def test_wrong_use_is_one_clear_line(casebook, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.jsonl").write_text(
        write_log(tmp_path / "log.jsonl").read_text().splitlines()[0]
    )
    code, _, err = casebook(*arguments)
    assert code == 1 and message in err and err.count("\n") == 1, err
    assert not (tmp_path / "x").exists()
