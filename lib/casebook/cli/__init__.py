"""The command line: thin commands over the library, one file per group.

Commands name what they call by its package, whose modules are imported when they are first named
(`casebook.lazy`), so that ``casebook --help`` answers at once.
"""

import itertools
import os
import sys

import typer

from casebook import __version__
from casebook.cli import (  # noqa: F401
    assistant,
    data,
    factcheck,
    raters,
    report,
    runs,
    scores,
    sensitivity,
    shift,
)
from casebook.cli.commands import NEW_LINES, SHARED_OPTIONS, app, visible
from casebook.cli.extras import what_is_missing
from casebook.credentials import without_secrets
from casebook.errors import CasebookError, InputError
from casebook.paths import refuse_unusable

# EmbeddingShift's names of commands.
ALIASES = {
    "posneg-train": "shift train",
    "posneg-run": "shift run",
    "segment-compare": "segments compare",
}
RUNS = "list compare active history verify decide promote rollback matrix"
ALIASES |= {f"runs-{name}": f"runs {name}" for name in RUNS.split()}


def _version(value: bool):
    if value:
        typer.echo(f"casebook {__version__}")
        raise typer.Exit()


@app.callback(epilog=SHARED_OPTIONS)
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
):
    """Evaluate legal and insurance AI systems, and publish the evidence.

    Environment: CASEBOOK_ROOT (or EMBEDDINGSHIFT_ROOT) is the folder of results; CASEBOOK_PROJECT
    the folder of notebooks, data cards and book; CASEBOOK_TENANT (or EMBEDDINGSHIFT_TENANT) limits
    the registry to one tenant; CASEBOOK_DATA_MIRROR holds local copies of data sets;
    CASEBOOK_DEVICE, CASEBOOK_PRECISION and CASEBOOK_BATCH_SIZE say how models run.
    """


PARSER = typer.main.get_command(app)


def main(arguments=None):
    """Run the command line and exit with the documented code."""
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(words):
    try:
        _check_words(words)
        code = PARSER(_our_words(words), "casebook", standalone_mode=False) or 0
    except CasebookError as error:
        return _complain(error, error.exit_code)
    except typer.TyperException as error:
        message = error.format_message()  # empty after the help of a bare command
        return _complain(message, 1) if message else 0
    except ModuleNotFoundError as error:
        message = what_is_missing(error)
        if message is None:
            raise
        return _complain(message, 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", 1)
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        # Whoever read what is printed has left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
        return 0
    if code == 130:  # what typer makes of Ctrl-C
        _complain("interrupted: type the same command again", code)
    return code


def _our_words(words):
    first = words[0].lower() if words else ""
    if first in ALIASES:
        return [*ALIASES[first].split(), *words[1:]]
    return list(words)


def _check_words(words):
    """Refuse what no command can mean: nothing, no text, circles of links."""
    for before, word in itertools.pairwise(["", *words]):
        name, equals, value = word.partition("=")
        if not (equals and name.startswith("--")):
            name, value = before, word
        name = name if name.startswith("-") else "an argument"
        if not value.strip():
            raise InputError(f"{name}: it is empty: is a shell variable not set?")
        if word.encode(errors="replace").decode() != word:
            raise InputError(f"{name}: {word!a} is not text in UTF-8")
        refuse_unusable(name, value.rpartition("=")[2])  # also of NAME=FILE


def _complain(message, code):
    typer.echo(f"casebook: {visible(without_secrets(message), NEW_LINES)}", err=True)
    return code
