"""``casebook sensitivity run | evaluate``: which facts of a case change its results."""

from pathlib import Path

import typer

from casebook import assistant, explain, retrieval, sensitivity
from casebook.cli.common import (
    DOCUMENTS,
    Columns,
    Json,
    Original,
    Out,
    Resamples,
    Rows,
    Seed,
    argument,
    command_group,
    exclusive,
    option,
    pairs,
    plain,
    show_report,
)
from casebook.files import refuse_overwriting
from casebook.paths import data_folder
from casebook.plugins import is_plugin

app = command_group("sensitivity", "Edit the facts of cases and measure how retrieval responds.")

Mode = option(str, "Retrieval system, or module:object of your own.")
Encoder = option(str | None, "Model of the dense list.")
K = option(int, "Length of the result lists compared.", "--k", min=1)
Depth = option(int, "Edits in a row.", min=1, max=5)
Children = option(int, "Edits tried per state.", min=1)
Placebos = option(int, "Placebo edits per state and size of edit.", min=0)
CASES_HELP = "Cases: a fact sheet, alone or with annotations (.json), or one on each line (.jsonl)"
Threshold = option(
    float | None,
    "Mean displacement above which a fact type counts as dispositive (default 1.5); "
    "`run` edits a state again from it on (default 1.0).",
    min=0,
)
Facts = option(Path | None, "Fact types and acts of your own, laid over ours (YAML).")
Judge = option(str | None, "endpoint:MODEL judges whether edits are plausible; default: rules.")
DECISIVE = 1.5  # mean displacement, documented


def _check_encoder(context, mode):
    """Refuse an encoder that the retrieval system does not have."""
    if is_plugin(mode) or not retrieval.settings.config_for(mode).uses_encoder:
        exclusive(context, "mode", "encoder", but=f"--mode {mode}")


def _settings(context, original, depth, children, placebos, **others):
    """Settings of the trees: those asked for, or the documented ones."""
    if original:
        exclusive(context, "original", "placebos", "validator")
        others |= {"max_depth": depth or 2, "children": children or 5}
    else:
        others |= {"max_depth": depth or 1, "children": children, "placebo_draws": placebos}
    return sensitivity.tree.TreeSettings(original=original, **others)


@app.command()
def run(
    context: typer.Context,
    case: argument(Path, f"{CASES_HELP}, or judgment text."),
    dataset: argument(str, f"Data set, or folder: {DOCUMENTS}."),
    name: option(str | None, "Which case, if the file holds several.", "--case") = None,
    columns: Columns = None,
    rows: Rows = None,
    mode: Mode = "full",
    encoder: Encoder = None,
    k: K = 10,
    depth: Depth = 2,
    children: Children = 5,
    threshold: Threshold = None,
    placebos: Placebos = 4,
    validator: Judge = None,
    extractor: option(str | None, "endpoint:MODEL reads the judgment; default: patterns.") = None,
    facts: Facts = None,
    original: Original = False,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
):
    """Edit one case step by step and report the sensitivity to each fact type.

    The report gives the reason why each document was found, with the words of the document that
    support it, and what each edit did.

    Example: casebook sensitivity run case.json smoke --mode bm25 -o tree.json
    """
    _check_encoder(context, mode)
    folder = _folder_of(dataset)
    refuse_overwriting(out, case, folder, facts)
    decisive = DECISIVE if threshold is None else threshold
    expanded = sensitivity.tree.EXPANSION_THRESHOLD if threshold is None else threshold
    size = {"threshold": expanded, "seed": seed}
    settings = _settings(context, original, depth, children, placebos, **size)
    domain = sensitivity.domain.read_domain(facts)
    told = {"columns": pairs(columns, "=", "--columns ROLE=COLUMN"), "rows": rows}
    sheet, notes = sensitivity.cases.read_case(case, extractor, name, domain, **told)
    judge = sensitivity.plausibility.model_validator(validator) if validator else None
    documents = assistant.log.documents_of(dataset)
    search = {"mode": mode, "encoder": encoder, "k": k}
    tree = sensitivity.study.run_case(sheet, documents, settings, judge, domain, **search)
    report = explain.tree_report.tree_report(tree, documents, decisive)
    notes = [*domain.notes, *notes, *(judge.notes() if judge else [])]
    notes += [tree.poor] if tree.poor else []
    dataset = folder.resolve().name if folder else dataset
    report |= {"dataset": dataset, "mode": mode, "notes": notes}
    lines = [f"note: {note}" for note in notes]
    counts = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
    lines.append(f"{report['case_id']}: {counts}")
    show_report(report, as_json, out, lines, explain.tree_report.score_table(tree, decisive))


def _folder_of(dataset):
    """The folder that a data set names, if it is one's own."""
    if Path(dataset).is_dir():
        return Path(dataset)
    name_and_folder = data_folder(dataset)
    return name_and_folder[1] if name_and_folder else None


@app.command()
def evaluate(
    context: typer.Context,
    cases: argument(Path, f"{CASES_HELP}."),
    corpus: option(Path, f"{DOCUMENTS}."),
    columns: Columns = None,
    rows: Rows = None,
    mode: Mode = "full",
    encoder: Encoder = None,
    k: K = 10,
    depth: option(int | None, "Edits in a row; default 1, original: 2.", min=1, max=5) = None,
    children: option(int | None, "Edits tried per state; default: all, original: 5.", min=1) = None,
    threshold: Threshold = None,
    placebos: Placebos = 4,
    validator: Judge = None,
    facts: Facts = None,
    original: Original = False,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
):
    """Compare the sensitivity of a retriever with annotated cases.

    Prints COUNTERCASE's dispositive and non-dispositive accuracy at the threshold, its mean
    Spearman correlation and accept rate, each as its document states it and as its code computes
    it; then the standard measures: AUROC beyond placebo edits, against simple baselines, with
    intervals over cases.

    Example: casebook sensitivity evaluate cases.jsonl --corpus judgments --mode bm25
    """
    _check_encoder(context, mode)
    refuse_overwriting(out, cases, corpus, facts)
    settings = _settings(context, original, depth, children, placebos, seed=seed)
    domain = sensitivity.domain.read_domain(facts)
    told = {"columns": pairs(columns, "=", "--columns ROLE=COLUMN"), "rows": rows}
    collection = sensitivity.cases.user_collection(cases, corpus, domain, **told)
    judge = sensitivity.plausibility.model_validator(validator) if validator else None
    search = {"k": k, "encoder": encoder, "chunking": False, "n_resamples": resamples}
    study = sensitivity.study.run_sensitivity_study(
        collection, [mode], settings, validator=judge, **search
    )
    tables = study.tables(mode, DECISIVE if threshold is None else threshold)
    notes = [*domain.notes, *(judge.notes() if judge else [])]
    counts = {"documents": len(collection.documents), "cases": len(collection.sheets)}
    counts |= collection.account
    report = {"cases": collection.name, "corpus": str(corpus), "mode": mode, "k": k}
    report |= {"notes": notes, "counts": counts, "tables": tables}
    lines = [f"{name}: {count}" for name, count in counts.items()]
    parts = [[*lines, *(f"note: {note}" for note in notes)]]
    for title, table in tables.items():
        parts += [[f"\n{title}"], table]
    show_report(plain(report), as_json, out, *parts)
