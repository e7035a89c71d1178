"""``casebook convert``: make the folder that every chapter reads from tables."""

from casebook import data
from casebook.cli.commands import command
from casebook.cli.common import show


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
