"""Reading sets of claims: every defect named with its file and row, and counted."""

import re
from pathlib import Path

import pandas as pd

from casebook.datasets.claims import LONG, ClaimSet
from casebook.datasets.claims_formats import FORMATS, LABEL_MAPS
from casebook.datasets.records import read_records
from casebook.errors import InputError
from casebook.stats.samples import check_choice

EVIDENCE_COLUMNS = ["claim_id", "evidence_id", "set", "source", "text", "label"]
_ORDER = ["claim_id", "claim", "label", "original_label"]


def load_claims(path, kind="plain", *, strict=True, corpus=None, labels=None):
    """Read claims, gold labels and evidence from a file."""
    check_choice("format", kind, FORMATS)
    records, truncated = read_records(path, tolerate_truncation=not strict)
    reader = _Reader(path, kind, strict, LABEL_MAPS[kind] | (labels or {}))
    for number, record in records:
        reader.add(number, record)
    claims, evidence = reader.frames()
    if corpus is not None:
        evidence["text"] = _texts(evidence, corpus)
    account = reader.account | {"truncated_lines": truncated}
    key = Path(path).name.split(".")[0]
    return ClaimSet(key, "all", claims, evidence, account)


def from_card(card, files, split):
    """Read the claims of a card, whose loader names the format."""
    (path,) = files.values()
    found = load_claims(path, card.loader)
    counts = found.claims["label"].value_counts()
    card.expect(**{label.lower(): int(n) for label, n in counts.items()})
    return ClaimSet(card.key, split, found.claims, found.evidence, found.account, card)


class _Reader:
    """Collects rows; refuses or counts what is wrong with them."""

    def __init__(self, path, kind, strict, meaning):
        self.path, self.kind, self.strict, self.meaning = path, kind, strict, meaning
        self.rows, self.passages, self.first = [], [], {}
        names = ("dummy_records", "duplicate_ids", "unknown_labels")
        self.account = {"rows": 0} | dict.fromkeys(names, 0)

    def add(self, number, record):
        """Take one record."""
        try:
            row, evidence = FORMATS[self.kind](record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"no field {error}" if isinstance(error, KeyError) else str(error)
            problem = f"is not a record of {self.kind}: {what}"
            raise InputError.at(self.path, number, problem) from error
        self.account["rows"] += 1
        if row is None:
            self.account["dummy_records"] += 1
            return
        name = row["claim_id"] = row["claim_id"] or str(number)
        if name in self.first:
            problem = f"id {name!r} stood already in row {self.first[name]}"
            self._defect("duplicate_ids", number, problem)
            return
        self.first[name] = number
        row["label"] = self._label(row["original_label"], number)
        self.rows.append(row)
        self.passages += [{"claim_id": name} | passage for passage in evidence]

    def _label(self, original, number):
        if original is None or original == "":
            return None
        if isinstance(original, str) and original in self.meaning:
            return self.meaning[original]
        known = ", ".join(self.meaning)
        problem = f"unknown label {original!r}: {self.kind} has {known}"
        self._defect("unknown_labels", number, problem)
        return None

    def _defect(self, name, number, problem):
        if self.strict:
            raise InputError.at(self.path, number, problem)
        self.account[name] += 1

    def frames(self):
        """Give claims and evidence, and complete the account."""
        if not self.rows:
            raise InputError(f"{self.path}: holds no claims")
        claims = pd.DataFrame(self.rows)
        claims = claims[[*_ORDER, *claims.columns.drop(_ORDER)]]
        labels = [row["label"] for row in self.rows]
        claims["label"] = pd.Series(labels, dtype=object)  # None, not NaN
        text = claims["claim"].fillna("").astype(str)
        self.account["unlabelled"] = int(claims["original_label"].isna().sum())
        self.account["without_text"] = int((text.str.strip() == "").sum())
        self.account["long_claims"] = int((text.str.len() > LONG).sum())
        columns = dict.fromkeys([*EVIDENCE_COLUMNS, *_keys(self.passages)])
        return claims, pd.DataFrame(self.passages, columns=list(columns))


def _keys(rows):
    return [name for row in rows for name in row]


def _texts(evidence, corpus):
    """Look every sentence up in SciFact's abstracts."""
    sentences = {}
    for number, record in read_records(corpus)[0]:
        if not isinstance(record.get("abstract"), list) or "doc_id" not in record:
            problem = "is not an abstract: it needs doc_id and abstract"
            raise InputError.at(corpus, number, problem)
        for place, text in enumerate(record["abstract"]):
            sentences[f"{record['doc_id']}:{place}"] = re.sub(r"\s+", " ", text)
    missing = sorted(set(evidence["evidence_id"]) - set(sentences))
    if missing:
        raise InputError(f"{corpus}: lacks {len(missing)} sentences that claims cite (first: {missing[0]})")
    return evidence["evidence_id"].map(sentences)
