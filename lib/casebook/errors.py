"""Errors that a user can act on, each with the exit code of the command line."""

from casebook.credentials import without_secrets

MOST_PROBLEMS = 10  # that one error names


class CasebookError(Exception):
    """Base of every error that ends a command with one clear line, in which no password stands."""

    exit_code = 1

    def __init__(self, message=""):
        super().__init__(without_secrets(message))


class InputError(CasebookError):
    """Bad input or wrong use: a malformed file, an unknown name, a wrong value."""

    @classmethod
    def at(cls, path, line, problem):
        """Build the error for one line of one file."""
        return cls(f"{path}:{line}: {problem}")


def refuse(problems):
    """Raise one error that names the problems, if there are any: the first ones in full."""
    if problems:
        n_more = len(problems) - MOST_PROBLEMS
        more = [f"and {n_more} more"] if n_more > 0 else []
        raise InputError("; ".join([*problems[:MOST_PROBLEMS], *more]))


class CheckFailed(CasebookError):
    """A gate or a check came out negative."""

    exit_code = 2


class BatchFailed(CasebookError):
    """Part of a batch failed; the rest of it is complete."""

    exit_code = 3


class Undecided(CasebookError):
    """The data do not suffice: the interval contains the margin."""

    exit_code = 4


class Incomparable(CasebookError):
    """Two runs differ in data, questions or measures, so no verdict is possible."""

    exit_code = 5
