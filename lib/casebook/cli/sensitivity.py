"""``casebook sensitivity run | report``: which facts of a case move its results."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json
from casebook.errors import InputError

app = typer.Typer(
    help="Edit the facts of a case one by one and see what retrieval does.",
    no_args_is_help=True,
)


@app.command()
def run(
    case: Annotated[Path, typer.Argument(help="Fact sheet (.json) or judgment text.")],
    dataset: Annotated[str, typer.Argument(help="Data set, or a BEIR folder.")],
    mode: Annotated[str, typer.Option(help="Retrieval system.")] = "full",
    encoder: Annotated[
        str | None, typer.Option(help="Model of the dense list.")
    ] = None,
    top_k: Annotated[int, typer.Option("--k", min=1, help="Cases compared.")] = 10,
    depth: Annotated[int, typer.Option(min=1, max=5, help="Edits in a row.")] = 2,
    children: Annotated[int, typer.Option(min=1, help="Edits tried per state.")] = 5,
    threshold: Annotated[
        float, typer.Option(min=0, help="Least displacement to go on from a state.")
    ] = 1.0,
    budget: Annotated[str, typer.Option(help="stratified or first.")] = "stratified",
    placebos: Annotated[
        int, typer.Option(min=0, help="Placebos per state and size of edit.")
    ] = 4,
    validator: Annotated[
        str | None, typer.Option(help="smollm2 or endpoint:MODEL; default: rules.")
    ] = None,
    documented: Annotated[
        bool,
        typer.Option(
            "--documented", help="Documented budget, states and explanations."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of placebos and order.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the JSON report.")
    ] = None,
    as_json: Json = False,
):
    """Grow the tree of one case and report the sensitivity to each fact type.

    The report tells why each case was found and what each edit did, with the words of
    the documents that say so; `casebook sensitivity report` writes it as Markdown.

    Example: casebook sensitivity run case.json smoke --mode bm25 -o tree.json
    """
    from casebook.counterfactual.one_case import (
        explained_report,
        read_case,
        run_case,
        validator_for,
    )
    from casebook.counterfactual.tree import TreeSettings
    from casebook.datasets.registry import load
    from casebook.files import write_json

    make = TreeSettings.documented if documented else TreeSettings
    own = {} if documented else {"budget": budget, "placebo_draws": placebos}
    settings = make(
        max_depth=depth, children=children, threshold=threshold, seed=seed, **own
    )
    sheet, notes = read_case(case)
    judge = validator_for(validator, documented)
    documents = load(dataset).documents
    tree = run_case(
        sheet,
        documents,
        mode=mode,
        encoder=encoder,
        k=top_k,
        settings=settings,
        validator=judge,
    )
    notes = [*notes, *_warnings(judge, len(tree.root.found.cases), top_k)]
    report = explained_report(tree, documents, documented)
    report |= {"dataset": dataset, "mode": mode, "notes": notes}
    if output is not None:
        write_json(output, report)
    if as_json:
        print_json(report, allow_nan=False)
        return
    _show(report, notes, output)


def _warnings(judge, found, top_k):
    """Yield what limits the report: answers of the judge missing, short lists."""
    for why, count in getattr(judge, "failures", {}).items():
        yield f"{count} answers missing: {why}"
    if found < top_k:
        yield f"{found} of {top_k} cases found: short lists inflate the mean"


@app.command()
def report(
    tree: Annotated[Path, typer.Argument(help="Report that `run -o` wrote.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write instead of print.")
    ] = None,
    as_json: Json = False,
):
    """Write the report of a tree as Markdown, or its sensitivities as JSON.

    Example: casebook sensitivity report tree.json -o tree.md
    """
    from casebook.counterfactual.tree_markdown import as_markdown
    from casebook.counterfactual.tree_report import read_report
    from casebook.files import write_text

    found = read_report(tree)
    if as_json:
        scores = found["nodes"][0]["sensitivity_scores"]
        print_json(scores, allow_nan=False)
        return
    text = as_markdown(found)
    if output is None:
        typer.echo(text, nl=False)
        return
    if output.resolve() == tree.resolve():
        raise InputError(f"{output}: is the report itself: name another file")
    write_text(output, text)
    typer.echo(str(output))


def _show(report, notes, output):
    """Print the sensitivities in a few lines."""
    for note in notes:
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
    return "  ".join(cells)
