"""``casebook explain score``: how far explanations are grounded in their sources."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.common import DOCUMENTS, Json, Out, Resamples, Seed, show_report
from casebook.files import refuse_overwriting

app = typer.Typer(help="Measure explanations against their sources.", no_args_is_help=True)


@app.callback()
def _group():
    """Measure explanations against their sources."""


@app.command()
def score(
    explanations: Annotated[Path, typer.Argument(help="JSON lines: id, explanation, and source, sources or contexts.")],
    sources: Annotated[Path | None, typer.Option(help=f"{DOCUMENTS}.")] = None,
    foreign: Annotated[int, typer.Option(min=1, help="Foreign sources per explanation, as control.")] = 3,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
):
    """Score the faithfulness of explanations, as COUNTERCASE states it, as its code has it, and as standard measure.

    Each explanation is also scored against sources that have nothing to do with it: a score means as much as it
    exceeds that control. AUROC of sentences is the probability that a sentence shares more words with its own source
    than a sentence does with another. Word overlap does not notice a turned negation or most changed numbers.

    Example: casebook explain score explanations.jsonl --sources judgments
    """
    from casebook.explain.study import own_explanations, score, score_parts, score_report

    refuse_overwriting(out, explanations, sources)
    explained = own_explanations(explanations, sources)
    found = score(explained, foreign=foreign, pool=explained.sources, n_boot=resamples, seed=seed)
    report = score_report(explained, found)
    show_report(report, as_json, out, *score_parts(report))
