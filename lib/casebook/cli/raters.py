"""``casebook raters``: blind forms, audits and the analysis of a human evaluation."""

import json
from pathlib import Path
from typing import Annotated

import typer

from casebook.errors import CheckFailed, InputError

SHOWN = (
    "defects",
    "preference",
    "intervals",
    "item_tests",
    "agreement",
    "rating_tests",
)

app = typer.Typer(
    help="Double-blind human evaluation: forms, audit, analysis.",
    no_args_is_help=True,
)

Forms = Annotated[list[Path], typer.Argument(help="Forms, or folders of forms.")]
Key = Annotated[
    Path | None,
    typer.Option(help="Sealed key, or the study's folder that holds it."),
]
SideCol = Annotated[
    str | None, typer.Option("--side-col", help="Key column of documented forms.")
]
LastColumn = Annotated[
    bool, typer.Option("--last-column", help="Allow the last column as the key.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Unblind although forms are missing.")
]
Against = Annotated[
    str | None, typer.Option(help="System to hold the focus against, if several.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of every random choice.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app_):
    """Add the group to the application.

    Parameters
    ----------
    app_ : typer.Typer
        The application.

    Returns
    -------
    None
        The commands are registered in place.
    """
    app_.add_typer(app, name="raters")


@app.command()
def forms(
    folder: Annotated[Path, typer.Argument(help="New folder of the study.")],
    system: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE of answers; repeat.")
    ] = None,
    explanations: Annotated[
        Path | None, typer.Option(help="CSV of explanations, for Likert forms.")
    ] = None,
    rater: Annotated[
        list[str] | None, typer.Option(help="LABEL:lay or LABEL:expert; repeat.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="Name that raters read.")] = None,
    items: Annotated[int | None, typer.Option(min=1, help="Items to draw.")] = None,
    per_item: Annotated[
        int | None, typer.Option(min=1, help="Raters of each comparison.")
    ] = None,
    pairs_per_item: Annotated[
        int | None, typer.Option(min=1, help="Pairs of systems on each item.")
    ] = None,
    focus: Annotated[str | None, typer.Option(help="System under study.")] = None,
    margin: Annotated[float, typer.Option(help="No difference: 0.5 +- this.")] = 0.05,
    win_rate: Annotated[float, typer.Option(help="State the power for it.")] = 0.65,
    guess: Annotated[
        str | None, typer.Option(help="Ask raters to guess, with this question.")
    ] = None,
    format_: Annotated[
        list[str] | None, typer.Option("--format", help="xlsx or csv; repeat.")
    ] = None,
    id_field: Annotated[str, typer.Option(help="Field; dots lead in.")] = "item_id",
    prompt_field: Annotated[str, typer.Option(help="Field.")] = "prompt",
    answer_field: Annotated[str, typer.Option(help="Field.")] = "answer",
    stratify: Annotated[str | None, typer.Option(help="Field of the stratum.")] = None,
    common: Annotated[
        bool, typer.Option("--common", help="Use items that all systems answered.")
    ] = False,
    secret_file: Annotated[
        Path | None, typer.Option(help="File with the secret; drawn by default.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Make one blind form per rater, the sealed key and the pre-registration.

    Example: casebook raters forms pilot --system rag=a.jsonl --system base=b.jsonl
    --rater r1:lay --rater r2:expert --items 50
    """
    from casebook.raters.answers import Fields, read_answers
    from casebook.raters.forms import Plan, make_forms

    raters = _named(rater, ":", "LABEL:KIND")
    if not raters:
        raise InputError("name the raters: --rater r1:lay --rater r2:expert")
    name, formats = study or folder.name, tuple(format_ or ["xlsx"])
    secret = _secret(secret_file)
    if explanations:
        report = _likert(explanations, folder, name, raters, secret, formats)
    else:
        files = _named(system, "=", "NAME=FILE")
        fields = Fields(id_field, prompt_field, answer_field, stratify)
        answers, account = read_answers(files, fields, common=common)
        plan = Plan(
            study=name,
            raters=raters,
            focus=focus,
            items=items,
            per_item=per_item,
            pairs_per_item=pairs_per_item,
            seed=seed,
            margin=margin,
            win_rate=win_rate,
            guess=guess,
            formats=formats,
        )
        report = make_forms(answers, folder, plan, secret=secret, account=account)
    _show_forms(folder, report, as_json)


def _likert(explanations, folder, name, raters, secret, formats):
    import pandas as pd

    from casebook.raters.likert import make_likert_forms

    try:
        table = pd.read_csv(explanations, dtype=str, keep_default_na=False)
    except (ValueError, OSError) as error:
        raise InputError(f"{explanations}: cannot be read as CSV: {error}") from error
    options = {"secret": secret, "formats": formats}
    try:
        return make_likert_forms(table, folder, name, raters, **options)
    except InputError as error:
        raise InputError(f"{explanations}: {error}") from None


def _named(texts, mark, form):
    """Read repeated options of the form NAME=VALUE."""
    found = {}
    for text in texts or []:
        name, given, value = text.partition(mark)
        if not (name and given and value):
            raise InputError(f"{text!r} is not of the form {form}")
        if name in found:
            raise InputError(f"{name!r} is named twice: {form} needs different names")
        found[name] = value
    return found


def _secret(path):
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _show_forms(folder, report, as_json):
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **report}, indent=2))
        return
    registered = report["preregistration"]
    for name, value in registered["design"].items():
        typer.echo(f"{name:22} {value}")
    if power := registered.get("power"):
        low, high = power["ci"]
        assumed = ", ".join(f"{n} {v:g}" for n, v in power["assumed"].items())
        shown = f"{power['estimate']:.2f} [{low:.2f}, {high:.2f}], simulated: {assumed}"
        typer.echo(f"{'power':22} {shown}")
    for change in report["text_changes"]:
        typer.echo(f"changed: {json.dumps(change, ensure_ascii=False)}")
    for text in report.get("texts_with_a_system_name", []):
        typer.echo(f"names a system: {text['item']}, {text['column']}")
    typer.echo(f"hand out   {folder / 'for_raters'}")
    typer.echo(f"keep back  {folder / 'sealed'} (key SHA-256 below)")
    typer.echo(f"publish    {folder / 'preregistration.json'}")
    typer.echo(f"key        {registered['key_sha256']}")


@app.command()
def simulate(
    study: Annotated[Path, typer.Argument(help="Folder of a study.")],
    folder: Annotated[Path, typer.Argument(help="Where the filled forms go.")],
    effect: Annotated[float, typer.Option(help="Log odds for the focus.")] = 0.7,
    item_sd: Annotated[float, typer.Option(min=0, help="Of the log odds.")] = 1.3,
    rater_sd: Annotated[float, typer.Option(min=0, help="Of the log odds.")] = 0.5,
    left: Annotated[float, typer.Option(help="Log odds for the left side.")] = 0.0,
    ties: Annotated[float, typer.Option(min=0, max=1, help="Share of ties.")] = 0.1,
    blank: Annotated[float, typer.Option(min=0, max=1, help="Blank ratings.")] = 0.0,
    seed: Seed = 0,
):
    """Fill the workbooks of a study by a simulated panel, to rehearse the analysis.

    Example: casebook raters simulate pilot rehearsal --effect 0 --seed 7
    """
    from casebook.raters.simulated import Truth, fill_forms

    truth = Truth(effect, item_sd, rater_sd, left, ties, blank)
    for path in fill_forms(study, folder, truth, seed=seed):
        typer.echo(str(path))
    typer.echo(f"simulated, not judged: the true win rate is {truth.win_rate:.3f}")


@app.command()
def audit(
    files: Forms,
    key: Key = None,
    side_col: SideCol = None,
    last_column: LastColumn = False,
    force: Force = False,
    against: Against = None,
    word: Annotated[
        list[str] | None, typer.Option(help="Name that must not be seen; repeat.")
    ] = None,
    permutations: Annotated[int, typer.Option(min=1, help="Content audit.")] = 200,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Scan forms for leaks; with the key of returned forms, audit the judgements too.

    Exits with 2 if a form tells the system other than by its texts.

    Example: casebook raters audit pilot/for_raters --word rag --word baseline
    """
    from casebook.raters.leaks import scan_forms
    from casebook.raters.opening import open_forms
    from casebook.raters.responses import read_forms

    returned = read_forms(files)
    opened = None
    if any(form.rows["preferred"].notna().any() for form in _paired(returned)):
        opened = open_forms(returned, key, side_col, last_column, force)
    names = [*(word or []), *_system_names(key, opened)]
    tables = {"leaks": scan_forms([form.path for form in returned], names)}
    if opened is not None:
        tables |= _validity(opened, against, permutations, seed)
    _show_tables(tables, as_json)
    told = tables["leaks"]
    told = told[told["kind"] != "word_in_text"]
    if len(told):
        raise CheckFailed(f"{len(told)} leaks besides the texts; see above")


def _paired(forms_):
    return [form for form in forms_ if form.layout.name == "paired"]


def _system_names(key, opened):
    from casebook.raters.opening import find_key

    if opened is not None:
        return opened.systems
    return find_key(key)["systems"] if key else []


def _validity(votes, against, permutations, seed):
    from casebook.raters import checks
    from casebook.raters.analysis import content_audit, guesses
    from casebook.raters.panel import panel_of

    panel = panel_of(votes, against)
    return {
        **content_audit(panel, permutations, seed),
        "guesses": guesses(panel),
        "position": checks.position_table(panel),
        "length": checks.length_effect(panel, seed=seed),
        "order": checks.order_drift(panel),
        "duplicates": checks.duplicate_raters(panel),
    }


def _show_tables(tables, as_json):
    if as_json:
        typer.echo(json.dumps(_records(tables), indent=2))
        return
    for name, table in tables.items():
        typer.echo(f"\n{name}")
        empty = "nothing found" if name == "leaks" else "nothing to report"
        text = table.to_string(index=False, float_format="{:.4g}".format, na_rep="-")
        typer.echo(text if len(table) else empty)


def _records(tables):
    return {
        name: json.loads(table.to_json(orient="records", double_precision=15))
        for name, table in tables.items()
    }


@app.command()
def analyse(
    files: Forms,
    key: Key = None,
    side_col: SideCol = None,
    last_column: LastColumn = False,
    force: Force = False,
    against: Against = None,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Print the documented analysis only.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="New folder for tables, figures and JSON.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="Run the chapter on the forms, as this run.")
    ] = None,
    mixed: Annotated[
        bool, typer.Option("--mixed/--no-mixed", help="Fit the mixed models.")
    ] = True,
    resamples: Annotated[int, typer.Option(min=100, help="Of bootstraps.")] = 10_000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Analyse returned forms: preference, agreement, ratings, validity.

    Example: casebook raters analyse returned --key pilot --out pilot_results
    """
    from casebook.raters.analysis import Options
    from casebook.raters.analysis import analyse as compute
    from casebook.raters.opening import open_forms, registered_margin
    from casebook.raters.responses import read_forms

    if legacy:
        _legacy(files, key, side_col, last_column, force, as_json)
        return
    returned = read_forms(files)
    if not _paired(returned):
        _show_likert(returned, key, force, out, seed, as_json)
        return
    votes = open_forms(returned, key, side_col, last_column, force)
    options = {"n_boot": resamples, "seed": seed, "mixed": mixed}
    if margin := registered_margin(key):
        options["margin"] = margin
    found = compute(votes, against, Options(**options))
    if out:
        _write(out, found)
    if report:
        _chapter(report, files, key, side_col, against, seed)
    _show_analysis(found, as_json)


def _legacy(files, key, side_col, last_column, force, as_json):
    from casebook.raters import legacy
    from casebook.raters.opening import open_forms
    from casebook.raters.responses import expand, read_forms

    if key:
        records = legacy.records_of(
            open_forms(read_forms(files), key, side_col, last_column, force)
        )
    else:
        paths = expand(files)
        records = legacy.read_records(paths, side_col, last_column=last_column)
    values = legacy.documented_analysis(records)
    if as_json:
        typer.echo(json.dumps(values, indent=2))
        return
    for line in legacy.documented_lines(values):
        typer.echo(line)


def _show_analysis(found, as_json):
    from casebook.raters.sentences import answer

    if as_json:
        values = {"answer": answer(found), "tables": _records(found.tables)}
        typer.echo(json.dumps(values, indent=2))
        return
    for line in answer(found):
        typer.echo(f"- {line}")
    _show_tables({name: found.tables[name] for name in SHOWN}, False)
    typer.echo(
        f"\n{len(found.tables)} tables in all: --out FOLDER writes, --json prints"
    )


def _write(out, found):
    from casebook.raters.opening import write_tables
    from casebook.raters.sentences import answer

    values = {"answer": answer(found), "tables": _records(found.tables)}
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


def _chapter(run, files, key, side_col, against, seed):
    from casebook.notebooks import execute

    parameters = {
        "forms": [str(path.resolve()) for path in files],
        "key": str(key.resolve()) if key else None,
        "side_column": side_col,
        "against": against,
        "seed": seed,
    }
    path = execute("06_rater_agreement.ipynb", "rater_agreement-forms", run, parameters)
    typer.echo(f"chapter    {path}; 'casebook build --run {run}' makes the book")


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
    values = {"documented": documented, "tables": _records(tables)}
    if out:
        write_tables(out, tables, values, {})
    if as_json:
        typer.echo(json.dumps(values, indent=2))
        return
    _show_tables(tables, False)
