"""Sets of ratings, and the ratings behind the VADER lexicon."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.datasets.cards import Card
from casebook.errors import InputError
from casebook.readers import read_lines

RATERS = 10
LOWEST, HIGHEST = -4, 4
ROUNDING = {"mean": 0.05, "sd": 0.00001}


@dataclass(frozen=True, eq=False)
class RatingSet:
    """Items rated by several people; treat it as read-only."""

    key: str
    split: str
    ratings: pd.DataFrame
    items: pd.DataFrame
    account: dict
    card: Card | None = field(default=None, repr=False)

    @property
    def name(self):
        """Key and split in one name: the key alone for the card's default split."""
        return self.card.name_of(self.split) if self.card else self.key

    @property
    def counts(self):
        """Items (documents), raters (queries) and ratings (judgements)."""
        items, raters = self.ratings.shape
        present = int(self.ratings.notna().to_numpy().sum())
        return {"documents": items, "queries": raters, "judgements": present}

    @cached_property
    def fingerprint(self):
        """SHA-256 of ids, texts and ratings, in their order."""
        table = self.items[["item_id", "text"]].join(self.ratings, on="item_id")
        return hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()


def vader(card, files, split):
    """Read the lexicon: one item a line, with its ten ratings."""
    path = files["vader_lexicon.txt"]
    rows = [_row(path, line, text) for line, text in read_lines(path)]
    texts, means, deviations, ratings = zip(*rows, strict=True)
    ids = [f"v{n:04d}" for n in range(1, len(rows) + 1)]
    table = pd.DataFrame(
        np.array(ratings, dtype=float),
        index=pd.Index(ids, name="item_id"),
        columns=[f"p{k}" for k in range(1, RATERS + 1)],
    )
    items = pd.DataFrame(
        {
            "item_id": ids,
            "text": texts,
            "mean": table.mean(axis=1).to_numpy(),
            "sd": table.std(axis=1, ddof=0).to_numpy(),
            "stated_mean": means,
            "stated_sd": deviations,
        }
    )
    account = {
        "repeated_tokens": sum(Counter(texts).values()) - len(set(texts)),
        "means_that_differ": len(disagreements(items, "mean")),
        "deviations_that_differ": len(disagreements(items, "sd")),
    }
    card.expect(**account)
    return RatingSet(card.key, split, table, items, account, card)


def disagreements(items, name):
    """List the items whose stated mean or deviation is not that of their ratings."""
    gap = (items[name] - items[f"stated_{name}"]).abs()
    return items[gap > ROUNDING[name]]


def _row(path, line, text):
    """Take one line apart: token, stated mean and deviation, ratings."""
    parts = text.split("\t")
    try:
        token, mean, deviation, listed = parts
        ratings = json.loads(listed)
        numbers = float(mean), float(deviation)
    except ValueError as error:
        problem = "is not a token, its mean, its deviation and a list of ratings"
        raise InputError.at(path, line, problem) from error
    whole = isinstance(ratings, list) and all(type(r) is int for r in ratings)
    if not whole or len(ratings) != RATERS:
        raise InputError.at(path, line, f"does not hold {RATERS} whole ratings")
    if not all(LOWEST <= rating <= HIGHEST for rating in ratings):
        problem = f"has a rating outside of {LOWEST} to {HIGHEST}"
        raise InputError.at(path, line, problem)
    return token, *numbers, ratings
