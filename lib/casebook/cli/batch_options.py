"""Options that the commands on runs of the grid share."""

from pathlib import Path
from typing import Annotated

import typer

RunName = Annotated[str, typer.Option("--run", help="Name of the run: results/<run>.")]
Grid = Annotated[Path | None, typer.Option(help="Grid file instead of notebooks/experiments.yml.")]
Tag = Annotated[str, typer.Option(help="Cells to run: smoke, default, permissive or full.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes on this machine.")]
Scheduler = Annotated[str | None, typer.Option(help="Dask scheduler, such as tcp://host:8786.")]
Timeout = Annotated[float | None, typer.Option(min=1, help="Seconds that one notebook may take.")]
Retries = Annotated[int, typer.Option(min=0, help="Further attempts after a kernel or worker is lost.")]
Force = Annotated[bool, typer.Option("--force", help="Run unchanged cells again.")]
Compare = Annotated[str | None, typer.Option(help="Another run: a page shows what differs from it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run and why; run nothing.")]
Overrides = Annotated[list[str] | None, typer.Option("-p", "--parameter", help="name=value, as YAML; repeatable.")]
