"""``casebook factcheck score | run | ablate``: verify claims, score verdicts."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.common import Json, Original, Out, Resamples, Seed, given, pairs, print_json
from casebook.errors import BatchFailed, InputError
from casebook.files import refuse_overwriting
from casebook.paths import data_folder

app = typer.Typer(help="Verify claims, and score verdicts that anyone produced.", no_args_is_help=True)

Mode = Annotated[str, typer.Option(help="System that searches.")]
Gate = Annotated[str, typer.Option(help="Least credibility: none, low, medium, high.")]
Labelled = Annotated[Path, typer.Argument(help="CSV or JSONL with id and label.")]
Left = "exclude, negative or three_class"


@app.command()
def score(
    gold: Labelled,
    pred: Labelled,
    off_label: Annotated[str, typer.Option(help="wrong, drop or negative: answers of no class.")] = "wrong",
    nei: Annotated[str, typer.Option(help=f"{Left}: INSUFFICIENT.")] = "exclude",
    conflict: Annotated[str, typer.Option(help=f"{Left}: CONFLICTING.")] = "exclude",
    group: Annotated[list[str] | None, typer.Option(help="Column of GOLD to score by; repeatable.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Column of GOLD whose values belong together.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="Claim-only predictions, CSV or JSONL.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Further spelling: REFUTES=NOT_SUPPORTED; repeatable.")
    ] = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Score predictions joined by id: as documented, and corrected with intervals.

    Example: casebook factcheck score gold.jsonl predictions.csv --nei negative --json
    """
    from casebook.factcheck.score import score_files

    report = score_files(
        gold,
        pred,
        policy={"off_label": off_label, "nei": nei, "conflict": conflict},
        groups=group or (),
        cluster=cluster,
        baseline=baseline,
        labels=pairs(label, "=", "SPELLING=LABEL"),
        n_boot=resamples,
        seed=seed,
    )
    _show(report, as_json)


def _show(report, as_json):
    if as_json:
        print_json(report.as_dict())
    else:
        typer.echo(report.as_text())


@app.command()
def run(
    context: typer.Context,
    claims: Annotated[Path, typer.Argument(help="CSV, JSON(L), or one a line.")],
    corpus: Annotated[
        list[str] | None, typer.Option(help="Data set, BEIR folder, or own; repeatable.", show_default="own")
    ] = None,
    mode: Mode = "bm25_stemmed",
    stance: Annotated[
        str, typer.Option(help="public, features[+maxsim], placeholder, entailment:, model:.")
    ] = "public",
    decomposition: Annotated[str, typer.Option(help="rules, documented, none, model:NAME.")] = "rules",
    k: Annotated[int, typer.Option("--k", min=1, max=5, help="Queries per part.")] = 3,
    gate: Gate = "low",
    ratings: Annotated[Path | None, typer.Option(help="Rating table, YAML.")] = None,
    original: Original = False,
    out: Out = None,
    as_json: Json = False,
):
    """Check claims against collections; exit 3 if some could not be checked.

    Example: casebook factcheck run claims.jsonl --corpus own --out verdicts.jsonl
    """
    from casebook.factcheck.pipeline import OWN, as_report, check_file, write_predictions

    for name in ("stance", "decomposition", "gate", "ratings"):
        if original and given(context, name):
            raise InputError(f"--original sets --{name} itself: leave one out")
    folders = [own[1] for own in map(data_folder, corpus or ()) if own]
    refuse_overwriting(out, claims, ratings, *folders)
    _, results, config = check_file(
        claims,
        corpus or [OWN],
        mode=mode,
        stance=stance,
        decomposition=decomposition,
        documented=original,
        ratings=ratings,
        k=k,
        gate=gate,
    )
    if out is not None:
        write_predictions(out, results)
    report = as_report(results, config)
    if as_json:
        print_json(report)
    else:
        for claim in report["claims"]:
            typer.echo(f"{claim['claim_id']}: {claim['verdict'] or claim['error']}")
            for line in (claim["explanation"] or "").splitlines():
                typer.echo(f"    {line}")
        typer.echo(", ".join(f"{n} {name}" for name, n in report["outcomes"].items()))
    crashed = sum(result.error is not None for result in results)
    if crashed:
        raise BatchFailed(f"{crashed} of {len(results)} claims could not be checked")


@app.command()
def ablate(
    rate: Annotated[list[float] | None, typer.Option(help="Of documents with a planted note; repeatable.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of the notes.")] = 3,
    gate: Gate = "low",
    mode: Mode = "bm25_stemmed",
    seed: Seed = 0,
    as_json: Json = False,
):
    """Run the 2^4 factorial and the nine configurations on the own test claims.

    Example: casebook factcheck ablate --rate 0 --rate 1 --seeds 3 --json
    """
    from casebook.factcheck.ablation import ablation_report

    report = ablation_report(rates=tuple(rate or (0.0, 1.0)), seeds=seeds, gate=gate, mode=mode, seed=seed)
    _show(report, as_json)
