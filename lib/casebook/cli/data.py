"""``casebook data``: list, pull and check the data sets, and show their cards."""

import json
from typing import Annotated

import typer

from casebook.errors import CheckFailed

app = typer.Typer(help="List, pull and check the data sets.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Names = Annotated[list[str] | None, typer.Argument(help="Data sets; none means all.")]


@app.command("list")
def list_(as_json: Json = False):
    """List the data sets, their licences and whether they are here.

    Example: casebook data list --json
    """
    from casebook.data import registry

    _print(registry.overview(), as_json)


@app.command()
def pull(names: Names = None):
    """Fetch data sets from the sources on their cards, checked by hash.

    Example: casebook data pull consumer_contracts_qa privacy_qa
    """
    from casebook.data import registry

    for path in registry.pull(names or None):
        typer.echo(str(path))


@app.command()
def check(names: Names = None, as_json: Json = False):
    """Check the cached files against hashes and counts; exit 2 if any differs.

    Example: casebook data check
    """
    from casebook.data import registry

    rows = registry.check(names or None)
    _print(rows, as_json)
    bad = [row["dataset"] for row in rows.to_dict("records") if row["status"] == "bad"]
    if bad:
        raise CheckFailed(f"{', '.join(bad)}: pull again: casebook data pull")


@app.command()
def card(name: Annotated[str, typer.Argument(help="Data set, see 'casebook data list'.")]):
    """Show a data card: licence, citation, sources, counts, caveats.

    Example: casebook data card privacy_qa
    """
    from casebook.data import registry

    typer.echo(registry.card_text(name))


def _print(frame, as_json):
    if as_json:
        typer.echo(json.dumps(frame.to_dict("records"), indent=2, default=str))
    else:
        typer.echo(frame.to_string(index=False))
