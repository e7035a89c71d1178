"""Why a verdict is what it is: deciding passages, smallest removal; and its quality.

References
----------
DeYoung et al. (2020), ERASER, ACL: comprehensiveness and sufficiency. Senter and Smith
(1967), Automated Readability Index, AMRL-TR-66-220.
"""

import itertools
import re
from collections import namedtuple

import numpy as np
import pandas as pd

from casebook.factcheck.verdict import (
    INSUFFICIENT_EVIDENCE,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
    decide_claim,
    evidence_for,
    judge_subclaim,
    names_of_parts,
)
from casebook.frames import coefficients
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import generator
from casebook.text import sentences

_DECIDING_STANCES = {
    SUPPORTED: (SUPPORTS,),
    NOT_SUPPORTED: (REFUTES,),
    INSUFFICIENT_EVIDENCE: (SUPPORTS, REFUTES),
}
_VERDICT_WORDS = {
    SUPPORTED: "is supported",
    NOT_SUPPORTED: "is refuted",
    INSUFFICIENT_EVIDENCE: "cannot be decided",
}
# What the documented rule calls NOT_SUPPORTED need not be refuted by anything.
_DOCUMENTED_WORDS = _VERDICT_WORDS | {NOT_SUPPORTED: "is not supported"}
_LETTER = re.compile(r"[^\W_]")

#: The fewest items of evidence without which the verdict would be another, and that verdict.
Removal = namedtuple("Removal", "ids after")
VerdictExplanation = namedtuple("VerdictExplanation", "cited removal text")


def explain_verdict(result, rule):
    """Explanation of a verdict by the heaviest evidence on the deciding side of each part."""
    words = _DOCUMENTED_WORDS if rule.documented else _VERDICT_WORDS
    cited = []
    lines = [f"The claim {words[result.verdict]}."]
    for part, judged in zip(result.subclaims, result.subverdicts, strict=False):
        lines.append(f'Part {part.id}, "{part.text}", {words[judged.verdict]}.')
        if result.verdict != NOT_SUPPORTED or judged.verdict == NOT_SUPPORTED:
            for item in _deciding_items(result, judged, rule):
                place = f"{item.doc_id}, characters {item.start} to {item.end}"
                source = f"{item.id}, {item.source} ({item.level} credibility),"
                lines.append(f'{source} {item.stance} it: "{item.passage}" ({place}).')
                cited.append(item)
    lines += [f"{remark[:1].upper()}{remark[1:]}." for remark in result.remarks]
    lines += [
        f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped
    ]
    removal = minimal_removal(result, rule)
    if removal is not None:
        ids = ", ".join(removal.ids) or "anything"
        lines.append(f"Without {ids} the verdict would be {removal.after}.")
    return VerdictExplanation(cited, removal, "\n".join(lines))


def _deciding_items(result, judged, rule):
    """Two items of each deciding side: by weight, then by certainty, then in their order."""

    def weight(item):
        certainty = 0.0 if item.probability is None else abs(item.probability - 0.5)
        return rule.weight(item), certainty

    evidence = evidence_for(result.evidence, judged.subclaim_id)
    heaviest = sorted(evidence, key=weight, reverse=True)
    items = []
    for stance in _DECIDING_STANCES[judged.verdict]:
        items += [item for item in heaviest if item.stance == stance][:2]
    return items


def without(evidence, removed):
    return [item for item in evidence if item not in removed]


def minimal_removal(result, rule):
    """The smallest set of evidence whose removal changes the verdict, None if there is none.

    The score of a part is linear in its items, so that the fewest that change it are the heaviest
    of one side; of all combinations of parts the smallest decides.
    """
    names = names_of_parts(result)
    ways = [_ways(result.evidence, name, rule) for name in names]
    combinations = [list(itertools.chain(*sets)) for sets in itertools.product(*ways)]
    for removed in sorted(combinations, key=len):
        _, after, _ = decide_claim(names, without(result.evidence, removed), rule)
        if after != result.verdict:
            return Removal([item.id for item in removed], after)
    return None


def _ways(evidence, part, rule):
    """For every verdict that a part can have, the fewest items without which it has it."""
    counted = rule.counted(evidence_for(evidence, part))
    heaviest = sorted(counted, key=rule.weight, reverse=True)
    supporting = [item for item in heaviest if item.stance == SUPPORTS]
    others = [item for item in heaviest if item.stance != SUPPORTS]
    fewest = {}
    for size, side in itertools.product(range(len(heaviest) + 1), (supporting, others)):
        removed = side[:size]
        verdict = judge_subclaim(part, without(evidence, removed), rule).verdict
        fewest.setdefault(verdict, removed)
    return fewest.values()


def documented_quality(evidence, subclaim_ids, text):
    ids = {item.id for item in evidence}
    covered = {item.subclaim_id for item in evidence}.intersection(subclaim_ids)
    coverage = len(ids) / max(len(evidence), 1)
    soundness = len(covered) / max(len(subclaim_ids), 1)
    readability = min(len(text) / 1000, 1.0)
    return {
        "coverage": coverage,
        "soundness": soundness,
        "readability": readability,
        "overall": (coverage + soundness + readability) / 3,
    }


def automated_readability_index(text):
    """Readability of a text as a US school grade, NaN without words."""
    words = [word for word in text.split() if _LETTER.search(word)]
    if not words:
        return np.nan
    n_characters = len(_LETTER.findall(" ".join(words)))
    n_sentences = max(1, len(sentences(text)))
    return 4.71 * n_characters / len(words) + 0.5 * len(words) / n_sentences - 21.43


def quality(result, explanation, rule, seed=0):
    """Corrected quality of an explanation; NaN where a number is undefined.

    ``coverage``: cited share of the items whose single removal changes the verdict; ``soundness``:
    stated sub-verdicts that follow from the cited items alone; ``deletion``, ``insertion``: whether
    the verdict changes without the cited items and stays with them alone, beside the mean over 50
    random sets of the same size.
    """
    evidence = result.evidence
    names = names_of_parts(result)
    verdict_of = {part.subclaim_id: part.verdict for part in result.subverdicts}

    def changes(items):
        return decide_claim(names, items, rule)[1] != result.verdict

    cited = explanation.cited
    decisive = [item for item in evidence if changes(without(evidence, [item]))]
    of_cited, _, _ = decide_claim(names, cited, rule)
    stated = [part for part in of_cited if part.evidence_count]
    follows = [part.verdict == verdict_of[part.subclaim_id] for part in stated]
    found = {
        "coverage": [item in cited for item in decisive],
        "soundness": follows,
        "readability": [automated_readability_index(explanation.text)],
    }
    rng = generator(seed, f"explanation {result.claim_id}")
    drawn = []
    for _ in range(50):  # as many items, at random
        places = rng.choice(len(evidence), len(cited), replace=False)
        drawn.append([evidence[place] for place in places])
    for kind, sets in {"": [cited], "_random": drawn}.items():
        sets = list(filter(None, sets))
        found[f"deletion{kind}"] = [
            changes(without(evidence, chosen)) for chosen in sets
        ]
        found[f"insertion{kind}"] = [not changes(chosen) for chosen in sets]
    return {name: np.mean(values or [np.nan]) for name, values in found.items()}


def quality_table(results, rule, groups, **options):
    """Mean quality, documented and corrected, with intervals over groups of claims by id."""
    rows = {}
    for result in results:
        if result.error is None:
            explanation = explain_verdict(result, rule)
            row = quality(result, explanation, rule, options.get("seed", 0))
            names = names_of_parts(result)
            original = documented_quality(result.evidence, names, explanation.text)
            rows[result.claim_id] = (
                row | pd.Series(original).add_prefix("documented: ").to_dict()
            )
    means = {}
    for name, column in pd.DataFrame(rows).T.astype(float).items():
        values = column.dropna()
        options["clusters"] = values.index.map(groups)
        means[name] = bootstrap_mean(values, **options)
    table = coefficients(means).drop(columns=["groups", "control"])
    table["undefined"] = len(rows) - table["n"]
    return table.rename(columns={"system": "measure"})
