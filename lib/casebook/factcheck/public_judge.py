"""The default judge: a few readable features, weights learnt on several public sets.

It reads all evidence of a claim at once, because what supports a claim is often spread
over several sentences. ``data/factcheck/judge.yml`` holds its words and weights, and on
what they were learnt; ``data/make/factcheck_judge.py`` made them.
"""

import math
from functools import cache

import numpy as np

from casebook import paths
from casebook.errors import InputError
from casebook.factcheck.model import NEUTRAL, REFUTES, SUPPORTS
from casebook.factcheck.stance_features import negations, nearest_clause
from casebook.factcheck.words import content, names, numbers, stems
from casebook.plain_yaml import read_yaml

TABLE = paths.DATA / "factcheck" / "judge.yml"
#: Feature to the sign that its weight has by its meaning, whatever the data say.
SIGNS = {
    "names found": 1,
    "words found": 1,
    "numbers found": 1,
    "numbers in conflict": -1,
    "numbers absent": -1,
    "polarity differs": -1,
    "opposites": -1,
    "stronger words": -1,
}


@cache
def _table():
    """Read the table once."""
    return read_yaml(TABLE)


@cache
def _words():
    """Opposites of each stem, and stems that make a statement stronger."""
    opposites = {}
    for pair in _table()["opposites"]:
        first, second = stems(pair)
        opposites.setdefault(first, set()).add(second)
        opposites.setdefault(second, set()).add(first)
    return opposites, frozenset(stems(" ".join(_table()["stronger"])))


def joint_features(claim, texts):
    """Describe a claim and all of its evidence.

    Parameters
    ----------
    claim : str
        Claim.
    texts : sequence of str
        Passages of evidence, each with the name of its document before it.

    Returns
    -------
    numpy.ndarray, shape [features]
        In the order of ``SIGNS``: shares of the claim's name words and of its other
        content that the evidence has (1 without any); shares of its numbers that the
        evidence has, has otherwise with the same unit, and lacks; whether exactly one
        of the claim and the nearest clause of the nearest passage is negated; words of
        the claim whose opposite the evidence has instead; words such as *only* or
        *always* that the evidence lacks.
    """
    opposites, stronger = _words()
    whole = " ".join(texts)
    wanted, there = content(claim), content(whole)
    body = frozenset(stem for stem in wanted if not stem[0].isdigit())
    named = body & frozenset().union(*(content(name) for name in names(claim)))
    plain = body - named
    nearest = max(texts, key=lambda text: _share(body, content(text)), default="")
    clause = nearest_clause(nearest, plain)
    turned = sum(bool(opposites.get(s, set()) & (there - wanted)) for s in body - there)
    added = (frozenset(stems(claim)) & stronger) - frozenset(stems(whole))
    return np.array(
        [
            _share(named, there),
            _share(plain, there),
            *_numbers(claim, whole),
            (negations(claim) + negations(clause)) % 2,
            turned,
            len(added),
        ],
        dtype=float,
    )


def _share(wanted, there):
    return len(wanted & there) / len(wanted) if wanted else 1.0


def _numbers(claim, evidence):
    """Shares of the claim's numbers that are found, in conflict, absent."""
    wanted, there = numbers(claim), numbers(evidence)
    if not wanted:
        return 0.0, 0.0, 0.0
    values, units = {n.value for n in there}, {n.unit for n in there}
    found = sum(n.value in values for n in wanted)
    conflict = sum(n.value not in values and n.unit in units for n in wanted)
    total = len(wanted)
    return found / total, conflict / total, (total - found - conflict) / total


class PublicJudge:
    """Weighted sum of `joint_features`, its sign the verdict on all relevant evidence.

    Parameters
    ----------
    left_out : str, optional
        Data set that its weights must not have seen: for the evaluation on that set.

    Raises
    ------
    InputError
        If there are no weights without that set.
    """

    name = "public"

    def __init__(self, left_out=None):
        known = _table()["weights"]
        if (left_out or "none") not in known:
            raise InputError(
                f"no weights without {left_out!r}: there are {', '.join(known)}"
            )
        self._weights = known[left_out or "none"]

    def probability(self, claim, texts):
        """Give the probability of support against refutation, float in (0, 1)."""
        weights = self._weights
        score = weights["intercept"] + math.fsum(
            weights["features"][name] * value
            for name, value in zip(SIGNS, joint_features(claim, texts), strict=True)
        )
        return round(1 / (1 + math.exp(-score)), 9)

    def judge(self, claim, passages):
        """Judge the passages of one claim together.

        Parameters
        ----------
        claim : str
            Claim or part of one.
        passages : sequence of casebook.factcheck.evidence.Passage
            Its evidence.

        Returns
        -------
        list of (str, float or None)
            Relevant passages take one side together, with the probability of support;
            the others are neutral.
        """
        texts = [f"{p.header}. {p.text}" if p.header else p.text for p in passages]
        relevant = self.relevant(claim, texts)
        if not any(relevant):
            return [(NEUTRAL, None)] * len(texts)
        kept = [text for text, keep in zip(texts, relevant, strict=True) if keep]
        p = self.probability(claim, kept)
        side = SUPPORTS if p >= 0.5 else REFUTES
        return [(side, p) if keep else (NEUTRAL, None) for keep in relevant]

    def relevant(self, claim, texts):
        """Say which passages speak of what the claim speaks of, list of bool.

        A passage does that has at least ``least`` of the claim's content, and at least
        ``beside`` times as much as the passage that has most of it.
        """
        gate = _table()["relevance"]
        wanted = content(claim)
        shares = [_share(wanted, content(text)) for text in texts]
        bar = max(gate["least"], gate["beside"] * max(shares, default=0.0))
        return [share >= bar for share in shares]
