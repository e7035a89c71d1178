"""``casebook raters forms | simulate``: blind forms, and a rehearsal with them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json
from casebook.cli.raters_options import Seed
from casebook.cli.run_options import exclusive
from casebook.errors import InputError

Folder = Annotated[Path, typer.Argument(help="New folder of the study.")]
Systems = Annotated[list[str] | None, typer.Option(help="NAME=FILE of answers; repeat.")]
Explanations = Annotated[Path | None, typer.Option(help="CSV of explanations, for Likert forms.")]
Raters = Annotated[list[str] | None, typer.Option(help="LABEL:lay or LABEL:expert; repeat.")]
StudyName = Annotated[str | None, typer.Option(help="Name that raters read.")]
ItemCount = Annotated[int | None, typer.Option(min=1, help="Items to draw.")]
PerItem = Annotated[int | None, typer.Option(min=1, help="Raters of each comparison.")]
PairsPerItem = Annotated[int | None, typer.Option(min=1, help="Pairs of systems on each item.")]
Focus = Annotated[str | None, typer.Option(help="System under study.")]
Margin = Annotated[float, typer.Option(help="No difference: 0.5 +- this.")]
WinRate = Annotated[float, typer.Option(help="State the power for it.")]
Guess = Annotated[str | None, typer.Option(help="Ask raters to guess, with this question.")]
Formats = Annotated[list[str] | None, typer.Option("--format", help="xlsx or csv; repeat.")]
IdField = Annotated[str, typer.Option(help="Field; dots lead in.")]
PromptField = Annotated[str, typer.Option(help="Field.")]
AnswerField = Annotated[str, typer.Option(help="Field.")]
Stratify = Annotated[str | None, typer.Option(help="Field of the stratum.")]
Common = Annotated[bool, typer.Option("--common", help="Use items that all systems answered.")]
SecretFile = Annotated[Path | None, typer.Option(help="File with the secret; drawn by default.")]


def forms(
    context: typer.Context,
    folder: Folder,
    system: Systems = None,
    explanations: Explanations = None,
    rater: Raters = None,
    study: StudyName = None,
    items: ItemCount = None,
    per_item: PerItem = None,
    pairs_per_item: PairsPerItem = None,
    focus: Focus = None,
    margin: Margin = 0.05,
    win_rate: WinRate = 0.65,
    guess: Guess = None,
    format_: Formats = None,
    id_field: IdField = "item_id",
    prompt_field: PromptField = "prompt",
    answer_field: AnswerField = "answer",
    stratify: Stratify = None,
    common: Common = False,
    secret_file: SecretFile = None,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Make one blind form per rater, the sealed key and the pre-registration."""
    from casebook.raters.forms import Plan

    drawn = ("system", "items", "per_item", "pairs_per_item", "focus", "margin")
    exclusive(context, "explanations", *drawn, "win_rate", "guess", "stratify")
    raters = _raters(rater)
    name, formats = study or folder.name, tuple(format_ or ["xlsx"])
    secret = _secret(secret_file)
    if explanations:
        report = _likert(explanations, folder, name, raters, secret, formats)
    else:
        fields = (id_field, prompt_field, answer_field, stratify)
        draw = {"items": items, "per_item": per_item, "pairs_per_item": pairs_per_item}
        test = {"focus": focus, "margin": margin, "win_rate": win_rate}
        shown = {"guess": guess, "formats": formats}
        plan = Plan(name, raters, seed=seed, **draw, **test, **shown)
        report = _paired(system, fields, common, folder, plan, secret)
    _show_forms(folder, report, as_json)


def _raters(texts):
    found = _named(texts, ":", "LABEL:KIND")
    if not found:
        raise InputError("name the raters: --rater r1:lay --rater r2:expert")
    return found


def _paired(systems, fields, common, folder, plan, secret):
    from casebook.raters.forms import Fields, make_forms, read_answers

    files = _named(systems, "=", "NAME=FILE")
    answers, account = read_answers(files, Fields(*fields), common=common)
    return make_forms(answers, folder, plan, secret=secret, account=account)


def _likert(explanations, folder, name, raters, secret, formats):
    import pandas as pd

    from casebook.raters.forms import make_likert_forms

    try:
        table = pd.read_csv(explanations, dtype=str, keep_default_na=False)
    except OSError as error:
        raise InputError(f"{explanations}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{explanations}: is not UTF-8; save it as 'CSV UTF-8'") from None
    except ValueError as error:
        problem = " ".join(str(error).split())
        raise InputError(f"{explanations}: is not CSV: {problem}") from None
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
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None


def _show_forms(folder, report, as_json):
    if as_json:
        print_json({"folder": str(folder), **report})
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
    if alike := report.get("identical_answers"):
        some = ", ".join(dict.fromkeys(row["item"] for row in alike[:5]))
        shown = f"{len(alike)} pairs of answers are the same (items {some} ...)"
        typer.echo(f"warning: {shown}: their votes say nothing", err=True)
    typer.echo(f"hand out   {folder / 'for_raters'}")
    typer.echo(f"keep back  {folder / 'sealed'} (key SHA-256 below)")
    typer.echo(f"publish    {folder / 'preregistration.json'}")
    typer.echo(f"key        {registered['key_sha256']}")
    typer.echo(
        "next: hand the forms out, put those that come back into one folder, then "
        f"'casebook raters analyse FOLDER --key {folder}'"
    )


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
    """Fill the workbooks of a study by a simulated panel, to rehearse the analysis."""
    from casebook.raters.simulate import Truth, fill_forms

    truth = Truth(effect, item_sd, rater_sd, left, ties, blank)
    for path in fill_forms(study, folder, truth, seed=seed):
        typer.echo(str(path))
    typer.echo(f"simulated, not judged: the true win rate is {truth.win_rate:.3f}")
