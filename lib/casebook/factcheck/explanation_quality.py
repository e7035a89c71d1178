"""Quality of explanations: the documented four numbers, and what they should measure.

References
----------
DeYoung et al. (2020), ERASER, ACL: comprehensiveness and sufficiency. Senter and Smith
(1967), Automated Readability Index, AMRL-TR-66-220.
"""

import re
from dataclasses import dataclass

import numpy as np

from casebook.factcheck.verdict import decide, judge_subclaim, support_score
from casebook.factcheck.words import sentences
from casebook.stats.samples import stream


def documented_quality(importance_ids, evidence, subclaim_ids, text):
    """Give the documented coverage, soundness, readability and overall score."""
    covered = {item.subclaim_id for item in evidence}
    coverage = len(set(importance_ids)) / len(evidence) if evidence else 0.0
    parts = [name in covered for name in subclaim_ids]
    soundness = sum(parts) / len(parts) if parts else 0.0
    readability = min(len(text) / 1000, 1.0)
    return {
        "coverage": coverage,
        "soundness": soundness,
        "readability": readability,
        "overall": (coverage + soundness + readability) / 3,
    }


def automated_readability_index(text):
    """Readability of a text as a US school grade."""
    spoken = [word for word in text.split() if re.search(r"[^\W_]", word)]
    if not spoken:
        return None
    characters = sum(len(re.findall(r"[^\W_]", word)) for word in spoken)
    lines = max(1, len(sentences(text)))
    return 4.71 * characters / len(spoken) + 0.5 * len(spoken) / lines - 21.43


@dataclass(frozen=True)
class ExplanationQuality:
    """Corrected quality of one explanation; None where a number is undefined."""

    coverage: float | None
    influence_coverage: float | None
    soundness: float | None
    readability: float | None
    deletion: bool | None
    deletion_random: float | None
    insertion: bool | None
    insertion_random: float | None
    reasons: dict


def quality(result, explanation, rule, draws=50, seed=0):
    """Measure the quality of an explanation."""
    cited = [n for n, item in enumerate(result.evidence) if item in explanation.cited]
    coverage, influence, reasons = _coverage(result, rule, set(cited))
    soundness = _soundness(result, explanation, rule)
    if soundness is None:
        reasons["soundness"] = "nothing_cited"
    tests = _deletion_and_insertion(result, rule, cited, draws, seed)
    if tests[0] is None:
        reasons |= dict.fromkeys(("deletion", "insertion"), "nothing_cited")
    readability = automated_readability_index(explanation.text)
    return ExplanationQuality(coverage, influence, soundness, readability, *tests, reasons)


def _names(result):
    return [part.id for part in result.subclaims]


def _verdict_of(result, rule, kept):
    """Decide the claim from the items at some positions."""
    return decide(_names(result), [result.evidence[n] for n in kept], rule)[1]


def _coverage(result, rule, cited):
    """Leave-one-out coverage by verdict and by score."""
    changes, decisive = np.zeros(len(result.evidence)), []
    for place, item in enumerate(result.evidence):
        others = [n for n in range(len(result.evidence)) if n != place]
        if _verdict_of(result, rule, others) != result.verdict:
            decisive.append(place)
        own = result.evidence_of(item.subclaim_id)
        before = support_score(own, rule)[0]
        after = support_score([i for i in own if i is not item], rule)[0]
        # Without its last item a part has no score: all that there was is lost.
        changes[place] = abs((before or 0.0) - (after or 0.0))
        if before is not None and after is None:
            changes[place] = 1.0
    reasons = {}
    coverage = influence = None
    if decisive:
        coverage = sum(place in cited for place in decisive) / len(decisive)
    else:
        reasons["coverage"] = "no_single_item_decides"
    if changes.sum() > 0:
        influence = float(changes[sorted(cited)].sum() / changes.sum())
    else:
        reasons["influence_coverage"] = "no_item_changes_a_score"
    return coverage, influence, reasons


def _soundness(result, explanation, rule):
    follows = []
    for name, verdict in explanation.stated.items():
        own = [item for item in explanation.cited if item.subclaim_id == name]
        if own:
            follows.append(judge_subclaim(name, own, rule).verdict == verdict)
    return sum(follows) / len(follows) if follows else None


def _deletion_and_insertion(result, rule, cited, draws, seed):
    """Decide without the cited items and with them alone, and so at random."""
    everything = range(len(result.evidence))
    if not cited:
        return None, None, None, None
    rng = np.random.Generator(stream(seed, f"explanation {result.claim_id}"))
    sets = [cited] + [rng.choice(len(everything), len(cited), replace=False).tolist() for _ in range(draws)]
    deleted = [
        _verdict_of(result, rule, [n for n in everything if n not in chosen]) != result.verdict
        for chosen in map(set, sets)
    ]
    inserted = [_verdict_of(result, rule, sorted(chosen)) == result.verdict for chosen in sets]
    return (deleted[0], float(np.mean(deleted[1:])), inserted[0], float(np.mean(inserted[1:])))
