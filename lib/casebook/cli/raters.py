"""``casebook raters forms | simulate | audit | analyse``: double-blind human evaluation."""

import json
import re
import shlex
from pathlib import Path

import typer

from casebook import assistant, data, raters, runs
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

PRINTED_TABLES = (
    "defects",
    "win_rates",
    "preference",
    "intervals",
    "item_tests",
    "agreement",
    "rating_tests",
    "cohen_kappa",
)

COMPARISON_OPTIONS = (
    "log",
    "columns",
    "rows",
    "lists",
    "system",
    "items",
    "per_item",
    "pairs_per_item",
    "focus",
    "margin",
    "win_rate",
    "guess",
    "stratify",
    "no_evidence",
    "common",
    "seed",
)
"""Options of `forms` that have no effect on Likert forms."""

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LIKERT_FORMS = "on Likert forms"
WORDS_IN_TEXTS = ("word_in_text", "word_of_one_side")

# Of the commands that read forms: how they are unblinded, and how they are analysed
ReturnedForms = argument(
    list[Path], "Forms, folders of forms, or files of several raters' judgements."
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
    log: option(list[Path] | None, "Log of an assistant's answers, by two systems or more.") = None,
    columns: Columns = None,
    rows: Rows = None,
    lists: Lists = "json",
    system: option(
        list[str] | None, "NAME=FILE of answers, or with --log a NAME to choose; repeat."
    ) = None,
    explanations: option(Path | None, "CSV of explanations, for Likert forms.") = None,
    rater: option(list[str] | None, "LABEL:lay or LABEL:expert; repeat.") = None,
    study: option(str | None, "Name that raters read; default: the folder's.") = None,
    items: option(int | None, "Number of items to draw; default: all.", min=1) = None,
    per_item: option(int | None, "Raters of each comparison; default: all.", min=1) = None,
    pairs_per_item: option(int | None, "Pairs of systems compared on each item.", min=1) = None,
    focus: option(str | None, "System under study; default: the first.") = None,
    margin: option(float, "Win rates of 0.5 +- this count as no difference.") = 0.05,
    win_rate: option(float, "True win rate for which the power is stated.") = 0.65,
    guess: option(str | None, "Ask raters to guess the system, with this question.") = None,
    format_: option(list[str] | None, "xlsx or csv; repeat.", "--format") = None,
    no_evidence: option(
        bool, "Leave the passages that the systems found out of the forms.", "--no-evidence"
    ) = False,
    stratify: option(str | None, "Field to stratify the draw by; of a log: group.") = None,
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
        report = _make_likert_forms(explanations, folder, name, kinds, formats)
    else:
        told = said(columns, None, rows, lists=lists)
        if log:
            logged = assistant.log.read_log(log, **told)
            answers, account = raters.answers.answers_of_log(
                logged, system, common=common, stratum=stratify
            )
        else:
            if stratify:
                told["columns"]["stratum"] = stratify
            answers, account = raters.answers.read_answers(
                pairs(system, "=", "NAME=FILE"), common=common, **told
            )
        if no_evidence:
            answers = answers.drop(columns="evidence", errors="ignore")
        plan = raters.forms.Plan(
            name,
            kinds,
            items=items,
            per_item=per_item,
            pairs_per_item=pairs_per_item,
            seed=seed,
            focus=focus,
            margin=margin,
            win_rate=win_rate,
            guess=guess,
            formats=formats,
        )
        report = raters.forms.make_forms(answers, folder, plan, account=account)
        for reading in answers.attrs["readings"]:
            say(data.tables.reading_text(reading))
    if not as_json:
        for warning in _warnings(report):
            say(f"warning: {warning}")
    show({"folder": str(folder), **report}, as_json, _forms_lines(folder, report))


def _make_likert_forms(explanations, folder, name, kinds, formats):
    if explanations.suffix.lower() != ".csv":
        raise InputError(f"{explanations}: name a .csv file")
    table = data.tables.read_table(explanations).reset_index(drop=True)
    try:
        return raters.forms.make_likert_forms(table, folder, name, kinds, formats=formats)
    except InputError as error:
        raise InputError(f"{explanations}: {error}") from None


def _forms_lines(folder, report):
    registered = report["preregistration"]
    design = dict(registered["design"])
    if power := registered.get("power"):
        low, high = power["ci"]
        assumed = ", ".join(f"{name} {value:g}" for name, value in power["assumed"].items())
        design["power"] = f"{power['estimate']:.2f} [{low:.2f}, {high:.2f}], simulated: {assumed}"
    for name, value in design.items():
        yield f"{name:22} {value}"
    for change in report["text_changes"]:
        yield f"changed: {json.dumps(change, ensure_ascii=False)}"
    yield f"hand out   {folder / 'for_raters'}"
    yield f"keep back  {folder / 'sealed'} (key SHA-256 below)"
    yield f"publish    {folder / 'preregistration.json'}"
    yield f"key        {registered['key_sha256']}"
    yield (
        "next: hand the forms out, put those that come back into one folder, then "
        f"'casebook raters analyse FOLDER --key {shlex.quote(str(folder))}'"
    )


def _warnings(report):
    """What in the answers may spoil the comparison; Likert forms know nothing of it."""
    recognisable = report.get("texts_with_a_system_name", [])
    alike = report.get("identical_answers", [])
    for column in dict.fromkeys(text["column"] for text in recognisable):
        texts = [text for text in recognisable if text["column"] == column]
        names = {"prompt": "questions name", "evidence": "passages of questions name"}
        what = names.get(column, f"answers of {column} name")
        yield f"{len(texts)} {what} a system ({_some(texts)}): raters may recognise it"
    if words := list(dict.fromkeys(row["word"] for row in report.get("words_of_one_system", []))):
        yield f"words that nearly always stand in one of two answers only: {', '.join(words[:10])}"
    if cuts := report.get("evidence_cut"):
        n_characters = sum(cut["characters"] for cut in cuts)
        yield (
            f"passages of {len(cuts)} questions are cut, by {n_characters:,} characters in all "
            f"({_some(cuts)}); each cut says how many"
        )
    if alike:
        yield f"{len(alike)} pairs of answers are the same ({_some(alike)}), which no vote can tell"
    for name, count in report.get("account", {}).get("no_answer", {}).items():
        yield f"{name} gave no answer to {count} questions; raters read '(no answer)'"


def _some(rows):
    return f"items {', '.join(runs.items.one_line(row['item'], 30) for row in rows[:3])} ..."


@app.command()
def simulate(
    context: typer.Context,
    study: argument(Path, "Folder of a study."),
    folder: argument(Path, "Where the filled forms go."),
    effect: option(float, "Log odds for the system under study.") = 0.7,
    ties: option(float, "Share of ties.", min=0, max=1) = 0.1,
    blank: option(float, "Share of blank ratings.", min=0, max=1) = 0.0,
    seed: Seed = 0,
):
    """Fill the workbooks of a study with simulated raters, to rehearse the analysis.

    Example: casebook raters simulate pilot returned --effect 0.7
    """
    truth = raters.simulate.Truth(effect, ties=ties, blank=blank)
    paired = raters.unblinding.read_key(study)["layout"] == "paired"
    if not paired:
        refuse_idle(context, ("effect", "ties"), LIKERT_FORMS)
    for path in raters.simulate.fill_forms(study, folder, truth, seed=seed):
        echo(str(path))
    level = (
        f"the true win rate is {truth.win_rate:.3f}"
        if paired
        else "ratings around 3.6, whatever the system"
    )
    echo(f"simulated, not judged: {level}")


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
    from casebook.sheets import KINDS

    exclusive(context, "key", "side_column", "last_column")
    column_names = _column_names(columns)
    returned = raters.read.read_forms(files, column_names)
    if key is None and not (side_column or last_column):
        key = raters.unblinding.key_beside(returned)
    has_key_column = (
        side_column
        or last_column
        or any(raters.unblinding.SIDE_COLUMN in form.rows for form in returned)
    )
    has_votes = any(form.rows["preferred"].notna().any() for form in _paired(returned))
    system_names = list(word or [])
    tables = {}
    if has_votes and (key or has_key_column):
        votes = raters.unblinding.open_forms(returned, key, side_column, last_column, force)
        system_names += votes.systems
        panel = raters.analysis.panel_of(votes, against)
        tables = raters.analysis.validity(panel, permutations=permutations, seed=seed)
    else:
        unblinding = ("side_column", "last_column", "force")
        analysing = ("against", "permutations", "seed")
        refuse_idle(context, unblinding + analysing, "where no judgements are audited")
        if has_votes:
            say("note: to audit the judgements too, give the sealed key with --key")
        elif key:
            system_names += raters.unblinding.read_key(key)["systems"]
    paths = list(dict.fromkeys(form.path for form in returned))
    for path in paths:
        if path.suffix.lower() not in KINDS:
            raise InputError(
                f"{path}: is no form: audit the forms that were sent out; "
                "'casebook raters analyse' checks the judgements in it"
            )
    leaks = raters.blinding.scan_forms(paths, system_names, column_names)
    show_tables({"leaks": leaks} | tables, as_json)
    besides_texts = leaks[~leaks["kind"].isin(WORDS_IN_TEXTS)]
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
    out: option(Path | None, "New folder for tables, figures and JSON.", "-o", "--out") = None,
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
    if original:
        if not key:
            refuse_idle(context, ("force",), "without a key")
        _show_documented(files, column_names, key, side_column, last_column, force, as_json)
        return
    returned = raters.read.read_forms(files, column_names)
    if _paired(returned):
        votes = raters.unblinding.open_forms(returned, key, side_column, last_column, force)
        analysis = raters.analysis.analyse(
            votes, against, n_resamples=resamples, permutations=permutations, seed=seed
        )
        values = {"answer": raters.analysis.answer_lines(analysis), "tables": analysis.tables}
        printed = PRINTED_TABLES
    else:
        of_preferences = ("against", "resamples", "permutations", "side_column", "last_column")
        refuse_idle(context, of_preferences, LIKERT_FORMS)
        analysis = None
        values = _likert_analysis(returned, key, force, seed)
        printed = values["tables"]
    if out:
        _write_tables(out, values, _figures(analysis) if analysis else {})
    if as_json:
        print_json(values)
        return
    for line in values.get("answer", ()):
        echo(f"- {line}")
    show_tables({name: values["tables"][name] for name in printed}, as_json)
    if analysis:
        echo(f"\n{len(analysis.tables)} tables in all: --out FOLDER writes, --json prints")


def _column_names(options):
    """Read --columns: expected column to the column of the files."""
    columns = pairs(options, "=", "--columns EXPECTED=YOURS")
    paired_columns = [
        *raters.layouts.paired_layout(guess=True).names,
        raters.unblinding.SIDE_COLUMN,
    ]
    for expected, column in columns.items():
        if expected not in {
            *paired_columns,
            *raters.layouts.LIKERT.names,
            *data.tables.ROLES["ratings"],
        }:
            raise InputError(
                f"--columns {expected}={column}: {expected!r} is none of "
                f"{', '.join(paired_columns)}"
            )
    if len(set(columns.values())) < len(columns):
        raise InputError(f"--columns {columns}: a column is given twice")
    return columns


def _paired(forms):
    """The forms that ask for preferences."""
    return [form for form in forms if form.layout.name == "paired"]


def _show_documented(files, column_names, key, side_column, last_column, force, as_json):
    """PDPABench's own analysis, and nothing else; without a key its own reader too."""
    if key:
        returned = raters.read.read_forms(files, column_names)
        votes = raters.unblinding.open_forms(returned, key, side_column, last_column, force)
        judgements = raters.documented.records_of(votes)
    else:
        paths = raters.read.form_files(files)
        judgements = raters.documented.read_documented_rows(
            paths, side_column, last_column, column_names
        )
    values = raters.documented.documented_analysis(judgements)
    for line in raters.documented.impossible(judgements, values):
        say(f"warning: {line}")
    show(values, as_json, raters.documented.documented_lines(values))


def _figures(analysis):
    try:
        from casebook import plots
    except ModuleNotFoundError:
        say(
            "note: tables only: figures need matplotlib and seaborn: pip install matplotlib seaborn"
        )
        return {}
    plots.use_style()
    panel = analysis.panel
    tables = analysis.tables
    rates = tables["win_rates"].rename(columns={"who": "row"})
    even = {"no preference": 0.5}
    side = {"row": "rater", "value": "left_choice"}
    agreement = tables["agreement"].rename(
        columns={"estimate": "value", "panel_low": "low", "panel_high": "high", "n_items": "n"}
    )
    return {
        "win_rates": plots.values(rates, f"win rate of {panel.focus}", reference=even),
        "votes": plots.rating_matrix(panel.votes, {-1: panel.against, 0: "tie", 1: panel.focus}),
        "position": plots.values(tables["position"], "left answer chosen", reference=even, **side),
        "ratings": plots.rating_distributions(panel.long_ratings()),
        "agreement": plots.values(agreement, "these raters, other items", row="coefficient"),
    }


def _likert_analysis(returned, key, force, seed):
    key = key or raters.unblinding.key_beside(returned)
    if key is None:
        raise InputError(f"{returned[0].path}: Likert forms need their sealed key: --key FILE")
    ratings, defects = raters.unblinding.unblind_likert(
        returned, raters.unblinding.read_key(key), force=force
    )
    tables = {
        "ratings": raters.ratings.likert_summary(ratings, seed=seed),
        "counts": raters.ratings.likert_counts(ratings),
        "defects": raters.read.defect_table(defects),
    }
    return {"documented": raters.ratings.documented_means(ratings), "tables": tables}


def _write_tables(folder, values, figures):
    """Write tables as CSV, figures as SVG and everything as JSON into a new folder."""
    with new_folder(folder) as temporary:
        for name, table in values["tables"].items():
            write_text(temporary / "tables" / f"{name}.csv", csv_text(table))
        (temporary / "figures").mkdir()
        for name, figure in figures.items():
            figure.savefig(temporary / "figures" / f"{name}.svg", metadata={"Date": None})
        write_json(temporary / "analysis.json", plain(values))
