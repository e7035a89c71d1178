"""``casebook factcheck score | run | ablate``: verify claims, score verdicts."""

from pathlib import Path

import typer

from casebook.cli.common import (
    Json,
    Original,
    Out,
    Resamples,
    Seed,
    argument,
    command_group,
    exclusive,
    given,
    option,
    pairs,
    say,
    show,
    show_tables,
    taking,
)
from casebook.errors import BatchFailed, InputError
from casebook.files import refuse_overwriting, writable
from casebook.progress import on_terminal

app = command_group("factcheck", "Check claims against a collection, and score anyone's verdicts.")

Labelled = argument(Path, "CSV, JSON or JSONL with id and label.")
Corpus = option(
    list[str] | None,
    "Folder (BEIR layout, or .txt and .md files) or data set; repeatable.",
    show_default="own",
)
STANCES = "public, features[+maxsim], placeholder, entailment:MODEL, model:NAME or module:object."
DECOMPOSITIONS = "rules, documented, none, model:NAME or module:object."
CHECKER = {
    "mode": (option(str, "Retrieval system that searches for evidence."), "bm25_stemmed"),
    "stance": (option(str, STANCES), "public"),
    "decomposition": (option(str, DECOMPOSITIONS), "rules"),
    "gate": (option(str, "Least credibility of a source: none, low, medium or high."), "low"),
}
Spellings = option(
    list[str] | None, "Your spelling of a label: REFUTES=NOT_SUPPORTED; repeatable.", "--label"
)
Left = "exclude, negative or three_class"


@app.command()
def score(
    gold: Labelled,
    pred: Labelled,
    off_label: option(str, "Answers that are no label: wrong, drop or negative.") = "wrong",
    nei: option(str, f"INSUFFICIENT: {Left}.") = "exclude",
    conflict: option(str, f"CONFLICTING: {Left}.") = "exclude",
    group: option(list[str] | None, "Column of GOLD to score by; repeatable.") = None,
    cluster: option(str | None, "Column of GOLD whose equal values are resampled together.") = None,
    baseline: option(Path | None, "Predictions of a claim-only model, CSV or JSONL.") = None,
    label: Spellings = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Score predictions joined by id: original and standard definitions, with intervals and baselines.

    Example: casebook factcheck score gold.jsonl predictions.csv --nei negative --json
    """
    from casebook.factcheck.score import score_files

    report = score_files(
        gold,
        pred,
        policy={"off_label": off_label, "nei": nei, "conflict": conflict},
        groups=group or (),
        cluster=cluster,
        baseline=baseline,
        labels=pairs(label, "=", "SPELLING=LABEL"),
        n_resamples=resamples,
        seed=seed,
    )
    show(report.as_dict(), as_json, [report.as_text()])


@app.command()
@taking(how=CHECKER)
def run(
    how,
    context: typer.Context,
    claims: argument(
        Path | None, "CSV, JSON or JSONL with claim (and id, label, group), or one claim a line."
    ) = None,
    corpus: Corpus = None,
    log: option(
        list[Path] | None, "Log of answers, whose sentences are the claims; repeatable."
    ) = None,
    k: option(int, "Queries for each part of a claim.", "--k", min=1, max=5) = 3,
    ratings: option(Path | None, "Table of credibility ratings, YAML.") = None,
    label: Spellings = None,
    original: Original = False,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
):
    """Check claims against a collection; exit 3 if some could not be checked.

    Prints verdict and explanation of each claim, scores if there are labels, costs and quality of explanations.
    --out writes the run log, a line for each claim.

    Example: casebook factcheck run claims.jsonl --corpus ./documents --out log.jsonl
    """
    from casebook.factcheck.claims import claims_of_answers, read_plain
    from casebook.factcheck.pipeline import OWN_COLLECTION, folder_of, load_documents
    from casebook.factcheck.score import as_report, run_log, write_log

    set_by_original = [
        name for name in ("stance", "decomposition", "gate", "ratings") if given(context, name)
    ]
    if original and set_by_original:
        raise InputError(f"--original sets --{set_by_original[0]} itself: leave one out")
    if (claims is None) == (not log):
        raise InputError("give a file of claims, or --log with a log of answers")
    if log and not corpus:
        raise InputError("--log needs --corpus: the collection that the answers should agree with")
    exclusive(context, "log", "label")
    refuse_overwriting(out, claims, ratings, *(log or ()), *map(folder_of, corpus or ()))
    _refuse_unwritable(out)
    if log:
        from casebook.assistant.log import not_answered, read_log

        answers = read_log(log)
        checked = claims_of_answers(answers)
        for note in not_answered(answers["no_answer"]):
            say(f"note: {note}")
        if how["stance"] == "public" and not original:
            say(
                "note: the default judge compares words and refutes many paraphrases; for the sentences of answers "
                "prefer --stance entailment:MODEL or model:NAME"
            )
    else:
        checked = read_plain(claims, spellings=pairs(label, "=", "SPELLING=LABEL"))
    checker = _checker(
        load_documents(corpus or [OWN_COLLECTION]), how, k=k, ratings=ratings, documented=original
    )
    with on_terminal(say):
        results = checker.check_all(checked)
    if out is not None:
        write_log(out, run_log(results, [claim.label for claim in checked]))
    report, scored = as_report(checked, results, checker.config, n_resamples=resamples, seed=seed)
    show(report, as_json, *_shown(report, scored))
    if crashed := sum(result.error is not None for result in results):
        raise BatchFailed(f"{crashed} of {len(results)} claims could not be checked")


def _shown(report, scored):
    """The report as lines and tables for a terminal."""
    import pandas as pd

    from casebook.factcheck.score import RUN_MEASURE_TITLES

    for claim in report["claims"]:
        told = (claim["explanation"] or "").splitlines()
        yield [
            f"{claim['claim_id']}: {claim['verdict'] or claim['error']}",
            *(f"    {line}" for line in told),
        ]
    yield [", ".join(f"{n} {name}" for name, n in report["outcomes"].items())]
    if len(set(report["systems"]["category"])) > 1:
        yield ["\nVerdicts by category (share of claims with 95 % interval)"]
        yield report["systems"]
    if scored:
        yield ["\nVerdicts against the labels", scored.as_text()]
    quality = report["explanations"].set_index("measure")["value"].to_dict()
    performance = report["performance"]
    in_code = {
        name.removeprefix("documented: "): value
        for name, value in quality.items()
        if "documented: " in name
    }
    columns = {
        "original": performance["document"],
        "in its code": performance["in_its_code"] | in_code,
        "standard": performance["document"] | quality,
    }
    yield [
        "\nCost of a claim and quality of its explanation: as the document says, in its code, and standard"
    ]
    table = pd.DataFrame(
        {name: pd.Series(values, dtype=float) for name, values in columns.items()}
    ).reindex(RUN_MEASURE_TITLES)
    yield table.rename(RUN_MEASURE_TITLES).rename_axis("measure").reset_index()


def _in_words(table):
    """A table for a terminal: why something is not measured in words, or no column of reasons."""
    from casebook.tables import reason_text

    if "reason" not in table or table["reason"].isna().all():
        return table.drop(columns="reason", errors="ignore")
    return table.assign(reason=table["reason"].fillna("").map(reason_text))


def _checker(documents, how, **more):
    """A fact-checker; where the credibility gate lets no document pass, that is said."""
    from casebook.factcheck.pipeline import checker_of

    checker = checker_of(documents, **how, **more)
    if not checker.passing:
        gate, scale = (
            checker.config.gate,
            "the original rating" if checker.config.parity else "the rating table",
        )
        say(
            f"note: none of {len(checker.base)} documents passes the credibility gate ({gate}), so no claim gets "
            f"evidence: {scale} rates a source by its address ('url'); without one it stays low"
        )
    return checker


def _refuse_unwritable(out):
    """Refuse before the work what could not be written after it."""
    if out is not None and (out.is_dir() or not writable(out.absolute().parent)):
        raise InputError(
            f"--out {out}: cannot be written: name a file in a folder that you may write to"
        )


@app.command()
@taking(how=CHECKER)
def ablate(
    how,
    context: typer.Context,
    claims: argument(
        Path | None, "CSV, JSON or JSONL with claim and label.", show_default="own"
    ) = None,
    corpus: Corpus = None,
    rate: option(
        list[float] | None, "Share of documents with a planted contradiction; repeatable."
    ) = None,
    seeds: option(int, "Draws of the planted contradictions.", min=1) = 3,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Measure what each part of the pipeline is worth: 16 combinations and the nine original configurations.

    Exit 3 if some claims could not be checked: they count as wrong.

    Example: casebook factcheck ablate claims.jsonl --corpus ./documents --rate 0 --json
    """
    from casebook.factcheck.ablation import ablate as ablation_of
    from casebook.factcheck.claims import read_claims, read_labelled
    from casebook.factcheck.pipeline import OWN_COLLECTION, load_documents

    if corpus and claims is None:
        raise InputError(
            "--corpus needs CLAIMS with labels: the shipped claims are about the shipped collection"
        )
    if rate and not any(rate):
        exclusive(context, "rate", "seeds", but="--rate 0, which plants nothing")
    documents = load_documents(corpus or [OWN_COLLECTION])
    checked = read_labelled(claims, documents) if claims else read_claims(documents, split="test")
    checker = _checker(documents, how)
    with on_terminal(say):
        tables = ablation_of(
            checker, checked, noise_rates=rate or (0.0, 1.0), noise_seeds=range(seeds), seed=seed
        )
    crashed = tables["crashed"]
    titles = {
        "parts": "The pipeline against itself without each part",
        "cells": "Cells",
        "effects": "Effects by share of documents with a planted contradiction",
        "configurations": "The nine original configurations, run",
        "reported": "Impacts that the document states, and ours, in points of accuracy",
    }
    if not as_json:
        tables["effects"] = tables["effects"].query("kind in ('main', 'shapley')")
        tables = {title: _in_words(tables[name]) for name, title in titles.items()}
    show_tables(tables, as_json)
    if len(crashed):
        first = crashed["error"].iloc[0]
        raise BatchFailed(
            f"{crashed['id'].nunique()} of {len(checked)} claims could not be checked, as {first}"
        )
