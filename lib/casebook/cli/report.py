"""``casebook report | run | build | publish``: execute notebooks, render the book, publish it."""

import contextlib
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.common import Json, RunName, Scheduler, Timeout, Workers, exclusive, say, show
from casebook.errors import InputError
from casebook.paths import data_folder

MOST_ANSWERS = 3  # experiments whose answers a run prints
Grid = Annotated[Path | None, typer.Option(help="Grid file instead of notebooks/experiments.yml.")]
Tag = Annotated[str, typer.Option(help="Configurations to run: smoke, default, permissive or full.")]
Retries = Annotated[int, typer.Option(min=0, help="Further attempts after a lost kernel or worker.")]
Force = Annotated[bool, typer.Option("--force", help="Run unchanged configurations again.")]
Compare = Annotated[str | None, typer.Option(help="Another run; a page shows the differences.")]


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
    """Download the data, run all configurations with a tag, then build the book.

    Example: casebook report --run mine --workers 2
    """
    exclusive(context, "scheduler", "workers")
    _pull(grid, tag)
    planned = _plan(run, (), grid, tag, force, {})
    _execute(planned, run, workers, scheduler, timeout, retries)
    build(run, compare)


def run(
    context: typer.Context,
    experiments: Annotated[
        list[str] | None, typer.Argument(help="Experiments, configurations or notebooks (./mine.ipynb); default: all.")
    ] = None,
    run: RunName = "report",
    grid: Grid = None,
    tag: Tag = "default",
    workers: Workers = 1,
    scheduler: Scheduler = None,
    timeout: Timeout = None,
    retries: Retries = 1,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run and why, and stop.")] = False,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--parameter", help="A parameter as name=value; values are YAML; repeatable."),
    ] = None,
):
    """Run experiments; unchanged ones are skipped.

    Example: casebook run retrieval_ablation --run mine -p dataset=./my_folder
    """
    exclusive(context, "scheduler", "workers")
    from casebook.runs.headlines import read_headlines

    planned = _plan(run, tuple(experiments or ()), grid, tag, force, _overrides(parameter or []))
    if not dry_run:
        _execute(planned, run, workers, scheduler, timeout, retries)
        for item in planned if len(planned) <= MOST_ANSWERS else ():
            for headline in read_headlines(run, item.cell.name):
                typer.echo(f"{headline.question}\n    {headline.sentence}")
        typer.echo(f"results/{run}: next, casebook build --run {run}")
        return
    for item in planned:
        why = f"  {', '.join(item.changed)} changed" if item.changed else ""
        typer.echo(f"{item.status:7} {item.cell.name}{why}")


def build(run: RunName = "report", compare: Compare = None):
    """Render results/<run> as a self-contained site.

    Example: casebook build --run mine
    """
    from casebook.book import build_book

    index = build_book(run, compare)
    pages = sum(1 for _ in index.parent.rglob("*.html"))
    size = sum(path.stat().st_size for path in index.parent.rglob("*") if path.is_file())
    typer.echo(f"report: {index} ({pages} pages, {size / 1e6:.1f} MB)")


def publish(
    run: Annotated[str, typer.Argument(help="Name of the run: results/<run>.")],
    url: Annotated[str, typer.Argument(help="A folder, or an address such as s3://bucket/report.")],
    as_json: Json = False,
):
    """Copy results/<run> and its site to a folder or object store.

    Example: casebook publish mine s3://bucket/report
    """
    from casebook.book.publish import publish_run

    found = publish_run(run, url)
    line = "{url}: {written} files written, {unchanged} unchanged, {removed} removed"
    show(found, as_json, [line.format_map(found), f"site: {found['site']}"])


def _pull(grid, tag):
    """Fetch the data sets of a tag; files that are here are only verified."""
    from casebook.assistant import ANSWERED, TEMPLATES
    from casebook.data.registry import pull, resolve
    from casebook.data.sources import Absent
    from casebook.data.sources import pull as pull_card
    from casebook.grid import DEFAULT_GRID, load_grid, select

    cells = select(load_grid(grid or DEFAULT_GRID), tag=tag)
    names = {}
    for cell in cells:
        found = {cell.parameters.get(name) for name in ("dataset", "rating_set")} - {None}
        names.setdefault(cell.experiment == "assistant", set()).update(n for n in found if data_folder(n) is None)
    logs, others = names.get(True, set()), names.get(False, set())
    votes = {name for name in others if resolve(name)[0].kind == "votes"}
    stand_ins = {TEMPLATES} if ANSWERED in logs else set()
    needed = (others - votes) | (logs - {ANSWERED}) | stand_ins
    pull(sorted(needed))
    for name in sorted((others | logs) - needed):
        try:
            pull_card(resolve(name)[0])
        except Absent as problem:
            stands_in = "its reconstruction stands in" if name in votes else f"templates on {TEMPLATES} stand in"
            say(f"warning: {problem}; {stands_in}")


def _plan(run, names, grid, tag, force, overrides):
    from casebook.grid import DEFAULT_GRID, load_grid, select
    from casebook.parameters import path_parameters, resolved
    from casebook.paths import NOTEBOOKS
    from casebook.run import data_folders, plan

    taken, known = data_folders(run), load_grid(grid or DEFAULT_GRID)
    paths = {name: kind for cell in known for name, kind in path_parameters(NOTEBOOKS / cell.notebook).items()}
    overrides = resolved(overrides, taken, paths)
    cells = [
        replace(cell, parameters=resolved(cell.parameters, taken, paths))
        for cell in select(known, names, tag, overrides)
    ]
    planned = plan(cells, run, force)
    for item in planned:
        if item.note:
            say(f"note: {item.note}")
    return planned


def _execute(planned, run, workers, scheduler, timeout, retries):
    from casebook.run import run_batch

    with _progress() as (line, show):
        run_batch(planned, run, workers, scheduler, line, show, timeout=timeout, retries=retries)


def _overrides(texts):
    """Read ``name=value`` pairs; a value is YAML, so lists and numbers work."""
    from casebook.readers import parse_yaml

    result = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"-p {text}: expected name=value")
        if name in ("run", "cell"):
            raise InputError(f"-p {text}: the runner sets it; --run names the run")
        if name in result:
            raise InputError(f"-p {text}: {name} is given twice")
        result[name] = parse_yaml(value, f"-p {name}")
        try:
            json.dumps(result[name], allow_nan=False)
        except TypeError:
            raise InputError(f"-p {text}: quote the value to make it text") from None
        except ValueError:
            raise InputError(f"-p {text}: numbers must be finite") from None
    return result


@contextlib.contextmanager
def _progress():
    """A bar on the terminal while a batch works, plain lines where there is none: always standard error."""
    if not sys.stderr.isatty() or os.environ.get("TQDM_DISABLE", "0") not in ("", "0"):
        yield say, None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from casebook.progress import clock

    class Left(ProgressColumn):
        """Time left by the batch's own estimate, counting down while a long cell works."""

        def render(self, task):
            end = task.fields.get("end")
            return Text(
                "time left not known yet" if end is None else f"about {clock(max(end - time.monotonic(), 0))} left"
            )

    columns = (
        MofNCompleteColumn(),
        BarColumn(),
        TimeElapsedColumn(),
        Left(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", start=True, total=None)

        def line(text):
            bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

        def show(done, total, running, seconds_left):
            end = seconds_left and time.monotonic() + seconds_left
            bar.update(task, completed=done, total=total, description=", ".join(running), end=end)

        yield line, show


COMMANDS = (report, run, build, publish)
