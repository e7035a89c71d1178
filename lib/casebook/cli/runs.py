"""``casebook runs`` and ``casebook gate``: list, compare and decide on runs."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import typer

from casebook import runs
from casebook.cli import assistant, scores
from casebook.cli.common import (
    Json,
    Seed,
    argument,
    command_group,
    exclusive,
    filled_lines,
    option,
    say,
    show,
)
from casebook.errors import BatchFailed, CheckFailed, Incomparable, InputError, MeasureNote
from casebook.files import replacing, sha256_file
from casebook.paths import valid_name
from casebook.readers import read_yaml

app = command_group("runs", "List, compare and promote runs of any experiment.")
gate_app = command_group("gate", "Test that a run, a log or a system is not worse than another.")


@app.callback()
@gate_app.callback()
def _registry(
    context: typer.Context,
    runs_root: option(
        Path | None,
        "Folder that holds the runs. Default: that of the domain and tenant, if one is set, "
        "else all of results/ without tenants.",
    ) = None,
    domain: option(str | None, "Domain of the results.") = None,
    tenant: option(str | None, "Tenant; default: CASEBOOK_TENANT.") = None,
    include_repo: option(
        bool, "Include the runs below _repo/MiniInsurance-PosNeg.", "--include-repo-posneg"
    ) = False,
):
    context.obj = {"runs_root": runs_root, "domain": domain, "tenant": tenant}
    context.meta["include"] = include_repo


def _listing(context):
    """The runs of the registry that the options name."""
    folders = runs.registry.locate(**context.obj)
    include = (runs.registry.REPO,) if context.meta["include"] else ()
    listing = runs.registry.discover(folders, include)
    has_log = runs.promotions.has_log(listing.root)
    if listing.frame.empty and not listing.unreadable and not has_log:
        raise InputError(
            f"{listing.root}: no registry: it holds neither runs nor promotions; runs appear "
            "there once an experiment was run, or name another folder with --runs-root"
        )
    for path, why in listing.unreadable.items():
        say(f"unreadable: {path}: {why}")
    return listing


def _note_formula(measure: str):
    key = measure.strip().lower()
    if key in runs.record.DOCUMENTED_KEYS:
        warnings.warn(
            f"{measure} of a run record is EmbeddingShift's formula, original:{key}; the key of a "
            f"standard measure names data set and system, as in smoke.full.{key}",
            MeasureNote,
            stacklevel=2,
        )
    return measure


Measure = option(
    str, "Key of a record, in any letter case.", "-m", "--measure", callback=_note_formula
)
DEFAULT_MEASURE = "original:ndcg@3"
Workflow = option(str | None, "Only runs of this workflow (experiment).")
Key = option(str | None, "Only runs whose comparability key starts with this.")
Profile = option(str | None, "Name of a second promoted run for the same metric.")
RunOption = option(str | None, "Run id, the start of one, or a folder.", "--run")
Force = option(bool, "Allow runs on different data; the result is marked as such.", "--force")
GateFile = option(Path | None, "Gate file: margins per metric.", "--gate")
Reason = option(str, "Why; kept in the log.")
Write = option(bool, "Also write the report as JSON and Markdown.", "--write")
ReportFolder = option(Path | None, "Folder for the report files.", "-o", "--out")


def _chosen(rows, workflow, key):
    if workflow:
        rows = rows[rows["workflow"].str.lower() == workflow.lower()]
    return rows[rows["key"].str.startswith(key)] if key else rows


def _write(listing, kind, report, out=None, **options):
    path = runs.decide.write_report(listing.root, kind, report, out, **options)
    say(f"written: {path} and {path.with_suffix('.md').name}")


@app.command("list")
def list_(context: typer.Context, workflow: Workflow = None, as_json: Json = False):
    """List runs, newest first, with data set and comparability key.

    Example: casebook runs list --workflow retrieval_ablation
    """
    listing = _listing(context)
    data = listing.frame.groupby("path")["dataset"].agg(
        lambda names: ", ".join(set(names.dropna()))
    )
    rows = _chosen(listing.runs, workflow, None)
    rows = rows.assign(data=rows["path"].map(data), key=rows["key"].map(runs.registry.short_key))
    columns = ["completed", "workflow", "path", "data", "success", "key"]
    value = {"runsRoot": str(listing.root), "runs": rows, "unreadable": listing.unreadable}
    show(value, as_json, rows[columns])


@app.command()
def compare(
    context: typer.Context,
    pair: argument(
        list[str] | None, "Two runs, candidate and reference, to compare query by query."
    ) = None,
    measure: Measure = DEFAULT_MEASURE,
    top: option(int, "Most rows to show.", min=1) = 20,
    write: Write = False,
    out: ReportFolder = None,
    force: Force = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
):
    """Rank runs by a metric, or compare two runs query by query.

    Without run names, ranks runs within each group of comparable runs; * in the metric
    stands for any system. With two runs, prints the paired difference with interval and
    p-value, the smallest detectable effect, and the queries that changed.

    Example: casebook runs compare -m "smoke.*.ndcg@10" --write
    """
    import pandas as pd

    listing = _listing(context)
    if pair:
        exclusive(context, "pair", "workflow", "key", "write", "out", but="two named runs")
        _compare_two(listing, pair, measure, top, force, as_json)
        return
    rows = runs.registry.ranked(listing, measure, keep_others=True)
    rows = _chosen(rows, workflow, key).head(top)
    report = runs.decide.comparison_report(listing, measure, rows)
    if write or out:
        _write(listing, "compare", report, out)
    table = pd.DataFrame(report["top"], columns=runs.decide.RANK_COLUMNS)
    table[["low", "high"]] = table.pop("ci").tolist()
    hidden = ["map1", "ndcg3", "completedUtc", "success", "runDirectory"]
    table = table.drop(columns=hidden).dropna(axis=1, how="all")
    metric = runs.record.metric_label(report["metricKey"])
    show(report, as_json, [f"{listing.root}: {metric}, {len(listing.runs)} runs"], table)


def _compare_two(listing, pair, measure, top, force, as_json):
    if len(pair) != 2:
        raise InputError("compare takes no run or two: candidate and reference")
    both = [runs.registry.find_run(listing, name) for name in pair]
    keys = [runs.registry.short_key(run["key"]) for run in both]
    differ = keys[0] != keys[1]
    if differ and not force:
        texts = " and ".join(keys)
        raise Incomparable(f"measured on different data ({texts}); --force compares and says so")
    try:
        folders = [listing.folder(run) for run in both]
        comparison = runs.pairing.compare_runs(*folders, measure, force=force)
    except runs.registry.NoRows as reason:
        raise InputError(f"{measure}: no comparison by query: {reason}") from None
    flips = comparison.pop("flips")
    value = comparison | {"incomparable": differ or bool(comparison["incomparable"])}
    new, old = (run["parameters"] for run in both)
    names = sorted(name for name in new | old if new.get(name) != old.get(name))
    parameters = {name: [new.get(name), old.get(name)] for name in names}
    lines = [*filled_lines(value)]
    for name, values in parameters.items():
        lines.append(f"{name}: {' against '.join(map(json.dumps, values))}")
    changed = flips[flips["change"] != "unchanged"].head(top)
    show(value | {"parameters": parameters, "flips": flips}, as_json, lines, changed)


@app.command()
def best(
    context: typer.Context,
    measure: Measure = DEFAULT_MEASURE,
    write: Write = False,
    out: ReportFolder = None,
    force: Force = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
):
    """Show the best run by a metric, among successful and comparable runs.

    Example: casebook runs best -m smoke.full.ndcg@10
    """
    listing = _listing(context)
    rows = _chosen(runs.registry.ranked(listing, measure), workflow, key)
    winner = runs.registry.best_run(rows, measure, force)
    report = runs.decide.best_report(listing, measure, winner, len(set(rows["key"])) > 1)
    if write or out:
        _write(listing, "best", report, out, stamped=False)
    show(report, as_json, filled_lines(report))


@app.command()
def active(
    context: typer.Context,
    measure: Measure = DEFAULT_MEASURE,
    profile: Profile = None,
    as_json: Json = False,
):
    """Show the promoted run of a metric, who promoted it and why.

    Example: casebook runs active -m original:ndcg@3
    """
    root = _listing(context).root
    entry = runs.promotions.active_promotion(root, measure, profile, checked=True)
    lines = [f"no run is promoted for {measure}: use casebook runs decide --apply"]
    if entry:
        lines = filled_lines(entry | {"decision": None})
    show(entry, as_json, lines)


@app.command()
def history(
    context: typer.Context,
    measure: option(str | None, "Only this metric; default: all.", "-m", "--measure") = None,
    profile: Profile = None,
    most: option(int, "Most rows to show.", "--max", min=1) = 20,
    as_json: Json = False,
):
    """Show promotions and rollbacks, newest first.

    Example: casebook runs history -m original:ndcg@3 --max 5
    """
    import pandas as pd

    if profile and measure is None:
        raise InputError("--profile also needs --measure")
    entries = runs.promotions.read_promotions(_listing(context).root, measure, profile)
    newest = entries[::-1][:most]
    columns = ["seq", "at", "action", "metric", "score", "runId", "actor", "reason"]
    show(newest, as_json, pd.DataFrame(newest, columns=columns))


@app.command()
def verify(context: typer.Context, as_json: Json = False):
    """Check the hash chain of the promotion log; exit 2 if something was changed.

    Example: casebook runs verify
    """
    root = _listing(context).root
    faults = runs.promotions.verify(root)
    entries = None if faults else len(runs.promotions.read_promotions(root))
    value = {"entries": entries, "faults": faults}
    show(value, as_json, faults or [f"{entries} entries, the chain holds"])
    if faults:
        raise CheckFailed(f"{len(faults)} faults in {root}: restore the log from a copy")


@app.command()
def decide(
    context: typer.Context,
    measure: Measure = DEFAULT_MEASURE,
    run: RunOption = None,
    eps: option(float, "Smallest improvement that counts.", min=0) = 1e-6,
    apply: option(bool, "Promote the run if the decision is to promote.", "--apply") = False,
    write: option(bool, "Write the decision as a file.", "--write/--no-write") = True,
    profile: Profile = None,
    force: Force = False,
    level: option(float, "Confidence level of the interval.", min=0.5, max=0.999) = 0.95,
    seed: Seed = 0,
    original: option(
        bool, "Decide on the two scores where a run keeps no rows, as EmbeddingShift does."
    ) = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
):
    """Decide whether the best run should be promoted; exit 2, 4 or 5 if not.

    Example: casebook runs decide -m smoke.full.ndcg@10 --apply
    """
    exclusive(context, "run", "workflow", "key")
    listing = _listing(context)
    options = {"eps": eps, "force": force, "level": level, "seed": seed, "original": original}
    if run:
        options["run"] = runs.registry.find_run(listing, run)
    else:
        options["rows"] = _chosen(runs.registry.ranked(listing, measure), workflow, key)
    decision = runs.decide.decide(listing, measure, profile=profile, **options)
    if write:
        _write(listing, "decision", decision)
    if apply:
        runs.decide.apply_decision(listing, decision)
    summary = {name: decision[name] for name in ("metricKey", "action", "delta")}
    lines = [*filled_lines(summary | decision["evidence"])]
    if decision["action"] == runs.decide.PROMOTE and not apply:
        lines.append("nothing was promoted: --apply promotes this run")
    show(decision, as_json, lines)
    verdict = decision["evidence"]["verdict"]
    runs.decide.settle(verdict, f"{decision['action']}: {verdict}")


@app.command()
def promote(
    context: typer.Context,
    reason: Reason,
    measure: Measure = DEFAULT_MEASURE,
    run: RunOption = None,
    rank: option(int | None, "Rank of the run to promote.", min=1) = None,
    profile: Profile = None,
    force: Force = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
):
    """Promote a run by name or by rank, or the best one, and log why.

    Exit 5 if the promoted run was measured on different data, unless --force is given.

    Example: casebook runs promote --run 20260101T000000Z --reason "agreed on Monday"
    """
    exclusive(context, "run", "rank", "workflow", "key")
    listing = _listing(context)
    rows = _chosen(runs.registry.ranked(listing, measure), workflow, key)
    keys = set()
    if run:
        target = runs.registry.find_run(listing, run)
    elif rank is None:
        target = runs.registry.best_run(rows, measure, force)
        keys = set(rows["key"])
    elif rank <= len(rows):
        target = rows.iloc[rank - 1]
    else:
        raise InputError(f"--rank {rank}: there are {len(rows)} runs")
    before = runs.promotions.active_promotion(listing.root, measure, profile)
    if before:
        keys.add(before["comparabilityKey"] or "")
    incomparable = bool(keys - {target["key"]})
    if incomparable and not force:
        raise Incomparable(
            "the promoted run was measured on different data; choose another --profile, "
            "or --force, which marks the promotion"
        )
    entry = runs.promotions.promote(
        listing, target, measure, reason, profile, incomparable=incomparable
    )
    show(entry, as_json, [f"promoted for {entry['metric']}: {entry['runId']}"])


@app.command()
def rollback(
    context: typer.Context,
    reason: Reason,
    measure: Measure = DEFAULT_MEASURE,
    profile: Profile = None,
    as_json: Json = False,
):
    """Promote the previous run again; each call goes one step further back.

    Example: casebook runs rollback --reason "wrong data"
    """
    root = _listing(context).root
    entry = runs.promotions.rollback(root, measure, reason, profile)
    show(entry, as_json, [f"promoted for {entry['metric']}: {entry['runId']}"])


@app.command()
def matrix(
    context: typer.Context,
    spec: option(Path, "YAML or JSON file with the variants."),
    dry: option(bool, "Only print the commands.", "--dry") = False,
    as_json: Json = False,
):
    """Run several variants of a command and rank all runs; exit 3 if one fails.

    Example: casebook runs matrix --spec variants.yml --dry
    """
    try:
        plan = _lower(read_yaml(spec))
        after = _lower(plan.get("after", {}))
        variants = [_lower(variant) for variant in plan["variants"]]
        commands = {each["name"]: [str(word) for word in each["args"]] for each in variants}
    except (AttributeError, KeyError, TypeError):
        raise InputError(f"{spec}: expected variants, a list of name and args") from None
    if dry:
        lines = [f"{name}: {' '.join(words)}" for name, words in commands.items()]
        show(commands, as_json, lines)
        return
    if after.get("promotebest"):
        say("note: promoteBest promotes nothing here: see casebook runs decide")
    folder = runs.registry.locate(**context.obj).root / "_matrix"
    failed = []
    for variant in variants:
        name = valid_name(variant["name"], "variant")
        say(f"{name}: casebook {' '.join(commands[name])}")
        command = [sys.executable, "-m", "casebook", *commands[name]]
        environment = os.environ | variant.get("env", {})
        with replacing(folder / f"{name}.log") as log, log.open("wb") as out:
            streams = {"stdout": out, "stderr": subprocess.STDOUT, "env": environment}
            try:
                subprocess.run(
                    command, **streams, check=True, timeout=variant.get("timeoutseconds")
                )
            except subprocess.SubprocessError:
                failed.append(name)
        if failed and plan.get("stoponfailure", True):
            break
    measure = after.get("comparemetric", DEFAULT_MEASURE)
    compare(context, measure=measure, top=after.get("top", 10), as_json=as_json)
    if failed:
        raise BatchFailed(f"{len(failed)} of {len(variants)} variants: {', '.join(failed)}")


def _lower(table):
    return {name.lower(): value for name, value in table.items()}


@gate_app.command("run")
def gate_run(
    context: typer.Context,
    run: argument(str, "Run id, the start of one, or a folder."),
    against: option(str | None, "Reference run; default: the promoted run.") = None,
    rules: GateFile = None,
    measure: Measure = DEFAULT_MEASURE,
    margin: option(float, "Loss tolerated.", min=0) = 0.005,
    profile: Profile = None,
    force: Force = False,
    as_json: Json = False,
):
    """Test that a run is not worse than a reference; exit 2, 4 or 5 if not shown.

    Example: casebook gate run RUN --against REFERENCE --gate gate.yml
    """
    exclusive(context, "rules", "measure", "margin")
    exclusive(context, "against", "profile")
    listing = _listing(context)
    margins = {runs.record.metric_key(measure): margin}
    if rules:
        margins = runs.decide.read_gate(rules)
    if against is None:
        metric = next(iter(margins))
        entry = runs.promotions.active_promotion(listing.root, metric, profile, checked=True)
        if entry is None:
            raise InputError(
                f"no run is promoted for {metric!r}: name one with --against, or promote one with "
                "'casebook runs promote'"
            )
        against = entry["path"]
    both = [runs.registry.find_run(listing, name) for name in (run, against)]
    result = runs.decide.apply_gate(listing, *both, margins, force=force)
    value = result | {
        "candidate": both[0]["path"],
        "reference": both[1]["path"],
        "gateSha256": sha256_file(rules) if rules else None,
    }
    show(value, as_json, result["notes"])
    runs.decide.settle(result["verdict"], f"gate: {result['verdict']}")


gate_app.command("log")(assistant.gate_log)
gate_app.command("scores")(scores.gate_scores)
