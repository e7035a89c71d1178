"""``casebook convert``: make the folder that every chapter reads from tables."""

import shlex
from pathlib import Path

from casebook import data
from casebook.cli.common import Json, argument, option, pairs, show
from casebook.errors import InputError
from casebook.paths import data_folder


def convert(
    out: argument(Path, "Folder to make."),
    corpus: option(Path, "Table of documents: id, text, and perhaps title."),
    queries: option(Path | None, "Table of questions: id, text.") = None,
    qrels: option(
        list[str] | None,
        "Table of judgements: query, document, grade; SPLIT=FILE for another split than test; "
        "repeatable.",
    ) = None,
    columns: option(
        list[str] | None, "A column of another name: corpus.text=body; repeatable."
    ) = None,
    as_json: Json = False,
):
    """Convert tables (CSV, TSV, JSON lines, xlsx, parquet) to a folder for all chapters.

    Example: casebook convert my_folder --corpus docs.csv --queries questions.csv --qrels qrels.csv
    """
    tables = [table if "=" in table else f"test={table}" for table in qrels or ()]
    splits = pairs(tables, "=", "--qrels SPLIT=FILE")
    readings = data.convert.convert(
        out,
        corpus,
        queries,
        splits,
        columns=pairs(columns, "=", "--columns TABLE.COLUMN=YOURS"),
    )
    report = {part: reading.record() for part, reading in readings.items()}
    lines = [str(reading) for reading in readings.values()]
    show(report, as_json, [*lines, f"{out}: {_next(str(out), list(splits))}"])


def _next(folder, splits):
    if not splits:
        return "written; no judgements: chapters that score rankings need them"
    folder = folder if "/" in folder else f"./{folder}"
    try:
        data_folder(folder)
    except InputError:  # no name for a data set
        folder = f"mine={folder}"
    line = f"next, casebook run retrieval_ablation -p {shlex.quote(f'dataset={folder}')}"
    return line if "test" in splits else f"{line} -p split={splits[0]}"


COMMANDS = (convert,)
