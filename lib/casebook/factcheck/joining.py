"""Gold labels and predictions joined by id; nothing is dropped silently."""

from dataclasses import dataclass

import pandas as pd

from casebook.errors import InputError
from casebook.readers import read_records

SHOWN = 10  # ids listed by name


@dataclass(frozen=True, eq=False)
class Joined:
    """Predictions in the order of the gold rows."""

    rows: pd.DataFrame
    account: dict
    zipped: tuple


def read_labels(path):
    """Read a file of labels."""
    rows = []
    for number, record in read_records(path)[0]:
        for name in ("id", "label"):
            if name not in record:
                has = ", ".join(map(str, list(record)[:6]))
                raise InputError.at(path, number, f"has no field {name!r}: it has {has}")
        if not isinstance(record["id"], str | int) or record["id"] == "":
            raise InputError.at(path, number, "field 'id' is neither text nor a number")
        label = record["label"]
        if not isinstance(label, str | bool | int | float | None):
            raise InputError.at(path, number, "field 'label' is no label")
        rows.append(record | {"row": number, "id": str(record["id"])})
    frame = pd.DataFrame(rows)
    frame["label"] = pd.Series([row["label"] for row in rows], dtype=object)
    return frame


def join_labels(gold, predicted, names=("gold", "predictions")):
    """Join two frames of labels by id."""
    gold_once, gold_twice = _once(gold, names[0])
    predicted_once, predicted_twice = _once(predicted, names[1])
    if not gold_once.index.isin(predicted_once.index).any():
        raise InputError(
            f"{names[0]} and {names[1]} have no id in common (first: "
            f"{gold_once.index[0]!r} and {predicted_once.index[0]!r}): nothing to score"
        )
    extra = predicted_once.index.difference(gold_once.index, sort=False)
    missing = gold_once.index.difference(predicted_once.index, sort=False)
    rows = gold_once.reset_index().rename(columns={"label": "gold"})
    rows["predicted"] = pd.Series([_verdict(predicted_once["label"].get(name)) for name in rows["id"]], dtype=object)
    if "confidence" in predicted_once:
        found = predicted_once["confidence"].reindex(rows["id"]).to_numpy()
        rows["confidence"] = _numbers(found, rows["id"], names[1])
    listed = {"missing": missing, "extra": extra, "doubled_gold": gold_twice, "doubled_predictions": predicted_twice}
    account = {"gold": len(gold), "predictions": len(predicted)}
    account["matched"] = len(gold_once) - len(missing)
    account |= {name: len(ids) for name, ids in listed.items()}
    account["listed"] = {name: list(ids[:SHOWN]) for name, ids in listed.items()}
    size = min(len(gold), len(predicted))
    zipped = (gold["label"].tolist()[:size], predicted["label"].tolist()[:size])
    return Joined(rows, account, zipped)


def _verdict(label):
    """Text, or None where nothing was said."""
    if label is None or label != label or (isinstance(label, str) and not label.strip()):
        return None
    return str(label)


def _once(frame, name):
    """Give one row per id, and the doubled ids; refuse contradictions."""
    twice = frame["id"][frame["id"].duplicated()].unique()
    doubled = frame[frame["id"].isin(twice)]
    labels = doubled.groupby("id", sort=False)["label"].agg(lambda values: len({repr(_verdict(v)) for v in values}))
    unlike = labels.index[labels > 1]
    if len(unlike):
        raise InputError(
            f"{name}: {len(unlike)} ids stand more than once with different labels "
            f"(first: {', '.join(unlike[:3])}); keep one row of each"
        )
    return frame.drop_duplicates("id").set_index("id"), list(twice)


def _numbers(values, ids, name):
    try:
        found = pd.to_numeric(pd.Series(values, dtype=object).replace("", None))
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: field 'confidence': {error}") from error
    outside = (found < 0) | (found > 1)
    if outside.any():
        first = ids[outside.to_numpy().argmax()]
        raise InputError(f"{name}: {outside.sum()} confidences lie outside 0 to 1 (first: {first})")
    return found.astype(float).to_numpy()
