"""The documented example's votes, rebuilt from its published tallies.

The filled forms of the study are not part of this project. Its tallies per rater, the
vote patterns of its items and its mean ratings are published, and they determine the
preference statistics that the document prints. One assignment that meets them all is
drawn here: a reconstruction, not the study's data.

``python data/raters/reconstruct.py data/raters/reconstructed_votes.csv`` writes the shipped table again.
"""

import random
import sys

import numpy as np
import pandas as pd

from casebook.files import write_text
from casebook.stats.samples import stream

RATERS = ("rater1", "rater2", "rater3", "rater4")
LABELS = ("RAG", "BASE", "Tie")
TALLIES = np.array([[13, 20, 17], [28, 15, 7], [36, 14, 0], [36, 14, 0]])
"""Votes by rater and label."""

PATTERNS = {
    **{(4, 0, 0): 7, (0, 4, 0): 2, (3, 0, 1): 9, (2, 2, 0): 8, (1, 3, 0): 7},
    **{(3, 1, 0): 6, (2, 1, 1): 4, (2, 0, 2): 3, (1, 2, 1): 2, (0, 3, 1): 1},
    (1, 1, 2): 1,
}
"""Items by their numbers of RAG, BASE and Tie votes."""

ABSTENTIONS = {**{6: (0, 4, 0), 8: (0, 4, 0), 11: (1, 3, 0), 15: (1, 3, 0)}, 30: (0, 3, 1)}
"""Questions that RAG did not answer; together 2 RAG, 17 BASE and 1 Tie votes."""

EQUAL_LABELS = 32
"""Items on which raters 3 and 4 give the same label."""

RAG_ON_THE_LEFT = (18, 26, 24, 28)
ORDER_SEEDS = (42, 123, 100, 101)
"""Seeds with which the study's generator ordered the rows of each form."""

RATING_SUMS = {
    "factuality_rag": (213, 236, 235, 216),
    "usefulness_rag": (207, 212, 219, 207),
    "factuality_base": (218, 198, 217, 158),
    "usefulness_base": (217, 186, 205, 182),
}
"""Sums over the 50 items: 50 times the printed means."""

ITEMS = sum(PATTERNS.values())
SEED = 2
"""First seed that adds no finding of its own: left and right are chosen equally often
(89 and 87), and no row of ratings of raters 3 and 4 is the same, as in the study."""
WORTH_OF_A_PREFERENCE = 0.6  # how far the preferred answer's ratings stand out


def reconstruct(seed=SEED):
    """Draw votes, sides and ratings that meet all published figures."""
    rng = np.random.Generator(stream(seed, "reconstruction"))
    votes = _votes(rng)
    tables = []
    for k, rater in enumerate(RATERS):
        columns = {
            "item": np.arange(1, ITEMS + 1),
            "rater": rater,
            "preference": np.array(LABELS)[votes[:, k]],
        }
        for name, sums in RATING_SUMS.items():
            own = LABELS.index(name.split("_")[1].upper())
            liking = np.select([votes[:, k] == own, votes[:, k] == 1 - own], [1, -1])
            columns[name] = _ratings(rng, liking, sums[k])
        table = pd.DataFrame(columns).sample(frac=1, random_state=ORDER_SEEDS[k])
        table.insert(2, "row", np.arange(1, ITEMS + 1))
        table.insert(3, "rag_side", _sides(k, rng))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _votes(rng):
    """Labels as numbers, items x raters: Metropolis' walk until the tallies fit."""
    left = dict(PATTERNS)
    for pattern in ABSTENTIONS.values():
        left[pattern] -= 1
    others = [pattern for pattern, count in left.items() for _ in range(count)]
    rng.shuffle(others)
    patterns = [ABSTENTIONS.get(i) or others.pop() for i in range(1, ITEMS + 1)]
    votes = np.array([rng.permutation(np.repeat([0, 1, 2], p)) for p in patterns])
    misfit = _misfit(votes)
    while misfit:
        trial = votes.copy()
        item = rng.integers(ITEMS)
        trial[item] = rng.permutation(trial[item])
        worse = _misfit(trial) - misfit
        if rng.random() < np.exp(-worse):
            votes, misfit = trial, misfit + worse
    return votes


def _misfit(votes):
    tallies = (votes[:, :, None] == np.arange(3)).sum(axis=0)
    equal = np.count_nonzero(votes[:, 2] == votes[:, 3])
    return np.abs(tallies - TALLIES).sum() + abs(equal - EQUAL_LABELS)


def _sides(rater, rng):
    """Sides as the study's generator drew them; rater 2's seed is not known."""
    lefts = RAG_ON_THE_LEFT[rater]
    if rater == 1:
        left = rng.permutation(np.arange(ITEMS) < lefts)
    else:
        coin = random.Random(ORDER_SEEDS[rater])
        left = np.array([coin.choice((False, True)) for _ in range(ITEMS)])
    return np.where(left, "S1", "S2")


def _ratings(rng, liking, total):
    """Ratings that follow the preference and add up to the published sum."""
    centre = total / ITEMS + WORTH_OF_A_PREFERENCE * (liking - liking.mean())
    ratings = np.clip(np.rint(rng.normal(centre, 0.7)), 1, 5).astype(int)
    while gap := total - ratings.sum():
        step = int(np.sign(gap))
        movable = np.flatnonzero((ratings + step >= 1) & (ratings + step <= 5))
        ratings[rng.choice(movable)] += step
    return ratings


if __name__ == "__main__":
    write_text(sys.argv[1], reconstruct().to_csv(index=False, lineterminator="\n"))
