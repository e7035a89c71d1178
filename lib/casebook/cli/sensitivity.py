"""``casebook sensitivity | explain``: which facts change results, and are explanations grounded."""

from pathlib import Path

from casebook import assistant, data, explain, retrieval, sensitivity
from casebook.cli.commands import command, command_group, lines_of, say, show
from casebook.errors import InputError
from casebook.files import refuse_overwriting
from casebook.paths import data_folder
from casebook.plugins import is_plugin

group = command_group(
    "sensitivity", "Edit the facts of cases and measure how retrieval responds."
)
explained = command_group("explain", "Measure explanations against their sources.")
explained.callback()(lambda: None)  # a group, although it has one command
DECISIVE = 1.5  # mean displacement, documented


@command(group)
def run(
    case,
    dataset,
    name,
    extractor,
    columns,
    rows,
    threshold,
    validator,
    facts,
    out,
    as_json,
    **options,
):
    folder = data_folder(Path(dataset) if Path(dataset).is_dir() else dataset)
    refuse_overwriting(out, case, folder and folder[1], facts)
    expanded = sensitivity.tree.EXPANSION_THRESHOLD if threshold is None else threshold
    search, settings = _settings(threshold=expanded, **options)
    domain, judge = _domain_and_judge(facts, validator)
    sheet, read = sensitivity.cases.read_case(
        case, extractor, name, domain, columns=columns, rows=rows
    )
    _say_gaps([sheet], domain)
    documents = assistant.log.documents_of(dataset)
    tree = sensitivity.study.run_case(
        sheet, documents, settings, judge, domain, **search
    )
    decisive = DECISIVE if threshold is None else threshold
    report = explain.tree_report.tree_report(tree, documents, decisive)
    notes = [*_notes(domain, judge), *read]
    if tree.poor:
        notes.append(tree.poor)
    about = {"dataset": dataset, "mode": search["mode"], "notes": notes}
    lines = [f"note: {note}" for note in notes]
    lines += lines_of({report["case_id"]: report["counts"]})
    table = explain.tree_report.score_table(tree, decisive)
    show(report | about, as_json, *lines, table, out=out)


@command(group)
def evaluate(
    cases,
    corpus,
    columns,
    rows,
    threshold,
    validator,
    facts,
    n_resamples,
    out,
    as_json,
    **options,
):
    refuse_overwriting(out, cases, corpus, facts)
    search, settings = _settings(**options)
    domain, judge = _domain_and_judge(facts, validator)
    collection = sensitivity.cases.user_collection(
        cases, corpus, domain, columns=columns, rows=rows
    )
    _say_gaps(collection.sheets, domain, collection.annotations)
    mode = search.pop("mode")
    search |= {"validator": judge, "n_resamples": n_resamples}
    study = sensitivity.study.run_sensitivity_study(
        collection, [mode], settings, **search
    )
    tables = study.tables(mode, DECISIVE if threshold is None else threshold)
    notes = _notes(domain, judge)
    counts = {
        "documents": len(collection.documents),
        "cases": len(collection.sheets),
        **collection.account,
    }
    report = {
        "cases": collection.name,
        "corpus": str(corpus),
        "mode": mode,
        "k": search["k"],
        "notes": notes,
        "counts": counts,
        "tables": tables,
    }
    lines = [f"note: {note}" for note in notes]
    show(report, as_json, *lines, *lines_of(counts | tables), out=out)


@command(explained)
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
    refuse_overwriting(out, explanations, sources)
    read = explain.study.read_explanations(explanations, sources, columns, rows, lists)
    scored = explain.study.score_explanations(read, pool=read.sources, **options)
    tables = explain.study.score_tables(read, scored)
    reading = data.tables.reading_text(read.reading)
    show({"name": read.name, **tables}, as_json, reading, *lines_of(tables), out=out)


def _domain_and_judge(facts, validator):
    judge = sensitivity.plausibility.model_validator(validator) if validator else None
    return sensitivity.domain.read_domain(facts), judge


def _notes(domain, judge):
    if judge is None:
        return domain.notes
    # The judge's notes are what its model did not answer, and the cost.
    return [*domain.notes, *judge.notes()]


def _say_gaps(*told):
    for line in sensitivity.study.gaps(*told):
        say(f"note: {line}")


def _settings(
    mode,
    encoder,
    k,
    depth,
    children,
    placebos,
    documented,
    **others,
):
    """Settings of the search and of the trees: those asked for, or the documented ones."""
    uses_encoder = (
        not is_plugin(mode) and retrieval.settings.config_for(mode).uses_encoder
    )
    if encoder and not uses_encoder:
        raise InputError(
            f"--encoder has no effect with --mode {mode}: leave one of them out"
        )
    if documented:
        others |= {"max_depth": depth or 2, "children": children or 5}
    else:
        others |= {
            "max_depth": depth or 1,
            "children": children,
            "placebo_draws": placebos,
        }
    settings = sensitivity.tree.TreeSettings(original=documented, **others)
    return {"mode": mode, "encoder": encoder, "k": k}, settings
