"""``casebook explain score``: how far explanations are grounded in their sources."""

from pathlib import Path

from casebook import data, explain
from casebook.cli.common import (
    DOCUMENTS,
    Columns,
    Json,
    Lists,
    Out,
    Resamples,
    Rows,
    Seed,
    argument,
    command_group,
    option,
    pairs,
    plain,
    show_report,
)
from casebook.files import refuse_overwriting

app = command_group("explain", "Measure explanations against their sources.")


@app.callback()
def _group():
    """Measure explanations against their sources."""


@app.command()
def score(
    explanations: argument(Path, "Table: id, explanation, and source, sources or contexts."),
    sources: option(Path | None, f"{DOCUMENTS}.") = None,
    columns: Columns = None,
    rows: Rows = None,
    lists: Lists = "json",
    foreign: option(int, "Foreign sources per explanation, as control.", min=1) = 3,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
):
    """Score the faithfulness of explanations, as COUNTERCASE states it, as its code has it, and as
    standard measure.

    Each explanation is also scored against sources that have nothing to do with it: a score means
    as much as it exceeds that control. AUROC of sentences is the probability that a sentence shares
    more words with its own source than a sentence does with another. Word overlap does not notice a
    turned negation or most changed numbers.

    Example: casebook explain score explanations.jsonl --sources judgments
    """
    refuse_overwriting(out, explanations, sources)
    explained = explain.study.read_explanations(
        explanations, sources, pairs(columns, "=", "--columns ROLE=COLUMN"), rows, lists
    )
    scored = explain.study.score_explanations(
        explained, foreign=foreign, pool=explained.sources, n_resamples=resamples, seed=seed
    )
    tables = explain.study.score_tables(explained, scored)
    lines = [data.tables.reading_text(explained.reading)]
    report = plain({"name": explained.name, **tables})
    show_report(report, as_json, out, lines, *tables.values())
