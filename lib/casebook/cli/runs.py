"""``casebook runs``: list, compare and choose runs of any experiment."""

from typing import Annotated

import typer

from casebook.cli import run_options as common
from casebook.cli import runs_decide, runs_repeat
from casebook.cli.printing import Json, filled_lines, show, table_lines
from casebook.errors import CheckFailed, Incomparable, InputError
from casebook.runs.record import label

app = typer.Typer(help="List, compare, promote and repeat runs of any experiment.", no_args_is_help=True)


@app.command("list")
def list_(
    workflow: common.Workflow = None,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """List runs, newest first, and files that cannot be read, with the reason.

    Example: casebook runs list --workflow retrieval_ablation
    """
    from casebook.runs.registry import short_key

    listing = common.open_registry(domain, tenant, runs_root)
    rows = [
        {
            "completedUtc": run.completed,
            "workflowName": run.workflow,
            "runId": run.run_id,
            "success": run.success,
            "metrics": len(run.metrics),
            "comparability": short_key(run.key),
            "path": run.path,
        }
        for run in common.chosen(listing, workflow, None)
    ]
    lines = list(table_lines(rows, list(rows[0]))) if rows else ["no readable run"]
    if not rows and listing.runs:
        known = ", ".join(sorted({run.workflow for run in listing.runs}))
        lines = [f"no run of the workflow {workflow!r}; there are: {known}"]
    lines += [f"unreadable: {p}: {why}" for p, why in listing.unreadable.items()]
    value = {"runsRoot": str(listing.root), "runs": rows, "unreadable": listing.unreadable}
    show(value, as_json, lines)


@app.command()
def compare(
    context: typer.Context,
    pair: Annotated[
        list[str] | None, typer.Argument(help="Candidate and reference, for a comparison by query.")
    ] = None,
    metric: common.Metric = common.DEFAULT_METRIC,
    top: Annotated[int, typer.Option(min=1, help="Longest list.")] = 20,
    workflow: common.Workflow = None,
    key: common.Key = None,
    write: common.Write = False,
    out: common.Out = None,
    force: common.Force = False,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Rank runs on a metric, or compare two of them query by query.

    Without names, runs are ranked within their group of comparable ones; a * in the
    metric stands for any system. With two names: difference with interval, test,
    smallest detectable effect and flips.

    Example: casebook runs compare -m "smoke.*.ndcg@10" --write
    """
    from casebook.runs import decide as reports
    from casebook.runs.registry import no_run_holds

    listing = common.open_registry(domain, tenant, runs_root)
    if pair:
        others = ("workflow", "key", "write", "out")
        common.exclusive(context, "pair", *others, but="two named runs")
        _compare_two(listing, pair, metric, top, force, as_json)
        return
    if force:
        raise InputError("--force is for two named runs: ranks stay within each group")
    rows = reports.ranking(listing, metric, common.chosen(listing, workflow, key), top)
    report = reports.comparison_report(listing, metric, rows)
    if write or out:
        common.written(reports.write_report(listing.root, "compare", report, out))
    lines = [f"{listing.root}: {label(report['metricKey'])}, {len(listing.runs)} runs"]
    ranked = any(row["rank"] for row in rows)
    lines += _ranked_lines(rows) if ranked else [no_run_holds(listing.runs, metric)]
    lines += [f"unreadable: {p}: {why}" for p, why in listing.unreadable.items()]
    show(report, as_json, lines)


def _ranked_lines(rows):
    """Lay out a ranking, every score with n, interval and control."""
    from casebook.inference.intervals import bounds_text

    columns = ("rank", "score", "95 %", "n", "control", "metric")
    columns += ("workflowName", "comparability", "runId")
    bounds = [bounds_text(*(row["ci"] or (None, None)), "z.4f") for row in rows]
    rows = [row | {"95 %": text} for row, text in zip(rows, bounds, strict=True)]
    return table_lines(rows, columns)


def _compare_two(listing, pair, metric, top, force, as_json):
    from casebook.runs.pairing import compare_runs
    from casebook.runs.registry import NoRows, find, short_key

    if len(pair) != 2:
        raise InputError("compare takes no run or two: candidate and reference")
    candidate, reference = (find(listing, name) for name in pair)
    differ = candidate.key != reference.key
    if differ and not force:
        raise Incomparable(
            f"measured on different data ({short_key(candidate.key)} and "
            f"{short_key(reference.key)}); --force compares and says so"
        )
    folders = listing.folder(candidate), listing.folder(reference)
    try:
        try:
            found = compare_runs(*folders, metric)
        except Incomparable:  # other queries or groups
            if not force:
                raise
            differ, found = True, compare_runs(*folders, metric, force=True)
    except NoRows as reason:
        raise InputError(f"{metric}: no comparison by query: {reason}") from None
    names = ("difference", "low", "high", "level", "n", "groups", "p_value", "mde")
    names += ("gained", "lost", "unchanged", "reason")
    value = {name: getattr(found, name) for name in names} | {
        "incomparable": differ,
        "flips": found.flips.to_dict("records"),
    }
    lines = list(filled_lines(value | {"flips": None}))
    changed = found.flips[found.flips["change"] != "unchanged"].head(top)
    lines += table_lines(changed.to_dict("records"), list(changed.columns))
    show(value, as_json, lines)


@app.command()
def best(
    metric: common.Metric = common.DEFAULT_METRIC,
    workflow: common.Workflow = None,
    key: common.Key = None,
    write: common.Write = False,
    out: common.Out = None,
    force: common.Force = False,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Show the best run on a metric; failed runs never win.

    Example: casebook runs best -m smoke.full.ndcg@10
    """
    from casebook.runs import decide as reports
    from casebook.runs import registry as ordering

    listing = common.open_registry(domain, tenant, runs_root)
    runs = common.chosen(listing, workflow, key)
    winner = ordering.best(runs, metric, force)
    others = {r.key for r in runs if ordering.score_of(r, metric) is not None}
    report = reports.best_report(listing, metric, winner, len(others) > 1)
    if write or out:
        path = reports.write_report(listing.root, "best", report, out, stamped=False)
        common.written(path)
    show(report, as_json, filled_lines(report))


@app.command()
def active(
    metric: common.Metric = common.DEFAULT_METRIC,
    profile: common.Profile = None,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Show the active run of a metric, who made it so and why.

    Example: casebook runs active -m original:ndcg@3
    """
    from casebook.runs import promotions as promotion

    root = common.root_of(domain, tenant, runs_root)
    entry = promotion.active(root, metric, profile)
    lines = list(filled_lines({**(entry or {}), "decision": None}))
    show(entry, as_json, lines or [f"no active run for {metric}: casebook runs decide"])


@app.command()
def history(
    metric: Annotated[str | None, typer.Option("-m", "--metric", help="Only this; default: all.")] = None,
    profile: common.Profile = None,
    most: Annotated[int, typer.Option("--max", min=1, help="Longest list.")] = 20,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Show promotions and rollbacks, newest first.

    Example: casebook runs history -m original:ndcg@3 --max 5
    """
    from casebook.runs import promotions as promotion

    if profile and metric is None:
        raise InputError("--profile needs the metric whose pointer it is: --metric")
    root = common.root_of(domain, tenant, runs_root)
    entries = promotion.history(root, metric, profile)[: -most - 1 : -1]
    columns = ("seq", "at", "action", "metric", "score", "runId", "actor", "reason")
    show(entries, as_json, table_lines(entries, columns) if entries else ["no entries"])


@app.command()
def verify(
    runs_root: common.Root = None, domain: common.Domain = None, tenant: common.Tenant = None, as_json: Json = False
):
    """Check the promotion log's chain, the pointers and the active runs; exit 2.

    Example: casebook runs verify
    """
    from casebook.runs import promotions as audit
    from casebook.runs import promotions as promotion

    root = common.root_of(domain, tenant, runs_root)
    faults = audit.verify(root)
    entries = len(promotion.history(root)) if not faults else None
    show(
        {"entries": entries, "faults": faults},
        as_json,
        faults
        or [f"{entries} entries, the chain holds" if entries else "no run was promoted yet: there is no log to check"],
    )
    if faults:
        raise CheckFailed(
            f"{len(faults)} faults in {root}: the log or what it names was changed; restore it from a copy"
        )


for command in (*runs_decide.COMMANDS, *runs_repeat.COMMANDS):
    app.command()(command)
app.command("import")(runs_repeat.import_)
