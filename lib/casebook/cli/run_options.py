"""Options that the commands on runs share."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from casebook.errors import InputError, MeasureNote

Root = Annotated[
    Path | None,
    typer.Option(
        help="Folder that holds the runs. Default: that of the domain and tenant, if "
        "one is set, else all of results/ without tenants.",
    ),
]
Domain = Annotated[
    str | None,
    typer.Option("--domain", "--domainKey", help="Domain of the results."),
]
Tenant = Annotated[str | None, typer.Option(help="Tenant; default: CASEBOOK_TENANT.")]
Metric = Annotated[
    str,
    typer.Option(
        "-m",
        "--metric",
        help="Metric key, in any letter case.",
        callback=lambda metric: noted(metric),
    ),
]
Profile = Annotated[
    str | None, typer.Option(help="A separate pointer besides the plain one.")
]
Write = Annotated[bool, typer.Option("--write", help="Write the report files too.")]
Out = Annotated[Path | None, typer.Option(help="Folder for the report files.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Let runs on different data compete; it is stamped."),
]
Repo = Annotated[
    bool,
    typer.Option("--include-repo-posneg", help="Count the runs below _repo too."),
]
Workflow = Annotated[
    str | None, typer.Option(help="Only runs of this workflow (experiment).")
]
Key = Annotated[
    str | None, typer.Option(help="Only runs whose comparability key starts so.")
]
Run = Annotated[str, typer.Argument(help="Run id, its beginning, or its folder.")]
DEFAULT_METRIC = "original:ndcg@3"


def noted(metric):
    """Say which formula a document's key names, where no prefix does."""
    from casebook.runs.metrics import DOCUMENTED, label

    if metric and metric.strip().lower() in DOCUMENTED:
        key = metric.strip().lower()
        text = f"{metric} of a run record is EmbeddingShift's formula, {label(key)}; "
        text += f"a standard measure ends a chapter's key, as in smoke.full.{key}"
        warnings.warn(text, MeasureNote, stacklevel=2)
    return metric


def open_registry(domain, tenant, runs_root, include_repo=False):
    """Find and read the registry that the options name.

    Parameters
    ----------
    domain, tenant : str or None
        Names.
    runs_root : pathlib.Path or None
        Folder instead of the default.
    include_repo : bool
        Whether the runs below ``_repo`` count.

    Returns
    -------
    casebook.runs.registry.Listing
        All runs.
    """
    from casebook.runs.layout import locate
    from casebook.runs.registry import REPO, discover

    include = (REPO,) if include_repo else ()
    return discover(locate(domain, tenant, runs_root), include=include)


def root_of(domain, tenant, runs_root):
    """Find the folder of the log of promotions that the options name.

    Parameters
    ----------
    domain, tenant : str or None
        Names.
    runs_root : pathlib.Path or None
        Folder instead of the default.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    InputError
        If a folder is named that is not there: an empty log would be no answer.
    """
    from casebook.runs.layout import locate

    if runs_root is not None and not runs_root.is_dir():
        raise InputError(f"{runs_root}: no such folder")
    return locate(domain, tenant, runs_root).root


def chosen(listing, workflow, key):
    """Give the runs of a workflow and of one group of comparable runs.

    Parameters
    ----------
    listing : casebook.runs.registry.Listing
        The registry.
    workflow, key : str or None
        Filters.

    Returns
    -------
    list of casebook.runs.registry.Run
        Newest first.
    """
    from casebook.runs.ordering import short_key

    runs = listing.runs
    if workflow:
        runs = [r for r in runs if r.workflow.lower() == workflow.lower()]
    if key:
        runs = [r for r in runs if (r.key or short_key(r.key)).startswith(key)]
    return runs
