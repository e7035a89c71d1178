"""Options and choices that the commands on forms share."""

from pathlib import Path
from typing import Annotated

import typer

Forms = Annotated[list[Path], typer.Argument(help="Forms, or folders of forms.")]
Key = Annotated[
    Path | None,
    typer.Option(help="Sealed key, or the study's folder that holds it."),
]
SideCol = Annotated[
    str | None, typer.Option("--side-col", help="Key column of documented forms.")
]
LastColumn = Annotated[
    bool, typer.Option("--last-column", help="Allow the last column as the key.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Unblind although forms are missing.")
]
Against = Annotated[
    str | None, typer.Option(help="System to hold the focus against, if several.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of every random choice.")]


def paired(forms):
    """Give the forms that ask for preferences.

    Parameters
    ----------
    forms : list of casebook.raters.responses.ReturnedForm
        Returned forms.

    Returns
    -------
    list of casebook.raters.responses.ReturnedForm
        In the same order.
    """
    return [form for form in forms if form.layout.name == "paired"]
