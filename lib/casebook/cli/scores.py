"""``casebook evaluate | compare``: measures and tests on TREC files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json
from casebook.cli.run_options import exclusive
from casebook.errors import InputError

DEFAULT = ["nDCG@10", "RR@10", "R@100", "AP"]

Qrels = Annotated[Path, typer.Argument(help="TREC qrels, plain or .gz.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="Such as nDCG@10, mrr, map, P@5, original:ndcg@3; repeatable."),
]


def evaluate(
    qrels: Qrels,
    run: Annotated[Path, typer.Argument(help="TREC run, plain or .gz.")],
    measure: Measures = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="One line per query and measure.")] = False,
    ties: Annotated[bool, typer.Option("--ties", help="Lowest, expected, highest value under ties.")] = False,
    judged_only: Annotated[bool, typer.Option("--judged-only", help="Leave unjudged documents out.")] = False,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Leave out queries the run lacks.")] = False,
    as_json: Json = False,
):
    """Score one run against judgements, with intervals and a query account.

    Example: casebook evaluate qrels.txt run.txt.gz -m nDCG@10 -m RR --json
    """
    from casebook.measures import ranking, ranking_ties
    from casebook.stats.intervals import bootstrap_mean

    names = measure or DEFAULT
    options = {"judged_only": judged_only, "missing": "skip" if skip_missing else "zero"}
    result = ranking.evaluate(qrels, run, names, **options)
    frame = result.frame()
    intervals = {name: bootstrap_mean(frame[name].to_numpy()) for name in frame}
    tied = ranking_ties.tie_bounds(qrels, run, names, **options) if ties else None
    if as_json:
        print_json(_evaluation(result, intervals, tied))
        return
    _print_evaluation(result, intervals, tied)
    if per_query:
        typer.echo(frame.to_string(float_format="%.4f"))


def _print_evaluation(result, intervals, tied):
    from casebook.stats.intervals import bounds_text

    for name, interval in intervals.items():
        bounds = bounds_text(interval.low, interval.high, "z.4f")
        why = f"  {interval.reason}" if interval.reason else ""
        typer.echo(f"{name:12} {result.mean[name]:z.4f}  {bounds}  n={interval.n}{why}")
    typer.echo("intervals: 95 %, Student t and BCa over queries")
    typer.echo(_account(result.accounting))
    if tied is not None:
        typer.echo("under all orders of tied documents:")
        typer.echo(tied.frame().to_string(float_format="%.4f"))


def _evaluation(result, intervals, tied):
    measures = {
        name: {
            "mean": result.mean[name],
            "ci": [interval.low, interval.high],
            "n": interval.n,
            "reason": interval.reason,
        }
        for name, interval in intervals.items()
    }
    values = {
        "measures": measures,
        "queries": _counts(result.accounting),
        "per_query": {q: dict(row) for q, row in result.per_query.items()},
    }
    if tied is not None:
        values["ties"] = json.loads(tied.frame().to_json(orient="index"))
    return values


_ACCOUNT = ("judged", "retrieved", "missing", "extra", "empty", "no_relevant")


def _counts(accounting):
    counts = {name: getattr(accounting, name) for name in _ACCOUNT}
    return {n: c if isinstance(c, int) else len(c) for n, c in counts.items()}


def _account(accounting):
    counts = _counts(accounting)
    return "queries: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def compare(
    context: typer.Context,
    qrels: Qrels,
    runs: Annotated[list[Path], typer.Argument(help="Two or more TREC runs.")],
    measure: Measures = None,
    as_json: Json = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of resamples.")] = 0,
):
    """Compare runs query by query: intervals, corrected tests, effect sizes."""
    from casebook.estimates import compare_systems

    exclusive(context, "as_json", "latex", "markdown")
    exclusive(context, "latex", "markdown")
    scores = _scores(qrels, runs, measure or DEFAULT)
    found = {name: compare_systems(table, seed=seed) for name, table in scores.items()}
    if as_json:
        print_json({n: _comparison(c) for n, c in found.items()})
        return
    for name, comparison in found.items():
        for part in ("systems", "pairs"):
            typer.echo(f"{name}: {part}")
            typer.echo(_rendered(getattr(comparison, part), latex, markdown))


def _scores(qrels, runs, measures):
    """Score every run once; give one frame of queries x systems per measure."""
    import pandas as pd

    from casebook.measures import ranking

    if len(runs) < 2:
        raise InputError("compare needs two or more runs")
    names = [path.name.split(".")[0] for path in runs]
    if len(set(names)) < len(names):
        names = [str(path) for path in runs]
    if len(set(names)) < len(names):
        raise InputError("compare: the same run is given twice")
    frames = [ranking.evaluate(qrels, run, measures).frame() for run in runs]
    columns = {m: [frame[m] for frame in frames] for m in frames[0]}
    return {m: pd.concat(c, axis=1, keys=names) for m, c in columns.items()}


def _comparison(comparison):
    return {part: json.loads(getattr(comparison, part).to_json(orient="records")) for part in ("systems", "pairs")}


_WORDS = {"system", "system_a", "system_b", "reason", "verdict"}


def _rendered(frame, latex, markdown):
    """Lay out a table; what is undefined is a dash, and its row names the reason."""
    sides = ["left" if name in _WORDS else "right" for name in frame]
    frame = frame.astype(object).where(frame.notna(), "-")
    frame = frame.map(lambda cell: f"{cell:z.4f}" if isinstance(cell, float) else cell)
    if latex:
        letters = "".join(side[0] for side in sides)
        return frame.to_latex(index=False, escape=True, column_format=letters)
    if markdown:
        return frame.to_markdown(index=False, disable_numparse=True, colalign=sides)
    return frame.to_string(index=False)


COMMANDS = (evaluate, compare)
