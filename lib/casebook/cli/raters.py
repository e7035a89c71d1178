"""``casebook raters forms | simulate | audit | analyse``: double-blind human evaluation."""

import re
import shlex

from casebook import assistant, data, raters
from casebook.cli.commands import (
    command,
    command_group,
    echo,
    lines_of,
    plain,
    say,
    show,
)
from casebook.errors import CheckFailed, InputError
from casebook.files import new_folder, write_json, write_text

group = command_group(
    "raters",
    "Double-blind human evaluation: make forms, audit them, analyse what comes back.",
)

PRINTED_TABLES = ("defects", "win_rates", "agreement", "rating_tests", "cohen_kappa")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@command(group)
def forms(
    folder,
    kinds,
    formats,
    explanations,
    log,
    systems,
    common,
    stratum,
    no_evidence,
    columns,
    rows,
    lists,
    as_json,
    **plan,
):
    name = folder.name if _FILE_NAME.fullmatch(folder.name) else "study"
    formats = tuple(formats or ["xlsx"])
    if explanations:
        table = data.tables.read_table(explanations).reset_index(drop=True)
        report = raters.forms.make_likert_forms(
            table, folder, name, kinds, formats=formats
        )
    elif log:
        logged = assistant.log.read_log(log, columns=columns, rows=rows, lists=lists)
        answers, account = raters.answers.answers_of_log(
            logged, systems, common=common, stratum=stratum
        )
        if no_evidence:
            answers = answers.drop(columns="evidence", errors="ignore")
        plan = raters.forms.Plan(name, kinds, formats=formats, **plan)
        report = raters.forms.make_forms(answers, folder, plan, account=account)
        for reading in logged.attrs["readings"]:
            say(data.tables.reading_text(reading))
    else:
        raise InputError(
            "give the answers of two systems or more: --log FILE, repeated"
        )
    show({"folder": str(folder), **report}, as_json, *_forms_lines(folder, report))


@command(group)
def simulate(study, folder, seed, **truth):
    truth = raters.simulate.Truth(**truth)
    for path in raters.simulate.fill_forms(study, folder, truth, seed=seed):
        echo(str(path))
    echo(f"simulated, not judged: the true win rate is {truth.win_rate:.3f}")


@command(group)
def audit(
    files,
    columns,
    word,
    against,
    permutations,
    seed,
    key,
    as_json,
    **unblinding,
):
    returned = raters.read.read_forms(files, columns)
    names = word
    tables = {}
    has_votes = any(
        form.rows[form.layout.answers[0].name].notna().any() for form in returned
    )
    is_open = raters.unblinding.SIDE_COLUMN in returned[0].rows or any(
        unblinding.values()
    )
    if has_votes and (key or is_open):
        votes = raters.unblinding.open_forms(returned, key, **unblinding)
        names += votes.systems
        panel = raters.analysis.panel_of(votes, against)
        tables = raters.analysis.validity(panel, permutations=permutations, seed=seed)
    elif key:
        names += raters.unblinding.read_key(key)["systems"]
    leaks = raters.blinding.scan_forms(returned, names)
    show({"leaks": leaks} | tables, as_json, digits=".4g")
    n_besides = (leaks["kind"] != "word_in_text").sum()
    if n_besides:
        raise CheckFailed(f"{n_besides} leaks besides the texts; see above")
    if len(leaks):
        say("warning: the texts themselves may give the systems away; see above")


@command(group)
def analyse(
    files,
    columns,
    documented,
    out,
    against,
    key,
    side_column,
    last_column,
    force,
    as_json,
    **said,
):
    if out and out.exists():  # before what takes minutes
        raise InputError(f"{out}: exists: name a new folder, or remove this one")
    returned = raters.read.read_forms(files, columns)
    if not documented and all(form.layout.name != "paired" for form in returned):
        values = printed = _likert_analysis(returned, key, force, said["seed"])
        lines = []
    else:
        votes = raters.unblinding.open_forms(
            returned, key, side_column, last_column, force
        )
        if documented:  # PDPABench's own analysis, and nothing else
            _show_documented(votes, returned[0].path.suffix, as_json)
            return
        analysis = raters.analysis.analyse(votes, against, **said)
        lines = raters.analysis.answer_lines(analysis)
        values = {"answer": lines, "tables": analysis.tables}
        printed = {name: analysis.tables[name] for name in PRINTED_TABLES}
    if out:
        _write_tables(out, values)
    show(
        values,
        as_json,
        *(f"- {line}" for line in lines),
        *lines_of(printed),
        digits=".4g",
    )


def _write_tables(out, values):
    from casebook.sheets import table_for_csv

    with new_folder(out) as temporary:
        for name, table in values["tables"].items():
            text = table_for_csv(table).to_csv(index=False, lineterminator="\n")
            write_text(temporary / "tables" / f"{name}.csv", text)
        write_json(temporary / "analysis.json", plain(values))


def _forms_lines(folder, report):
    registered = report["preregistration"]
    yield from lines_of(registered["design"] | {"power": registered.get("power")})
    yield from (f"changed: {change}" for change in report["text_changes"])
    study = shlex.quote(str(folder))
    yield f"hand out {folder / 'for_raters'}, keep {folder / 'sealed'} back"
    yield f"next: casebook raters audit {folder / 'for_raters'} --key {study}"
    yield f"when forms are back: casebook raters analyse FOLDER --key {study}"


def _show_documented(votes, ending, as_json):
    lost = [defect for defect in votes.defects if defect.effect == raters.read.LOST]
    if lost:
        say(
            f"warning: {len(lost)} cells or rows do not count; without --original they are listed"
        )
    values = raters.documented.documented_analysis(
        votes, "" if votes.registered else ending
    )
    show(values, as_json, *raters.documented.documented_lines(values))


def _likert_analysis(returned, key, force, seed):
    if key is None:
        raise InputError(
            f"{returned[0].path}: Likert forms need their sealed key: --key FILE"
        )
    key = raters.unblinding.read_key(key)
    ratings, defects = raters.unblinding.join_with_key(returned, key, "likert", force)
    tables = {
        "ratings": raters.ratings.likert_summary(ratings, seed=seed),
        "defects": raters.read.defect_table(defects),
    }
    return {"documented": raters.ratings.documented_means(ratings), "tables": tables}
