"""Forms in the documented layout, which carry their key in a column."""

import pandas as pd

from casebook.errors import InputError
from casebook.raters.defects import LOST, Defect, shortened
from casebook.raters.unblinding import SIDE_COLUMN, Votes, judgement
from casebook.sheets import value_of

RAG, BASE = "RAG", "BASE"
_OTHER = {"S1": "S2", "S2": "S1"}


def key_column(form, side_column=None, *, last_column=False):
    """Find the column that says which side is the system under study."""
    wanted = side_column or SIDE_COLUMN
    columns = [name for name in form.rows if name != "row"]
    if wanted in columns:
        return wanted
    if last_column and columns:
        return columns[-1]
    raise InputError(
        f"{form.path}: sheet {form.sheet!r} has no key column {wanted!r} (which side, "
        f"S1 or S2, is the system under study); it has {', '.join(columns)}: name it "
        "with --side-col, give the sealed key with --key, or allow the last column "
        "with --last-column"
    )


def read_votes(forms, side_column=None, *, last_column=False):
    """Give the judgements of forms that carry their key."""
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

    seen, name = set(), _item_column(form)
    for place, shown in enumerate(form.rows.to_dict("records"), start=1):
        item = " ".join(shown[name].split())
        if item in seen:
            report(shown["row"], name, "duplicate", shortened(item))
            continue
        seen.add(item)
        key = value_of(form.path, form.sheet, shown["row"], column, shown[column])
        side = key.strip() if isinstance(key, str) else None
        if side not in _OTHER:
            report(shown["row"], column, "no_key", shortened(key))
        left, right = {"S1": (RAG, BASE), "S2": (BASE, RAG)}.get(side, (None, None))
        row = {"rater": form.rater, "item_id": item, "place": place}
        yield row | judgement(shown, left, right) | {"stratum": "all"}


def _item_column(form):
    """Give the column that names an item for all raters: its prompt, else its id."""
    if form.rows["prompt_text"].str.strip().any():
        return "prompt_text"
    gone = {d.column for d in form.defects if d.kind == "missing_column"}
    if "prompt_id" in gone:
        names = ", ".join(name for name in form.rows if name not in {"row", *gone})
        raise InputError(
            f"{form.path}: sheet {form.sheet!r} has no column 'prompt_text' or "
            f"'prompt_id', which name the items; it has {names}: name one with --map "
            "prompt_text=COLUMN"
        )
    return "prompt_id"
