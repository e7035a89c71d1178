"""``casebook raters forms | simulate | audit | analyse``: double-blind human evaluation."""

import json
import re
import shlex
from pathlib import Path

import typer

from casebook import assistant, data, raters
from casebook.cli.common import (
    Columns,
    Json,
    Lists,
    Original,
    Resamples,
    Rows,
    Seed,
    argument,
    command_group,
    csv_text,
    echo,
    exclusive,
    option,
    pairs,
    plain,
    print_json,
    refuse_idle,
    said,
    say,
    show,
    show_tables,
)
from casebook.errors import CheckFailed, InputError
from casebook.files import new_folder, write_json, write_text

app = command_group(
    "raters", "Double-blind human evaluation: make forms, audit them, analyse what comes back."
)

PRINTED_TABLES = ("defects", "win_rates", "intervals", "agreement", "rating_tests", "cohen_kappa")
COMPARISON_OPTIONS = (
    *("log", "columns", "rows", "lists", "system", "items", "per_item", "focus"),
    *("margin", "stratify", "no_evidence", "common", "seed"),
)
"""Options of `forms` that have no effect on Likert forms."""

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

# Of the commands that read forms: how they are unblinded, and how they are analysed
ReturnedForms = argument(
    list[Path], "Forms, folders of forms, or files of several raters' ratings, a row each."
)
ColumnNames = option(
    list[str] | None,
    "EXPECTED=YOURS, such as preferred=choice; repeatable.",
    metavar="A=B",
)
SealedKey = option(Path | None, "Sealed key, or the folder of the study that holds it.")
SideColumn = option(str | None, "Key column of forms in PDPABench's layout.", "--side-col")
LastColumn = option(bool, "Allow the last column as the key.", "--last-column")
Force = option(bool, "Unblind although forms are missing.", "--force")
Against = option(str | None, "System to compare with, if there are several.")
Permutations = option(int, "Permutations of the content audit.", min=19, max=1_000_000)


@app.command()
def forms(
    context: typer.Context,
    folder: argument(Path, "New folder of the study."),
    log: option(
        list[Path] | None, "Log of answers, by two systems or more; or a file of each; repeat."
    ) = None,
    columns: Columns = None,
    rows: Rows = None,
    lists: Lists = "json",
    system: option(list[str] | None, "System of the log to choose; repeat.") = None,
    explanations: option(Path | None, "CSV of explanations, for Likert forms.") = None,
    rater: option(list[str] | None, "LABEL:lay or LABEL:expert; repeat.") = None,
    study: option(str | None, "Name that raters read; default: the folder's.") = None,
    items: option(int | None, "Number of items to draw; default: all.", min=1) = None,
    per_item: option(int | None, "Raters of each comparison; default: all.", min=1) = None,
    focus: option(str | None, "System under study; default: the first.") = None,
    margin: option(float, "Win rates of 0.5 +- this count as no difference.") = 0.05,
    format_: option(list[str] | None, "xlsx or csv; repeat.", "--format") = None,
    no_evidence: option(
        bool, "Leave the passages that the systems found out of the forms.", "--no-evidence"
    ) = False,
    stratify: option(str | None, "Column to stratify the draw by, such as group.") = None,
    common: option(bool, "Use only items that all systems answered.", "--common") = False,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Make one blind form per rater, the sealed key and the pre-registration.

    Example: casebook raters forms pilot --log answers.jsonl --rater r1:lay --rater r2:expert
    """
    exclusive(context, "explanations", *COMPARISON_OPTIONS)
    kinds = pairs(rater, ":", "LABEL:KIND")
    if not kinds:
        raise InputError("name the raters: --rater r1:lay --rater r2:expert")
    name = study or (folder.name if _FILE_NAME.fullmatch(folder.name) else "study")
    formats = tuple(format_ or ["xlsx"])
    if explanations:
        table = data.tables.read_table(explanations).reset_index(drop=True)
        report = raters.forms.make_likert_forms(table, folder, name, kinds, formats=formats)
    elif log:
        logged = assistant.log.read_log(log, **said(columns, None, rows, lists=lists))
        options = {"common": common, "stratum": stratify}
        answers, account = raters.answers.answers_of_log(logged, system, **options)
        if no_evidence:
            answers = answers.drop(columns="evidence", errors="ignore")
        plan = {"focus": focus, "margin": margin, "items": items, "per_item": per_item}
        plan = raters.forms.Plan(name, kinds, seed=seed, formats=formats, **plan)
        report = raters.forms.make_forms(answers, folder, plan, account=account)
        for reading in logged.attrs["readings"]:
            say(data.tables.reading_text(reading))
    else:
        raise InputError("give the answers of two systems or more: --log FILE, repeated")
    show({"folder": str(folder), **report}, as_json, _forms_lines(folder, report))


def _forms_lines(folder, report):
    registered = report["preregistration"]
    for name, value in registered["design"].items():
        yield f"{name:22} {value}"
    if power := registered.get("power"):
        low, high = power["ci"]
        assumed = ", ".join(f"{name} {value:g}" for name, value in power["assumed"].items())
        text = f"{power['estimate']:.2f} [{low:.2f}, {high:.2f}], simulated: {assumed}"
        yield f"{'power':22} {text}"
    for change in report["text_changes"]:
        yield f"changed: {json.dumps(change, ensure_ascii=False)}"
    yield f"hand out   {folder / 'for_raters'}"
    yield f"keep back  {folder / 'sealed'} (key SHA-256 below)"
    yield f"publish    {folder / 'preregistration.json'}"
    yield f"key        {registered['key_sha256']}"
    study = shlex.quote(str(folder))
    yield f"next: casebook raters audit {folder / 'for_raters'} --key {study}"
    yield f"when forms are back: casebook raters analyse FOLDER --key {study}"


@app.command()
def simulate(
    study: argument(Path, "Folder of a study."),
    folder: argument(Path, "New folder of the filled forms."),
    effect: option(float, "Log odds for the system under study.") = 0.7,
    ties: option(float, "Share of ties.", min=0, max=1) = 0.1,
    seed: Seed = 0,
):
    """Fill the workbooks of a study with simulated raters, to rehearse the analysis.

    Example: casebook raters simulate pilot returned --effect 0.7
    """
    truth = raters.simulate.Truth(effect, ties=ties)
    for path in raters.simulate.fill_forms(study, folder, truth, seed=seed):
        echo(str(path))
    echo(f"simulated, not judged: the true win rate is {truth.win_rate:.3f}")


@app.command()
def audit(
    context: typer.Context,
    files: ReturnedForms,
    against: Against = None,
    word: option(list[str] | None, "Further name that must not be seen; repeat.") = None,
    columns: ColumnNames = None,
    permutations: Permutations = 200,
    seed: Seed = 0,
    as_json: Json = False,
    key: SealedKey = None,
    side_column: SideColumn = None,
    last_column: LastColumn = False,
    force: Force = False,
):
    """Search forms for what gives the systems away; with the key, audit returned judgements too.

    Example: casebook raters audit returned --key pilot
    """
    exclusive(context, "key", "side_column", "last_column")
    column_names = _column_names(columns)
    returned = raters.read.read_forms(files, column_names)
    names = list(word or [])
    tables = {}
    has_votes = any(form.rows[form.layout.answers[0].name].notna().any() for form in returned)
    is_open = raters.unblinding.SIDE_COLUMN in returned[0].rows
    if has_votes and (key or side_column or last_column or is_open):
        votes = raters.unblinding.open_forms(returned, key, side_column, last_column, force)
        names += votes.systems
        panel = raters.analysis.panel_of(votes, against)
        tables = raters.analysis.validity(panel, permutations=permutations, seed=seed)
    else:
        idle = ("side_column", "last_column", "force", "against", "permutations", "seed")
        refuse_idle(context, idle, "where no judgements are audited")
        names += raters.unblinding.read_key(key)["systems"] if key else []
    paths = dict.fromkeys(form.path for form in returned)
    leaks = raters.blinding.scan_forms(paths, names, column_names)
    show_tables({"leaks": leaks} | tables, as_json)
    besides_texts = leaks[leaks["kind"] != "word_in_text"]
    if len(besides_texts):
        raise CheckFailed(f"{len(besides_texts)} leaks besides the texts; see above")
    if len(leaks):
        say("warning: the texts themselves may give the systems away; see above")


@app.command("analyse")
def analyse_forms(
    context: typer.Context,
    files: ReturnedForms,
    against: Against = None,
    original: Original = False,
    out: option(Path | None, "New folder for tables and JSON.", "-o", "--out") = None,
    columns: ColumnNames = None,
    resamples: Resamples = 10_000,
    permutations: Permutations = 200,
    seed: Seed = 0,
    as_json: Json = False,
    key: SealedKey = None,
    side_column: SideColumn = None,
    last_column: LastColumn = False,
    force: Force = False,
):
    """Analyse returned forms: preference, agreement, ratings, validity.

    The same as pages of a report: casebook run rater_agreement -p forms=returned -p key=pilot

    Example: casebook raters analyse returned --key pilot --out results
    """
    exclusive(context, "original", "out", "against", "resamples", "permutations", "seed")
    exclusive(context, "key", "side_column", "last_column")
    if out and out.exists():
        raise InputError(f"{out}: exists: name a new folder, or remove this one")
    column_names = _column_names(columns)
    unblinding = (key, side_column, last_column)
    returned = raters.read.read_forms(files, column_names)
    if original:
        _show_documented(returned, unblinding, force, as_json)
        return
    if any(form.layout.name == "paired" for form in returned):
        votes = raters.unblinding.open_forms(returned, *unblinding, force)
        options = {"n_resamples": resamples, "permutations": permutations, "seed": seed}
        analysis = raters.analysis.analyse(votes, against, **options)
        values = {"answer": raters.analysis.answer_lines(analysis), "tables": analysis.tables}
        printed = PRINTED_TABLES
    else:
        of_preferences = ("against", "resamples", "permutations", "side_column", "last_column")
        refuse_idle(context, of_preferences, "on Likert forms")
        values = _likert_analysis(returned, key, force, seed)
        printed = values["tables"]
    if out:
        with new_folder(out) as temporary:
            for name, table in values["tables"].items():
                write_text(temporary / "tables" / f"{name}.csv", csv_text(table))
            write_json(temporary / "analysis.json", plain(values))
    if as_json:
        print_json(values)
        return
    for line in values.get("answer", ()):
        echo(f"- {line}")
    show_tables({name: values["tables"][name] for name in printed}, as_json)


# --columns: expected column to the column of the files.
def _column_names(options):
    columns = pairs(options, "=", "--columns EXPECTED=YOURS")
    paired = [*raters.layouts.WITH_EVIDENCE.names, raters.unblinding.SIDE_COLUMN]
    known = {*paired, *raters.layouts.LIKERT.names, *data.tables.ROLES["ratings"]}
    for expected, column in columns.items():
        if expected not in known:
            problem = f"{expected!r} is none of {', '.join(paired)}"
            raise InputError(f"--columns {expected}={column}: {problem}")
    if len(set(columns.values())) < len(columns):
        raise InputError(f"--columns {columns}: a column is given twice")
    return columns


# PDPABench's own analysis, and nothing else.
def _show_documented(returned, unblinding, force, as_json):
    votes = raters.unblinding.open_forms(returned, *unblinding, force)
    lost = [defect for defect in votes.defects if defect.effect == raters.read.LOST]
    if lost:
        say(f"warning: {len(lost)} cells or rows do not count; without --original they are listed")
    suffix = "" if votes.registered else returned[0].path.suffix
    values = raters.documented.documented_analysis(votes, suffix)
    show(values, as_json, raters.documented.documented_lines(values))


def _likert_analysis(returned, key, force, seed):
    if key is None:
        raise InputError(f"{returned[0].path}: Likert forms need their sealed key: --key FILE")
    key = raters.unblinding.read_key(key)
    ratings, defects = raters.unblinding.unblind_likert(returned, key, force=force)
    tables = {
        "ratings": raters.ratings.likert_summary(ratings, seed=seed),
        "defects": raters.read.defect_table(defects),
    }
    return {"documented": raters.ratings.documented_means(ratings), "tables": tables}
