"""``casebook explain score``: how far explanations are grounded in their sources."""

from casebook import data, explain
from casebook.cli.commands import command, command_group
from casebook.cli.common import lines_of, show_report
from casebook.files import refuse_overwriting

group = command_group("explain", "Measure explanations against their sources.")
group.callback()(lambda: None)  # a group, although it has one command


@command(group)
def score(
    explanations,
    sources,
    columns,
    rows,
    lists,
    out,
    as_json,
    **options,
):
    """Score the faithfulness of explanations: COUNTERCASE's definitions and standard measures.

    Each explanation is also scored against sources that have nothing to do with it: a score means
    as much as it exceeds that control. Word overlap does not notice a turned negation.

    Example: casebook explain score explanations.jsonl --sources judgments
    """
    refuse_overwriting(out, explanations, sources)
    explained = explain.study.read_explanations(explanations, sources, columns, rows, lists)
    scored = explain.study.score_explanations(explained, pool=explained.sources, **options)
    tables = explain.study.score_tables(explained, scored)
    reading = data.tables.reading_text(explained.reading)
    show_report({"name": explained.name, **tables}, as_json, out, reading, *lines_of(tables))
