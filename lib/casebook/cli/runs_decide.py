"""``casebook runs decide | promote | rollback`` and ``casebook gate``."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli import run_options as common
from casebook.cli.printing import Json, filled_lines, show
from casebook.errors import Incomparable, InputError
from casebook.runs.record import label

Why = Annotated[str, typer.Option("--reason", help="Kept in the log.")]
Rules = Annotated[Path | None, typer.Option("--gate", help="Gate file: margins per metric.")]
RunName = Annotated[str | None, typer.Option(*("--run", "--runid"), help="Run id, its beginning, or its folder.")]
Rank = Annotated[int | None, typer.Option(min=1, help="Place in order.")]
Least = Annotated[float, typer.Option(min=0, help="Least improvement.")]
Apply = Annotated[bool, typer.Option("--apply", help="Promote if it says so.")]
Keep = Annotated[bool, typer.Option("--write/--no-write", help="Keep the decision as a file.")]
Level = Annotated[float, typer.Option(callback=common.share, help="Coverage of the interval.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the interval.")]
Against = Annotated[str | None, typer.Option(help="Reference; the active run by default.")]
Margin = Annotated[float, typer.Option(min=0, help="Loss tolerated.")]


def decide(
    context: typer.Context,
    metric: common.Metric = common.DEFAULT_METRIC,
    run: RunName = None,
    eps: Least = 1e-6,
    apply: Apply = False,
    write: Keep = True,
    profile: common.Profile = None,
    workflow: common.Workflow = None,
    key: common.Key = None,
    force: common.Force = False,
    include_repo: common.Repo = False,
    level: Level = 0.95,
    seed: Seed = 0,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Decide whether the best run should become active; exit 2, 4 or 5 if not."""
    from casebook.runs import decide as library
    from casebook.runs import decide as reports
    from casebook.runs.decide import settle
    from casebook.runs.registry import find

    common.exclusive(context, "run", "workflow", "key")
    listing = common.open_registry(domain, tenant, runs_root, include_repo)
    rivals = common.chosen(listing, workflow, key)
    named = find(listing, run) if run else None
    rule = {"eps": eps, "force": force, "level": level, "seed": seed}
    found = library.decide(listing, metric, runs=rivals, run=named, profile=profile, **rule)
    report = reports.decision_report(listing, found)
    if write:
        common.written(reports.write_report(listing.root, "decision", report))
    if apply:
        library.apply(listing, found)
    _show_decision(report, as_json, apply)
    settle(found.evidence.verdict, f"{found.action}: {found.evidence.verdict}")


def _show_decision(report, as_json, applied):
    shown = {name: report[name] for name in ("metricKey", "action", "delta")}
    lines = list(filled_lines(shown | report["evidence"]))
    if report["action"] == "Promote" and not applied:
        lines.append("the active run is not changed: --apply makes this one active")
    show(report, as_json, lines)


def promote(
    context: typer.Context,
    reason: Why,
    metric: common.Metric = common.DEFAULT_METRIC,
    run: RunName = None,
    rank: Rank = None,
    rules: Rules = None,
    profile: common.Profile = None,
    workflow: common.Workflow = None,
    key: common.Key = None,
    force: common.Force = False,
    include_repo: common.Repo = False,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Make a run active by name, by rank, or the best one, and log why.

    Exit 5 if the active run was measured on different data, unless forced.

    Example: casebook runs promote --run 20260101T000000Z --reason "agreed on Monday"
    """
    from casebook.runs import promotions as promotion
    from casebook.runs import registry as ordering

    common.exclusive(context, "run", "rank", "workflow", "key")
    listing = common.open_registry(domain, tenant, runs_root, include_repo)
    runs = common.chosen(listing, workflow, key)
    if run:
        target = ordering.find(listing, run)
    elif rank:
        target = _ranked(ordering.order(runs, metric), rank)
    else:
        target = ordering.best(runs, metric, force)
    rivals = [] if run or rank else runs
    across = _across(listing, target, metric, profile, force, rivals)
    digest = None
    if rules:
        digest = _pass_gate(listing, target, rules, metric, profile, force)
    why = promotion.Reason(reason, gate_sha256=digest, incomparable=across)
    before = promotion.active(listing.root, metric, profile)
    entry = promotion.promote(listing, target, metric, why, profile)
    show(entry, as_json, [_now_active(entry, before)])


def _now_active(entry, before):
    same = before and before["path"] == entry["path"]
    kept = ", as before: the active run did not change" if same else ""
    return f"active for {label(entry['metric'])}: {entry['runId']}{kept}"


def _across(listing, target, metric, profile, force, rivals):
    """Tell whether different data compete, which must be asked for."""
    from casebook.runs.promotions import active
    from casebook.runs.registry import score_of

    present = active(listing.root, metric, profile)
    keys = {run.key for run in rivals if score_of(run, metric) is not None}
    keys |= {present["comparabilityKey"]} if present else set()
    across = bool(keys - {target.key})
    if across and not force:
        raise Incomparable(
            "the active run was measured on different data; choose a --profile of its "
            "own, or --force, which is stamped on the promotion"
        )
    return across


def _pass_gate(listing, target, rules, metric, profile, force):
    """Apply a gate file against the active run; give its hash if there is one."""
    from casebook.runs.decide import apply_gate, read_gate, settle
    from casebook.runs.promotions import active
    from casebook.runs.registry import find

    gate = read_gate(rules)
    present = active(listing.root, metric, profile)
    if present is None:
        typer.echo("no run was active: there was nothing to hold the gate to", err=True)
        return None
    reference = find(listing, present["path"])
    result = apply_gate(listing, target, reference, gate, force=force)
    settle(result.verdict, f"not promoted: {'; '.join(result.notes)}")
    return gate.sha256


def _ranked(runs, rank):
    if rank > len(runs):
        raise InputError(f"--rank {rank}: there are {len(runs)} runs")
    return runs[rank - 1]


def rollback(
    reason: Why,
    metric: common.Metric = common.DEFAULT_METRIC,
    profile: common.Profile = None,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Make the run active again that was so before; a second time goes further back."""
    from casebook.runs import promotions as promotion

    root = common.root_of(domain, tenant, runs_root)
    before = promotion.active(root, metric, profile)
    entry = promotion.rollback(root, metric, promotion.Reason(reason), profile)
    show(entry, as_json, [_now_active(entry, before)])


def gate(
    context: typer.Context,
    run: common.Run,
    against: Against = None,
    rules: Rules = None,
    metric: common.Metric = common.DEFAULT_METRIC,
    margin: Margin = 0.005,
    profile: common.Profile = None,
    force: common.Force = False,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Test that a run is not worse than a reference; exit 2, 4 or 5 if not shown."""
    from casebook.runs import decide as library
    from casebook.runs.decide import settle
    from casebook.runs.record import canonical
    from casebook.runs.registry import find

    common.exclusive(context, "rules", "metric", "margin")
    common.exclusive(context, "against", "profile")
    listing = common.open_registry(domain, tenant, runs_root)
    wanted = library.Gate({canonical(metric): margin})
    if rules:
        wanted = library.read_gate(rules)
    if against is None:
        against = _active_path(listing.root, next(iter(wanted.rules)), profile)
    pair = find(listing, run), find(listing, against)
    result = library.apply_gate(listing, *pair, wanted, force=force)
    value = {
        "passed": result.passed,
        "verdict": result.verdict,
        "candidate": pair[0].path,
        "reference": pair[1].path,
        "gateSha256": wanted.sha256,
        "notes": result.notes,
        "evidence": {name: e.as_dict() for name, e in result.evidence.items()},
    }
    show(value, as_json, result.notes)
    settle(result.verdict, f"gate: {result.verdict}")


def _active_path(root, metric, profile):
    """Give the folder of the active run."""
    from casebook.runs.promotions import active

    entry = active(root, metric, profile)
    if entry is None:
        raise InputError(
            f"no run is active for {metric!r}: name one with --against, or make one active with 'casebook runs promote'"
        )
    return entry["path"]


COMMANDS = (decide, promote, rollback)
