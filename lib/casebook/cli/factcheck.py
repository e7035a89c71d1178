"""``casebook factcheck score``: score verdicts against gold labels."""

import json
from pathlib import Path
from typing import Annotated

import typer

from casebook.errors import InputError

app = typer.Typer(
    help="Verify claims, and score verdicts that anyone produced.",
    no_args_is_help=True,
)

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
    app_.add_typer(app, name="factcheck")


@app.callback()
def _group():
    """Verify claims, and score verdicts that anyone produced."""


@app.command()
def score(
    gold: Annotated[Path, typer.Argument(help="CSV or JSONL with id and label.")],
    pred: Annotated[Path, typer.Argument(help="CSV or JSONL with id and label.")],
    off_label: Annotated[
        str, typer.Option(help="wrong, drop or negative: answers of no class.")
    ] = "wrong",
    nei: Annotated[
        str, typer.Option(help="exclude, negative or three_class: INSUFFICIENT.")
    ] = "exclude",
    conflict: Annotated[
        str, typer.Option(help="exclude, negative or three_class: CONFLICTING.")
    ] = "exclude",
    group: Annotated[
        list[str] | None, typer.Option(help="Column of GOLD to score by; repeatable.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column of GOLD whose values belong together.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Claim-only predictions, CSV or JSONL.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Further spelling: REFUTES=NOT_SUPPORTED; repeatable."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    as_json: Json = False,
):
    """Score predictions joined by id: as documented, and corrected with intervals.

    Example: casebook factcheck score gold.jsonl predictions.csv --nei negative --json
    """
    from casebook.factcheck import scoring

    report = scoring.score_files(
        gold,
        pred,
        policy={"off_label": off_label, "nei": nei, "conflict": conflict},
        groups=group or (),
        cluster=cluster,
        baseline=baseline,
        labels=_meanings(label or ()),
        n_boot=resamples,
        seed=seed,
    )
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2, allow_nan=False))
    else:
        typer.echo(report.as_text())


def _meanings(pairs):
    """Read SPELLING=LABEL pairs."""
    unread = [pair for pair in pairs if not all(pair.partition("=")[::2])]
    if unread:
        raise InputError(f"--label {unread[0]}: write SPELLING=LABEL")
    return dict(pair.split("=", 1) for pair in pairs)
