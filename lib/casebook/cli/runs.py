"""``casebook runs`` and ``casebook gate``: list, compare and decide on runs."""

import shlex
import subprocess
import sys

from casebook import runs
from casebook.cli.commands import command, command_group, declared, lines_of, say, show
from casebook.cli.scores import gate
from casebook.errors import BatchFailed, CheckFailed, InputError
from casebook.readers import read_yaml

group = command_group("runs", "List, compare and promote runs of any experiment.")


def _registry(context, **options):
    context.obj = options


for each in (group, gate):
    each.callback()(declared(_registry, "registry"))


def _listing(context):
    listing = runs.registry.discover(runs.registry.locate(**context.obj))
    for path, why in listing.unreadable.items():
        say(f"unreadable: {path}: {why}")
    return listing


@command(group, "list")
def list_(context, as_json):
    listing = _listing(context)
    rows = listing.runs
    measured = listing.frame.dropna(subset="dataset")
    names = measured.groupby("path")["dataset"].unique()
    rows["data"] = rows["path"].map(names.str.join(", "))
    rows["key"] = rows["key"].map(runs.registry.short_key)
    report = {
        "runsRoot": str(listing.root),
        "runs": rows,
        "unreadable": listing.unreadable,
    }
    show(
        report,
        as_json,
        rows[["completed", "workflow", "path", "data", "success", "key"]],
    )


@command(group)
def compare(context, pair, measure, top, as_json):
    listing = _listing(context)
    if pair:
        report = runs.decide.compare_named(listing, pair, measure)
        changed = report["flips"].query("change != 'unchanged'")
        show(report, as_json, *lines_of(report | {"flips": changed.head(top)}))
    else:
        _show_ranking(listing, measure, top, as_json)


def _show_ranking(listing, measure, top, as_json):
    rows = runs.registry.ranked(listing, measure).head(top)
    table = runs.decide.ranking(listing, rows)
    metric = runs.record.metric_label(runs.record.metric_key(measure))
    report = {
        "runsRoot": str(listing.root),
        "metric": metric,
        "totalRuns": len(listing.runs),
        "unreadable": listing.unreadable,
        "top": table,
    }
    title = f"{listing.root}: {metric}, {len(listing.runs)} runs"
    show(report, as_json, title, table.dropna(axis=1, how="all"))


@command(group)
def active(context, measure, as_json):
    entry = runs.promotions.active_promotion(_listing(context).root, measure)
    lines = [f"no run is promoted for {measure}: use casebook runs decide --apply"]
    show(entry, as_json, *(lines_of(entry) if entry else lines))


@command(group)
def history(context, measure, most, as_json):
    import pandas as pd

    entries = runs.promotions.read_promotions(_listing(context).root, measure)
    newest = entries[::-1][:most]
    columns = ["seq", "at", "action", "metric", "score", "runId", "actor", "reason"]
    show(newest, as_json, pd.DataFrame(newest, columns=columns))


@command(group)
def verify(context, as_json):
    root = _listing(context).root
    faults = runs.promotions.verify(root)
    entries = None if faults else len(runs.promotions.read_promotions(root))
    lines = faults or [f"{entries} entries, the chain holds"]
    show({"entries": entries, "faults": faults}, as_json, *lines)
    if faults:
        raise CheckFailed(
            f"{len(faults)} faults in {root}: restore the log from a copy"
        )


@command(group)
def decide(context, measure, run, apply, as_json, **options):
    listing = _listing(context)
    if run:
        options["run"] = runs.registry.find_run(listing, run)
    decision = runs.decide.decide(listing, measure, **options)
    if apply:
        runs.decide.apply_decision(listing, decision)
    lines = [*lines_of(decision | decision["evidence"] | {"evidence": None})]
    if decision["action"] == runs.decide.PROMOTE and not apply:
        lines.append("nothing was promoted: --apply promotes this run")
    show(decision, as_json, *lines)
    verdict = decision["evidence"]["verdict"]
    runs.decide.settle(verdict, f"{decision['action']}: {verdict}")


@command(group)
def promote(context, reason, measure, run, force, as_json):
    listing = _listing(context)
    if run:
        chosen = runs.registry.find_run(listing, run)
    else:
        chosen = runs.registry.best_run(runs.registry.ranked(listing, measure), measure)
    entry = runs.promotions.promote(listing, chosen, measure, reason, force=force)
    show(entry, as_json, f"promoted for {entry['metric']}: {entry['runId']}")


@command(group)
def rollback(context, reason, measure, as_json):
    entry = runs.promotions.rollback(_listing(context).root, measure, reason)
    show(entry, as_json, f"promoted for {entry['metric']}: {entry['runId']}")


@command(group)
def matrix(context, spec, dry, as_json):
    plan = read_yaml(spec)
    try:
        commands = {
            each["name"]: shlex.join(map(str, each["args"]))
            for each in plan["variants"]
        }
    except (KeyError, TypeError):
        raise InputError(
            f"{spec}: expected variants, a list of name and args"
        ) from None
    if dry:
        show(commands, as_json)
        return
    failed = []
    for name, text in commands.items():
        say(f"{name}: {text}")
        words = [sys.executable, "-m", "casebook", *shlex.split(text)]
        # Standard output is for results.
        if subprocess.run(words, stdout=2, check=False).returncode:
            failed.append(name)
            if plan.get("stopOnFailure", True):
                break
    after = {"compareMetric": "ndcg@3", "top": 10} | plan.get("after", {})
    _show_ranking(_listing(context), after["compareMetric"], after["top"], as_json)
    if failed:
        raise BatchFailed(
            f"{len(failed)} of {len(commands)} variants: {', '.join(failed)}"
        )


@command(gate, "run")
def gate_run(context, run, against, measure, margin, as_json):
    listing = _listing(context)
    if against is None:
        entry = runs.promotions.active_promotion(listing.root, measure)
        if entry is None:
            raise InputError("no run is promoted: name one with --against")
        against = entry["path"]
    both = [runs.registry.find_run(listing, name) for name in (run, against)]
    evidence = runs.decide.weigh(listing, *both, measure, -margin, inclusive=True)
    verdict = evidence["verdict"]
    about = {
        "margin": margin,
        "candidate": both[0]["path"],
        "reference": both[1]["path"],
    }
    result = about | {
        "verdict": verdict,
        "notes": evidence["notes"],
        "evidence": evidence,
    }
    show(result, as_json, *lines_of(about | evidence))
    runs.decide.settle(verdict, f"gate: {verdict}")
