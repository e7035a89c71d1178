"""Why a verdict is what it is: deciding passages, smallest removal, conflicts; and its quality.

References
----------
DeYoung et al. (2020), ERASER, ACL: comprehensiveness and sufficiency. Senter and Smith
(1967), Automated Readability Index, AMRL-TR-66-220.
"""

import itertools
import re
from collections import defaultdict, namedtuple

import numpy as np
import pandas as pd

from casebook.factcheck import verdict as rules
from casebook.factcheck.verdict import (
    INSUFFICIENT_EVIDENCE,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
    evidence_for,
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
N_RANDOM_SETS = 50
_LETTER = re.compile(r"[^\W_]")

#: The fewest items of evidence without which the verdict would be another, and that verdict.
Removal = namedtuple("Removal", "ids after")
#: The cited evidence, the removal, and the explanation in words.
VerdictExplanation = namedtuple("VerdictExplanation", "cited removal text")


def explain_verdict(result, rule):
    """Explanation of a verdict by the heaviest evidence on the deciding side of each part."""
    words = _DOCUMENTED_WORDS if rule.documented else _VERDICT_WORDS
    cited = []
    lines = [f"The claim {words[result.verdict]}."]
    for part, judged in zip(result.subclaims, result.subverdicts, strict=False):
        lines.append(f'Part {part.id}, "{part.text}", {words[judged.verdict]}.')
        if result.verdict != NOT_SUPPORTED or judged.verdict == NOT_SUPPORTED:
            deciding = _deciding_items(result, judged, rule)
            lines += map(_cited_line, deciding)
            cited += deciding
    lines += [f"{remark[:1].upper()}{remark[1:]}." for remark in result.remarks]
    lines += [f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped]
    conflicts = conflicting_parts(result)
    if conflicts:
        lines.append(f"Evidence is in conflict on {', '.join(conflicts)}.")
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


def _cited_line(item):
    """Whether a passage supports a part, alone or together with others; with its source."""
    does = item.stance
    if item.together > 1:
        others = "1 more passage" if item.together == 2 else f"{item.together - 1} more passages"
        does = f"and {others} together {item.stance.removesuffix('s')}"
    place = f"{item.doc_id}, characters {item.start} to {item.end}"
    return f'{item.source} ({item.level} credibility) {does} it: "{item.passage}" ({place}).'


def conflicting_parts(result):
    sides = defaultdict(set)
    for item in result.evidence:
        sides[item.subclaim_id].add(item.stance)
    return [name for name in result.parts if sides[name] >= {SUPPORTS, REFUTES}]


def minimal_removal(result, rule):
    """The smallest set of evidence whose removal changes the verdict, None if there is none.

    The score of a part is linear in its items, so that the fewest that change it are the heaviest
    of one side; of all combinations of parts the smallest decides.
    """
    ways = [_ways(result, part, rule) for part in result.parts]
    combinations = [list(itertools.chain(*sets)) for sets in itertools.product(*ways)]
    for removed in sorted(combinations, key=len):
        remaining = [item for item in result.evidence if item not in removed]
        _, after, _ = rules.decide_claim(result.parts, remaining, rule)
        if after != result.verdict:
            return Removal([item.id for item in removed], after)
    return None


def _ways(result, part, rule):
    """For every verdict that a part can have, the fewest items without which it has it."""
    evidence = evidence_for(result.evidence, part)
    heaviest = sorted(rule.counted(evidence), key=rule.weight, reverse=True)
    supporting = [item for item in heaviest if item.stance == SUPPORTS]
    others = [item for item in heaviest if item.stance != SUPPORTS]
    fewest = {}
    for side in (supporting, others):
        for size in range(len(side) + 1):
            remaining = [item for item in evidence if item not in side[:size]]
            verdict = rules.judge_subclaim(part, remaining, rule).verdict
            if size < len(fewest.get(verdict, heaviest)) or verdict not in fewest:
                fewest[verdict] = side[:size]
    return fewest.values()


def documented_quality(evidence, subclaim_ids, text):
    ids = {item.id for item in evidence}
    covered = {item.subclaim_id for item in evidence}
    scores = {
        "coverage": len(ids) / max(len(evidence), 1),
        "soundness": len(covered.intersection(subclaim_ids)) / max(len(subclaim_ids), 1),
        "readability": min(len(text) / 1000, 1.0),
    }
    return scores | {"overall": sum(scores.values()) / 3}


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
    cited = [place for place, item in enumerate(evidence) if item in explanation.cited]

    def stays(chosen):
        items = [item for place, item in enumerate(evidence) if place in chosen]
        return rules.decide_claim(result.parts, items, rule)[1] == result.verdict

    def changes(removed):
        return not stays(set(range(len(evidence))).difference(removed))

    decisive = [place for place in range(len(evidence)) if changes([place])]
    follows = []
    for judged in result.subverdicts:
        of_part = evidence_for(explanation.cited, judged.subclaim_id)
        alone = rules.judge_subclaim(judged.subclaim_id, of_part, rule)
        follows += [alone.verdict == judged.verdict] if of_part else []
    measures = {
        "coverage": _mean([place in cited for place in decisive]),
        "soundness": _mean(follows),
        "readability": automated_readability_index(explanation.text),
    }
    rng = generator(seed, f"explanation {result.claim_id}")
    draws = range(N_RANDOM_SETS if cited else 0)
    random_sets = [rng.choice(len(evidence), len(cited), replace=False).tolist() for _ in draws]
    for name, test in {"deletion": changes, "insertion": stays}.items():
        measures[name] = test(cited) if cited else np.nan
        measures[f"{name}_random"] = _mean([test(chosen) for chosen in random_sets])
    return measures


def _mean(values):
    return float(np.mean(values)) if values else np.nan


def quality_rows(results, rule, seed=0):
    rows = []
    for result in results:
        if result.error is None:
            explanation = explain_verdict(result, rule)
            row = {"id": result.claim_id} | quality(result, explanation, rule, seed)
            found = documented_quality(result.evidence, result.parts, explanation.text)
            rows.append(row | {f"documented: {name}": value for name, value in found.items()})
    return pd.DataFrame(rows)


def quality_table(rows, groups, n_resamples=2_000, seed=0):
    """Mean quality with intervals over groups of claims, one row a measure."""
    means = {}
    for name in rows.columns.drop("id", errors="ignore"):
        values = rows.set_index("id")[name].dropna().astype(float)
        clusters = values.index.map(groups)
        means[name] = bootstrap_mean(values, clusters=clusters, n_resamples=n_resamples, seed=seed)
    table = coefficients(means).drop(columns=["groups", "control"])
    table["undefined"] = len(rows) - table["n"]
    return table.rename(columns={"system": "measure"})
