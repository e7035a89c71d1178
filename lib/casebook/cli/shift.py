"""``casebook shift | segments``: learn a shift, run it, judge it, apply it to some."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json
from casebook.cli.run_options import exclusive, given
from casebook.errors import InputError

app = typer.Typer(help="Learn and evaluate shifts of query embeddings.", no_args_is_help=True)
segments_app = typer.Typer(help="Apply a shift to some queries.", no_args_is_help=True)

Dataset = Annotated[str, typer.Argument(help="Data set, or a folder in BEIR or Mini-Insurance layout.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the division of the queries.")]
Scale = Annotated[float | None, typer.Option(help="Instead of the scale chosen in training.")]
Latest = Annotated[bool, typer.Option("--latest", help="The newest training, even if cancelled.")]
Training = Annotated[Path | None, typer.Option(help="Folder of one training instead of the best.")]
Domain = Annotated[str, typer.Option(help="Results lie in results/<domain>.")]
Tenant = Annotated[str | None, typer.Option(help="Whose results they are.")]
WhichShift = Annotated[str, typer.Option(help="learned, identity or zero.")]
Baseline = Annotated[bool, typer.Option("--baseline/--no-baseline", help="Compare, and gate.")]
SharedReferences = Annotated[bool, typer.Option("--shared-references", help="Diagnostic, as documented.")]
GateProfile = Annotated[str, typer.Option(help="documented, documented+cosine, rank or rank+cosine.")]
GateEps = Annotated[float | None, typer.Option(help="Tolerated loss, instead of the profile's.")]
GateDecision = Annotated[str, typer.Option(help="bound (of the paired interval) or point.")]


@app.command()
def train(
    context: typer.Context,
    dataset: Dataset,
    mode: Annotated[str, typer.Option(help="Learner: posneg-...")] = "posneg-uniform",
    hardneg_topk: Annotated[int, typer.Option(min=1, help="Negatives a query.")] = 1,
    embedder: Annotated[str, typer.Option(help="minilm, semantic-hash, sha256, or a model.")] = "minilm",
    noise: Annotated[float, typer.Option(min=0, help="Of a simulator, seeded.")] = 0.0,
    by: Annotated[str, typer.Option(help="group, document or query.")] = "group",
    seed: Seed = 0,
    domain: Domain = "insurance",
    tenant: Tenant = None,
    as_json: Json = False,
):
    """Learn on train, choose the scale on dev; write the training's three files.

    Example: casebook shift train insurance --mode posneg-uniform --hardneg-topk 2
    """
    from casebook.shift.preparation import Setup
    from casebook.shift.workflow import train

    if mode == "posneg-contrast" and given(context, "hardneg_topk"):
        raise InputError(
            "--hardneg-topk means nothing beside --mode posneg-contrast, which takes all other documents: leave it out"
        )
    setup = Setup(dataset, embedder, mode, hardneg_topk, by, seed, noise)
    folder, result, stats = train(setup, _layout(domain, tenant).results)
    values = {k: v for k, v in result.values.items() if k != "DeltaVector"}
    if as_json:
        print_json({"folder": str(folder), "result": values, "stats": stats.as_dict()}, allow_nan=False)
        return
    for name, value in stats.as_dict().items():
        typer.echo(f"{name:20} {value}")
    typer.echo(f"scale {values['Scale']}, dev score {values['SelectionScore']:+z.4f}")
    if values["IsCancelled"]:
        typer.echo(f"cancelled: {values['CancelReason']}")
    elif not values["Scale"]:
        typer.echo("no shift was better than none on dev: it will not be applied")
    typer.echo(str(folder))


@app.command()
def run(
    context: typer.Context,
    dataset: Dataset,
    latest: Latest = False,
    training: Training = None,
    scale: Scale = None,
    domain: Domain = "insurance",
    tenant: Tenant = None,
    as_json: Json = False,
):
    """Apply a trained shift to the test queries and record two comparable runs.

    Example: casebook shift run insurance --latest --scale 0.5 --json
    """
    from casebook.shift.running import run, text_of

    exclusive(context, "training", "latest")
    layout = _layout(domain, tenant, training)
    result, setup = _trained(dataset, layout, latest, training)
    again = _arguments(dataset, result, layout, domain, scale)
    report = run(setup, result, layout, scale=scale, arguments=again)
    if as_json:
        records = [str(path) for path in report.records]
        own = {"folder": str(report.folder), "runs": records, "values": report.values}
        own |= {"measures": report.metrics, "note": report.note}
        print_json(own, allow_nan=False)
        return
    if report.note:
        typer.echo(report.note)
    for measure, found in report.metrics.items():
        cells = "  ".join(f"{name} {text_of(n)}" for name, n in found.items())
        typer.echo(f"{measure:8} {cells}  n={found['delta']['n']}")
    for path in (report.folder, *report.records):
        typer.echo(str(path))


def _arguments(dataset, result, layout, domain, scale):
    """Give the command that runs this very training again, from any folder."""
    folder = Path(dataset)
    inside = result.folder.parent.resolve() == layout.results.resolve()
    training = result.folder.name if inside else str(result.folder.resolve())
    arguments = ["shift", "run", str(folder.resolve()) if folder.is_dir() else dataset]
    arguments += ["--training", training, "--domain", domain]
    arguments += ["--tenant", layout.tenant] if layout.tenant else []
    return arguments + ([] if scale is None else ["--scale", str(scale)])


@app.command("eval")
def eval_(
    context: typer.Context,
    dataset: Dataset,
    shift: WhichShift = "learned",
    baseline: Baseline = True,
    shared_references: SharedReferences = False,
    gate_profile: GateProfile = "documented",
    gate_eps: GateEps = None,
    gate_decision: GateDecision = "bound",
    latest: Latest = False,
    training: Training = None,
    scale: Scale = None,
    domain: Domain = "insurance",
    tenant: Tenant = None,
    as_json: Json = False,
):
    """Run the diagnostic evaluators and the gate; exit 2 if it fails, 4 if undecided.

    Example: casebook shift eval insurance --gate-profile documented+cosine --json
    """
    from casebook.runs.decide import settle
    from casebook.shift.acceptance import run_evaluators

    exclusive(context, "training", "latest")
    if not baseline:
        rules = ("gate_profile", "gate_eps", "gate_decision")
        exclusive(context, "baseline", *rules, but="--no-baseline")
    if shift != "learned":
        exclusive(context, "shift", "scale", but=f"--shift {shift}")
    layout = _layout(domain, tenant, training)
    result, setup = _trained(dataset, layout, latest, training)
    mode = "shared" if shared_references else "per-query"
    gate = {"profile": gate_profile, "eps": gate_eps, "decision": gate_decision}
    judged = {"shift": shift, "baseline": baseline, "mode": mode, "scale": scale}
    report = run_evaluators(setup, result, layout, **judged, **gate)
    _show_evaluation(report, as_json)
    if report.gate is not None:
        notes = [check.note for check in report.gate.checks]
        settle(report.gate.verdict, "; ".join(notes))


def _show_evaluation(report, as_json):
    notes = [] if report.gate is None else [c.note for c in report.gate.checks]
    if as_json:
        verdict = None if report.gate is None else report.gate.verdict
        own = {"folder": str(report.folder), "verdict": verdict, "notes": notes}
        own |= {"n": report.n, "metrics": report.metrics, "note": report.note}
        print_json(own, allow_nan=False)
        return
    for key, value in report.metrics.items():
        shown = "undefined" if value is None else f"{value:.4f}"
        typer.echo(f"{key} = {shown}")
    typer.echo(f"means over n = {report.n} test questions")
    notes = [report.note, *notes] if report.note else notes
    for line in (*notes, str(report.folder)):
        typer.echo(line)


@segments_app.command("compare")
def compare(
    segments: Annotated[Path, typer.Option(help="Segments file.")],
    metric: Annotated[str | None, typer.Option(help="map@1 or ndcg@3 instead of the file's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the intervals.")] = 0,
    as_json: Json = False,
):
    """Compare no shift, shift for all and shift for some, query by query.

    Example: casebook segments compare --segments segments.json --metric map@1
    """
    from casebook.runs.registry import check_tenant, current_tenant
    from casebook.shift.running import text_of
    from casebook.shift.segments import compare_segments
    from casebook.shift.segments_file import read_segments

    parts = read_segments(segments)
    for path in (parts.baseline, parts.shifted):
        check_tenant(path, current_tenant())
    found = compare_segments(parts, metric, seed=seed)
    if as_json:
        print_json(found, allow_nan=False)
        return
    typer.echo(", ".join(f"{count} {name}" for name, count in found["counts"].items()))
    for system, measures in found["kpi"].items():
        gains = found["delta"].get(system, {})
        for measure, number in measures.items():
            mark = "*" if measure == found["metric"] else " "
            gain = f"  gain {text_of(gains[measure])}" if gains else ""
            typer.echo(f"{mark}{system:10} {measure:7} {text_of(number)}{gain}")


def _layout(domain, tenant, training=None):
    """Find the folders; a training of another tenant is refused."""
    from casebook.runs.registry import check_tenant, locate

    layout = locate(domain, tenant)
    if training is not None:
        check_tenant(training, layout.tenant)
    return layout


def _trained(dataset, layout, latest, training):
    """Find the training that the options name: its result and its setup."""
    from casebook.shift.workflow import find_training

    return find_training(dataset, layout.results, newest=latest, folder=training)
