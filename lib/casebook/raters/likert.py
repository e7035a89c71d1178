"""Blind forms for explanations: clarity, legal accuracy and usefulness, 1 to 5."""

from casebook.errors import InputError
from casebook.raters.layouts import LIKERT
from casebook.raters.packing import Form, Packing, pack
from casebook.raters.sealing import hidden_chance, new_secret, opaque_id
from casebook.sheets import clean

COLUMNS = ("case_id", "chunk_id", "explanation_text", "source_chunk_text")


def make_likert_forms(explanations, folder, study, raters, *, secret=None, formats=("csv",)):
    """Write blind Likert forms for explanations, and the sealed key."""
    rows = _checked(explanations)
    secret = secret or new_secret()
    systems = tuple(dict.fromkeys(row["system"] for row in rows))
    texts, changes = _clean_texts(rows)
    forms = [_form(rows, texts, label, raters[label], secret) for label in raters]
    # One unnamed system has no name to hide.
    packing = Packing(study, LIKERT, secret, tuple(s for s in systems if s), formats)
    report = {"text_changes": changes, "explanations": len(rows)}
    plan = {
        "design": {"explanations": len(rows), "raters": dict(raters)},
        "primary": {"unit": "explanation", "statistic": "mean rating per scale; Krippendorff's alpha, ordinal"},
    }
    registered = pack(folder, packing, forms, {}, plan, report)
    return report | {"preregistration": registered}


def _checked(explanations):
    missing = [name for name in COLUMNS if name not in explanations]
    if missing:
        raise InputError(f"explanations lack the column {', '.join(missing)}")
    if not len(explanations):
        raise InputError("there are no explanations")
    frame = explanations.assign(system=explanations.get("system", ""))
    names = ["case_id", "chunk_id", "system"]
    twice = frame[frame.duplicated(names)]
    if len(twice):
        where = ", ".join(map(str, twice.iloc[0][names]))
        raise InputError(f"{len(twice)} explanations occur twice (first: {where})")
    return frame.astype(str).to_dict("records")


def _clean_texts(rows):
    texts, changes = [], []
    for row in rows:
        cells = {}
        for column in COLUMNS[2:]:
            cells[column], changed = clean(row[column])
            if changed:
                where = {"case": row["case_id"], "chunk": row["chunk_id"]}
                changes.append(where | {"column": column, "changes": changed})
        texts.append(cells)
    return texts, changes


def _form(rows, texts, rater, kind, secret):
    order = hidden_chance(secret, f"order of {rater}").permutation(len(rows))
    shown, sealed = [], []
    for number in order.tolist():
        row = rows[number]
        names = (row["case_id"], row["chunk_id"], row["system"])
        ids = {
            "case_id": opaque_id(secret, "case", row["case_id"], rater),
            "chunk_id": opaque_id(secret, "row", *names, rater),
            "annotator_id": rater,
        }
        shown.append(ids | texts[number])
        sealed.append(dict(zip(("item", "chunk", "system"), names, strict=True)))
    return Form(rater, kind, shown, sealed)
