"""The parameters of a notebook: which it declares, their defaults, which are refused.

They are read from the source of its cell tagged ``parameters``; nothing is executed.
"""

import ast
import contextlib
from pathlib import Path

from casebook.errors import InputError


def parameter_names(source):
    """List the parameters that a notebook declares.

    Parameters
    ----------
    source : path-like
        Notebook with one cell tagged ``parameters``.

    Returns
    -------
    dict
        Name to default, as source text.

    Raises
    ------
    InputError
        If the notebook is missing or unreadable.
    """
    import papermill

    if not Path(source).is_file():
        raise InputError(f"{source}: no such notebook; see notebooks/experiments.yml")
    try:
        found = papermill.inspect_notebook(str(source))
    except Exception as error:  # papermill raises many kinds on damaged files
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{source}: is no notebook, or is damaged: {why}") from error
    return {name: item["default"] for name, item in found.items()}


def defaults(source):
    """Give the values that a notebook's parameters have if nothing else is given.

    Parameters
    ----------
    source : path-like
        Notebook with one cell tagged ``parameters``.

    Returns
    -------
    dict
        Name to value; parameters whose default is computed are left out.

    Raises
    ------
    InputError
        If the notebook is missing or unreadable.
    """
    values = {}
    for name, text in parameter_names(source).items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(text)
    return values


def check_parameters(source, parameters):
    """Refuse parameters that the notebook does not declare.

    Parameters
    ----------
    source : path-like
        Notebook.
    parameters : dict
        What would be injected.

    Returns
    -------
    dict
        The parameters, unchanged.

    Raises
    ------
    InputError
        Papermill itself would only warn, and run with the defaults.
    """
    known = parameter_names(source)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise InputError(
            f"{Path(source).name} has no parameter {', '.join(unknown)}; "
            f"it takes {', '.join(sorted(known))}"
        )
    return parameters
