"""``casebook shift | segments``: learn a shift, evaluate it, gate it, apply it to some queries."""

from casebook import data, runs, shift, stats
from casebook.cli.commands import command, command_group, lines_of, show

TESTED = "means over n = {n} test questions in {groups} groups"
group = command_group("shift", "Learn and evaluate shifts of query embeddings.")
segments_group = command_group(
    "segments", "Apply a shift to some queries and skip others."
)


@command(group)
def train(dataset, domain, tenant, as_json, **options):
    dataset = data.load(dataset)
    layout = runs.registry.locate(domain, tenant, default=dataset.key)
    setup = shift.artifacts.Setup(dataset, **options)
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
    measures = {
        measure: _texts(numbers) for measure, numbers in report["measures"].items()
    }
    lines = [*lines_of({"note": report["note"]} | measures), TESTED.format(**report)]
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
    layout, trained, setup = _trained(dataset, latest, training, domain, tenant)
    options["mode"] = "shared" if shared_references else "per-query"
    report = shift.artifacts.run_evaluators(setup, trained, layout, **options)
    lines = [*lines_of(report["metrics"]), TESTED.format(**report)]
    lines += lines_of({"note": report["note"]})
    show(report, as_json, *lines, *report["notes"], report["folder"])
    if report["verdict"]:
        runs.decide.settle(report["verdict"], "; ".join(report["notes"]))


@command(segments_group)
def compare(segments, seed, as_json):
    parts = shift.segments.read_segments(segments)
    for path in (parts.baseline, parts.shifted):
        runs.registry.check_tenant(path, runs.registry.current_tenant())
    comparison = shift.segments.compare_segments(parts, seed=seed)
    lines = [*lines_of(comparison["counts"])]
    for part in ("kpi", "delta"):
        for system, numbers in comparison[part].items():
            lines += lines_of({f"{part} {system}": _texts(numbers)})
    show(comparison, as_json, *lines)


def _texts(numbers):
    from casebook.tables import reason_text

    texts = {}
    for name, number in numbers.items():
        value = "not measured" if number["value"] is None else f"{number['value']:.3f}"
        reason = reason_text(number["reason"] or "")
        texts[name] = (
            f"{value} {stats.intervals.bounds_text(*number['ci'])} {reason}".rstrip()
        )
    return texts


def _trained(dataset, latest, folder, domain, tenant):
    dataset = data.load(dataset)
    layout = runs.registry.locate(domain, tenant, default=dataset.key)
    if folder is not None:
        runs.registry.check_tenant(folder, layout.tenant)
    trained = shift.artifacts.find_training(
        dataset, layout.results, newest=latest, folder=folder
    )
    return layout, *trained
