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
from casebook.factcheck.stance_features import nearest_clause, negations
from casebook.factcheck.words import content, names, numbers, stems
from casebook.readers import read_yaml

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
    """Describe a claim and all of its evidence."""
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
    """Logistic regression on `joint_features`, document by document where it can be.

    A document that alone covers nearly all that the evidence covers of the claim is
    judged alone, so that documents can contradict each other; the others are judged
    together, as they may each hold a part of what is needed. Documents that speak of
    something else are neutral. How much is nearly all, and how little is something
    else, stands in the table.

    Parameters
    ----------
    left_out : str, optional
        Data set that its weights must not have seen: for the evaluation on that set.

    Raises
    ------
    InputError
        If there are no weights without that set.

    Examples
    --------
    >>> from casebook.factcheck.evidence import Passage
    >>> text = "Money is limited to 500."
    >>> passage = Passage(0, 0, len(text), text, "Theft clause")
    >>> judge = PublicJudge()
    >>> judge.judge("The theft clause limits money to 500.", [passage])[0][0]
    'supports'
    >>> judge.judge("The theft clause limits money to 750.", [passage])[0][0]
    'refutes'
    """

    name = "public"

    def __init__(self, left_out=None):
        known = _table()["weights"]
        if (left_out or "none") not in known:
            raise InputError(f"no weights without {left_out!r}: there are {', '.join(known)}")
        self._weights = known[left_out or "none"]

    def probability(self, claim, texts):
        """Give the probability of support against refutation, float in (0, 1)."""
        weights = self._weights
        score = weights["intercept"] + math.fsum(
            weights["features"][name] * value for name, value in zip(SIGNS, joint_features(claim, texts), strict=True)
        )
        return round(1 / (1 + math.exp(-score)), 9)

    def judge(self, claim, passages):
        """Judge the passages of one claim."""
        documents = {}
        for p in passages:
            text = f"{p.header}. {p.text}" if p.header else p.text
            documents.setdefault((p.header, p.row), []).append(text)
        # Another number is a contradiction, and no other subject.
        wanted = frozenset(s for s in content(claim) if not s[0].isdigit())
        gate = _table()["relevance"]
        shares = {name: _share(wanted, content(" ".join(texts))) for name, texts in documents.items()}
        bar = max(gate["least"], gate["beside"] * max(shares.values(), default=0.0))
        relevant = [name for name in documents if shares[name] >= bar]
        together = [text for name in relevant for text in documents[name]]
        alone = gate["alone"] * _share(wanted, content(" ".join(together)))
        stances = {}
        for name in relevant:
            texts = documents[name] if shares[name] >= alone else together
            p = self.probability(claim, texts)
            stances[name] = (SUPPORTS if p >= 0.5 else REFUTES, p)
        return [stances.get((p.header, p.row), (NEUTRAL, None)) for p in passages]
