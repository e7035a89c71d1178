"""``casebook agreement``: coefficients of a table of ratings, with both intervals."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.cli.printing import Json, print_json
from casebook.errors import InputError

LEVELS = ("nominal", "ordinal", "interval", "ratio")

Ratings = Annotated[Path, typer.Argument(help="CSV or xlsx: rows items, columns raters, blank missing.")]
Level = Annotated[
    str | None,
    typer.Option(
        help="Of Krippendorff's alpha: nominal, ordinal, interval or ratio; ordinal for numbers, nominal for labels."
    ),
]
Weights = Annotated[str, typer.Option(help="Of Gwet's AC2: quadratic, linear, ordinal, ...")]
Scale = Annotated[str | None, typer.Option(help="The rating scale in order, as 1,2,3,4,5 or low,mid,high.")]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column that names the items.")]
NoId = Annotated[bool, typer.Option("--no-id", help="The first column is a rater.")]
Wide = Annotated[bool, typer.Option("--wide", help="More raters than items are meant.")]
Resamples = Annotated[int, typer.Option("--boot", help="Resamples of items, at least 100; 0: none.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the resamples.")]


def agreement(
    ratings: Ratings,
    level: Level = None,
    weights: Weights = "quadratic",
    scale: Scale = None,
    id_column: IdColumn = None,
    no_id: NoId = False,
    wide: Wide = False,
    n_boot: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
):
    """Measure agreement among raters, for this panel and for a new one."""
    from casebook.formats.ratings import read_ratings
    from casebook.measures.agreement import agreement_results
    from casebook.measures.ratings import as_panel

    if n_boot < 100 and n_boot != 0:
        raise InputError(f"--boot {n_boot}: an interval needs at least 100 resamples; 0 gives none")
    if level not in (None, *LEVELS):
        raise InputError(f"unknown level {level!r}: choose from {', '.join(LEVELS)}")
    frame = read_ratings(ratings, numbers=_numbers(level, scale), id_column="" if no_id else id_column)
    numeric = frame.to_numpy().dtype.kind == "f"
    level = level or ("ordinal" if numeric or scale else "nominal")
    scored = as_panel(frame, _categories(scale, numeric), wide, ids_allowed=True)
    options = {"weights": weights, "seed": seed}
    found = agreement_results(scored, level, n_boot, **options)
    if as_json:
        print_json({k: _fields(v) for k, v in found.items()})
    else:
        _print(frame, level, found)


def _numbers(level, scale):
    """Tell whether the ratings must be numbers; None if the file is to tell."""
    if level == "nominal" or scale is not None:
        return False
    return None if level is None else True


def _categories(scale, numeric):
    if scale is None:
        return None
    names = [part.strip() for part in scale.split(",")]
    try:
        return [float(name) for name in names] if numeric else names
    except ValueError as problem:
        raise InputError(f"--scale {scale!r}: the ratings are numbers") from problem


def _fields(found):
    return {
        "estimate": found.estimate,
        "se": found.se,
        "panel_ci": found.panel_ci and list(found.panel_ci),
        "new_panel_ci": found.new_panel_ci and list(found.new_panel_ci),
        "n_items": found.n_items,
        "n_raters": found.n_raters,
        "reason": found.reason,
    }


def _print(frame, level, found):
    missing = int(frame.isna().to_numpy().sum())
    named = f"items named by column {frame.index.name!r}"
    if frame.index.name == "row":
        named = "items are rows; every column is a rater"
    size = f"{len(frame)} items x {frame.shape[1]} raters, {missing} missing"
    typer.echo(f"{size}; {named}")
    typer.echo(f"level of krippendorff_alpha: {level}")
    typer.echo(f"{'':22}{'value':>7}  {'this panel, 95 %':18}  {'new panel, 95 %':18}  n")
    for name, result in found.items():
        typer.echo(_line(name, result))
    typer.echo("")
    typer.echo("this panel: other items, the same raters; new panel: other raters too")
    typer.echo("ICC: the F interval of its model: 3 this panel, 2 a new one, 1 either")


def _line(name, result):
    from casebook.stats.intervals import bounds_text

    if result.estimate is None:
        return f"{name:22}{'-':>7}  {result.reason}"
    both = (result.panel_ci, result.new_panel_ci)
    bounds = [bounds_text(*(ci or (None, None))) for ci in both]
    line = f"{name:22}{result.estimate:7.3f}  {bounds[0]:18}  {bounds[1]:18}  "
    return f"{line}{result.n_items}  {result.reason or ''}".rstrip()
