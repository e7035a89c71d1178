"""Forms in the documented layout, which carry their key in a column."""

import pandas as pd

from casebook.errors import InputError
from casebook.raters.defects import LOST, Defect, shortened
from casebook.raters.unblinding import SIDE_COLUMN, Votes, judgement

RAG, BASE = "RAG", "BASE"
_OTHER = {"S1": "S2", "S2": "S1"}


def key_column(form, side_column=None, *, last_column=False):
    """Find the column that says which side is the system under study.

    Parameters
    ----------
    form : casebook.raters.responses.ReturnedForm
        A form.
    side_column : str, optional
        Its name; ``_rag_side_for_analysis`` by default.
    last_column : bool
        Take the last column if there is none of that name. The documented analysis
        does so unasked, and then reads any column as the key.

    Returns
    -------
    str
        Name of the column.

    Raises
    ------
    InputError
        If there is no such column.
    """
    wanted = side_column or SIDE_COLUMN
    columns = [name for name in form.rows if name != "row"]
    if wanted in columns:
        return wanted
    if last_column and columns:
        return columns[-1]
    raise InputError(
        f"{form.path}: sheet {form.sheet!r} has no key column {wanted!r}: name it with "
        "--side-col, give the sealed key with --key, or allow the last column with "
        "--last-column"
    )


def read_votes(forms, side_column=None, *, last_column=False):
    """Give the judgements of forms that carry their key.

    Parameters
    ----------
    forms : list of casebook.raters.responses.ReturnedForm
        Forms in the documented layout.
    side_column, last_column
        As in `key_column`.

    Returns
    -------
    casebook.raters.unblinding.Votes
        Items are named by their prompt, white space normalised, because row order and
        ids differ between raters. Rows whose key is neither S1 nor S2 keep their
        ratings without a system.

    Raises
    ------
    InputError
        If a form has no key column, or no row.
    """
    defects, rows = [], []
    for form in forms:
        defects += form.defects
        column = key_column(form, side_column, last_column=last_column)
        if form.rows.empty:
            raise InputError(f"{form.path}: sheet {form.sheet!r} has no rows")
        rows += _votes(form, column, defects)
    frame = pd.DataFrame(rows)
    raters = tuple(form.rater for form in forms)
    return Votes(frame, (RAG, BASE), RAG, raters, tuple(defects))


def _votes(form, column, defects):
    def report(row, name, kind, found):
        place = (str(form.path), form.sheet, row, name)
        defects.append(Defect(*place, kind, found, LOST))

    seen = set()
    for place, shown in enumerate(form.rows.to_dict("records"), start=1):
        item = " ".join(shown["prompt_text"].split())
        if item in seen:
            report(shown["row"], "prompt_text", "duplicate", shortened(item))
            continue
        seen.add(item)
        side = shown[column].strip() if isinstance(shown[column], str) else None
        if side not in _OTHER:
            report(shown["row"], column, "no_key", shortened(shown[column]))
        left, right = {"S1": (RAG, BASE), "S2": (BASE, RAG)}.get(side, (None, None))
        row = {"rater": form.rater, "item_id": item, "place": place}
        yield row | judgement(shown, left, right) | {"stratum": "all"}
