"""``casebook report | run | init | build``: execute notebooks, render the book."""

from casebook import batch, data, paths, runs
from casebook.cli.commands import command, echo, say, use_models
from casebook.errors import InputError


@command()
def init(folder, title, author, licence):
    from casebook.project import start_project

    start_project(folder, title, author, licence)
    echo(
        f"{folder}: next, cd {folder} && casebook report; then edit notebooks/experiments.yml"
    )


@command()
def report(run, tag, grid, force, device, precision, batch_size, **options):
    if grid is None and paths.ROOT == paths.INSTALLED:
        raise InputError(
            f"no {paths.GRID} here or above: cd into a book, or casebook init FOLDER"
        )
    use_models(device, precision, batch_size)
    cells = batch.grid.load_grid(grid or batch.grid.DEFAULT_GRID)
    _pull(batch.grid.select(cells, tag=tag))
    batch.run.run_batch(
        _plan(run, cells, [], tag, {}, force), run, report=say, **options
    )
    build(run)


@command()
def run(
    names,
    run,
    parameters,
    grid,
    tag,
    force,
    dry_run,
    device,
    precision,
    batch_size,
    **options,
):
    use_models(device, precision, batch_size)
    cells = batch.grid.load_grid(grid or batch.grid.DEFAULT_GRID)
    planned = _plan(run, cells, names, tag, parameters, force)
    if dry_run:
        for item in planned:
            why = f"  {', '.join(item.changed)} changed" if item.changed else ""
            echo(f"{item.status:7} {item.cell.name}{why}")
        return
    batch.run.run_batch(planned, run, report=say, **options)
    # Answers of few experiments are printed.
    for item in planned if len(planned) <= 3 else ():
        for headline in runs.headlines.read_headlines(run, item.cell.name):
            echo(f"{headline.question}\n    {headline.sentence}")
    echo(f"results/{run}: next, casebook build --run {run}")


@command()
def build(run):
    from casebook.book import build_book

    echo(f"report: {build_book(run)}")


def _pull(cells):
    """Fetch the data sets of cells; for published answers and votes others may stand in."""
    roles = ("dataset", "rating_set")
    names = {cell.parameters.get(role) for cell in cells for role in roles} - {None}
    for name in sorted(names):
        try:
            if paths.data_folder(name) is None:
                data.registry.pull([name])
        except data.sources.Absent as problem:
            say(f"warning: {problem}; a demonstration or a reconstruction may stand in")


def _plan(run, cells, names, tag, texts, force):
    """Choose the cells of a batch and find what each still needs."""
    if texts.keys() & {"run", "cell"}:
        raise InputError("-p: the runner sets run and cell; --run names the run")
    sources = {cell.source for cell in batch.grid.select(cells, names, tag, texts)}
    overrides = batch.parameters.values_of(texts, sources)
    batch.grid.refuse_unstorable(overrides, "-p")
    return batch.plan.plan(batch.grid.select(cells, names, tag, overrides), run, force)
