"""``casebook evaluate | compare | agreement | gate scores | audit``: files of scores."""

from casebook import audits, data, measures, raters, runs, stats
from casebook.cli.commands import command, command_group, say, show, table_text
from casebook.errors import CheckFailed, InputError

gate = command_group(
    "gate", "Test that a run, a log or a system is not worse than another."
)
audit = command_group("audit", "Look for impossible rows of reported tables.")

ROLES = ("unit", "system", "score", "cluster")
DEFAULT_MEASURES = ["nDCG@10", "RR@10", "R@100", "AP"]
# Columns that people are shown.
COMPARED = [
    *(
        "system",
        "against",
        "value",
        "difference",
        "low",
        "high",
        "n",
        "groups",
        "tie_class",
    ),
    *("p", "p_adjusted", "verdict", "better", "equal", "worse", "dz", "mde", "reason"),
]
BOUNDS = {"panel_ci": "these raters, 95 %", "new_panel_ci": "new raters, 95 %"}
SHOWN = ["coefficient", "estimate", *BOUNDS.values(), "n_items", "reason"]
COEFFICIENT = (
    "estimate",
    "se",
    "panel_ci",
    "new_panel_ci",
    "n_items",
    "n_raters",
    "reason",
)


@command()
def evaluate(
    qrels,
    run,
    measures,
    columns,
    per_query,
    as_json,
):
    from casebook.frames import estimates
    from casebook.measures.ranking import evaluate

    sources = _sources([qrels, run], columns)
    result = evaluate(*sources, measures or DEFAULT_MEASURES)
    rows = estimates(result.frame()).rename(
        columns={"system": "measure", "value": "mean"}
    )
    means = {}
    for row in rows.to_dict("records"):
        number = runs.outputs.number(row | {"value": row["mean"]})
        means[row["measure"]] = {"mean": number.pop("value"), **number}
    queries = result.accounting._asdict()
    counts = {name: len(ids) for name, ids in queries.items() if name != "evaluated"}
    texts = [f"{count} {name.replace('_', ' ')}" for name, count in counts.items()]
    parts = [
        rows[["measure", "mean", "low", "high", "n", "reason"]],
        "intervals: 95 %, Student t and BCa over queries",
        f"queries: {', '.join(texts)}",
    ]
    if per_query:
        parts.append(result.frame().reset_index())
    report = {"measures": means, "queries": counts, "per_query": result.per_query}
    show(report, as_json, *parts)


@command()
def compare(
    files,
    measures,
    systems,
    against,
    margin,
    seed,
    markdown,
    as_json,
    **told,
):
    from casebook import sentences

    about = {"margin": margin, "seed": seed}
    if len(files) > 1:
        useless = [name for name in (*ROLES, "rows") if told[name]]
        if useless:
            raise InputError(f"--{useless[0]} has no effect on runs: leave it out")
        compared = _scores_of_runs(
            files, measures or DEFAULT_MEASURES, told["columns"], about
        )
    else:
        told["columns"] |= {role: told[role] for role in ROLES if told[role]}
        told = {name: told[name] for name in ("columns", "values", "rows")}
        compared = [_scores_of_table(files[0], measures, systems, **told, **about)]
    tables = {scores.measure: _compared(scores, against) for scores in compared}
    parts = []
    for name, of_measure in tables.items():
        for part, table in of_measure.items():
            shown = table_text(
                table[table.columns.intersection(COMPARED)], markdown=markdown
            )
            parts.append(f"{name}: {part}\n{shown}\n")
        pairs = of_measure["pairs"]
        parts.append(f"{sentences.finding(pairs)} {sentences.caption(pairs)}\n")
    show(tables, as_json, *parts)


@command()
def agreement(
    ratings,
    level,
    weights,
    scale,
    wide,
    counts,
    by_rater,
    n_resamples,
    seed,
    as_json,
    **layout,
):
    import pandas as pd

    if counts:
        layout = {name: layout[name] for name in ("columns", "values", "rows")}
        frame = raters.annotations.read_counts(ratings, counts, **layout)
        level = level or "nominal"
        panel = measures.agreement.from_counts(
            frame, [*frame] if level == "nominal" else None
        )
    else:
        frame, level, panel = _panel(
            ratings, level, scale, wide, layout | {"raters": by_rater}
        )
    results = measures.agreement.agreement_results(
        panel, level, n_resamples, weights=weights, seed=seed
    )
    say(data.tables.reading_text(frame.attrs["reading"]))
    values = {
        name: {field: getattr(result, field) for field in COEFFICIENT}
        for name, result in results.items()
    }
    table = (
        pd.DataFrame.from_dict(values, "index").rename_axis("coefficient").reset_index()
    )
    for field, title in BOUNDS.items():
        table[title] = [
            stats.intervals.bounds_text(*both or (None, None)) for both in table[field]
        ]
    note = "these raters: other items; new raters: other items and other raters"
    show(values, as_json, f"level of krippendorff_alpha: {level}", note, table[SHOWN])


def _panel(ratings, level, scale, wide, layout):
    is_number = None if level is None else level != "nominal"
    numbers = False if scale else is_number
    frame = raters.annotations.read_ratings(ratings, numbers=numbers, **layout)
    is_number = frame.to_numpy().dtype.kind == "f"
    level = level or ("ordinal" if is_number or scale else "nominal")
    categories = _scale(scale, is_number) if scale else None
    panel = measures.agreement.as_panel(frame, categories, wide)
    return frame, level, panel


def _scale(text, is_number):
    categories = [part.strip() for part in text.split(",")]
    try:
        return [float(category) for category in categories] if is_number else categories
    except ValueError:
        raise InputError(f"--scale {text!r}: the ratings are numbers") from None


@command(gate, "scores")
def gate_scores(
    table,
    measures,
    systems,
    against,
    margin,
    common,
    as_json,
    **told,
):
    scores = _scores_of_table(table, measures, systems, complete=False, **told)
    result = data.scored.gate_scores(scores, against, margin, common)
    show_gate(result, as_json, ["system", "against", "measure"])


@command(audit)
def tables(source, n, positives, as_json):
    reported = audits.tables.read_tables(source, n, positives)
    say(data.tables.reading_text(reported.attrs["reading"]))
    rows = audits.tables.check_tables(reported)
    report = {"summary": audits.tables.count_impossible(rows), "rows": rows}
    show(report, as_json, digits=".4g")
    n_wrong = (rows["verdict"] == "impossible").sum()
    if n_wrong:
        raise CheckFailed(f"{source}: {n_wrong} of {len(rows)} rows are impossible")


def show_gate(result, as_json, columns, *parts):
    """Print some columns of a gate, and end with the exit code of its verdict."""
    parts = [*parts, *result["notes"]]
    if len(result["rows"]):
        columns = [*columns, "difference", "low", "high", "n", "groups", "verdict"]
        rule = "passes if the lower bound of the 95 % interval is not below minus the margin"
        parts += [result["rows"][columns], f"margin {result['margin']:g}: {rule}"]
    verdict = result["verdict"]
    show(result | {"passed": verdict == "pass"}, as_json, *parts, digits="z.3f")
    runs.decide.settle(verdict, f"gate: {verdict}")


def _sources(paths, columns):
    kinds = ["qrels", *["run"] * (len(paths) - 1)]
    read = [
        data.rankings.read_rankings(*each, columns)
        for each in zip(paths, kinds, strict=True)
    ]
    readings = [str(reading) for _, reading in read if reading]
    if columns and not readings:
        raise InputError("--columns has no effect on TREC files: leave it out")
    for reading in readings:
        say(reading)
    return [content for content, _ in read]


def _scores_of_table(path, measures, systems, **options):
    if len(measures) > 1:
        raise InputError("a table of scores is of one measure: name it with one -m")
    options["measure"] = measures[0] if measures else None
    systems = systems.split(",") if systems else ()
    scores, reading = data.scored.read_scores(path, systems, **options)
    say(str(reading))
    return scores


def _scores_of_runs(files, names, columns, about):
    import pandas as pd

    from casebook.scores import Scores

    systems = [path.name.split(".")[0] for path in files[1:]]
    if len(set(systems)) < max(2, len(systems)):
        raise InputError(
            "compare: give judgements and two or more different runs, or one table"
        )
    qrels, *contents = _sources(files, columns)
    frames = [measures.ranking.evaluate(qrels, run, names).frame() for run in contents]
    scores = pd.concat(frames, axis=1, keys=systems)
    about = {"dataset": files[0].name, "unit": "queries", **about}
    for name in frames[0]:
        yield Scores(scores.xs(name, axis=1, level=1), name, **about)


def _compared(scores, against):
    """Systems with tie classes and all pairs of them; or systems and their pairs with one."""
    from casebook.frames import COUNT_COLUMNS, PLANNED, pair_sizes

    if against is None:
        rows = scores.pairs()
        systems = scores.ranking(rows)
    else:
        chosen = scores.best([], unless=against)
        others = [system for system in scores.values if system != against]
        rows = scores.contrasts([(system, chosen) for system in others], PLANNED)
        systems = scores.estimates().sort_values(
            "value", ascending=False, kind="stable"
        )
    compared = list(zip(rows["system"], rows["against"], strict=True))
    sizes = pair_sizes(scores.values, compared, 0.05, scores.clusters)
    rows = rows.astype(dict.fromkeys(COUNT_COLUMNS, int))
    # A detectable effect is defined without clusters only.
    mde = sizes[["mde"]].dropna(axis=1, how="all")
    return {"systems": systems, "pairs": rows.assign(dz=sizes["dz"], **mde)}
