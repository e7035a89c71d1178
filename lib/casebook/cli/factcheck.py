"""``casebook factcheck score | run | ablate``: verify claims, score verdicts."""

from pathlib import Path

import typer

from casebook import assistant, data, factcheck
from casebook.cli.common import (
    Columns,
    Json,
    Lists,
    Original,
    Out,
    Resamples,
    Rows,
    Seed,
    Values,
    argument,
    command_group,
    exclusive,
    option,
    refuse_idle,
    said,
    say,
    show,
    show_tables,
)
from casebook.errors import BatchFailed, InputError
from casebook.files import refuse_overwriting, write_text
from casebook.paths import home_path, writable

app = command_group("factcheck", "Check claims against a collection, and score anyone's verdicts.")

Labelled = argument(Path, "Table with id and label.")
Corpus = option(
    list[str] | None,
    "Folder (BEIR layout, or .txt and .md files) or data set; repeatable.",
    show_default="own",
)
SearchMode = option(str, "Retrieval system that searches for evidence.")
Stance = option(
    str,
    "public, forced, placeholder, entailment:MODEL, endpoint:MODEL or module:object.",
)
Decomposition = option(str, "rules, documented, none, model:NAME or module:object.")
Gate = option(str, "Least credibility of a source: none, low, medium or high.")
PREFER_MODELS = (
    "the default judge compares words and refutes many paraphrases; for the sentences of answers "
    "prefer --stance entailment:MODEL or endpoint:MODEL"
)
OTHER_LABELS = "exclude, negative or three_class"


@app.command()
def score(
    gold: Labelled,
    pred: Labelled,
    off_label: option(str, "Answers that are no label: wrong, drop or negative.") = "wrong",
    nei: option(str, f"INSUFFICIENT: {OTHER_LABELS}.") = "exclude",
    conflict: option(str, f"CONFLICTING: {OTHER_LABELS}.") = "exclude",
    group: option(list[str] | None, "Column of GOLD to score by; repeatable.") = None,
    cluster: option(str | None, "Column of GOLD whose equal values are resampled together.") = None,
    baseline: option(Path | None, "Predictions of a claim-only model, CSV or JSONL.") = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Score predictions joined by id: original and standard definitions, intervals, baselines.

    Example: casebook factcheck score gold.jsonl predictions.csv --nei negative --json
    """
    report = factcheck.score.score_files(
        gold,
        pred,
        policy={"off_label": off_label, "nei": nei, "conflict": conflict},
        groups=group or (),
        cluster=cluster,
        baseline=baseline,
        **said(columns, values, rows),
        n_resamples=resamples,
        seed=seed,
    )
    readings = map(data.tables.reading_text, report.account["readings"])
    show(report.as_dict(), as_json, readings, [report.as_text()])


@app.command()
def run(
    context: typer.Context,
    claims: argument(
        Path | None, "Table with claim (and id, label, group), or one claim a line."
    ) = None,
    corpus: Corpus = None,
    log: option(
        list[Path] | None, "Log of answers, whose sentences are the claims; repeatable."
    ) = None,
    k: option(int, "Queries for each part of a claim.", "--k", min=1, max=5) = 3,
    ratings: option(Path | None, "Table of credibility ratings, YAML.") = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    lists: Lists = "json",
    original: Original = False,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
    mode: SearchMode = "bm25_stemmed",
    stance: Stance = "public",
    decomposition: Decomposition = "rules",
    gate: Gate = "low",
):
    """Check claims against a collection; exit 3 if some could not be checked.

    Prints verdict and explanation of each claim, scores if there are labels,
    costs and quality of explanations.
    --out writes the run log, a line for each claim.

    Example: casebook factcheck run claims.jsonl --corpus ./documents --out log.jsonl
    """
    exclusive(context, "original", "stance", "decomposition", "gate", "ratings")
    if (claims is None) == (not log):
        raise InputError("give a file of claims, or --log with a log of answers")
    if log and not corpus:
        raise InputError("--log needs --corpus: the collection that the answers should agree with")
    corpus = corpus or [factcheck.evidence.OWN_COLLECTION]
    refuse_overwriting(out, claims, ratings, *(log or ()), *map(home_path, corpus))
    if out is not None and not writable(out.absolute().parent):
        raise InputError(f"--out {out}: name a file in a folder that you may write to")
    told = said(columns, values, rows)
    if log:
        answers = assistant.log.read_log(log, **told, lists=lists)
        readings = answers.attrs["readings"]
        claim_list = factcheck.claims.claims_of_answers(answers)
        for note in assistant.log.not_answered(answers["no_answer"]):
            say(f"note: {note}")
        if stance == "public" and not original:
            say(f"note: {PREFER_MODELS}")
    else:
        refuse_idle(context, ("lists",), "without --log")
        claim_list, reading = factcheck.claims.read_plain(claims, **told)
        readings = [reading.record()]
    checker = factcheck.pipeline.checker_of(
        factcheck.evidence.load_documents(corpus),
        mode=mode,
        stance=stance,
        decomposition=decomposition,
        gate=gate,
        k=k,
        documented=original,
        ratings=ratings,
    )
    _note_empty_evidence(checker)
    for reading in readings:
        say(data.tables.reading_text(reading))
    results = checker.check_all(claim_list)
    report, scores = factcheck.score.as_report(
        claim_list, results, checker.config, checker.stance, n_resamples=resamples, seed=seed
    )
    if out is not None:
        lines = report["log"].to_json(orient="records", lines=True, force_ascii=False)
        write_text(out, lines)
    show(report, as_json, *_report_parts(report, scores, factcheck.score.performance(results)))
    _refuse_crashed([result.error for result in results if result.error], results)


def _report_parts(report, scores, cost):
    """The report as lines and tables for a terminal."""
    for claim in report["claims"]:
        lines = (claim["explanation"] or "").splitlines()
        head = f"{claim['claim_id']}: {claim['verdict'] or claim['error']}"
        yield [head, *(f"    {line}" for line in lines)]
    yield [", ".join(f"{n} {name}" for name, n in report["outcomes"].items())]
    if report["systems"]["category"].nunique() > 1:
        yield ["\nVerdicts by category (share of claims with 95 % interval)"]
        yield report["systems"]
    if scores:
        yield ["\nVerdicts against the labels", scores.as_text()]
    yield ["\nCost of a claim, as the document says and in its code"]
    yield cost
    yield ["\nQuality of explanations: standard, and documented (in its code)"]
    yield report["explanations"].drop(columns="reason")
    said_of_judge = {"The judge": report["judge"]["cost"]}
    said_of_judge["What this does not see"] = report["judge"]["caution"]
    yield [f"\n{title}: {text}." for title, text in said_of_judge.items() if text]


def _refuse_crashed(errors, checked):
    if errors:
        problem = f"{len(errors)} of {len(checked)} claims could not be checked"
        raise BatchFailed(f"{problem}, as {errors[0]}")


def _note_empty_evidence(checker):
    """Say that the credibility gate lets no document pass."""
    if not checker.passing:
        scale = "the original rating" if checker.config.parity else "the rating table"
        say(
            f"note: none of {len(checker.base)} documents passes the credibility gate "
            f"({checker.config.gate}), so no claim gets evidence: {scale} rates a source "
            "by its address ('url'); without one it stays low"
        )


@app.command()
def ablate(
    context: typer.Context,
    claims: argument(Path | None, "Table with claim and label.", show_default="own") = None,
    corpus: Corpus = None,
    columns: Columns = None,
    values: Values = None,
    rows: Rows = None,
    rate: option(
        list[float] | None, "Share of documents with a planted contradiction; repeatable."
    ) = None,
    seeds: option(int, "Draws of the planted contradictions.", min=1) = 3,
    seed: Seed = 0,
    as_json: Json = False,
    mode: SearchMode = "bm25_stemmed",
    stance: Stance = "public",
    decomposition: Decomposition = "rules",
    gate: Gate = "low",
):
    """Measure the worth of each part, and run the nine original configurations.

    Exit 3 if some claims could not be checked: they count as wrong.

    Example: casebook factcheck ablate claims.jsonl --corpus ./documents --rate 0 --json
    """
    if corpus and claims is None:
        raise InputError(
            "--corpus needs CLAIMS with labels: the shipped claims are about the shipped collection"
        )
    if rate and not any(rate):
        exclusive(context, "rate", "seeds", but="--rate 0, which plants nothing")
    documents = factcheck.evidence.load_documents(corpus or [factcheck.evidence.OWN_COLLECTION])
    if claims:
        told = said(columns, values, rows)
        claim_list, reading = factcheck.claims.read_labelled(claims, documents, **told)
        say(str(reading))
    else:
        refuse_idle(context, ("columns", "values", "rows"), "without CLAIMS")
        claim_list = factcheck.claims.read_claims(documents, split="test")
    checker = factcheck.pipeline.checker_of(
        documents, mode=mode, stance=stance, decomposition=decomposition, gate=gate
    )
    _note_empty_evidence(checker)
    tables = factcheck.ablation.ablate(
        checker, claim_list, noise_rates=rate or (0.0, 1.0), noise_seeds=range(seeds), seed=seed
    )
    cost = factcheck.judges.cost_of_judge(checker.stance)
    if cost:
        say(f"the judge: {cost}")
    show_tables(tables if as_json else _ablation_tables(tables), as_json)
    crashed = tables["crashed"].drop_duplicates("id")
    _refuse_crashed(crashed["error"].tolist(), claim_list)


def _ablation_tables(tables):
    """The tables of an ablation for a terminal, by title."""
    columns = ["system", "against", "difference", "low", "high", "p_adjusted", "verdict", "reason"]
    return {
        "The pipeline against itself without each part": tables["parts"][columns],
        "By share of documents with a planted contradiction": tables["noise"][["rate", *columns]],
        "The nine original configurations, run": tables["configurations"],
        "Impacts that the document states, and ours, in points of accuracy": tables["reported"],
    }
