"""``casebook report | run | init | build``: execute notebooks, render the book."""

from pathlib import Path

import typer

from casebook import assistant, batch, data, runs
from casebook.cli.common import (
    BatchSize,
    Device,
    Precision,
    RunName,
    Scheduler,
    Timeout,
    Workers,
    argument,
    echo,
    exclusive,
    option,
    say,
    use_models,
)
from casebook.cli.extras import require
from casebook.errors import InputError
from casebook.paths import SHIPPED, data_folder

MOST_ANSWERS = 3  # experiments whose answers a run prints
Grid = option(
    Path | None,
    "Grid file instead of notebooks/experiments.yml; it names notebooks, which are code.",
)
Tag = option(str, "Configurations to run: smoke, default, permissive or full.")
Force = option(bool, "Run unchanged configurations again.", "--force")


def report(
    context: typer.Context,
    run: RunName = "report",
    grid: Grid = None,
    tag: Tag = "default",
    workers: Workers = 1,
    scheduler: Scheduler = None,
    timeout: Timeout = None,
    force: Force = False,
    device: Device = None,
    precision: Precision = None,
    batch_size: BatchSize = None,
):
    """Download the data, run all configurations with a tag, then build the book.

    Example: casebook report --run mine --workers 2
    """
    exclusive(context, "scheduler", "workers")
    use_models(device, precision, batch_size)
    require("book")
    _pull(grid, tag)
    planned = _plan(run, [], {}, grid, tag, force)
    batch.run.run_batch(planned, run, workers, scheduler, say, timeout=timeout)
    build(run)


def run(
    context: typer.Context,
    experiments: argument(
        list[str] | None, "Experiments, configurations or notebooks (./mine.ipynb); default: all."
    ) = None,
    run: RunName = "report",
    dry_run: option(bool, "Print what would run and why, and stop.", "--dry-run") = False,
    parameter: option(
        list[str] | None,
        "A parameter as name=value; numbers, lists and the like are YAML; repeatable.",
        "-p",
        "--parameter",
    ) = None,
    grid: Grid = None,
    tag: Tag = "default",
    workers: Workers = 1,
    scheduler: Scheduler = None,
    timeout: Timeout = None,
    force: Force = False,
    device: Device = None,
    precision: Precision = None,
    batch_size: BatchSize = None,
):
    """Run experiments; unchanged ones are skipped.

    Example: casebook run retrieval_ablation --run mine -p dataset=./my_folder
    """
    exclusive(context, "scheduler", "workers")
    if experiments and all(name.endswith(".ipynb") for name in experiments):
        exclusive(context, "experiments", "tag", but="notebooks of your own")
    use_models(device, precision, batch_size)
    require("book")
    texts = _parameters(parameter or [])
    planned = _plan(run, experiments or [], texts, grid, tag, force)
    if dry_run:
        for item in planned:
            why = f"  {', '.join(item.changed)} changed" if item.changed else ""
            echo(f"{item.status:7} {item.cell.name}{why}")
        return
    batch.run.run_batch(planned, run, workers, scheduler, say, timeout=timeout)
    for item in planned if len(planned) <= MOST_ANSWERS else ():
        for headline in runs.headlines.read_headlines(run, item.cell.name):
            echo(f"{headline.question}\n    {headline.sentence}")
    echo(f"results/{run}: next, casebook build --run {run}")


def init(
    context: typer.Context,
    folder: argument(Path, "Folder to make; it must not be there, or be empty."),
    title: option(str, "Title of the book.") = "Evidence",
    author: option(str, "Author of the book.") = "The authors",
    licence: option(str | None, "Licence of the report, as SPDX names it: CC-BY-4.0.") = None,
    update: option(
        bool, "Bring the notebooks of a project up to date; changed ones stay.", "--update"
    ) = False,
):
    """Start a book of your own: notebooks, grid, example data, settings.

    Example: casebook init my_book --title "Our assistant" --author "A. Lawyer"
    """
    from casebook.project import start_project, update_project

    exclusive(context, "update", "title", "author", "licence")
    if not update:
        start_project(folder, title, author, licence)
        echo(f"{folder}: next, cd {folder} && casebook report; then edit notebooks/experiments.yml")
        return
    outcomes = update_project(folder)
    for name, outcome in outcomes.items():
        line = f"{outcome:9} {name}"
        if outcome == "kept":
            new = SHIPPED / "notebooks" / name
            line += f", which you changed: diff {folder / 'notebooks' / name} {new}"
        echo(line)
    n_kept = list(outcomes.values()).count("kept")
    echo(f"{folder}: {len(outcomes) - n_kept} notebooks brought up to date, {n_kept} kept")


def build(run: RunName = "report"):
    """Render results/<run> as a self-contained site.

    Example: casebook build --run mine
    """
    from casebook.book import build_book

    index = build_book(run)
    files = [path for path in index.parent.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    size = sum(path.stat().st_size for path in files)
    echo(f"report: {index} ({pages} pages, {size / 1e6:.1f} MB)")


def _pull(grid, tag):
    """Fetch the data sets of a tag; files that are here are only verified."""
    needed = set()
    stand_in = set()
    for cell in batch.grid.select(batch.grid.load_grid(grid or batch.grid.DEFAULT_GRID), tag=tag):
        for parameter in ("dataset", "rating_set"):
            name = cell.parameters.get(parameter)
            if not name or data_folder(name) is not None:
                continue
            is_votes = data.registry.resolve(name)[0].kind == "votes"
            is_published = (cell.experiment, name) == ("assistant", assistant.ANSWERED)
            (stand_in if is_votes or is_published else needed).add(name)
    data.registry.pull(sorted(needed))
    for name in sorted(stand_in - needed):
        try:
            data.sources.pull(data.registry.resolve(name)[0])
        except data.sources.Absent as problem:
            say(f"warning: {problem}; a demonstration or a reconstruction stands in")


def _plan(run, names, texts, grid, tag, force):
    """Choose the cells of a batch and say what each still needs."""
    from casebook.project import version_note

    cells = batch.grid.load_grid(grid or batch.grid.DEFAULT_GRID)
    chosen = batch.grid.select(cells, names, tag, texts)
    overrides = batch.parameters.values_of(texts, {cell.source for cell in chosen})
    batch.grid.refuse_unstorable(overrides, "-p")
    batch.parameters.refuse_secrets(overrides)
    batch.run_folder.check_writable(run)
    planned = batch.plan.plan(batch.grid.select(cells, names, tag, overrides), run, force)
    note = version_note()
    if note:
        say(f"note: {note}")
    return planned


def _parameters(texts):
    """Parameters given as ``name=value``, whose values are read when their notebooks are known."""
    result = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"-p {text}: expected name=value")
        if name in ("run", "cell"):
            raise InputError(f"-p {text}: the runner sets it; --run names the run")
        if name in result:
            raise InputError(f"-p {text}: {name} is given twice")
        result[name] = value
    return result


COMMANDS = (init, report, run, build)
