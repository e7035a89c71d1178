"""``casebook sensitivity run | report``: which facts of a case move its results."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.common import Json, Original, Out, Seed, exclusive, print_json
from casebook.files import refuse_overwriting

app = typer.Typer(help="Edit the facts of a case one by one and see what retrieval does.", no_args_is_help=True)


@app.command()
def run(
    context: typer.Context,
    case: Annotated[Path, typer.Argument(help="Fact sheet (.json) or judgment text.")],
    dataset: Annotated[str, typer.Argument(help="Data set, or a BEIR folder.")],
    mode: Annotated[str, typer.Option(help="Retrieval system.")] = "full",
    encoder: Annotated[str | None, typer.Option(help="Model of the dense list.")] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Cases compared.")] = 10,
    depth: Annotated[int, typer.Option(min=1, max=5, help="Edits in a row.")] = 2,
    children: Annotated[int, typer.Option(min=1, help="Edits tried per state.")] = 5,
    threshold: Annotated[float, typer.Option(min=0, help="Least displacement to go on from a state.")] = 1.0,
    budget: Annotated[str, typer.Option(help="stratified or first.")] = "stratified",
    placebos: Annotated[int, typer.Option(min=0, help="Placebos per state and size of edit.")] = 4,
    validator: Annotated[str | None, typer.Option(help="endpoint:MODEL judges edits; default: rules.")] = None,
    original: Original = False,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
):
    """Grow the tree of one case and report the sensitivity to each fact type.

    The report tells why each case was found and what each edit did, with the words of
    the documents that say so; `casebook sensitivity report` writes it as Markdown.

    Example: casebook sensitivity run case.json smoke --mode bm25 -o tree.json
    """
    from casebook.data.registry import load
    from casebook.files import write_json
    from casebook.paths import data_folder
    from casebook.sensitivity.report import explained_report, read_case, run_case, validator_for
    from casebook.sensitivity.tree import TreeSettings

    own = data_folder(dataset)
    refuse_overwriting(out, case, own and own[1])
    limits = {"max_depth": depth, "children": children, "threshold": threshold, "seed": seed}
    if original:
        exclusive(context, "original", "budget", "placebos", "validator")
        settings = TreeSettings.documented(**limits)
    else:
        settings = TreeSettings(**limits, budget=budget, placebo_draws=placebos)
    sheet, notes = read_case(case)
    judge = validator_for(validator, original)
    data = load(dataset)
    tree = run_case(sheet, data.documents, settings=settings, validator=judge, mode=mode, encoder=encoder, k=k)
    notes = [*notes, *(f"{n} answers missing: {why}" for why, n in getattr(judge, "failures", {}).items())]
    if len(tree.root.found.cases) < k:
        notes.append(f"{len(tree.root.found.cases)} of {k} cases found: short lists inflate the mean")
    report = explained_report(tree, data.documents, original)
    report |= {"dataset": data.name, "mode": mode, "notes": notes}
    if out is not None:
        write_json(out, report)
    if as_json:
        print_json(report)
        return
    for note in [*report["notes"], *report["warnings"]]:
        typer.echo(f"note: {note}")
    typer.echo(f"{report['case_id']}: " + ", ".join(f"{count} {name}" for name, count in report["counts"].items()))
    for name, score in report["nodes"][0]["sensitivity_scores"].items():
        typer.echo(f"{name:10} {_line(score)}")
    if out is not None:
        typer.echo(str(out))


def _line(score):
    from casebook.stats.intervals import bounds_text

    if score["normalised_footrule"]["value"] is None:
        return score["reason"]
    cells = [f"{score['edges']} edits"]
    for name in ("mean_displacement", "normalised_footrule", "excess"):
        number = score[name]
        value = "undefined" if number["value"] is None else f"{number['value']:.3f}"
        cells.append(f"{name.replace('_', ' ')} {value} {bounds_text(*number['ci'])}")
    return "  ".join([*cells, score["reason"] or ""]).rstrip()


@app.command()
def report(
    context: typer.Context,
    tree: Annotated[Path, typer.Argument(help="Report that `run -o` wrote.")],
    out: Out = None,
    as_json: Json = False,
):
    """Write the report of a tree as Markdown, or its sensitivities as JSON.

    Example: casebook sensitivity report tree.json -o tree.md
    """
    from casebook.files import write_text
    from casebook.sensitivity.report import as_markdown, read_report

    exclusive(context, "as_json", "out")
    found = read_report(tree)
    if as_json:
        print_json(found["nodes"][0]["sensitivity_scores"])
    elif out is None:
        typer.echo(as_markdown(found), nl=False)
    else:
        refuse_overwriting(out, tree)
        write_text(out, as_markdown(found))
        typer.echo(str(out))
