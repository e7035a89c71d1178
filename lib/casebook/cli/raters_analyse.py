"""``casebook raters analyse``: what returned forms say."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli import raters_options as common
from casebook.cli.printing import Json, print_json, records, show_tables
from casebook.cli.run_options import exclusive
from casebook.errors import InputError

SHOWN = ("defects", "preference", "lines", "intervals", "item_tests", "agreement", "rating_tests")

Legacy = Annotated[bool, typer.Option("--legacy", help="Print the documented analysis only.")]
Out = Annotated[Path | None, typer.Option(help="New folder for tables, figures and JSON.")]
Report = Annotated[str | None, typer.Option(help="Run the chapter on the forms, as this run.")]
Resamples = Annotated[int, typer.Option(min=100, help="Bootstraps; sign patterns, if not all count.")]


def analyse(
    context: typer.Context,
    files: common.Forms,
    key: common.Key = None,
    side_col: common.SideCol = None,
    last_column: common.LastColumn = False,
    force: common.Force = False,
    against: common.Against = None,
    legacy: Legacy = False,
    out: Out = None,
    report: Report = None,
    columns: common.Columns = None,
    resamples: Resamples = 10_000,
    permutations: common.Permutations = 200,
    seed: common.Seed = 0,
    as_json: Json = False,
):
    """Analyse returned forms: preference, agreement, ratings, validity."""
    from casebook.raters.opening import open_forms
    from casebook.raters.responses import read_forms

    others = ("out", "report", "against", "resamples", "seed")
    exclusive(context, "legacy", *others)
    if out and out.exists():
        raise InputError(f"{out}: exists: name a new folder, or remove this one")
    names = common.mapping(columns)
    if legacy:
        _legacy(files, key, side_col, last_column, force, names, as_json)
        return
    returned = read_forms(files, names)
    if not common.paired(returned):
        _show_likert(returned, key, force, out, seed, as_json)
        return
    votes = open_forms(returned, key, side_col, last_column, force)
    if votes.frame["choice"].isna().all():
        raise InputError(f"{files[0]}: no form holds a judgement; are they filled?")
    draws = {"resamples": resamples, "permutations": permutations, "seed": seed}
    found = _analysed(votes, key, against, **draws)
    if out:
        _write(out, found)
    if report:
        _chapter(report, files, key, side_col, against, names, draws)
    _show_analysis(found, as_json)


def _legacy(files, key, side_col, last_column, force, names, as_json):
    from casebook.raters import legacy, legacy_records
    from casebook.raters.opening import open_forms
    from casebook.raters.responses import expand, read_forms

    if key:
        judged = legacy_records.records_of(open_forms(read_forms(files, names), key, side_col, last_column, force))
    else:
        options = {"last_column": last_column, "columns": names}
        judged = legacy_records.read_records(expand(files), side_col, **options)
    values = legacy.documented_analysis(judged)
    for line in legacy.impossible(judged, values):
        typer.echo(f"warning: {line}", err=True)
    if as_json:
        print_json(values)
        return
    for line in legacy.documented_lines(values):
        typer.echo(line)


def _analysed(votes, key, against, **options):
    """Analyse with the margin that was registered, if there is one."""
    from casebook.raters.analysis import Options, analyse
    from casebook.raters.opening import registered_margin

    if margin := registered_margin(key):
        options["margin"] = margin
    return analyse(votes, against, Options(**options))


def _show_analysis(found, as_json):
    from casebook.raters.report import kappa_pairs
    from casebook.raters.sentences import answer

    if as_json:
        values = {"answer": answer(found), "tables": records(found.tables)}
        print_json(values)
        return
    for line in answer(found):
        typer.echo(f"- {line}")
    shown = {name: found.tables[name] for name in SHOWN}
    show_tables(shown | {"cohen_kappa": kappa_pairs(found)}, False)
    typer.echo(f"\n{len(found.tables)} tables in all: --out FOLDER writes, --json prints")


def _write(out, found):
    from casebook.raters.opening import write_tables
    from casebook.raters.sentences import answer

    values = {"answer": answer(found), "tables": records(found.tables)}
    write_tables(out, found.tables, values, _figures(found))


def _figures(found):
    from casebook.plots import agreement, preference, use_style

    use_style()
    panel, tables = found.panel, found.tables
    ratings = panel.long_ratings().dropna(subset="rating")
    return {
        "preference": preference.preference_forest(tables["intervals"], panel.focus),
        "votes": agreement.rating_matrix(panel.votes, (-1, 1)),
        "position": preference.position_forest(found.side(), panel.focus),
        "ratings": preference.rating_distributions(ratings),
        "agreement": agreement.agreement_intervals(tables["agreement"]),
    }


def _chapter(run, files, key, side_col, against, names, draws):
    from casebook.run import execute

    parameters = {
        "forms": [str(path.resolve()) for path in files],
        "key": str(key.resolve()) if key else None,
        "side_column": side_col,
        "against": against,
        "columns": names,
        **draws,
    }
    path = execute("06_rater_agreement.ipynb", "rater_agreement-forms", run, parameters)
    line = f"chapter    {path}; 'casebook build --run {run}' makes the book"
    typer.echo(line, err=True)  # --json prints nothing else


def _show_likert(returned, key, force, out, seed, as_json):
    from casebook.raters import likert_report
    from casebook.raters.defects import defect_table
    from casebook.raters.opening import find_key, write_tables
    from casebook.raters.unblinding import unblind_likert

    if key is None:
        raise InputError("Likert forms need their sealed key: --key FILE")
    ratings, defects = unblind_likert(returned, find_key(key), force=force)
    tables = {
        "ratings": likert_report.likert_summary(ratings, seed=seed),
        "counts": likert_report.likert_counts(ratings),
        "defects": defect_table(defects),
    }
    documented = likert_report.documented_means(ratings)
    values = {"documented": documented, "tables": records(tables)}
    if out:
        write_tables(out, tables, values, {})
    if as_json:
        print_json(values)
        return
    show_tables(tables, False)
