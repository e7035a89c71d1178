"""``casebook runs matrix | rerun | export | import``."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli import run_options as common
from casebook.cli.printing import Json, show, table_lines
from casebook.errors import BatchFailed, CheckFailed, InputError


def matrix(
    spec: Annotated[Path, typer.Option(help="YAML or JSON file of variants.")],
    dry: Annotated[bool, typer.Option("--dry", help="Print the commands only.")] = False,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
    as_json: Json = False,
):
    """Run variants of a command, keep their logs, then compare; exit 3 on failures."""
    from casebook.runs import decide as reports
    from casebook.runs import promotions as promotion
    from casebook.runs import repeat as library
    from casebook.runs.registry import locate

    common.one_root(domain, runs_root)
    wanted = library.read_matrix(spec)
    if dry:
        show(library.commands(wanted), as_json, library.commands(wanted))
        return
    layout = locate(domain or wanted.after["domainkey"], tenant, runs_root)
    folder = layout.root / "_matrix" / f"matrix_{reports.stamp()}"
    if wanted.after["promotebest"]:
        promotion.history(layout.root)  # a changed log is refused before anything runs
    settings = {"CASEBOOK_TENANT": layout.tenant} if layout.tenant else {}
    rows = library.run_matrix(wanted, folder, settings, _say)
    failed = [row["name"] for row in rows if row["exitCode"] != 0]
    promoted = _after_matrix(layout, wanted.after, folder, not failed)
    lines = [*table_lines(rows, ("name", "exitCode", "seconds", "log")), str(folder)]
    value = {"folder": str(folder), "variants": rows, "promoted": promoted}
    show(value, as_json, lines)
    if failed:
        raise BatchFailed(f"{len(failed)} of {len(rows)} variants: {', '.join(failed)}")


def _say(line):
    typer.echo(line, err=True)


def _after_matrix(layout, after, folder, complete):
    """Compare what is there now; promote the best of a complete matrix if asked."""
    from casebook.runs import decide as reports
    from casebook.runs import promotions as promotion
    from casebook.runs import registry as ordering
    from casebook.runs.registry import discover

    metric = after["comparemetric"]
    listing = discover(layout)
    if after["writecompare"]:
        rows = reports.ranking(listing, metric, top=after["top"])
        report = reports.comparison_report(listing, metric, rows)
        reports.write_report(layout.root, "compare", report, folder)
    if not (after["promotebest"] and complete):
        return None
    why = promotion.Reason(f"best after {folder.name}")
    winner = ordering.best(listing.runs, metric)
    return promotion.promote(listing, winner, metric, why)


def rerun(
    run: common.Run,
    name: Annotated[str | None, typer.Option("--as", help="Name of the new run.")] = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the command only.")] = False,
    timeout: Annotated[float | None, typer.Option(min=1, help="Seconds.")] = None,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
):
    """Execute a run again from its recorded inputs; exit 2 if its numbers differ."""
    from casebook.runs import decide as reports
    from casebook.runs import repeat as library
    from casebook.runs.registry import find, results_root
    from casebook.runs.repeat import run_child

    listing = common.open_registry(domain, tenant, runs_root)
    former = find(listing, run)
    folder = listing.folder(former)
    request = library.request_of(folder, name)
    typer.echo(request.line)
    if only_print:
        return
    log = listing.root / "_rerun" / f"rerun_{reports.stamp()}.log"
    ended = run_child("rerun", request.arguments, log, request.environment, timeout)
    if ended.exit_code:
        raise BatchFailed(f"the repetition ended with {ended.exit_code}; see {log}")
    if request.record is not None:
        _compare_records(folder, results_root() / request.record)
        return
    # A recorded command names its new run itself: it is the one that was not there.
    known = {found.path for found in listing.runs}
    made = [
        found
        for found in common.open_registry(domain, tenant, runs_root).runs
        if found.path not in known and found.workflow == former.workflow
    ]
    if len(made) == 1:
        _compare_records(folder, listing.folder(made[0]))
    else:
        typer.echo(f"done; see {log}")


def _compare_records(former, latter):
    """Say what a repetition did not reproduce."""
    from casebook.runs.record import read_record
    from casebook.runs.repeat import differences

    after = read_record(latter / "run.json")
    found = differences(read_record(former / "run.json"), after)
    for line in found:
        typer.echo(line)
    if found:
        raise CheckFailed(f"{len(found)} metrics were not reproduced")
    typer.echo(f"reproduced: {len(after.metrics)} metrics equal")


def export(
    context: typer.Context,
    run: common.Run,
    out: Annotated[Path, typer.Option(help="File to write.")],
    kind: Annotated[str, typer.Option("--format", help="trec, mteb or every-eval.")] = "mteb",
    system: Annotated[str | None, typer.Option(help="<dataset>.<system>")] = None,
    ranking: Annotated[Path | None, typer.Option(help="For trec: a TREC run.")] = None,
    task: Annotated[str | None, typer.Option(help="For mteb: its task name.")] = None,
    revision: Annotated[str | None, typer.Option(help="For mteb: of the data.")] = None,
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
):
    """Export one system of a run as TREC run, MTEB result or Every Eval Ever record."""
    from casebook.files import refuse_overwriting, write_json
    from casebook.formats.trec import read_run
    from casebook.runs import repeat as library
    from casebook.runs.every_eval import every_eval
    from casebook.runs.mteb import mteb_result
    from casebook.runs.record import read_record
    from casebook.runs.registry import find

    wanted = {"ranking": "trec", "task": "mteb", "revision": "mteb"}
    for option, form in wanted.items():
        if common.given(context, option) and kind != form:
            raise InputError(f"--{option} is for --format {form}, not {kind}")
    listing = common.open_registry(domain, tenant, runs_root)
    folder = listing.folder(find(listing, run))
    refuse_overwriting(out, ranking, folder / "run.json")
    record = read_record(folder / "run.json")
    if kind == "mteb":
        write_json(out, mteb_result(record, system, task, revision))
    elif kind == "every-eval":
        write_json(out, every_eval(record, system, folder))
    elif kind == "trec" and ranking:
        tag = library.choose_system(record, system)[0]
        library.write_trec(out, read_run(ranking), record, tag)
    elif kind == "trec":
        raise InputError("--format trec needs --ranking: runs keep scores, not ranks")
    else:
        raise InputError(f"--format {kind}: choose trec, mteb or every-eval")
    typer.echo(str(out))


def import_(
    result: Annotated[Path, typer.Argument(help="MTEB TaskResult as JSON.")],
    model: Annotated[str, typer.Option(help="Whose figures they are.")],
    dataset: Annotated[str | None, typer.Option(help="Our name of the data.")] = None,
    split: Annotated[str, typer.Option(help="Split to take.")] = "test",
    runs_root: common.Root = None,
    domain: common.Domain = None,
    tenant: common.Tenant = None,
):
    """Put published MTEB figures beside ours; they never compete with them."""
    from casebook.runs.mteb import read_mteb
    from casebook.runs.registry import locate, record_run

    common.one_root(domain, runs_root)
    record = read_mteb(result, model, dataset, split)
    typer.echo(str(record_run(locate(domain, tenant, runs_root), record)))


COMMANDS = (matrix, rerun, export)
