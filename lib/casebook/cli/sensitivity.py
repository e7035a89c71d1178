"""``casebook sensitivity run | report``: which facts of a case move its results."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json
from casebook.cli.run_options import exclusive
from casebook.files import refuse_overwriting

app = typer.Typer(help="Edit the facts of a case one by one and see what retrieval does.", no_args_is_help=True)

Case = Annotated[Path, typer.Argument(help="Fact sheet (.json) or judgment text.")]
Dataset = Annotated[str, typer.Argument(help="Data set, or a BEIR folder.")]
Mode = Annotated[str, typer.Option(help="Retrieval system.")]
Encoder = Annotated[str | None, typer.Option(help="Model of the dense list.")]
TopK = Annotated[int, typer.Option("--k", min=1, help="Cases compared.")]
Depth = Annotated[int, typer.Option(min=1, max=5, help="Edits in a row.")]
Children = Annotated[int, typer.Option(min=1, help="Edits tried per state.")]
Threshold = Annotated[float, typer.Option(min=0, help="Least displacement to go on from a state.")]
Budget = Annotated[str, typer.Option(help="stratified or first.")]
Placebos = Annotated[int, typer.Option(min=0, help="Placebos per state and size of edit.")]
Validator = Annotated[str | None, typer.Option(help="smollm2 or endpoint:MODEL; default: rules.")]
Documented = Annotated[bool, typer.Option("--documented", help="Documented budget, states and explanations.")]
Seed = Annotated[int, typer.Option(min=0, help="Of placebos and order.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the JSON report.")]


@app.command()
def run(
    context: typer.Context,
    case: Case,
    dataset: Dataset,
    mode: Mode = "full",
    encoder: Encoder = None,
    top_k: TopK = 10,
    depth: Depth = 2,
    children: Children = 5,
    threshold: Threshold = 1.0,
    budget: Budget = "stratified",
    placebos: Placebos = 4,
    validator: Validator = None,
    documented: Documented = False,
    seed: Seed = 0,
    output: Output = None,
    as_json: Json = False,
):
    """Grow the tree of one case and report the sensitivity to each fact type.

    The report tells why each case was found and what each edit did, with the words of
    the documents that say so; `casebook sensitivity report` writes it as Markdown.

    Example: casebook sensitivity run case.json smoke --mode bm25 -o tree.json
    """
    from casebook.datasets.registry import load
    from casebook.paths import data_folder
    from casebook.sensitivity import report as one_case
    from casebook.sensitivity.tree import TreeSettings

    own = data_folder(dataset)
    refuse_overwriting(output, case, own and own[1])
    if documented:
        exclusive(context, "documented", "budget", "placebos", "validator")
    limits = {"max_depth": depth, "children": children, "threshold": threshold}
    if documented:
        settings = TreeSettings.documented(**limits, seed=seed)
    else:
        limits |= {"budget": budget, "placebo_draws": placebos}
        settings = TreeSettings(**limits, seed=seed)
    sheet, notes = one_case.read_case(case)
    judge = one_case.validator_for(validator, documented)
    data = load(dataset)
    documents = data.documents
    system = {"mode": mode, "encoder": encoder, "k": top_k}
    tree = one_case.run_case(sheet, documents, settings=settings, validator=judge, **system)
    notes = [*notes, *_warnings(judge, len(tree.root.found.cases), top_k)]
    report = one_case.explained_report(tree, documents, documented)
    report |= {"dataset": data.name, "mode": mode, "notes": notes}
    _give(report, output, as_json)


def _give(report, output, as_json):
    """Write the report where that is asked for, and print it."""
    from casebook.files import write_json

    if output is not None:
        write_json(output, report)
    if as_json:
        print_json(report, allow_nan=False)
    else:
        _show(report, output)


def _warnings(judge, found, top_k):
    """Yield what limits the report: answers of the judge missing, short lists."""
    for why, count in getattr(judge, "failures", {}).items():
        yield f"{count} answers missing: {why}"
    if found < top_k:
        yield f"{found} of {top_k} cases found: short lists inflate the mean"


@app.command()
def report(
    context: typer.Context,
    tree: Annotated[Path, typer.Argument(help="Report that `run -o` wrote.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write instead of print.")] = None,
    as_json: Json = False,
):
    """Write the report of a tree as Markdown, or its sensitivities as JSON.

    Example: casebook sensitivity report tree.json -o tree.md
    """
    from casebook.files import write_text
    from casebook.sensitivity.report import as_markdown, read_report

    exclusive(context, "as_json", "output")
    found = read_report(tree)
    if as_json:
        scores = found["nodes"][0]["sensitivity_scores"]
        print_json(scores, allow_nan=False)
        return
    text = as_markdown(found)
    if output is None:
        typer.echo(text, nl=False)
        return
    refuse_overwriting(output, tree)
    write_text(output, text)
    typer.echo(str(output))


def _show(report, output):
    """Print the sensitivities in a few lines."""
    for note in [*report["notes"], *report["warnings"]]:
        typer.echo(f"note: {note}")
    counts = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
    typer.echo(f"{report['case_id']}: {counts}")
    for name, score in report["nodes"][0]["sensitivity_scores"].items():
        typer.echo(f"{name:10} {_line(score)}")
    if output is not None:
        typer.echo(str(output))


def _line(score):
    from casebook.inference.intervals import bounds_text

    if score["normalised_footrule"]["value"] is None:
        return score["reason"]
    cells = [f"{score['edges']} edits"]
    for name in ("mean_displacement", "normalised_footrule", "excess"):
        number = score[name]
        value = "undefined" if number["value"] is None else f"{number['value']:.3f}"
        cells.append(f"{name.replace('_', ' ')} {value} {bounds_text(*number['ci'])}")
    return "  ".join([*cells, score["reason"] or ""]).rstrip()
