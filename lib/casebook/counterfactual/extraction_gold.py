"""Texts whose fact sheets somebody wrote down, to measure extraction with."""

from dataclasses import dataclass

from casebook import paths
from casebook.counterfactual.fact_types import FactSheet
from casebook.counterfactual.facts import from_dict
from casebook.datasets.jsonl import read_jsonl
from casebook.errors import InputError

SHIPPED = paths.DATA / "counterfactual" / "extraction" / "texts.jsonl"
SPLITS = ("dev", "heldout")
_FIELDS = {"id": str, "split": str, "jurisdiction": str, "text": str, "sheet": dict}


@dataclass(frozen=True)
class GoldText:
    """One text, its part of the set, the country of its court, and its sheet."""

    id: str
    split: str
    country: str
    text: str
    sheet: FactSheet


def read_gold(path=SHIPPED):
    """Read annotated texts.

    Parameters
    ----------
    path : path-like
        JSON lines with ``id``, ``split`` (dev, heldout), ``jurisdiction`` (IN, SG),
        ``text`` and ``sheet``; by default the set that the project ships.

    Returns
    -------
    tuple of GoldText
        In the order of the file; sheets may be empty.

    Raises
    ------
    InputError
        If a line is wrong or an id comes twice; names file and line.
    """
    texts = {}
    for number, record in read_jsonl(path, _FIELDS):
        name, split = record["id"], record["split"]
        if name in texts:
            raise InputError.at(path, number, f"id {name!r} comes twice")
        if split not in SPLITS:
            raise InputError.at(path, number, f"split {split!r} is not dev or heldout")
        if not record["text"].strip():
            raise InputError.at(path, number, f"{name!r} has no text")
        sheet = from_dict(
            {"case_id": name, **record["sheet"]}, f"{path}:{number}", empty=True
        )
        country = record["jurisdiction"]
        texts[name] = GoldText(name, split, country, record["text"], sheet)
    if not texts:
        raise InputError(f"{path}: holds no records")
    return tuple(texts.values())
