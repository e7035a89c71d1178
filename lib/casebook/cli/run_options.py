"""Options that the commands on runs share, and what is refused of them."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from casebook.errors import InputError, MeasureNote

Root = Annotated[
    Path | None,
    typer.Option(
        help="Folder that holds the runs. Default: that of the domain and tenant, if "
        "one is set, else all of results/ without tenants."
    ),
]
Domain = Annotated[str | None, typer.Option("--domain", "--domainKey", help="Domain of the results.")]
Tenant = Annotated[str | None, typer.Option(help="Tenant; default: CASEBOOK_TENANT.")]
Metric = Annotated[
    str, typer.Option("-m", "--metric", help="Metric key, in any letter case.", callback=lambda metric: noted(metric))
]


Profile = Annotated[str | None, typer.Option(help="A separate pointer besides the plain one.")]
Write = Annotated[bool, typer.Option("--write", help="Write the report files too.")]


Out = Annotated[Path | None, typer.Option(help="Folder for the report files.")]
Force = Annotated[bool, typer.Option("--force", help="Let runs on different data compete; it is stamped.")]
Repo = Annotated[bool, typer.Option("--include-repo-posneg", help="Count the runs below _repo too.")]
Workflow = Annotated[str | None, typer.Option(help="Only runs of this workflow (experiment).")]
Key = Annotated[str | None, typer.Option(help="Only runs whose comparability key starts so.")]
Run = Annotated[str, typer.Argument(help="Run id, its beginning, or its folder.")]
DEFAULT_METRIC = "original:ndcg@3"


def noted(metric):
    """Say which formula a document's key names, where no prefix does."""
    from casebook.runs.record import DOCUMENTED, label

    if metric and metric.strip().lower() in DOCUMENTED:
        key = metric.strip().lower()
        text = f"{metric} of a run record is EmbeddingShift's formula, {label(key)}; "
        text += f"a standard measure ends a chapter's key, as in smoke.full.{key}"
        warnings.warn(text, MeasureNote, stacklevel=2)
    return metric


def share(value: float):
    """Refuse a level that is not between 0 and 1."""
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value} is not between 0 and 1.")
    return value


def given(context, name):
    """Say whether an option was given, rather than left at its default."""
    return context.get_parameter_source(name).name == "COMMANDLINE"


def exclusive(context, one, *others, but=""):
    """Refuse options that mean nothing beside another one that was given."""
    flags = {p.name: max((*p.opts, ""), key=len) for p in context.command.params}
    for other in others:
        if given(context, one) and given(context, other):
            raise InputError(f"{flags[other]} means nothing beside {but or flags[one]}: leave one of them out")


def open_registry(domain, tenant, runs_root, include_repo=False):
    """Find and read the registry that the options name."""
    from casebook.runs.promotions import has_log
    from casebook.runs.registry import REPO, discover, locate

    include = (REPO,) if include_repo else ()
    one_root(domain, runs_root)
    listing = discover(locate(domain, tenant, runs_root), include=include)
    if not (listing.runs or listing.unreadable or has_log(listing.root)):
        raise InputError(_NO_RUNS.format(listing.root))
    return listing


def root_of(domain, tenant, runs_root):
    """Find the folder of the log of promotions that the options name."""
    from casebook.runs.promotions import has_log, logs_below

    root = open_registry(domain, tenant, runs_root).root
    below = [] if has_log(root) else logs_below(root)
    if below:
        raise InputError(
            f"{root}: has no log of promotions; name the registry that has one: "
            f"--runs-root {' or '.join(map(str, below[:3]))}"
        )
    return root


_NO_RUNS = (
    "{}: no registry: it holds neither runs nor promotions; runs appear there once an "
    "experiment was run, or name another folder with --runs-root"
)


def one_root(domain, runs_root):
    """Refuse a domain beside a folder that takes its place."""
    if domain and runs_root:
        raise InputError("--domain means nothing beside --runs-root: leave one of them out")


def chosen(listing, workflow, key):
    """Give the runs of a workflow and of one group of comparable runs."""
    from casebook.runs.registry import short_key

    runs = listing.runs
    if workflow:
        runs = [r for r in runs if r.workflow.lower() == workflow.lower()]
    if key:
        runs = [r for r in runs if (r.key or short_key(r.key)).startswith(key)]
    return runs


def written(path):
    """Say which report files were written, beside what the command prints."""
    typer.echo(f"written: {path} and {path.with_suffix('.md').name}", err=True)
