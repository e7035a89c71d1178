"""``casebook raters``: blind forms, audits and the analysis of a human evaluation."""

import typer

from casebook.cli.raters_analyse import analyse
from casebook.cli.raters_audit import audit
from casebook.cli.raters_forms import forms, simulate

app = typer.Typer(help="Double-blind human evaluation: forms, audit, analysis.", no_args_is_help=True)
for command in (forms, simulate, audit, analyse):
    app.command()(command)
