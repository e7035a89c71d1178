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
    folder, result, stats = shift.artifacts.train_shift(setup, layout.results)
    values = {name: value for name, value in result.values.items() if name != "DeltaVector"}
    lines = [f"{name:20} {value}" for name, value in vars(stats).items()]
    lines.append(
        f"scale {values['Scale']}: selection score {values['SelectionScore']:+z.4f} on the "
        "development questions, 0.7 times the change of map@1 plus 0.3 times that of ndcg@3"
    )
    if not stats.QueriesUsed:
        lines.append(
            "nothing to learn: every training question already has a relevant document "
            "in first place"
        )
    elif values["IsCancelled"]:
        lines.append(f"cancelled: {values['CancelReason']}")
    elif not values["Scale"]:
        lines.append(
            "no scale raised the selection score of the development questions: "
            "the shift will not be applied"
        )
    lines.append(str(folder))
    show({"folder": str(folder), "result": values, "stats": vars(stats)}, as_json, lines)


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
    layout = _layout(dataset, domain, tenant)
    result, setup = _trained(dataset, layout, latest=latest, training=training)
    report = shift.artifacts.run_shift(
        setup,
        result,
        layout,
        scale=scale,
        arguments=_repeating_arguments(dataset, result, layout, scale),
    )
    folder = str(report.folder)
    records = [str(path) for path in report.records]
    lines = [report.note] if report.note else []
    for measure, numbers in report.metrics.items():
        cells = "  ".join(
            f"{name} {shift.artifacts.text_of(number)}" for name, number in numbers.items()
        )
        lines.append(f"{measure:8} {cells}  n={numbers['delta']['n']}")
    value = {
        "folder": folder,
        "runs": records,
        "values": report.values,
        "measures": report.metrics,
        "note": report.note,
    }
    show(value, as_json, lines, [folder, *records])


def _layout(dataset, domain, tenant):
    """Folders of a domain, by default of the data."""
    return runs.registry.locate(domain, tenant, default=shift.artifacts.load_dataset(dataset).key)


def _repeating_arguments(dataset, result, layout, scale):
    """Arguments of the command that runs this very training again, from any folder."""
    folder = Path(dataset)
    in_results = result.folder.parent.resolve() == layout.results.resolve()
    training = result.folder.name if in_results else str(result.folder.resolve())
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
    from casebook.shift.gate import rule_outcome, run_evaluators

    if not baseline:
        exclusive(
            context, "baseline", "gate_profile", "gate_eps", "gate_decision", but="--no-baseline"
        )
    if shift != "learned":
        exclusive(context, "shift", "scale", but=f"--shift {shift}")
    exclusive(context, "training", "latest")
    layout = _layout(dataset, domain, tenant)
    result, setup = _trained(dataset, layout, latest=latest, training=training)
    report = run_evaluators(
        setup,
        result,
        layout,
        mode="shared" if shared_references else "per-query",
        shift=shift,
        baseline=baseline,
        scale=scale,
        profile=gate_profile,
        eps=gate_eps,
        decision=gate_decision,
    )
    verdict = None
    notes = []
    if report.gate is not None:
        verdict = report.gate.verdict
        notes = [rule_outcome(check) for check in report.gate.checks]
    value = {
        "folder": str(report.folder),
        "verdict": verdict,
        "notes": notes,
        "n": report.n,
        "metrics": report.metrics,
        "note": report.note,
    }
    show(value, as_json, [*_metric_lines(report), *notes, str(report.folder)])
    if verdict is not None:
        runs.decide.settle(verdict, "; ".join(notes))


def _metric_lines(report):
    """Lines of the mean metrics of an evaluation, and what they are means of."""
    for key, mean in report.metrics.items():
        text = "undefined" if mean is None else f"{mean:.4f}"
        yield f"{key} = {text}"
    yield f"means over n = {report.n} test questions"
    if report.note:
        yield report.note


def _trained(dataset, layout, *, latest, training):
    """The training that the options name, and its setup; another tenant's is refused."""
    if training is not None:
        runs.registry.check_tenant(training, layout.tenant)
    return shift.artifacts.find_training(dataset, layout.results, newest=latest, folder=training)


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
