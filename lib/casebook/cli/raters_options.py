"""Options and choices that the commands on forms share."""

from pathlib import Path
from typing import Annotated

import typer

from casebook.errors import InputError

Forms = Annotated[list[Path], typer.Argument(help="Forms, or folders of forms.")]
Key = Annotated[Path | None, typer.Option(help="Sealed key, or the study's folder that holds it.")]
SideCol = Annotated[str | None, typer.Option("--side-col", help="Key column of documented forms.")]
LastColumn = Annotated[bool, typer.Option("--last-column", help="Allow the last column as the key.")]
Force = Annotated[bool, typer.Option("--force", help="Unblind although forms are missing.")]
Against = Annotated[str | None, typer.Option(help="System to hold the focus against, if several.")]
Columns = Annotated[
    list[str] | None, typer.Option("--map", help="DOCUMENTED=YOURS, such as preferred=choice; repeat.", metavar="A=B")
]
Permutations = Annotated[int, typer.Option(min=19, help="Of the systems' texts, in the content audit.")]
Seed = Annotated[int, typer.Option(min=0, help="Of every random choice.")]


def mapping(options):
    """Read --map: documented column to the column of the files."""
    from casebook.raters.forms import LIKERT, PAIRED_WITH_GUESS
    from casebook.raters.read import SIDE_COLUMN

    known = [*PAIRED_WITH_GUESS.names, SIDE_COLUMN]
    found = {}
    for text in options or []:
        wanted, _, given = text.partition("=")
        if wanted not in {*known, *LIKERT.names}:
            raise InputError(f"--map {text!r}: {wanted!r} is none of {', '.join(known)}")
        if not given or wanted in found or given in found.values():
            raise InputError(f"--map {text!r}: give each column once, as DOCUMENTED=YOURS")
        found[wanted] = given
    return found


def paired(forms):
    """Give the forms that ask for preferences."""
    return [form for form in forms if form.layout.name == "paired"]
