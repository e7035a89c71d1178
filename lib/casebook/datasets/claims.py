"""Sets of claims with gold labels and evidence, and samples of them."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.datasets.cards import Card
from casebook.errors import InputError

LABELS = ("SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT", "CONFLICTING")
LONG = 10_000  # characters


@dataclass(frozen=True, eq=False)
class ClaimSet:
    """Claims of one split; treat it as read-only."""

    key: str
    split: str
    claims: pd.DataFrame
    evidence: pd.DataFrame
    account: dict
    card: Card | None = field(default=None, repr=False)

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        return self.card.name_of(self.split) if self.card else self.key

    @property
    def counts(self):
        """Evidence passages (documents), claims (queries), labels (judgements)."""
        return {
            "documents": int(self.evidence["text"].notna().sum()),
            "queries": len(self.claims),
            "judgements": int(self.claims["label"].notna().sum()),
        }

    @cached_property
    def fingerprint(self):
        """SHA-256 of claims and evidence with all columns, in their order."""
        digest = hashlib.sha256()
        for frame in (self.claims, self.evidence):
            records = frame.to_dict(orient="records")
            text = json.dumps([list(frame), records], sort_keys=True, default=str)
            digest.update(text.encode())
        return digest.hexdigest()

    def subset(self, claim_ids, split):
        """Keep some claims, in their own order, with their evidence."""
        chosen = set(claim_ids)
        claims = self.claims[self.claims["claim_id"].isin(chosen)]
        evidence = self.evidence[self.evidence["claim_id"].isin(chosen)]
        return replace(
            self,
            split=split,
            claims=claims.reset_index(drop=True),
            evidence=evidence.reset_index(drop=True),
            account=self.account | {"rows": len(claims)},
        )

    def labelled(self, *, nei="exclude", conflict="exclude"):
        """Keep the claims whose label a policy keeps, collapsed to what it says."""
        meaning = dict(zip(LABELS[:2], LABELS[:2], strict=True))
        targets = {"exclude": None, "negative": LABELS[1], "three_class": LABELS[2]}
        for label, policy in ((LABELS[2], nei), (LABELS[3], conflict)):
            if policy not in targets:
                known = ", ".join(targets)
                raise InputError(f"unknown policy {policy!r}: choose from {known}")
            meaning[label] = targets[policy]
        label = self.claims["label"].map(meaning)
        kept = self.subset(self.claims["claim_id"][label.notna()], self.split)
        kept.claims["label"] = label.dropna().to_numpy()
        account = kept.account | {"excluded": int(label.isna().sum())}
        return replace(kept, account=account)


def stratified_sample(frame, by, size, seed=42):
    """Sample rows so that every stratum keeps its share."""
    columns = [by] if isinstance(by, str) else list(by)
    unknown = [name for name in columns if name not in frame]
    if unknown:
        raise InputError(f"no column {unknown[0]!r}: there are {', '.join(frame)}")
    if not 0 <= size <= len(frame):
        raise InputError(f"cannot draw {size} of {len(frame)} rows")
    strata = frame.groupby(columns, dropna=False, sort=False).ngroup().to_numpy()
    sizes = np.bincount(strata) if len(frame) else np.zeros(0, dtype=int)
    rng = np.random.default_rng(seed)
    chosen = [
        rng.permutation(np.flatnonzero(strata == stratum))[:count]
        for stratum, count in enumerate(largest_remainder(sizes, size))
    ]
    rows = np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=int)
    return frame.iloc[rows].reset_index(drop=True)


def largest_remainder(sizes, total):
    """Divide a number in proportion to sizes, in whole numbers."""
    sizes = np.asarray(sizes, dtype=np.int64)
    if not sizes.sum():
        return np.zeros(len(sizes), dtype=np.int64)
    parts, remainders = np.divmod(sizes * total, sizes.sum())
    order = np.lexsort((np.arange(len(sizes)), -sizes, -remainders))
    parts[order[: total - parts.sum()]] += 1
    return parts
