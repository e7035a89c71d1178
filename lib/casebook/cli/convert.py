"""``casebook convert``: make the folder that every chapter reads from data of any usual layout."""

import shlex
from pathlib import Path

from casebook.cli.common import Json, argument, option, pairs, print_json, show
from casebook.errors import InputError
from casebook.paths import data_folder


def convert(
    source: argument(
        Path, "Folder, or a table of questions with passages; with --corpus it may be left out."
    ),
    out: argument(Path | None, "Folder to make.") = None,
    corpus: option(list[Path] | None, "Documents: a file or folder; repeatable.") = None,
    queries: option(list[Path] | None, "Questions: a file or folder; repeatable.") = None,
    qrels: option(
        list[Path] | None, "Judgements, such as qrels.dev.txt for the split dev; repeatable."
    ) = None,
    columns: option(
        list[str] | None,
        "ROLE=YOURS, such as text=body or corpus.id=nr; repeatable. Usual names are known.",
    ) = None,
    max_missing: option(
        float, "Largest share of judgements that may name what is not there.", min=0, max=1
    ) = 0.05,
    force: option(bool, "Replace a folder that was made by this command.", "--force") = False,
    as_json: Json = False,
):
    """Convert CSV, TSV, JSON lines, xlsx, parquet, TREC or MS MARCO files for all chapters.

    Example: casebook convert my_data my_folder
    """
    from casebook.data.convert import convert, report_lines

    if out is None:
        if not corpus:
            raise InputError(
                f"{source}: name the folder to make too, or the documents: --corpus FILE"
            )
        out = source
        source = None
    report = convert(
        source,
        out,
        corpus=corpus or (),
        queries=queries or (),
        qrels=qrels or (),
        columns=pairs(columns, "=", "--columns ROLE=YOURS"),
        max_missing=max_missing,
        force=force,
    )
    if as_json:
        print_json(report)
        return
    show(report, False, report_lines(report), _next_lines(report))


def _next_lines(report):
    """Say how a chapter reads the folder, if there is something to score."""
    splits = [*report.get("qrels", {}), *report.get("pairs", {})]
    if not splits:
        return []
    folder = report["folder"] if "/" in report["folder"] else f"./{report['folder']}"
    try:
        data_folder(folder)
    except InputError:  # no name for a data set
        folder = f"mine={folder}"
    line = f"next, casebook run retrieval_ablation -p {shlex.quote(f'dataset={folder}')}"
    return [line if "test" in splits else f"{line} -p split={splits[0]}"]


COMMANDS = (convert,)
