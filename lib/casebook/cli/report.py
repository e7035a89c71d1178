"""``casebook report | run | build | publish``: execute, render, hand out."""

import json
from dataclasses import replace
from typing import Annotated

import typer

from casebook.cli.batch_options import (
    Compare,
    DryRun,
    Force,
    Grid,
    Overrides,
    Retries,
    RunName,
    Scheduler,
    Tag,
    Timeout,
    Workers,
)
from casebook.cli.printing import Json, show
from casebook.cli.progress_bar import batch_progress
from casebook.cli.run_options import exclusive
from casebook.errors import InputError
from casebook.paths import data_folder


def report(
    context: typer.Context,
    run: RunName = "report",
    grid: Grid = None,
    tag: Tag = "default",
    workers: Workers = 1,
    scheduler: Scheduler = None,
    timeout: Timeout = None,
    retries: Retries = 1,
    force: Force = False,
    compare: Compare = None,
):
    """Pull the data, run everything with a tag, then build the book."""
    exclusive(context, "scheduler", "workers")
    _pull(grid, tag)
    planned = _plan(run, (), grid, tag, force, {})
    _execute(planned, run, workers, scheduler, timeout, retries)
    build(run, compare)


def run(
    context: typer.Context,
    experiments: Annotated[list[str] | None, typer.Argument(help="Experiments or cells; none means all.")] = None,
    run: RunName = "report",
    grid: Grid = None,
    tag: Tag = "default",
    workers: Workers = 1,
    scheduler: Scheduler = None,
    timeout: Timeout = None,
    retries: Retries = 1,
    force: Force = False,
    dry_run: DryRun = False,
    parameter: Overrides = None,
):
    """Execute experiments; unchanged ones are skipped."""
    exclusive(context, "scheduler", "workers")
    overrides = _overrides(parameter or [])
    planned = _plan(run, tuple(experiments or ()), grid, tag, force, overrides)
    if not dry_run:
        _execute(planned, run, workers, scheduler, timeout, retries)
        typer.echo(f"results/{run}: next, casebook build --run {run}")
        return
    for item in planned:
        why = f"  {', '.join(item.changed)} changed" if item.changed else ""
        typer.echo(f"{item.status:7} {item.cell.name}{why}")


def build(run: RunName = "report", compare: Compare = None):
    """Render results/<run> as one self-contained site."""
    from casebook.book import build_book

    index = build_book(run, compare)
    pages = sum(1 for _ in index.parent.rglob("*.html"))
    size = sum(p.stat().st_size for p in index.parent.rglob("*") if p.is_file())
    typer.echo(f"report: {index} ({pages} pages, {size / 1e6:.1f} MB)")


def publish(
    run: Annotated[str, typer.Argument(help="Name of the run: results/<run>.")],
    url: Annotated[str, typer.Argument(help="A folder, or an address such as s3://bucket/report.")],
    as_json: Json = False,
):
    """Copy results/<run>, and its site if it is built, to a folder or object store."""
    from casebook.book.publish import publish_run

    found = publish_run(run, url)
    line = "{url}: {written} files written, {unchanged} unchanged, {removed} removed"
    show(found, as_json, [line.format_map(found), f"site: {found['site']}"])


def _pull(grid, tag):
    """Fetch the data sets of a tag; files that are here are only verified."""
    from casebook.datasets import registry, sources
    from casebook.grid import DEFAULT_GRID, load_grid, select

    cells = select(load_grid(grid or DEFAULT_GRID), tag=tag)
    given = ("dataset", "rating_set")
    names = {cell.parameters.get(name) for cell in cells for name in given}
    names = {name for name in names if name and data_folder(name) is None}
    votes = {n for n in names if registry.resolve(n)[0].kind == "votes"}
    registry.pull(sorted(names - votes))
    for name in sorted(votes):
        try:
            sources.pull(registry.resolve(name)[0])
        except sources.Absent as problem:
            line = f"warning: {problem}; its reconstruction stands in"
            typer.echo(line, err=True)


def _plan(run, names, grid, tag, force, overrides):
    from casebook import run as batch
    from casebook.grid import DEFAULT_GRID, load_grid, resolved, select
    from casebook.run import data_folders

    taken = data_folders(run)
    overrides = resolved(overrides, taken)
    cells = [
        replace(cell, parameters=resolved(cell.parameters, taken))
        for cell in select(load_grid(grid or DEFAULT_GRID), names, tag, overrides)
    ]
    planned = batch.plan(cells, run, force)
    for item in planned:
        if item.note:
            typer.echo(f"note: {item.note}", err=True)
    return planned


def _execute(planned, run, workers, scheduler, timeout, retries):
    from casebook import run as batch

    limits = batch.Limits(timeout, retries)
    with batch_progress() as (say, show):
        batch.run_batch(planned, run, workers, scheduler, say, limits, show)


def _overrides(pairs):
    """Read ``name=value`` pairs; a value is YAML, so lists and numbers work."""
    from casebook.plain_yaml import parse_yaml

    result = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"-p {pair}: expected name=value")
        if name in ("run", "cell"):
            raise InputError(f"-p {pair}: the runner sets it; --run names the run")
        if name in result:
            raise InputError(f"-p {pair}: {name} is given twice")
        result[name] = parse_yaml(value, f"-p {name}")
        try:
            json.dumps(result[name], allow_nan=False)
        except TypeError:
            raise InputError(f"-p {pair}: quote the value to make it text") from None
        except ValueError:
            raise InputError(f"-p {pair}: numbers must be finite") from None
    return result


COMMANDS = (report, run, build, publish)
