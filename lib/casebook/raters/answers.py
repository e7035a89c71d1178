"""Answers of several systems to the same questions, joined with an account."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.readers import read_jsonl, read_records


@dataclass(frozen=True)
class Fields:
    """Where the parts of an answer stand in a record; dots lead into objects."""

    item: str = "item_id"
    prompt: str = "prompt"
    answer: str = "answer"
    stratum: str | None = None


PDPABENCH = Fields("qid", "query", "prediction.answer_text", "gold.abstain_allowed")


def read_answers(files, fields=None, *, common=False):
    """Read the answers of several systems and join them by item."""
    fields = fields or Fields()
    if not files:
        raise InputError("give the answers of two systems or more, each with its name")
    read = {name: _read(Path(path), fields) for name, path in files.items()}
    every = list(dict.fromkeys(item for rows in read.values() for item in rows))
    missing = {n: [i for i in every if i not in rows] for n, rows in read.items()}
    missing = {name: items for name, items in missing.items() if items}
    if missing and not common:
        name, items = next(iter(missing.items()))
        raise InputError(
            f"{files[name]}: {name} lacks {len(items)} of {len(every)} items (first: "
            f"{items[0]}); use only the common items (--common), or complete the file"
        )
    kept = [item for item in every if all(item in rows for rows in read.values())]
    if not kept:
        raise InputError("the systems have no item in common; check the item field")
    rows = [_joined(item, read, files) for item in kept]
    return pd.DataFrame(rows), {"items": len(kept), "left_out": missing}


def _joined(item, read, files):
    prompts = {name: rows[item][0] for name, rows in read.items()}
    first = next(iter(prompts))
    for name, prompt in prompts.items():
        if prompt != prompts[first]:
            raise InputError(
                f"{files[name]}: item {item} asks another question than in "
                f"{files[first]}; answers to different questions cannot be compared"
            )
    answers = {name: rows[item][1] for name, rows in read.items()}
    stratum = read[first][item][2]
    return {"item_id": item, "prompt": prompts[first], "stratum": stratum, **answers}


def _read(path, fields):
    """Give item to (prompt, answer, stratum)."""
    rows = {}
    table = path.suffix.lower() == ".csv"
    for line, record in read_records(path)[0] if table else read_jsonl(path, {}):
        item = _text(path, line, record, fields.item)
        if not item.strip():
            raise InputError.at(path, line, f"field {fields.item!r} is blank")
        if item in rows:
            raise InputError.at(path, line, f"item {item} occurs a second time")
        prompt = _text(path, line, record, fields.prompt)
        answer = _text(path, line, record, fields.answer)
        stratum = "all"
        if fields.stratum:
            stratum = _text(path, line, record, fields.stratum)
        rows[item] = (prompt, answer, stratum)
    if not rows:
        raise InputError(f"{path}: holds no answer")
    return rows


def _text(path, line, record, field):
    value = record
    for part in [field] if field in record else field.split("."):
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(map(str, record))
            raise InputError.at(path, line, f"has no field {field!r}; it has {known}")
        value = value[part]
    if value is None:
        return ""
    if isinstance(value, dict | list):
        raise InputError.at(path, line, f"field {field!r} is not text")
    return str(value)
