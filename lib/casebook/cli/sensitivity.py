"""``casebook sensitivity run | report | evaluate``: which facts of a case change its results."""

from pathlib import Path

from casebook import assistant, explain, retrieval, sensitivity
from casebook.cli.commands import command, command_group
from casebook.cli.common import echo, lines_of, plain, say, show, show_report
from casebook.errors import InputError
from casebook.files import refuse_overwriting, write_text
from casebook.paths import data_folder
from casebook.plugins import is_plugin

group = command_group("sensitivity", "Edit the facts of cases and measure how retrieval responds.")
DECISIVE = 1.5  # mean displacement, documented


@command(group)
def run(case, dataset, name, extractor, columns, rows, threshold, facts, out, as_json, **options):
    """Edit one case step by step and report the sensitivity to each fact type.

    Example: casebook sensitivity run case.json smoke --mode bm25 -o tree.json
    """
    folder = data_folder(Path(dataset) if Path(dataset).is_dir() else dataset)
    refuse_overwriting(out, case, folder and folder[1], facts)
    expanded = sensitivity.tree.EXPANSION_THRESHOLD if threshold is None else threshold
    settings, search, judged = _settings(options, threshold=expanded)
    domain = sensitivity.domain.read_domain(facts)
    sheet, notes = sensitivity.report.read_case(
        case, extractor, name, domain, columns=columns, rows=rows
    )
    judge = sensitivity.report.validator_for(*judged, domain)
    documents = assistant.log.documents_of(dataset)
    tree = sensitivity.report.run_case(sheet, documents, settings, judge, domain, **search)
    about = {"documented": judged[1], "threshold": threshold or DECISIVE}
    report = explain.tree_report.tree_report(tree, documents, **about)
    notes = [*domain.notes, *notes, *sensitivity.report.judge_notes(judge)]
    n_found = len(tree.root.ranking.cases)
    if n_found < search["k"]:
        notes.append(f"{n_found} of {search['k']} cases found: short lists inflate the mean")
    dataset = folder[0] if folder else dataset
    report |= {"dataset": dataset, "mode": search["mode"], "facts": domain.account, "notes": notes}
    lines = [f"note: {note}" for note in [*notes, *report["warnings"]]]
    lines += lines_of({report["case_id"]: report["counts"]})
    show_report(report, as_json, out, *lines, explain.tree_report.score_table(report))


@command(group)
def evaluate(cases, corpus, columns, rows, threshold, facts, n_resamples, out, as_json, **options):
    """Compare the sensitivity of a retriever with annotated cases.

    Prints COUNTERCASE's accuracies, Spearman correlation and accept rate, stated and as its code
    has them; then AUROC beyond placebo edits, with intervals over cases.

    Example: casebook sensitivity evaluate cases.jsonl --corpus judgments --mode bm25
    """
    refuse_overwriting(out, cases, corpus, facts)
    settings, search, judged = _settings(options)
    domain = sensitivity.domain.read_domain(facts)
    collection = sensitivity.cases.user_collection(
        cases, corpus, domain, columns=columns, rows=rows
    )
    judge = sensitivity.report.validator_for(*judged, domain)
    mode = search.pop("mode")
    search |= {"validator": judge, "chunking": False, "n_resamples": n_resamples}
    study = sensitivity.study.run_sensitivity_study(collection, [mode], settings, **search)
    report = sensitivity.report.evaluation_report(study, mode, threshold or DECISIVE)
    notes = [*domain.notes, *sensitivity.report.judge_notes(judge)]
    report |= {"corpus": str(corpus), "facts": domain.account, "notes": notes, "k": search["k"]}
    report["counts"] = {"documents": len(collection.documents), **collection.account}
    report = plain(report)
    show_report(report, as_json, out, *sensitivity.report.evaluation_parts(report))


@command(group)
def report(tree, threshold, out, as_json):
    """Write the report of a tree as Markdown, or its sensitivities as JSON.

    Example: casebook sensitivity report tree.json -o tree.md
    """
    content = explain.tree_report.with_threshold(explain.tree_report.read_report(tree), threshold)
    if as_json:
        show(content["nodes"][0]["sensitivity_scores"], as_json)
        return
    text = explain.tree_report.tree_markdown(content)
    if out is None:
        echo(text, nl=False)
    else:
        refuse_overwriting(out, tree)
        write_text(out, text)
        echo(str(out))


def _settings(options, **others):
    """Settings of the trees, those of the search, and who judges edits: by name or as documented."""
    search = {name: options[name] for name in ("mode", "encoder", "k")}
    mode = search["mode"]
    uses_encoder = not is_plugin(mode) and retrieval.settings.config_for(mode).uses_encoder
    if search["encoder"] and not uses_encoder:
        raise InputError(f"--encoder has no effect with --mode {mode}: leave one of them out")
    others["seed"] = options["seed"]
    depth, children = options["depth"], options["children"]
    documented = options["documented"]
    if documented:
        others |= {"max_depth": depth or 2, "children": children or 5}
        settings = sensitivity.tree.TreeSettings.documented(**others)
    else:
        others["placebo_draws"] = options["placebos"]
        settings = sensitivity.tree.TreeSettings(depth or 1, children, **others)
    return settings, search | {"say": say}, (options["validator"], documented)
