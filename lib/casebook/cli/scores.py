"""``casebook evaluate | compare | agreement``: measures of rankings and ratings, from files."""

import itertools
from pathlib import Path

import typer

from casebook.cli.common import (
    DEFAULT_MEASURES,
    Json,
    Measures,
    Seed,
    argument,
    echo,
    exclusive,
    option,
    print_frame,
    print_json,
    show,
)
from casebook.errors import InputError

Qrels = argument(Path, "TREC qrels, plain or .gz.")


def evaluate(
    context: typer.Context,
    qrels: Qrels,
    run: argument(Path, "TREC run, plain or .gz."),
    measure: Measures = None,
    per_query: option(bool, "Print one line per query.", "--per-query") = False,
    judged_only: option(
        bool, "Remove unjudged documents from the run first.", "--judged-only"
    ) = False,
    skip_missing: option(
        bool,
        "Leave out judged queries that the run lacks; by default they count as 0.",
        "--skip-missing",
    ) = False,
    as_json: Json = False,
):
    """Score a run against judgements, with intervals and a count of the queries.

    Example: casebook evaluate qrels.txt run.txt.gz -m nDCG@10 -m RR --json
    """
    from casebook.measures.ranking import evaluate
    from casebook.stats.intervals import bootstrap_mean, bounds_text

    exclusive(context, "as_json", "per_query", but="--json, which holds each query")
    names = measure or DEFAULT_MEASURES
    missing = "skip" if skip_missing else "zero"
    result = evaluate(qrels, run, names, judged_only=judged_only, missing=missing)
    frame = result.frame()
    measures = {}
    lines = []
    for name, mean in result.mean.items():
        interval = bootstrap_mean(frame[name].to_numpy())
        bounds = bounds_text(interval.low, interval.high, "z.4f")
        line = f"{name:12} {mean:z.4f}  {bounds}  n={interval.n}  {interval.reason or ''}"
        lines.append(line.rstrip())
        measures[name] = {
            "mean": mean,
            "ci": [interval.low, interval.high],
            "n": interval.n,
            "reason": interval.reason,
        }
    account = {
        name: count for name, count in result.accounting.counts().items() if name != "evaluated"
    }
    lines.append("intervals: 95 %, Student t and BCa over queries")
    lines.append(
        "queries: "
        + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in account.items())
    )
    values = {"measures": measures, "queries": account, "per_query": result.per_query}
    tables = [frame.reset_index()] if per_query else []
    show(values, as_json, lines, *tables)


def compare(
    context: typer.Context,
    qrels: Qrels,
    runs: argument(list[Path], "Two or more TREC runs."),
    measure: Measures = None,
    as_json: Json = False,
    latex: option(bool, "Print LaTeX.", "--latex") = False,
    markdown: option(bool, "Print Markdown.", "--markdown") = False,
    csv: option(bool, "Print CSV.", "--csv") = False,
    seed: Seed = 0,
):
    """Compare runs query by query, with intervals, corrected tests and effect sizes.

    Example: casebook compare qrels.txt bm25.txt dense.txt -m nDCG@10 --markdown
    """
    import pandas as pd

    from casebook.frames import compare_systems
    from casebook.measures.ranking import evaluate

    for pair in itertools.combinations(("as_json", "latex", "markdown", "csv"), 2):
        exclusive(context, *pair)
    if len(runs) < 2:
        raise InputError("compare needs two or more runs")
    names = [path.name.split(".")[0] for path in runs]
    names = names if len({*names}) == len(names) else [str(path) for path in runs]
    if len({*names}) < len(names):
        raise InputError("compare: the same run is given twice")
    scores = pd.concat(
        [evaluate(qrels, run, measure or DEFAULT_MEASURES).frame() for run in runs],
        axis=1,
        keys=names,
    )
    tables_of_measure = {}
    for name in dict.fromkeys(scores.columns.get_level_values(1)):
        comparison = compare_systems(scores.xs(name, axis=1, level=1), seed=seed)
        tables_of_measure[name] = {"systems": comparison.systems, "pairs": comparison.pairs}
    if as_json:
        print_json(tables_of_measure)
        return
    form = "latex" if latex else "markdown" if markdown else "csv" if csv else "text"
    for name, tables in tables_of_measure.items():
        for part, table in tables.items():
            echo(f"{name}: {part}")
            print_frame(table, form)
            echo("")


def agreement(
    ratings: argument(Path, "CSV or xlsx: a row per item, a column per rater; blank: missing."),
    form: option(
        str, "ratings; counts (items x categories); table (of two raters, category x category)."
    ) = "ratings",
    level: option(
        str | None,
        "Level of Krippendorff's alpha: nominal, ordinal, interval or ratio. Default: ordinal for numbers.",
    ) = None,
    weights: option(str, "Weights of Gwet's AC2: quadratic, linear, ordinal, ...") = "quadratic",
    scale: option(str | None, "The rating scale in order, as 1,2,3,4,5 or low,mid,high.") = None,
    id_column: option(str | None, "Column that names the items.", "--id") = None,
    no_id: option(bool, "The first column is a rater, not an id.", "--no-id") = False,
    wide: option(bool, "Accept more raters than items.", "--wide") = False,
    resamples: option(
        int, "Bootstrap resamples of items, at least 100; 0: no intervals.", max=1_000_000
    ) = 1000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Measure inter-rater agreement, with intervals for these raters and for new ones.

    Example: casebook agreement ratings.csv --level ordinal --json
    """
    from casebook.measures.agreement import (
        MEASUREMENT_LEVELS,
        agreement_results,
        as_panel,
        from_counts,
        from_table,
    )
    from casebook.sheets import read_ratings
    from casebook.stats.intervals import bounds_text
    from casebook.stats.samples import check_choice

    if 0 < resamples < 100:
        raise InputError(
            f"--resamples {resamples}: an interval needs at least 100 resamples; 0 gives none"
        )
    check_choice("level", level or MEASUREMENT_LEVELS[0], MEASUREMENT_LEVELS)
    makers = {"ratings": None, "counts": from_counts, "table": from_table}
    check_choice("form", form, makers)
    if form != "ratings":
        numbers = True
    elif level == "nominal" or scale is not None:
        numbers = False
    else:
        numbers = None if level is None else True
    frame = read_ratings(ratings, numbers=numbers, id_column="" if no_id else id_column)
    numeric = form == "ratings" and frame.to_numpy().dtype.kind == "f"
    level = level or ("ordinal" if numeric or scale else "nominal")
    if form == "ratings":
        panel = as_panel(frame, _categories(scale, numeric), wide, ids_allowed=True)
        rows = (
            "are rows; every column is a rater"
            if frame.index.name == "row"
            else f"named by column {frame.index.name!r}"
        )
        missing = int(frame.isna().to_numpy().sum())
        head = f"{len(frame)} items x {frame.shape[1]} raters, {missing} missing; items {rows}"
    else:
        panel = makers[form](frame.fillna(0), None if level != "nominal" else list(frame.columns))
        head = f"{form}: {panel.n_items} items, categories {', '.join(map(str, frame.columns))}"
    results = agreement_results(panel, level, resamples, weights=weights, seed=seed)
    fields = ("estimate", "se", "panel_ci", "new_panel_ci", "n_items", "n_raters", "reason")
    values = {}
    for name, result in results.items():
        values[name] = {field: getattr(result, field) for field in fields}
    lines = [head, f"level of krippendorff_alpha: {level}"]
    lines.append(f"{'':22}{'value':>7}  {'these raters, 95 %':18}  {'new raters, 95 %':18}  n")
    for name, result in results.items():
        value = f"{'-':>7}"
        if result.estimate is not None:
            these_raters = bounds_text(*(result.panel_ci or (None, None)))
            new_raters = bounds_text(*(result.new_panel_ci or (None, None)))
            value = f"{result.estimate:7.3f}  {these_raters:18}  {new_raters:18}  {result.n_items}"
        lines.append(f"{name:22}{value}  {result.reason or ''}".rstrip())
    lines.append(
        "\nthese raters: other items, the same raters; new raters: other items and other raters"
    )
    lines.append("ICC: the F interval of its model: (3) these raters, (2) new raters, (1) either")
    show(values, as_json, lines)


def _categories(scale, numeric):
    if scale is None:
        return None
    names = [part.strip() for part in scale.split(",")]
    try:
        return [float(name) for name in names] if numeric else names
    except ValueError as problem:
        raise InputError(f"--scale {scale!r}: the ratings are numbers") from problem


COMMANDS = (evaluate, compare, agreement)
