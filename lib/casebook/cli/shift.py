"""``casebook shift | segments``: learn a shift, evaluate it, gate it, apply it to some queries."""

from casebook import data, runs, shift
from casebook.cli.commands import command, command_group
from casebook.cli.common import lines_of, show

group = command_group("shift", "Learn and evaluate shifts of query embeddings.")
segments_group = command_group("segments", "Apply a shift to some queries and skip others.")


@command(group)
def train(dataset, domain, tenant, as_json, **options):
    setup = shift.artifacts.Setup(dataset, **options)
    layout = _layout(dataset, domain, tenant)
    folder, values, stats = shift.artifacts.train_shift(setup, layout.results)
    result = {name: value for name, value in values.items() if name != "DeltaVector"}
    report = {"folder": str(folder), "result": result, "stats": stats}
    note = shift.artifacts.why_unmoved(values, values["Scale"])
    chosen = {name: values[name] for name in ("Scale", "SelectionScore")}
    show(report, as_json, *lines_of(stats | chosen | {"note": note}), str(folder))


@command(group)
def run(
    dataset,
    latest,
    training,
    scale,
    domain,
    tenant,
    as_json,
):
    layout, trained, setup = _trained(dataset, latest, training, domain, tenant)
    report = shift.artifacts.run_shift(setup, trained, layout, scale=scale)
    lines = [report["note"]] if report["note"] else []
    for measure, numbers in report["measures"].items():
        cells = [f"{name} {shift.artifacts.text_of(number)}" for name, number in numbers.items()]
        lines.append(f"{measure:8} {'  '.join(cells)}  n={numbers['delta']['n']}")
    show(report, as_json, *lines, report["folder"], *report["runs"])


@command(group, "eval")
def evaluate(
    dataset,
    latest,
    training,
    domain,
    tenant,
    shared_references,
    as_json,
    **options,
):
    trained = _trained(dataset, latest, training, domain, tenant)
    layout, training, setup = trained
    options["mode"] = "shared" if shared_references else "per-query"
    report = shift.artifacts.run_evaluators(setup, training, layout, **options)
    lines = [f"{key} = {mean:.4f}" for key, mean in report["metrics"].items()]
    lines += [f"means over n = {report['n']} test questions", report["note"] or ""]
    show(report, as_json, *lines, *report["notes"], report["folder"])
    if report["verdict"]:
        runs.decide.settle(report["verdict"], "; ".join(report["notes"]))


@command(segments_group)
def compare(segments, measure, seed, as_json):
    parts = shift.segments.read_segments(segments)
    for path in (parts.baseline, parts.shifted):
        runs.registry.check_tenant(path, runs.registry.current_tenant())
    comparison = shift.segments.compare_segments(parts, measure, seed=seed)
    lines = [f"{name}: {count}" for name, count in comparison["counts"].items()]
    for part in ("kpi", "delta"):
        for system, measures in comparison[part].items():
            for name, number in measures.items():
                text = shift.artifacts.text_of(number)
                lines.append(f"{part:6} {system:10} {name:7} {text}")
    show(comparison, as_json, *lines)


def _layout(dataset, domain, tenant):
    return runs.registry.locate(domain, tenant, default=data.load(dataset).key)


def _trained(dataset, latest, folder, domain, tenant):
    layout = _layout(dataset, domain, tenant)
    if folder is not None:
        runs.registry.check_tenant(folder, layout.tenant)
    trained = shift.artifacts.find_training(dataset, layout.results, newest=latest, folder=folder)
    return layout, *trained
