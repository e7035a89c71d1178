"""``casebook factcheck score | run | ablate``: verify claims, score verdicts."""

import textwrap

from casebook import data, factcheck
from casebook.cli.commands import command, command_group, lines_of, say, show
from casebook.errors import BatchFailed, InputError
from casebook.files import refuse_overwriting, write_text
from casebook.paths import home_path, writable

group = command_group(
    "factcheck", "Check claims against a collection, and score anyone's verdicts."
)
PART_COLUMNS = [
    "system",
    "against",
    "difference",
    "low",
    "high",
    "p_adjusted",
    "verdict",
    "reason",
]


@command(group)
def score(
    gold,
    predicted,
    off_label,
    nei,
    conflict,
    as_json,
    **options,
):
    policy = {"off_label": off_label, "nei": nei, "conflict": conflict}
    report = factcheck.score.score_files(gold, predicted, policy=policy, **options)
    readings = map(data.tables.reading_text, report.account["readings"])
    show(report.as_dict(), as_json, *readings, *lines_of(report.summary()))


@command(group)
def run(
    claims,
    corpus,
    columns,
    values,
    rows,
    ratings,
    out,
    n_resamples,
    seed,
    as_json,
    **options,
):
    refuse_overwriting(out, claims, ratings, *map(home_path, corpus))
    if out is not None and not writable(out.absolute().parent):
        raise InputError(f"--out {out}: name a file in a folder that you may write to")
    checked, reading = factcheck.claims.read_plain(
        claims, columns=columns, values=values, rows=rows
    )
    documents = factcheck.claims.load_documents(corpus)
    checker = _checker(documents, ratings=ratings, **options)
    say(str(reading))
    results = checker.check_all(checked)
    report, scores = factcheck.score.as_report(
        checked,
        results,
        checker.config,
        checker.stance,
        n_resamples=n_resamples,
        seed=seed,
    )
    if out is not None:
        write_text(
            out, report["log"].to_json(orient="records", lines=True, force_ascii=False)
        )
    cost = factcheck.score.performance(results)
    show(report, as_json, *_report_parts(report, scores, cost))
    errors = [result.error for result in results if result.error]
    _refuse_crashed(errors, results)


@command(group)
def ablate(
    claims,
    corpus,
    rate,
    seeds,
    columns,
    values,
    rows,
    seed,
    as_json,
    **options,
):
    documents = factcheck.claims.load_documents(corpus)
    if claims:
        checked, reading = factcheck.claims.read_labelled(
            claims, documents, columns=columns, values=values, rows=rows
        )
        say(str(reading))
    else:
        checked = factcheck.claims.read_claims(documents, split="test")
    checker = _checker(documents, **options)
    tables = factcheck.ablation.ablate(
        checker,
        checked,
        noise_rates=rate or (0.0, 1.0),
        noise_seeds=range(seeds),
        seed=seed,
    )
    if cost := factcheck.judges.cost_of_judge(checker.stance):
        say(f"the judge: {cost}")
    printed = tables | {"parts": tables["parts"][PART_COLUMNS]}
    show(tables, as_json, *lines_of(printed), digits=".4g")
    crashed = tables["crashed"].drop_duplicates("id")
    _refuse_crashed(crashed["error"].tolist(), checked)


def _checker(documents, **parts):
    checker = factcheck.pipeline.checker_of(documents, **parts)
    if not checker.passing:
        gate = f"the credibility gate ({checker.config.gate})"
        n = len(checker.base.documents)
        say(f"note: none of {n} documents passes {gate}: no claim gets evidence")
    return checker


def _report_parts(report, scores, cost):
    """The report as lines and tables for a terminal."""
    for claim in report["claims"]:
        yield f"{claim['claim_id']}: {claim['verdict'] or claim['error']}"
        if claim["explanation"]:
            yield textwrap.indent(claim["explanation"], "    ")
    yield from lines_of(
        {"outcomes": report["outcomes"], "categories": report["categories"]}
    )
    yield from lines_of(
        {
            "cost of a claim, times in seconds": cost,
            "explanations": report["explanations"],
        }
    )
    if scores:
        yield "\nverdicts against the labels"
        yield from lines_of(scores.summary())
    yield from (f"\n{text}." for text in report["judge"].values() if text)


def _refuse_crashed(errors, checked):
    if errors:
        problem = f"{len(errors)} of {len(checked)} claims could not be checked"
        raise BatchFailed(f"{problem}, as {errors[0]}")
