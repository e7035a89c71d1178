"""Records that somebody annotated, one a line, for experiments that read them whole."""

import hashlib
import json
from dataclasses import dataclass, field

import pandas as pd

from casebook.datasets.cards import Card
from casebook.readers import read_jsonl


@dataclass(frozen=True, eq=False)
class AnnotatedSet:
    """Annotated records of one split; treat it as read-only."""

    key: str
    split: str
    records: pd.DataFrame
    counts: dict
    card: Card | None = field(default=None, repr=False)

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        return self.card.name_of(self.split) if self.card else self.key

    @property
    def fingerprint(self):
        """SHA-256 of all records, in their order."""
        rows = self.records.to_dict(orient="records")
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def fact_sheets(card, files, split):
    """Read texts with the fact sheets that somebody wrote for them."""
    (path,) = files.values()
    fields = {"id": str, "split": str, "text": str, "sheet": dict}
    rows = [row for _, row in read_jsonl(path, fields)]
    rows = [row for row in rows if split in ("all", row["split"])]
    facts = sum(_facts(row["sheet"]) for row in rows)
    counts = {"documents": len(rows), "queries": len(rows), "judgements": facts}
    return AnnotatedSet(card.key, split, pd.DataFrame(rows), counts, card)


def fact_cases(card, files, split):
    """Read cases with the fact types that somebody called dispositive or not."""
    (path,) = files.values()
    sides = ("dispositive_facts", "non_dispositive_facts")
    fields = {"case_id": str, "fact_sheet": dict, **dict.fromkeys(sides, list)}
    rows = [row for _, row in read_jsonl(path, fields)]
    pairs = sum(len(row[side]) for row in rows for side in sides)
    counts = {"documents": 0, "queries": len(rows), "judgements": pairs}
    return AnnotatedSet(card.key, split, pd.DataFrame(rows), counts, card)


def _facts(sheet):
    """Count the facts of a sheet, the outcome apart."""
    numbers = sum(map(len, sheet["numerical_facts"].values()))
    known = [side for side in sheet["parties"].values() if side != "Unknown"]
    lists = len(sheet["evidence_items"]) + len(sheet["sections_cited"])
    return numbers + len(known) + lists
