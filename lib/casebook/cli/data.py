"""``casebook data``: list, pull and check the data sets, and show their cards."""

from casebook import data
from casebook.cli.common import Json, argument, command_group, echo, show
from casebook.errors import CheckFailed

app = command_group("data", "List, pull and check the data sets.")

Names = argument(list[str] | None, "Data sets; none means all.")


@app.command("list")
def list_(as_json: Json = False):
    """List the data sets with licence and status (ok: on this machine).

    Example: casebook data list --json
    """
    table = data.registry.overview()
    show(table, as_json, table)


@app.command()
def pull(names: Names = None):
    """Download data sets from the sources on their cards and check their hashes.

    Example: casebook data pull consumer_contracts_qa privacy_qa
    """
    for path in data.registry.pull(names or None):
        echo(str(path))


@app.command()
def check(names: Names = None, as_json: Json = False):
    """Check the files on this machine against hashes and counts; exit code 2 if one differs.

    A folder of your own, such as ./lease, is read, all its splits, and searched for repeated ids
    and texts, unknown ids, conflicting grades, and questions that two splits share; exit code 2
    too if there are any.

    Example: casebook data check ./lease
    """
    rows = data.registry.check(names or None)
    show(rows, as_json, rows)
    bad_datasets = rows.loc[rows["status"] == "bad", "dataset"].unique()
    if len(bad_datasets):
        raise CheckFailed(
            f"{', '.join(bad_datasets)}: pull again: casebook data pull; or correct your folder"
        )


@app.command()
def card(name: argument(str, "Data set, see 'casebook data list'.")):
    """Show a data card: licence, citation, sources, counts and caveats.

    Example: casebook data card privacy_qa
    """
    data_card, _ = data.registry.resolve(name)
    echo(data.cards.as_markdown(data_card))
