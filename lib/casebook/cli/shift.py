"""``casebook shift | segments``: learn a shift, evaluate it, gate it, apply it to some queries."""

from pathlib import Path

import typer

from casebook import runs, shift
from casebook.cli.common import (
    Json,
    Seed,
    argument,
    command_group,
    exclusive,
    option,
    refuse_idle,
    show,
)

app = command_group("shift", "Learn and evaluate shifts of query embeddings.")
segments_app = command_group("segments", "Apply a shift to some queries and skip others.")

Dataset = argument(str, "Data set, or a folder in BEIR or Mini-Insurance layout.")
Scale = option(float | None, "Scale of the shift; default: the one chosen in training.")
Latest = option(
    bool, "Use the newest training, even a cancelled one; default: the best.", "--latest"
)
Training = option(Path | None, "Use the training in this folder; default: the best.")
Domain = option(str | None, "Results are in results/<domain>; default: the name of the data.")
Tenant = option(str | None, "Tenant; default: CASEBOOK_TENANT or EMBEDDINGSHIFT_TENANT.")


@app.command()
def train(
    context: typer.Context,
    dataset: Dataset,
    mode: option(
        str, "Learner: posneg-uniform, -unit, -violation, -relative or -contrast."
    ) = "posneg-uniform",
    hardneg_topk: option(int, "Hard negatives per query.", min=1) = 1,
    encoder: option(str, "minilm, or the name or folder of another model.") = "minilm",
    by: option(
        str, "What must not be divided between train, dev and test: group, document or query."
    ) = "group",
    seed: Seed = 0,
    domain: Domain = None,
    tenant: Tenant = None,
    as_json: Json = False,
):
    """Learn a shift on the training queries and choose its scale on the development queries.

    The scale is the one with the highest selection score, which is stored and printed.

    Writes shift-training-result.json, shift-training-result.md and training_stats.json.


    Example: casebook shift train insurance --mode posneg-uniform --hardneg-topk 2
    """
    if mode == "posneg-contrast":
        where = "with --mode posneg-contrast, which uses all other documents"
        refuse_idle(context, ("hardneg_topk",), where)
    setup = shift.artifacts.Setup(
        dataset, embedder=encoder, mode=mode, hard_negatives=hardneg_topk, by=by, seed=seed
    )
    layout = _layout(dataset, domain, tenant)
    folder, values, stats = shift.artifacts.train_shift(setup, layout.results)
    lines = [f"{name:20} {value}" for name, value in vars(stats).items()]
    lines.append(
        f"scale {values['Scale']}: selection score {values['SelectionScore']:+z.4f} on the "
        "development questions, 0.7 times the change of map@1 plus 0.3 times that of ndcg@3"
    )
    _, note = shift.artifacts.applied_scale(values)
    lines += [note or "", str(folder)]
    values = {name: value for name, value in values.items() if name != "DeltaVector"}
    value = {"folder": str(folder), "result": values, "stats": vars(stats)}
    show(value, as_json, filter(None, lines))


@app.command()
def run(
    context: typer.Context,
    dataset: Dataset,
    as_json: Json = False,
    latest: Latest = False,
    training: Training = None,
    scale: Scale = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Evaluate a trained shift on the test queries.

    Records two comparable runs, without and with the shift, and writes eval.perQuery.*.json
    and metrics-posneg.json.


    Example: casebook shift run insurance --latest --scale 0.5 --json
    """
    exclusive(context, "training", "latest")
    layout, trained, setup = _trained(dataset, domain, tenant, latest, training)
    arguments = _repeating_arguments(dataset, trained, layout, scale)
    report = shift.artifacts.run_shift(setup, trained, layout, scale=scale, arguments=arguments)
    lines = [report["note"]] if report["note"] else []
    for measure, numbers in report["measures"].items():
        cells = [f"{name} {shift.artifacts.text_of(number)}" for name, number in numbers.items()]
        lines.append(f"{measure:8} {'  '.join(cells)}  n={numbers['delta']['n']}")
    show(report, as_json, lines, [report["folder"], *report["runs"]])


def _layout(dataset, domain, tenant):
    return runs.registry.locate(domain, tenant, default=shift.artifacts.load_dataset(dataset).key)


def _trained(dataset, domain, tenant, latest, folder):
    layout = _layout(dataset, domain, tenant)
    if folder is not None:
        runs.registry.check_tenant(folder, layout.tenant)
    trained = shift.artifacts.find_training(dataset, layout.results, newest=latest, folder=folder)
    return layout, *trained


def _repeating_arguments(dataset, trained, layout, scale):
    """Arguments of the command that runs this very training again, from any folder."""
    folder = Path(dataset)
    in_results = trained.folder.parent.resolve() == layout.results.resolve()
    training = trained.folder.name if in_results else str(trained.folder.resolve())
    arguments = ["shift", "run", str(folder.resolve()) if folder.is_dir() else dataset]
    arguments += ["--training", training, "--domain", layout.domain]
    if layout.tenant:
        arguments += ["--tenant", layout.tenant]
    if scale is not None:
        arguments += ["--scale", str(scale)]
    return arguments


@app.command("eval")
def eval_(
    context: typer.Context,
    dataset: Dataset,
    shift: option(str, "What to apply: learned, identity or zero.") = "learned",
    baseline: option(
        bool, "Compare with no shift, and apply the gate.", "--baseline/--no-baseline"
    ) = True,
    shared_references: option(
        bool,
        "One list of references for all queries, as in EmbeddingShift; diagnostic.",
        "--shared-references",
    ) = False,
    gate_profile: option(
        str, "Rules: documented, documented+cosine, rank or rank+cosine."
    ) = "documented",
    gate_eps: option(float | None, "Tolerated loss; default: that of the profile.") = None,
    gate_decision: option(
        str, "Decide by the bound of the paired interval or by the point value."
    ) = "bound",
    as_json: Json = False,
    latest: Latest = False,
    training: Training = None,
    scale: Scale = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Run the diagnostic evaluators and the acceptance gate; exit 2 if it fails, 4 if undecided.

    Writes run_manifest.json and, with a baseline, acceptance_gate.json.


    Example: casebook shift eval insurance --gate-profile documented+cosine --json
    """
    from casebook.shift.gate import run_evaluators

    if not baseline:
        exclusive(
            context, "baseline", "gate_profile", "gate_eps", "gate_decision", but="--no-baseline"
        )
    if shift != "learned":
        exclusive(context, "shift", "scale", but=f"--shift {shift}")
    exclusive(context, "training", "latest")
    layout, trained, setup = _trained(dataset, domain, tenant, latest, training)
    report = run_evaluators(
        setup,
        trained,
        layout,
        mode="shared" if shared_references else "per-query",
        shift=shift,
        baseline=baseline,
        scale=scale,
        profile=gate_profile,
        eps=gate_eps,
        decision=gate_decision,
    )
    lines = [f"{key} = {mean:.4f}" for key, mean in report["metrics"].items()]
    lines.append(f"means over n = {report['n']} test questions")
    if report["note"]:
        lines.append(report["note"])
    show(report, as_json, lines, [*report["notes"], report["folder"]])
    if report["verdict"]:
        runs.decide.settle(report["verdict"], "; ".join(report["notes"]))


@segments_app.command("compare")
def compare(
    segments: option(Path, "Segments file (JSON)."),
    measure: option(
        str | None, "map@1 or ndcg@3; default: that of the file.", "-m", "--measure"
    ) = None,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Compare no shift, a shift of all queries and a shift of some.

    Example: casebook segments compare --segments segments.json --measure map@1
    """
    parts = shift.segments.read_segments(segments)
    for path in (parts.baseline, parts.shifted):
        runs.registry.check_tenant(path, runs.registry.current_tenant())
    comparison = shift.segments.compare_segments(parts, measure, seed=seed)
    lines = [", ".join(f"{count} {name}" for name, count in comparison["counts"].items())]
    for system, measures in comparison["kpi"].items():
        gains = comparison["delta"].get(system, {})
        for name, number in measures.items():
            mark = "*" if name == comparison["metric"] else " "
            gain = f"  gain {shift.artifacts.text_of(gains[name])}" if gains else ""
            lines.append(f"{mark}{system:10} {name:7} {shift.artifacts.text_of(number)}{gain}")
    show(comparison, as_json, lines)
