"""``casebook data | convert``: data sets, their cards, and collections made of tables."""

from casebook import data
from casebook.cli.commands import command, command_group
from casebook.cli.common import echo, show
from casebook.errors import CheckFailed

group = command_group("data", "List, pull and check the data sets.")


@command(group, "list")
def list_(as_json):
    """List the data sets with licence and status (ok: on this machine).

    Example: casebook data list --json
    """
    table = data.registry.overview()
    show(table, as_json, table)


@command(group)
def pull(names):
    """Download data sets from the sources on their cards and check their hashes.

    Example: casebook data pull consumer_contracts_qa privacy_qa
    """
    for path in data.registry.pull(names or None):
        echo(str(path))


@command(group)
def check(names, as_json):
    """Check files against hashes and counts; exit code 2 if one differs.

    A folder of your own, such as ./lease, is read and searched for repeated ids and texts, unknown
    ids, conflicting grades, and questions that two splits share; exit code 2 if there are any.

    Example: casebook data check ./lease
    """
    rows = data.registry.check(names or None)
    show(rows, as_json, rows)
    bad = rows.loc[rows["status"] == "bad", "dataset"].unique()
    if len(bad):
        names = ", ".join(bad)
        raise CheckFailed(f"{names}: pull again: casebook data pull; or correct your folder")


@command(group)
def card(name):
    """Show a data card: licence, citation, sources, counts and caveats.

    Example: casebook data card privacy_qa
    """
    found, _ = data.registry.resolve(name)
    echo(data.cards.as_markdown(found))


@command()
def convert(
    out,
    corpus,
    queries,
    qrels,
    columns,
    as_json,
):
    """Convert tables (CSV, TSV, JSON lines, xlsx, parquet) to a folder for all chapters.

    Example: casebook convert faq --corpus docs.csv --queries questions.csv --qrels qrels.csv
    """
    splits = {}
    for text in qrels:
        split, between, path = text.rpartition("=")
        splits[split if between else "test"] = path
    readings = data.convert.convert(out, corpus, queries, splits, columns=columns)
    report = {part: reading.record() for part, reading in readings.items()}
    folder = out if out.is_absolute() else f"./{out}"
    following = f"next, casebook run retrieval_ablation -p dataset={folder}"
    show(report, as_json, *map(str, readings.values()), f"{out}: {following}")
