"""``casebook factcheck score | run | ablate``: verify claims, score verdicts."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json, show_report
from casebook.errors import BatchFailed, InputError
from casebook.files import refuse_overwriting
from casebook.paths import data_folder

app = typer.Typer(help="Verify claims, and score verdicts that anyone produced.", no_args_is_help=True)

Mode = Annotated[str, typer.Option(help="System that searches.")]
Gate = Annotated[str, typer.Option(help="Least credibility: none, low, medium, high.")]
Labelled = Annotated[Path, typer.Argument(help="CSV or JSONL with id and label.")]
OffLabel = Annotated[str, typer.Option(help="wrong, drop or negative: answers of no class.")]
Insufficient = Annotated[str, typer.Option(help="exclude, negative or three_class: INSUFFICIENT.")]
Conflicting = Annotated[str, typer.Option(help="exclude, negative or three_class: CONFLICTING.")]
Groups = Annotated[list[str] | None, typer.Option(help="Column of GOLD to score by; repeatable.")]
Cluster = Annotated[str | None, typer.Option(help="Column of GOLD whose values belong together.")]
Baseline = Annotated[Path | None, typer.Option(help="Claim-only predictions, CSV or JSONL.")]
Spellings = Annotated[list[str] | None, typer.Option(help="Further spelling: REFUTES=NOT_SUPPORTED; repeatable.")]
Resamples = Annotated[int, typer.Option(min=100, help="Of the bootstrap.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the bootstrap.")]
Claims = Annotated[Path, typer.Argument(help="CSV, JSON(L), or one a line.")]
Collections = Annotated[
    list[str] | None, typer.Option(help="Data set, BEIR folder, or own; repeatable.", show_default="own")
]
Stance = Annotated[str, typer.Option(help="public, features[+maxsim], placeholder, entailment:, model:.")]
Decomposition = Annotated[str, typer.Option(help="rules, documented, none, model:NAME.")]
QueryCount = Annotated[int, typer.Option(min=1, max=5, help="Queries per part.")]
RatingTable = Annotated[Path | None, typer.Option(help="Rating table, YAML.")]
Documented = Annotated[bool, typer.Option("--documented", help="The documented pipeline.")]
Out = Annotated[Path | None, typer.Option(help="Write id and label for the command score.")]


@app.callback()
def _group():
    """Verify claims, and score verdicts that anyone produced."""


@app.command()
def score(
    gold: Labelled,
    pred: Labelled,
    off_label: OffLabel = "wrong",
    nei: Insufficient = "exclude",
    conflict: Conflicting = "exclude",
    group: Groups = None,
    cluster: Cluster = None,
    baseline: Baseline = None,
    label: Spellings = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Score predictions joined by id: as documented, and corrected with intervals.

    Example: casebook factcheck score gold.jsonl predictions.csv --nei negative --json
    """
    from casebook.factcheck import score as scoring

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
    show_report(report, as_json)


@app.command()
def run(
    context: typer.Context,
    claims: Claims,
    corpus: Collections = None,
    mode: Mode = "bm25_stemmed",
    stance: Stance = "public",
    decomposition: Decomposition = "rules",
    k: QueryCount = 3,
    gate: Gate = "low",
    ratings: RatingTable = None,
    documented: Documented = False,
    out: Out = None,
    as_json: Json = False,
):
    """Check claims against collections; exit 3 if some could not be checked.

    Example: casebook factcheck run claims.jsonl --corpus own --out verdicts.jsonl
    """
    from casebook.factcheck import pipeline as checking

    if documented:
        _refuse_beside_documented(context)
    folders = [own[1] for own in map(data_folder, corpus or ()) if own]
    refuse_overwriting(out, claims, ratings, *folders)
    _, results, config = checking.check_file(
        claims,
        corpus or [checking.OWN],
        mode=mode,
        stance=stance,
        decomposition=decomposition,
        documented=documented,
        ratings=ratings,
        k=k,
        gate=gate,
    )
    if out is not None:
        checking.write_predictions(out, results)
    report = checking.as_report(results, config)
    if as_json:
        print_json(report, allow_nan=False)
    else:
        _show_checked(report)
    crashed = sum(result.error is not None for result in results)
    if crashed:
        raise BatchFailed(f"{crashed} of {len(results)} claims could not be checked")


def _refuse_beside_documented(context):
    """Refuse what the documented pipeline sets itself."""
    for name in ("stance", "decomposition", "gate", "ratings"):
        if context.get_parameter_source(name).name == "COMMANDLINE":
            raise InputError(f"--documented sets --{name} itself: leave one out")


def _show_checked(report):
    for claim in report["claims"]:
        typer.echo(f"{claim['claim_id']}: {claim['verdict'] or claim['error']}")
        for line in (claim["explanation"] or "").splitlines():
            typer.echo(f"    {line}")
    counted = (f"{n} {name}" for name, n in report["outcomes"].items())
    typer.echo(", ".join(counted))


@app.command()
def ablate(
    rate: Annotated[list[float] | None, typer.Option(help="Of documents with a planted note; repeatable.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of the notes.")] = 3,
    gate: Gate = "low",
    mode: Mode = "bm25_stemmed",
    seed: Annotated[int, typer.Option(min=0, help="Of intervals and tests.")] = 0,
    as_json: Json = False,
):
    """Run the 2^4 factorial and the nine configurations on the own test claims.

    Example: casebook factcheck ablate --rate 0 --rate 1 --seeds 3 --json
    """
    from casebook.factcheck.ablation import ablation_report

    report = ablation_report(rates=tuple(rate or (0.0, 1.0)), seeds=seeds, gate=gate, mode=mode, seed=seed)
    show_report(report, as_json)


def _meanings(pairs):
    """Read SPELLING=LABEL pairs."""
    unread = [pair for pair in pairs if not all(pair.partition("=")[::2])]
    if unread:
        raise InputError(f"--label {unread[0]}: write SPELLING=LABEL")
    return dict(pair.split("=", 1) for pair in pairs)
