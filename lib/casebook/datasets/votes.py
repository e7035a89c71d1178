"""Votes of raters on pairs of answers, from tables or from the raters' workbooks."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from casebook.datasets.cards import Card
from casebook.errors import InputError
from casebook.sheets import read_book, sheet_records

RATINGS = ["factuality_s1", "usefulness_s1", "factuality_s2", "usefulness_s2"]
VOTES = ["rater", "row", "item", "rag_side", "preferred", *RATINGS]
SIDE = "_rag_side_for_analysis"
SIDES = {"S1": ("system1_output", "system2_output")}
SIDES["S2"] = SIDES["S1"][::-1]


@dataclass(frozen=True, eq=False)
class VoteSet:
    """Votes on pairs of answers; treat it as read-only."""

    key: str
    split: str
    votes: pd.DataFrame
    items: pd.DataFrame
    card: Card | None = field(default=None, repr=False)

    @property
    def name(self):
        """Key and split in one name."""
        return self.card.name_of(self.split) if self.card else self.key

    @property
    def counts(self):
        """Items (documents), raters (queries) and votes (judgements)."""
        raters = self.votes["rater"].nunique()
        counts = {"documents": len(self.items), "queries": raters}
        return counts | {"judgements": len(self.votes)}

    @cached_property
    def fingerprint(self):
        """SHA-256 of questions, answers, votes and ratings; comments are left out."""
        tables = [self.items, self.votes[VOTES]]
        text = "".join(t.to_csv(index=False, lineterminator="\n") for t in tables)
        return hashlib.sha256(text.encode()).hexdigest()


def pdpabench_votes(card, files, split):
    """Read the double-blind study from its two tables, or from its workbooks."""
    if "votes.csv" in files:
        votes, items = (
            pd.DataFrame([r for _, r in _records(files[f"{n}.csv"])]).fillna("") for n in ("votes", "items")
        )
    else:
        votes, items = from_workbooks(files.values())
    numbers = ["row", "item", *RATINGS]
    try:
        votes[numbers] = votes[numbers].astype(int)
    except ValueError as error:
        raise InputError(f"{card.key}: a rating is no whole number: {error}") from None
    items["item"] = items["item"].astype(int)
    votes, items = votes[[*VOTES, "comment"]], items[["item", "prompt", "rag", "base"]]
    return VoteSet(card.key, split, votes, items, card)


def from_workbooks(paths):
    """Give votes and items of forms in the documented layout, one rater a file."""
    rows, texts = [], {}
    for path in paths:
        rater = path.name.removesuffix("_answers.xlsx")
        for place, (number, record) in enumerate(_records(path), start=1):
            side, prompt = record[SIDE], _plain(record["prompt_text"])
            if side not in SIDES or record["preferred"] not in ("S1", "S2", "Tie"):
                raise InputError.at(path, number, "has no side or no preference")
            answers = tuple(_plain(record[column]) for column in SIDES[side])
            if texts.setdefault(prompt, answers) != answers:
                raise InputError.at(path, number, "shows other answers than before")
            known = {"rater": rater, "row": place, "prompt": prompt, "rag_side": side}
            rows.append(known | {"comment": ""} | record)
    numbers = {prompt: n for n, prompt in enumerate(sorted(texts), start=1)}
    votes = pd.DataFrame(rows).assign(item=lambda t: t["prompt"].map(numbers))
    for row in votes[votes.duplicated(["rater", "item"])].itertuples():
        raise InputError(f"{row.rater}: votes twice on {row.prompt!r}")
    items = pd.DataFrame(
        [(n, prompt, *texts[prompt]) for prompt, n in numbers.items()], columns=["item", "prompt", "rag", "base"]
    )
    return votes.fillna({"comment": ""}), items


def _plain(text):
    return " ".join(str(text).split())


def _records(path):
    """Rows of the first sheet; formulas outside of the named columns do not count."""
    book = read_book(path)
    needed = {SIDE, "preferred", "prompt_text", *SIDES["S1"], *RATINGS, "comment"}
    return sheet_records(path, book.grids[0], needed)
