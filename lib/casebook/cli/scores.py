"""``casebook evaluate | compare | agreement``: measures of rankings and ratings, from files."""

import itertools
from pathlib import Path

import typer

from casebook import data, measures, raters, runs, stats
from casebook.cli.common import (
    DEFAULT_MEASURES,
    Columns,
    Json,
    Measures,
    Rows,
    Seed,
    Values,
    argument,
    echo,
    exclusive,
    option,
    pairs,
    print_frame,
    print_json,
    refuse_idle,
    said,
    say,
    show,
)
from casebook.errors import InputError

# Columns that people are shown.
COMPARED = [
    *("system", "against", "value", "difference", "low", "high", "n", "groups", "tie_class"),
    *("p", "p_adjusted", "p_holm", "verdict", "better", "equal", "worse", "dz", "mde", "reason"),
]


def evaluate(
    context: typer.Context,
    qrels: argument(Path, "Judgements: TREC's or a table of query, document, grade."),
    run: argument(Path, "Run: TREC's, a table of query, document, score, or JSON."),
    measure: Measures = None,
    columns: Columns = None,
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
    from casebook.frames import estimates
    from casebook.measures.ranking import evaluate
    from casebook.runs.outputs import number

    exclusive(context, "as_json", "per_query", but="--json, which holds each query")
    sources = _sources([qrels, run], pairs(columns, "=", "--columns ROLE=COLUMN"))
    missing = "skip" if skip_missing else "zero"
    names = measure or DEFAULT_MEASURES
    result = evaluate(*sources, names, judged_only=judged_only, missing=missing)
    rows = estimates(result.frame())
    measures = {}
    for row in rows.to_dict("records"):
        found = number(row)
        measures[row["system"]] = {"mean": found.pop("value"), **found}
    queries = result.accounting._asdict()
    counts = {name: len(ids) for name, ids in queries.items() if name != "evaluated"}
    texts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    lines = ["intervals: 95 %, Student t and BCa over queries", f"queries: {texts}"]
    values = {"measures": measures, "queries": counts, "per_query": result.per_query}
    table = rows.rename(columns={"system": "measure", "value": "mean"})
    columns = ["measure", "mean", "low", "high", "n", "reason"]
    tables = [result.frame().reset_index()] if per_query else []
    show(values, as_json, table[columns], lines, *tables)


def _sources(paths, columns):
    """Judgements and runs; what was read of tables is said."""
    from casebook.data.rankings import read_rankings

    kinds = ["qrels", *["run"] * (len(paths) - 1)]
    read = [read_rankings(path, kind, columns) for path, kind in zip(paths, kinds, strict=True)]
    readings = [str(reading) for _, reading in read if reading]
    if columns and not readings:
        raise InputError("--columns has no effect on TREC files: leave it out")
    for reading in readings:
        say(reading)
    return [content for content, _ in read]


def compare(
    context: typer.Context,
    files: argument(list[Path], "A table of scores; or judgements and two or more runs."),
    measure: Measures = None,
    unit: option(str | None, "Column that names what was scored.") = None,
    system: option(str | None, "Column that names the system.") = None,
    score: option(str | None, "Column of the score; more is better.") = None,
    cluster: option(str | None, "Column of what dependent units belong to.") = None,
    systems: option(str | None, "Columns that hold the scores of a system each: A,B.") = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    against: option(str | None, "Compare the others with this system only.") = None,
    margin: option(
        float | None,
        "Largest difference that does not matter; default: that of the measure.",
        min=0,
    ) = None,
    as_json: Json = False,
    markdown: option(bool, "Print Markdown.", "--markdown") = False,
    csv: option(bool, "Print CSV.", "--csv") = False,
    seed: Seed = 0,
):
    """Compare systems unit by unit: intervals, corrected tests, effect sizes, ties.

    Example: casebook compare scores.csv --unit id --score accuracy --cluster contract

    Example: casebook compare qrels.txt bm25.txt dense.txt -m nDCG@10 --against bm25
    """
    from casebook import sentences

    for pair in itertools.combinations(("as_json", "markdown", "csv"), 2):
        exclusive(context, *pair)
    exclusive(context, "systems", "system", "score")
    about = {"margin": margin, "seed": seed}
    told = said(columns, values, rows)
    if len(files) == 1:
        roles = {"unit": unit, "system": system, "score": score, "cluster": cluster}
        told["columns"] |= {role: column for role, column in roles.items() if column is not None}
        compared = [_scores_of_table(files[0], measure, systems, **told, **about)]
    else:
        of_tables = ("unit", "system", "score", "cluster", "systems", "values", "rows")
        refuse_idle(context, of_tables, "on runs")
        names = measure or DEFAULT_MEASURES
        compared = _scores_of_runs(files, names, told["columns"], about)
    tables_of_measure = {scores.measure: _compared(scores, against) for scores in compared}
    if as_json:
        print_json(tables_of_measure)
        return
    forms = {"markdown": markdown, "csv": csv, "text": True}
    form = next(name for name, is_chosen in forms.items() if is_chosen)
    for name, tables in tables_of_measure.items():
        for part, table in tables.items():
            echo(f"{name}: {part}")
            print_frame(table[[column for column in COMPARED if column in table]], form)
            echo("")
        if form == "text":
            echo(f"{sentences.finding(tables['pairs'])} {sentences.caption(tables['pairs'])}\n")


def _scores_of_table(path, measures, systems, **options):
    from casebook.data.scored import read_scores

    if len(measures or []) > 1:
        raise InputError("a table of scores is of one measure: name it with one -m")
    measure = next(iter(measures or []), None)
    named = [name for name in (systems or "").split(",") if name]
    scores, reading = read_scores(path, named, measure=measure, **options)
    say(str(reading))
    return scores


def gate_scores(
    table: argument(Path, "Table of scores by unit and system."),
    against: option(str, "System that the others must not be worse than."),
    unit: option(str | None, "Column that names what was scored.") = None,
    systems: option(str | None, "Columns that hold the scores of a system each: A,B.") = None,
    measure: Measures = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    margin: option(float | None, "Loss tolerated; default: that of the measure.", min=0) = None,
    force: option(bool, "Compare the units that all systems have.", "--force") = False,
    as_json: Json = False,
):
    """Test that scored systems are not worse than another; exit 2, 4 or 5 if not shown.

    Example: casebook gate scores scores.csv --against old --margin 0.02
    """
    from casebook.data.scored import gate_scores

    told = said(columns, values, rows)
    if unit is not None:
        told["columns"]["unit"] = unit
    scores = _scores_of_table(table, measure, systems, complete=False, **told)
    names = {"system": "system", "against": "against", "measure": "measure"}
    show_gate(gate_scores(scores, against, margin, force), as_json, names)


def show_gate(gate, as_json, columns, *parts):
    """Print some columns of a gate under their titles, and end with its verdict's exit code."""
    columns = columns | {name: name for name in ("difference", "low", "high", "n", "groups")}
    columns["verdict"] = "verdict"
    parts = [*parts, gate["notes"]]
    if len(gate["rows"]):
        rule = f"passes if the lower bound of the 95 % interval is not below {-gate['margin']:g}"
        table = gate["rows"][list(columns)].rename(columns=columns)
        parts += [table, [f"margin {gate['margin']:g}: {rule}"]]
    show(gate | {"passed": gate["verdict"] == "pass"}, as_json, *parts, digits="z.3f")
    runs.decide.settle(gate["verdict"], f"gate: {gate['verdict']}")


def _scores_of_runs(files, names, columns, about):
    """Scores of runs on judgements, by measure."""
    import pandas as pd

    from casebook.scores import Scores

    paths = files[1:]
    if len(paths) < 2:
        raise InputError(
            "compare needs two or more runs after the judgements; or one table with the scores "
            "of all systems: a row for each unit and system"
        )
    systems = [path.name.split(".")[0] for path in paths]
    if len(set(systems)) < len(systems):
        systems = [str(path) for path in paths]
    if len(set(systems)) < len(systems):
        raise InputError("compare: the same run is given twice")
    qrels, *sources = _sources(files, columns)
    frames = [measures.ranking.evaluate(qrels, run, names).frame() for run in sources]
    scores = pd.concat(frames, axis=1, keys=systems)
    about = {"dataset": files[0].name, "unit": "queries", **about}
    for name in dict.fromkeys(scores.columns.get_level_values(1)):
        yield Scores(scores.xs(name, axis=1, level=1), name, **about)


def _compared(scores, against):
    """Systems with tie classes and all pairs of them; or systems and their pairs with one."""
    from casebook.frames import COUNT_COLUMNS, PLANNED, pair_sizes

    if against is None:
        rows = scores.pairs()
        systems = scores.ranking(rows)
    else:
        against = scores.best([], unless=against)
        others = [system for system in scores.values if system != against.system]
        rows = scores.contrasts([(system, against) for system in others], PLANNED)
        systems = scores.estimates().sort_values("value", ascending=False, kind="stable")
    pairs_of_systems = list(zip(rows["system"], rows["against"], strict=True))
    sizes = pair_sizes(scores.values, pairs_of_systems, 0.05, scores.clusters)
    rows = rows.astype(dict.fromkeys(COUNT_COLUMNS, int))
    rows = rows.assign(p_holm=stats.tests.holm(rows["p"]), dz=sizes["dz"], mde=sizes["mde"])
    return {"systems": systems, "pairs": rows}


def agreement(
    context: typer.Context,
    ratings: argument(Path, "Table with a row per rating, or as --raters, --criteria, ... tell."),
    by_rater: option(str | None, "A,B: a column per rater, a row per item.", "--raters") = None,
    by_criterion: option(
        str | None, "A,B: a column per criterion, a row per item and rater.", "--criteria"
    ) = None,
    counts: option(str | None, "A,B: votes by category, in order; a row per item.") = None,
    criterion: option(str | None, "Which ratings, if there are several criteria.") = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    level: option(
        str | None,
        "Level of Krippendorff's alpha: nominal, ordinal, interval or ratio. "
        "Default: ordinal for numbers.",
    ) = None,
    weights: option(str, "Weights of Gwet's AC2: quadratic, linear or identity.") = "quadratic",
    scale: option(str | None, "The rating scale in order, as 1,2,3,4,5 or low,mid,high.") = None,
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
    if 0 < resamples < 100:
        raise InputError(
            f"--resamples {resamples}: an interval needs at least 100 resamples; 0 gives none"
        )
    if level is not None:
        stats.samples.check_choice("level", level, measures.agreement.MEASUREMENT_LEVELS)
    layouts = ["by_rater", "by_criterion", "counts"]
    while layouts:
        exclusive(context, layouts.pop(0), *layouts)
    exclusive(context, "counts", "criterion")
    told = said(columns, values, rows)
    if counts:
        refuse_idle(context, ("scale", "wide"), "on --counts")
        frame = raters.annotations.read_counts(ratings, counts, **told)
        level = level or "nominal"
        categories = list(frame) if level == "nominal" else None
        panel = measures.agreement.from_counts(frame, categories)
    else:
        # Without a level numbers are asked for if there is one, else labels.
        numbers = None if level is None else level != "nominal"
        frame = raters.annotations.read_ratings(
            ratings,
            criterion=criterion,
            raters=by_rater,
            criteria=by_criterion,
            numbers=False if scale else numbers,
            **told,
        )
        is_numeric = frame.to_numpy().dtype.kind == "f"
        level = level or ("ordinal" if is_numeric or scale else "nominal")
        panel = measures.agreement.as_panel(frame, _categories(scale, is_numeric), wide)
    notes = data.tables.reading_text(frame.attrs["reading"]).splitlines()
    results = measures.agreement.agreement_results(
        panel, level, resamples, weights=weights, seed=seed
    )
    fields = ("estimate", "se", "panel_ci", "new_panel_ci", "n_items", "n_raters", "reason")
    values = {}
    for name, result in results.items():
        values[name] = {field: getattr(result, field) for field in fields}
    lines = [*notes, f"level of krippendorff_alpha: {level}", *_agreement_lines(results)]
    if as_json:
        for note in notes:
            say(note)
    show(values, as_json, lines)


def _agreement_lines(results):
    """Lines of a table of coefficients, and what its intervals are about."""
    yield f"{'':22}{'value':>7}  {'these raters, 95 %':18}  {'new raters, 95 %':18}  n"
    for name, result in results.items():
        value = f"{'-':>7}"
        if result.estimate is not None:
            these_raters = stats.intervals.bounds_text(*(result.panel_ci or (None, None)))
            new_raters = stats.intervals.bounds_text(*(result.new_panel_ci or (None, None)))
            value = f"{result.estimate:7.3f}  {these_raters:18}  {new_raters:18}  {result.n_items}"
        yield f"{name:22}{value}  {result.reason or ''}".rstrip()
    yield "\nthese raters: other items, the same raters; new raters: other items and other raters"
    yield "ICC: the F interval of its model: (3) these raters, (2) new raters, (1) either"


def _categories(scale, numeric):
    if scale is None:
        return None
    names = [part.strip() for part in scale.split(",")]
    try:
        return [float(name) for name in names] if numeric else names
    except ValueError as problem:
        raise InputError(f"--scale {scale!r}: the ratings are numbers") from problem


COMMANDS = (evaluate, compare, agreement)
