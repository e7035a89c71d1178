"""``casebook runs`` and ``casebook gate``: list, compare and decide on runs."""

import json
import warnings
from pathlib import Path

import typer

from casebook import runs, stats
from casebook.cli.assistant import gate_log
from casebook.cli.common import (
    SAID,
    Columns,
    Json,
    Lists,
    Rows,
    Seed,
    Values,
    argument,
    command_group,
    exclusive,
    filled_lines,
    given,
    option,
    refuse_idle,
    said,
    say,
    show,
    table_lines,
)
from casebook.cli.scores import gate_table
from casebook.errors import BatchFailed, CheckFailed, Incomparable, InputError, MeasureNote
from casebook.files import sha256_file
from casebook.readers import read_json

app = command_group("runs", "List, compare and promote runs of any experiment.")


def _note_formula(measure: str):
    """Say which formula a document's key names, where no prefix does."""
    key = measure.strip().lower()
    if key in runs.record.DOCUMENTED_KEYS:
        warnings.warn(
            f"{measure} of a run record is EmbeddingShift's formula, "
            f"{runs.record.metric_label(key)}; the key of a standard measure names data set and "
            f"system, as in smoke.full.{key}",
            MeasureNote,
            stacklevel=2,
        )
    return measure


def _check_level(value: float):
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value} is not between 0 and 1.")
    return value


# Which registry
RunsRoot = option(
    Path | None,
    "Folder that holds the runs. Default: that of the domain and tenant, if one is set, "
    "else all of results/ without tenants.",
)
Domain = option(str | None, "Domain of the results.", "--domain")
Tenant = option(str | None, "Tenant; default: CASEBOOK_TENANT.")
IncludeRepo = option(
    bool, "Include the runs below _repo/MiniInsurance-PosNeg.", "--include-repo-posneg"
)

# Which of its runs
Measure = option(
    str, "Key of a record, in any letter case.", "-m", "--measure", callback=_note_formula
)
DEFAULT_MEASURE = "original:ndcg@3"
Workflow = option(str | None, "Only runs of this workflow (experiment).")
Key = option(str | None, "Only runs whose comparability key starts with this.")
Profile = option(str | None, "Name of a second promoted run for the same metric.")
RunOption = option(str | None, "Run id, the start of one, or a folder.", "--run")

# What to do with them
Force = option(bool, "Allow runs on different data; the result is marked as such.", "--force")
GateFile = option(Path | None, "Gate file: margins per metric.", "--gate")
Reason = option(str, "Why; kept in the log.", "--reason")
Top = option(int, "Most rows to show.", min=1)
Write = option(bool, "Also write the report as JSON and Markdown.", "--write")
ReportFolder = option(Path | None, "Folder for the report files.", "-o", "--out")


def _registry(runs_root, domain, tenant, include_repo=False):
    """Find and read the registry that the options name."""
    layout = runs.registry.locate(domain, tenant, runs_root)
    repo = (runs.registry.REPO,) if include_repo else ()
    listing = runs.registry.discover(layout, include=repo)
    if not (listing.runs or listing.unreadable or runs.promotions.has_log(listing.root)):
        raise InputError(
            f"{listing.root}: no registry: it holds neither runs nor promotions; runs appear "
            "there once an experiment was run, or name another folder with --runs-root"
        )
    return listing


def _log_root(runs_root, domain, tenant):
    """Folder of the log of promotions that the options name."""
    root = _registry(runs_root, domain, tenant).root
    if runs.promotions.has_log(root):
        return root
    below = runs.promotions.logs_below(root)
    if below:
        raise InputError(
            f"{root}: has no log of promotions; name the registry that has one: "
            f"--runs-root {' or '.join(map(str, below[:3]))}"
        )
    return root


def _filtered(listing, workflow, key=None):
    """Runs of a workflow and of one group of comparable runs."""
    records = listing.runs
    if workflow:
        records = [run for run in records if run.workflow.lower() == workflow.lower()]
    if key:
        short_key = runs.registry.short_key
        records = [run for run in records if (run.key or short_key(run.key)).startswith(key)]
    return records


def _unreadable(listing):
    return [f"unreadable: {path}: {why}" for path, why in listing.unreadable.items()]


def _say_written(path):
    say(f"written: {path} and {path.with_suffix('.md').name}")


@app.command("list")
def list_(
    workflow: Workflow = None,
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """List runs, newest first, with data set, headline and the parameters that differ.

    Example: casebook runs list --workflow retrieval_ablation
    """
    listing = _registry(runs_root, domain, tenant)
    records = _filtered(listing, workflow)
    varying = _varying_parameters(records)
    rows = []
    for run in records:
        names = [name for name in varying[run.workflow] if name in run.parameters]
        rows.append(
            {
                "completedUtc": run.completed,
                "workflowName": run.workflow,
                "runId": run.run_id,
                "success": run.success,
                "metrics": len(run.metrics),
                "comparability": runs.registry.short_key(run.key),
                "path": run.path,
                "dataset": _data_of(run),
                "parameters": {name: run.parameters[name] for name in names},
                "headline": _headline(run, listing.folder(run)),
            }
        )
    lines = ["no readable run"]
    if rows:
        lines = _list_lines(rows)
    elif listing.runs:
        workflows = ", ".join(sorted({run.workflow for run in listing.runs}))
        lines = [f"no run of the workflow {workflow!r}; there are: {workflows}"]
    value = {"runsRoot": str(listing.root), "runs": rows, "unreadable": listing.unreadable}
    show(value, as_json, [*lines, *_unreadable(listing)])


def _list_lines(rows):
    """Lines of the list of runs, without columns that are empty."""
    table = []
    for row in rows:
        parameters = [f"{name}={json.dumps(value)}" for name, value in row["parameters"].items()]
        table.append(
            {
                "completed": row["completedUtc"][:16].replace("T", " "),
                "run": row["path"],
                "data": row["dataset"] or "",
                "headline": row["headline"] or "",
                "parameters that differ": ", ".join(parameters),
                "comparability": row["comparability"],
            }
        )
    columns = [name for name in table[0] if any(row[name] for row in table)]
    return table_lines(table, columns)


def _varying_parameters(records):
    """For each workflow, the parameters that its runs do not all share, apart from the data."""
    values = {}
    for run in records:
        parameters = values.setdefault(run.workflow, {})
        for name in run.parameters.keys() - {"dataset", "run", "cell"}:
            text = json.dumps(run.parameters[name], sort_keys=True)
            parameters.setdefault(name, set()).add(text)
    return {
        workflow: sorted(name for name, texts in parameters.items() if len(texts) > 1)
        for workflow, parameters in values.items()
    }


def _data_of(run):
    """The data set of a run, by its parameter, or else as its metrics name it."""
    dataset = run.parameters.get("dataset")
    if isinstance(dataset, str):
        return Path(dataset).name
    names = sorted({key.partition(".")[0] for key in run.metrics if key.count(".") > 1})
    return ", ".join(names[:3]) or None


def _headline(run, folder):
    """The first headline of an executed notebook as one short text; of a shift run its ndcg@3."""
    path = folder
    if len(folder.parents) > 1:
        path = folder.parents[1] / "headlines" / f"{folder.name}.json"
    if not path.is_file():
        score = run.metrics.get("ndcg@3")
        return None if score is None else f"{score:.3f} original:ndcg@3"
    try:
        runs.evidence.require_file(folder, path)
    except InputError:
        return "altered since the run wrote it"
    headline = runs.headlines.Headline(**read_json(path)[0])
    return f"{headline.effect} {headline.measure} ({headline.word})".strip()


@app.command()
def compare(
    context: typer.Context,
    pair: argument(
        list[str] | None, "Two runs, candidate and reference, to compare query by query."
    ) = None,
    measure: Measure = DEFAULT_MEASURE,
    top: Top = 20,
    write: Write = False,
    out: ReportFolder = None,
    force: Force = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Rank runs by a metric, or compare two runs query by query.

    Without run names, ranks runs within each group of comparable runs; * in the metric
    stands for any system. With two runs, prints the paired difference with interval and
    p-value, the smallest detectable effect, and the queries that changed.

    Example: casebook runs compare -m "smoke.*.ndcg@10" --write
    """
    listing = _registry(runs_root, domain, tenant)
    if pair:
        exclusive(context, "pair", "workflow", "key", "write", "out", but="two named runs")
        _compare_two(listing, pair, measure, top, force, as_json)
        return
    if force:
        raise InputError("--force is for two named runs: ranks stay within each group")
    rows = runs.decide.rank_runs(listing, measure, _filtered(listing, workflow, key), top)
    report = runs.decide.comparison_report(listing, measure, rows)
    if write or out:
        _say_written(runs.decide.write_report(listing.root, "compare", report, out))
    metric = runs.record.metric_label(report["metricKey"])
    lines = [f"{listing.root}: {metric}, {len(listing.runs)} runs"]
    if any(row["rank"] for row in rows):
        lines += _rank_lines(rows)
    else:
        lines.append(runs.registry.no_run_holds(listing.runs, measure))
    show(report, as_json, lines + _unreadable(listing))


def _rank_lines(rows):
    """Lines of the ranking of runs."""
    table = []
    for row in rows:
        low, high = row["ci"] or (None, None)
        table.append(row | {"95 %": stats.intervals.bounds_text(low, high, "z.4f")})
    columns = [
        "rank",
        "score",
        "95 %",
        "n",
        "control",
        "metric",
        "workflowName",
        "comparability",
        "runId",
    ]
    if all(row["control"] is None for row in rows):
        columns.remove("control")  # only chapters of a report know one
    return table_lines(table, columns)


def _compare_two(listing, pair, measure, top, force, as_json):
    if len(pair) != 2:
        raise InputError("compare takes no run or two: candidate and reference")
    candidate = runs.registry.find_run(listing, pair[0])
    reference = runs.registry.find_run(listing, pair[1])
    differ = candidate.key != reference.key
    if differ and not force:
        keys = " and ".join(runs.registry.short_key(run.key) for run in (candidate, reference))
        raise Incomparable(f"measured on different data ({keys}); --force compares and says so")
    folders = listing.folder(candidate), listing.folder(reference)
    try:
        comparison = runs.pairing.compare_runs(*folders, measure, force=force)
    except runs.registry.NoRows as reason:
        raise InputError(f"{measure}: no comparison by query: {reason}") from None
    flips = comparison.pop("flips")
    value = comparison | {"incomparable": differ or bool(comparison["incomparable"])}
    parameters = runs.registry.differing_parameters(candidate, reference)
    changed = flips[flips["change"] != "unchanged"].head(top)
    lines = list(filled_lines(value))
    for name, (new, old) in parameters.items():
        lines.append(f"{name}: {json.dumps(new)} against {json.dumps(old)}")
    lines += table_lines(changed.to_dict("records"), list(changed.columns))
    show(value | {"parameters": parameters, "flips": flips}, as_json, lines)


@app.command()
def best(
    measure: Measure = DEFAULT_MEASURE,
    write: Write = False,
    out: ReportFolder = None,
    force: Force = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Show the best run by a metric, among successful and comparable runs.

    Example: casebook runs best -m smoke.full.ndcg@10
    """
    listing = _registry(runs_root, domain, tenant)
    records = _filtered(listing, workflow, key)
    winner = runs.registry.best_run(records, measure, force)
    groups = _groups_with(records, measure)
    report = runs.decide.best_report(listing, measure, winner, len(groups) > 1)
    if write or out:
        _say_written(runs.decide.write_report(listing.root, "best", report, out, stamped=False))
    show(report, as_json, filled_lines(report))


def _groups_with(records, measure):
    """The groups of comparable runs that hold a measure, by their keys."""
    return {run.key for run in records if runs.registry.score_of(run, measure) is not None}


@app.command()
def active(
    measure: Measure = DEFAULT_MEASURE,
    profile: Profile = None,
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Show the promoted run of a metric, who promoted it and why.

    Example: casebook runs active -m original:ndcg@3
    """
    entry = runs.promotions.active_promotion(
        _log_root(runs_root, domain, tenant), measure, profile, checked=True
    )
    if entry is None:
        lines = [f"no run is promoted for {measure}: use casebook runs decide --apply"]
    else:
        lines = filled_lines(entry | {"decision": None})
    show(entry, as_json, lines)


@app.command()
def history(
    measure: option(str | None, "Only this metric; default: all.", "-m", "--measure") = None,
    profile: Profile = None,
    most: option(int, "Most rows to show.", "--max", min=1) = 20,
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Show promotions and rollbacks, newest first.

    Example: casebook runs history -m original:ndcg@3 --max 5
    """
    if profile and measure is None:
        raise InputError("--profile also needs --measure")
    root = _log_root(runs_root, domain, tenant)
    entries = runs.promotions.read_promotions(root, measure, profile)
    newest = entries[::-1][:most]
    columns = ("seq", "at", "action", "metric", "score", "runId", "actor", "reason")
    show(newest, as_json, table_lines(newest, columns) if newest else ["no entries"])


@app.command()
def verify(
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Check the hash chain of the promotion log; exit 2 if something was changed.

    Example: casebook runs verify
    """
    root = _log_root(runs_root, domain, tenant)
    faults = runs.promotions.verify(root)
    entries = None if faults else len(runs.promotions.read_promotions(root))
    lines = faults or [f"{entries} entries, the chain holds"]
    if entries == 0:
        lines = ["no run has been promoted yet, so there is no log to check"]
    show({"entries": entries, "faults": faults}, as_json, lines)
    if faults:
        why = "what was written was changed; restore it from a copy"
        raise CheckFailed(f"{len(faults)} faults in {root}: {why}")


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
    include_repo: IncludeRepo = False,
    level: option(float, "Confidence level of the interval.", callback=_check_level) = 0.95,
    seed: Seed = 0,
    original: option(
        bool, "Decide on the two scores where a run keeps no rows, as EmbeddingShift does."
    ) = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Decide whether the best run should be promoted; exit 2, 4 or 5 if not.

    Example: casebook runs decide -m smoke.full.ndcg@10 --apply
    """
    exclusive(context, "run", "workflow", "key")
    listing = _registry(runs_root, domain, tenant, include_repo)
    records = _filtered(listing, workflow, key)
    candidate = runs.registry.find_run(listing, run) if run else None
    decision = runs.decide.decide(
        listing,
        measure,
        runs=records,
        run=candidate,
        profile=profile,
        eps=eps,
        force=force,
        level=level,
        seed=seed,
        original=original,
    )
    if write:
        _say_written(runs.decide.write_report(listing.root, "decision", decision))
    if apply:
        runs.decide.apply_decision(listing, decision)
    summary = {name: decision[name] for name in ("metricKey", "action", "delta")}
    lines = list(filled_lines(summary | decision["evidence"]))
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
    rules: GateFile = None,
    profile: Profile = None,
    force: Force = False,
    include_repo: IncludeRepo = False,
    as_json: Json = False,
    workflow: Workflow = None,
    key: Key = None,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Promote a run by name or by rank, or the best one, and log why.

    Exit 5 if the promoted run was measured on different data, unless --force is given.

    Example: casebook runs promote --run 20260101T000000Z --reason "agreed on Monday"
    """
    exclusive(context, "run", "rank", "workflow", "key")
    listing = _registry(runs_root, domain, tenant, include_repo)
    records = _filtered(listing, workflow, key)
    compared_keys = set()
    if run:
        target = runs.registry.find_run(listing, run)
    elif rank:
        if rank > len(records):
            raise InputError(f"--rank {rank}: there are {len(records)} runs")
        target = runs.registry.sort_runs(records, measure)[rank - 1]
    else:
        target = runs.registry.best_run(records, measure, force)
        compared_keys = _groups_with(records, measure)
    before = runs.promotions.active_promotion(listing.root, measure, profile, checked=bool(rules))
    if before:
        compared_keys.add(before["comparabilityKey"])
    incomparable = bool(compared_keys - {target.key})
    if incomparable and not force:
        raise Incomparable(
            "the promoted run was measured on different data; choose another --profile, "
            "or --force, which marks the promotion"
        )
    gate_sha256 = None
    if rules:
        gate_sha256 = _pass_gate(listing, target, rules, before, force)
    entry = runs.promotions.promote(
        listing,
        target,
        measure,
        reason,
        profile,
        incomparable=incomparable,
        gate_sha256=gate_sha256,
    )
    show(entry, as_json, [_now_active(entry, before)])


def _now_active(entry, before):
    unchanged = before and before["path"] == entry["path"]
    note = ", as before: nothing changed" if unchanged else ""
    return f"promoted for {runs.record.metric_label(entry['metric'])}: {entry['runId']}{note}"


def _pass_gate(listing, target, rules, active_entry, force):
    """Apply a gate file against the active run; gives the file's hash if there is such a run."""
    margins = runs.decide.read_gate(rules)
    if active_entry is None:
        say("no run was promoted before, so the gate had nothing to compare with")
        return None
    reference = runs.registry.find_run(listing, active_entry["path"])
    result = runs.decide.apply_gate(listing, target, reference, margins, force=force)
    runs.decide.settle(result["verdict"], f"not promoted: {'; '.join(result['notes'])}")
    return sha256_file(rules)


@app.command()
def rollback(
    reason: Reason,
    measure: Measure = DEFAULT_MEASURE,
    profile: Profile = None,
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Promote the previous run again; each call goes one step further back.

    Example: casebook runs rollback --reason "wrong data"
    """
    root = _log_root(runs_root, domain, tenant)
    before = runs.promotions.active_promotion(root, measure, profile)
    entry = runs.promotions.rollback(root, measure, reason, profile)
    show(entry, as_json, [_now_active(entry, before)])


def gate(
    context: typer.Context,
    run: argument(str | None, "Run id, the start of one, or a folder.") = None,
    against: option(str | None, "Reference (default: the promoted run), or a log.") = None,
    log: option(Path | None, "Log of an assistant's answers, instead of a run.") = None,
    scores: option(Path | None, "Table of scores by unit and system, instead of a run.") = None,
    unit: option(str | None, "Column of it that names what was scored.") = None,
    systems: option(str | None, "Columns that hold the scores of a system each: A,B.") = None,
    collection: option(str | None, "Data set or folder, if the log's contexts are ids.") = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    lists: Lists = "json",
    judge: option(
        str | None, "Scores the answers of both logs too: entailment:MODEL, endpoint:MODEL, ..."
    ) = None,
    rules: GateFile = None,
    measure: Measure = DEFAULT_MEASURE,
    margin: option(float, "Loss tolerated.", min=0) = 0.005,
    profile: Profile = None,
    force: Force = False,
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Test that a run, a log of answers, or a scored system is not worse than a reference;
    exit 2, 4 or 5 if not shown.

    Example: casebook gate RUN --against REFERENCE --gate gate.yml;
    casebook gate --log new.jsonl --against old.jsonl;
    casebook gate --scores scores.csv --against old --margin 0.02
    """
    if [run, log, scores].count(None) != 2:
        raise InputError("name a run, a log with --log, or a table with --scores")
    if scores is not None:
        no_scores = ("rules", "profile", "runs_root", "domain", "tenant", "judge", "collection")
        exclusive(context, "scores", *no_scores, "lists")
        told = said(columns, values, rows)
        if unit is not None:
            told["columns"]["unit"] = unit
        named = [name for name in (systems or "").split(",") if name]
        named_measure = measure if given(context, "measure") else None
        options = {"measure": named_measure, "complete": False, **told}
        given_margin = margin if given(context, "margin") else None
        gate_table(scores, named, against, given_margin, force, as_json, **options)
        return
    if log is not None:
        not_of_logs = ("systems", "unit", "rules", "profile", "runs_root", "domain", "tenant")
        exclusive(context, "log", *not_of_logs)
        gate_log(
            log,
            against,
            measures=[measure] if given(context, "measure") else None,
            margin=margin if given(context, "margin") else None,
            common=force,
            collection=collection,
            said=said(columns, values, rows, lists=lists),
            judge=judge,
            as_json=as_json,
        )
        return
    refuse_idle(context, ("collection", *SAID, "judge", "systems", "unit"), "on a run")
    exclusive(context, "rules", "measure", "margin")
    exclusive(context, "against", "profile")
    listing = _registry(runs_root, domain, tenant)
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
    candidate = runs.registry.find_run(listing, run)
    reference = runs.registry.find_run(listing, against)
    result = runs.decide.apply_gate(listing, candidate, reference, margins, force=force)
    value = result | {
        "candidate": candidate.path,
        "reference": reference.path,
        "gateSha256": sha256_file(rules) if rules else None,
    }
    show(value, as_json, result["notes"])
    runs.decide.settle(result["verdict"], f"gate: {result['verdict']}")


@app.command()
def matrix(
    spec: option(Path, "YAML or JSON file with the variants."),
    dry: option(bool, "Only print the commands.", "--dry") = False,
    as_json: Json = False,
    runs_root: RunsRoot = None,
    domain: Domain = None,
    tenant: Tenant = None,
):
    """Run several variants of a command and compare them; exit 3 if one fails.

    Example: casebook runs matrix --spec variants.yml --dry
    """
    plan = runs.repeat.read_matrix(spec)
    if dry:
        lines = []
        for variant in plan.variants:
            words = runs.repeat.command_line(variant.args)[1:]
            lines.append(f"{variant.name}: {' '.join(words)}")
        show(lines, as_json, lines)
        return
    if domain is None and runs_root is None:
        domain = plan.after.domain_key
    layout = runs.registry.locate(domain, tenant, runs_root)
    folder = layout.root / "_matrix" / f"matrix_{runs.decide.time_stamp()}"
    if plan.after.promote_best:  # a changed log is refused before anything runs
        runs.promotions.read_promotions(layout.root)
    environment = {"CASEBOOK_TENANT": layout.tenant} if layout.tenant else {}
    rows = runs.repeat.run_matrix(plan, folder, environment, say)
    failures = [row["name"] for row in rows if row["exitCode"] != 0]
    promoted = _after_matrix(layout, plan.after, folder, complete=not failures)
    value = {"folder": str(folder), "variants": rows, "promoted": promoted}
    show(value, as_json, [*table_lines(rows, ("name", "exitCode", "seconds", "log")), str(folder)])
    if failures:
        raise BatchFailed(f"{len(failures)} of {len(rows)} variants: {', '.join(failures)}")


def _after_matrix(layout, after, folder, complete):
    """Compare what is there now; promote the best of a complete matrix if asked."""
    measure = after.compare_metric
    listing = runs.registry.discover(layout)
    if after.write_compare:
        rows = runs.decide.rank_runs(listing, measure, top=after.top)
        report = runs.decide.comparison_report(listing, measure, rows)
        runs.decide.write_report(layout.root, "compare", report, folder)
    if not (after.promote_best and complete):
        return None
    winner = runs.registry.best_run(listing.runs, measure)
    return runs.promotions.promote(listing, winner, measure, f"best after {folder.name}")
