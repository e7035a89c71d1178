"""Options and output that the commands on runs share."""

import json
from pathlib import Path
from typing import Annotated

import typer

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
    str, typer.Option("-m", "--metric", help="Metric key, in any letter case.")
]
Profile = Annotated[
    str | None, typer.Option(help="A separate pointer besides the plain one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
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
DEFAULT_METRIC = "ndcg@3"


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


def show(value, as_json, lines):
    """Print JSON, or lines for people.

    Parameters
    ----------
    value : object
        What ``--json`` prints.
    as_json : bool
        Which of the two.
    lines : iterable of str
        What people read.
    """
    if as_json:
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    for line in lines:
        typer.echo(line)


def table(rows, columns):
    """Yield an aligned text table.

    Parameters
    ----------
    rows : list of dict
        One per line.
    columns : sequence of str
        Keys, in order.

    Yields
    ------
    str
        Header, then one line per row.
    """
    from casebook.runs.reports import cell

    grid = [list(columns), *([cell(row[c]) for c in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    for line in grid:
        yield "  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip()
