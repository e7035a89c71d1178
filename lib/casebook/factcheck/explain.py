"""Why a verdict is what it is: deciding passages, what would change it, conflicts; and how good an explanation is.

References
----------
DeYoung et al. (2020), ERASER, ACL: comprehensiveness and sufficiency. Senter and Smith
(1967), Automated Readability Index, AMRL-TR-66-220.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.factcheck.claims import sentences
from casebook.factcheck.verdict import (
    INSUFFICIENT,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
    decide,
    judge_subclaim,
    support_score,
)
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.samples import stream

_SIDES = {SUPPORTED: (SUPPORTS,), NOT_SUPPORTED: (REFUTES,), INSUFFICIENT: (SUPPORTS, REFUTES)}
_SAYS = {SUPPORTED: "is supported", NOT_SUPPORTED: "is refuted", INSUFFICIENT: "cannot be decided"}
# What the documented rule calls NOT_SUPPORTED need not be refuted by anything.
_DOCUMENTED_SAYS = _SAYS | {NOT_SUPPORTED: "is not supported"}


@dataclass(frozen=True)
class Explanation:
    """Verdict of the claim, verdicts stated of its parts, evidence cited, and all of it as text."""

    verdict: str
    stated: dict
    cited: tuple
    removal: object
    conflicts: tuple
    text: str


def explain(result, rule, most=2):
    """Explain a verdict by the heaviest evidence on the deciding side of each part."""
    stated = {part.subclaim_id: part.verdict for part in result.subverdicts}
    cited = tuple(
        item
        for name, verdict in stated.items()
        if result.verdict != NOT_SUPPORTED or verdict == NOT_SUPPORTED
        for side in _SIDES[verdict]
        for item in _heaviest(result.evidence_of(name), side, rule, most)
    )
    removal, found = minimal_removal(result, rule), conflicts(result)
    says = _DOCUMENTED_SAYS if rule.documented else _SAYS
    texts = {part.id: part.text for part in result.subclaims}
    lines = [f"The claim {says[result.verdict]}."]
    for name, verdict in stated.items():
        lines.append(f'Part {name}, "{texts[name]}", {says[verdict]}.')
        lines += [
            f"{item.source} ({item.level} credibility) {item.stance} it: "
            f'"{item.passage}" ({item.doc_id}, characters {item.start} to {item.end}).'
            for item in cited
            if item.subclaim_id == name
        ]
    lines += [f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped]
    if found:
        lines.append(f"Evidence is in conflict on {', '.join(found)}.")
    if removal is not None:
        lines.append(f"Without {', '.join(removal.ids) or 'anything'} the verdict would be {removal.after}.")
    return Explanation(result.verdict, stated, cited, removal, found, "\n".join(lines))


def _heaviest(items, side, rule, most):
    """Items of one side by weight, then by sureness, then as found."""

    def lightness(item):
        return -rule.weight(item.level), -abs((0.5 if item.probability is None else item.probability) - 0.5)

    return sorted((item for item in items if item.stance == side), key=lightness)[:most]


def conflicts(result):
    """Sub-claims with evidence for and against."""
    sides = {name: {item.stance for item in result.evidence_of(name)} - {NEUTRAL} for name in result.parts}
    return tuple(name for name, found in sides.items() if len(found) == 2)


@dataclass(frozen=True)
class Removal:
    """The fewest items of evidence without which the verdict would be another."""

    ids: tuple
    before: str
    after: str


def minimal_removal(result, rule):
    """The smallest set of evidence whose removal changes the verdict, None if there is none.

    For a given number of removals the score of a part moves furthest by taking the heaviest of one side, so the
    search is exact; the claim is decided again without them.
    """
    parts = {part.subclaim_id: part.verdict for part in result.subverdicts}
    unsupported = [name for name, verdict in parts.items() if verdict != SUPPORTED]
    # Each way: parts whose verdicts must all become, or must all cease to be, one.
    if result.verdict == SUPPORTED:
        ways = [([name], SUPPORTED, False) for name in parts]
    elif rule.documented:
        ways = [(unsupported, SUPPORTED, True)]
    elif result.verdict == NOT_SUPPORTED:
        refuted = [name for name, verdict in parts.items() if verdict == NOT_SUPPORTED]
        ways = [(refuted, NOT_SUPPORTED, False)]
    else:
        ways = [(unsupported, SUPPORTED, True), *(([name], NOT_SUPPORTED, True) for name in parts)]
    options = []
    for names, verdict, becomes in ways:
        sets = [_fewest(result.evidence, name, rule, verdict, becomes) for name in names]
        if None not in sets:
            options.append([place for found in sets for place in found])
    for removed in sorted(options, key=len):
        left = [item for place, item in enumerate(result.evidence) if place not in removed]
        after = decide(result.parts, left, rule)[1]
        if after != result.verdict:
            return Removal(tuple(result.evidence[place].id for place in removed), result.verdict, after)
    return None


def _fewest(evidence, name, rule, verdict, becomes):
    """Fewest places of one part's evidence without which its verdict is as wanted, None if that cannot be."""
    own = [place for place, item in enumerate(evidence) if item.subclaim_id == name]
    best = None
    for order in _orders({place: evidence[place] for place in own}, rule):
        for number in range(len(order) + 1):
            left = [evidence[place] for place in own if place not in order[:number]]
            if (judge_subclaim(name, left, rule).verdict == verdict) == becomes:
                if best is None or number < len(best):
                    best = order[:number]
                break
    return best


def _orders(items, rule):
    """Orders of removal that lower the score of a part most, and raise it most."""
    counted = [place for place, item in items.items() if rule.counts(item)]
    support = [place for place in counted if items[place].stance == SUPPORTS]
    against = [place for place in counted if items[place].stance != SUPPORTS]
    if rule.denominator == "count":
        worth = {place: rule.weight(items[place].level) for place in support} | dict.fromkeys(against, 0.0)
        return sorted(counted, key=worth.get, reverse=True), sorted(counted, key=worth.get)
    support, against = (sorted(side, key=lambda p: -rule.weight(items[p].level)) for side in (support, against))
    # When nothing of the other side is left, what remains can only vanish altogether.
    return support + against, against + support


@dataclass(frozen=True)
class DocumentedExplanation:
    """What the documented explanation agent gives."""

    importance: dict
    critical: tuple
    counterfactual: int | None
    conflicts: tuple


def explain_documented(result):
    """Importance by credibility, length and level; "counterfactual" items sum up to 0.6 of it, nothing is verified."""
    raw = {
        item.id: 0.5 * item.credibility
        + 0.3 * min(len(item.passage) / 500, 1)
        + 0.2 * (1.0 if item.level == "high" else 0.5)
        for item in result.evidence
    }
    total = sum(raw.values())
    importance = {name: value / total for name, value in raw.items()} if total else raw
    ranked = sorted(importance, key=lambda name: -importance[name])
    flipping = None
    if result.verdict == SUPPORTED:
        reached = np.cumsum([importance[name] for name in ranked])
        flipping = min(int((reached <= 0.6).sum()) + 1, len(ranked))
    levels = {name: {item.level for item in result.evidence_of(name)} for name in result.parts}
    mixed = tuple(name for name, found in levels.items() if len(found) > 1)
    return DocumentedExplanation(importance, tuple(ranked[:3]), flipping, mixed)


def documented_quality(importance_ids, evidence, subclaim_ids, text):
    """The documented coverage, soundness, readability and overall score, each in [0, 1]."""
    covered = {item.subclaim_id for item in evidence}
    coverage = len(set(importance_ids)) / len(evidence) if evidence else 0.0
    soundness = sum(name in covered for name in subclaim_ids) / len(subclaim_ids) if subclaim_ids else 0.0
    readability = min(len(text) / 1000, 1.0)
    overall = (coverage + soundness + readability) / 3
    return {"coverage": coverage, "soundness": soundness, "readability": readability, "overall": overall}


def automated_readability_index(text):
    """Readability of a text as a US school grade, None without words."""
    spoken = [word for word in text.split() if re.search(r"[^\W_]", word)]
    if not spoken:
        return None
    characters = len(re.findall(r"[^\W_]", " ".join(spoken)))
    return 4.71 * characters / len(spoken) + 0.5 * len(spoken) / max(1, len(sentences(text))) - 21.43


def quality(result, explanation, rule, draws=50, seed=0):
    """Corrected quality of an explanation; None where a number is undefined, with the cause under ``reasons``.

    ``coverage``: cited share of the items whose single removal changes the verdict; ``influence_coverage``: of the
    summed changes of scores; ``soundness``: stated sub-verdicts that follow from the cited items alone;
    ``deletion``, ``insertion``: whether the verdict changes without the cited items and stays with them alone,
    beside random sets of the same size.
    """
    cited = [place for place, item in enumerate(result.evidence) if item in explanation.cited]
    found = _coverage(result, rule, cited) | {"soundness": None}
    found["readability"] = automated_readability_index(explanation.text)
    follows = []
    for name, verdict in explanation.stated.items():
        own = [item for item in explanation.cited if item.subclaim_id == name]
        if own:
            follows.append(judge_subclaim(name, own, rule).verdict == verdict)
    if follows:
        found["soundness"] = sum(follows) / len(follows)
    else:
        found["reasons"]["soundness"] = "nothing_cited"
    if not cited:
        found["reasons"] |= dict.fromkeys(("deletion", "insertion"), "nothing_cited")
    return found | _deletion_and_insertion(result, rule, cited, draws, seed)


def _verdict_with(result, rule, kept):
    return decide(result.parts, [result.evidence[place] for place in kept], rule)[1]


def _coverage(result, rule, cited):
    """Leave-one-out coverage by verdict and by score."""
    changes, decisive = np.zeros(len(result.evidence)), []
    for place, item in enumerate(result.evidence):
        others = [n for n in range(len(result.evidence)) if n != place]
        if _verdict_with(result, rule, others) != result.verdict:
            decisive.append(place)
        own = result.evidence_of(item.subclaim_id)
        before = support_score(own, rule)[0]
        after = support_score([other for other in own if other is not item], rule)[0]
        # Without its last item a part has no score: all that there was is lost.
        lost = before is not None and after is None
        changes[place] = 1.0 if lost else abs((before or 0.0) - (after or 0.0))
    coverage = influence = None
    reasons = {}
    if decisive:
        coverage = sum(place in cited for place in decisive) / len(decisive)
    else:
        reasons["coverage"] = "no_single_item_decides"
    if changes.sum() > 0:
        influence = float(changes[cited].sum() / changes.sum())
    else:
        reasons["influence_coverage"] = "no_item_changes_a_score"
    return {"coverage": coverage, "influence_coverage": influence, "reasons": reasons}


def _deletion_and_insertion(result, rule, cited, draws, seed):
    """Decide without the cited items and with them alone, and so with random sets."""
    if not cited:
        return dict.fromkeys(("deletion", "deletion_random", "insertion", "insertion_random"))
    everything = range(len(result.evidence))
    rng = np.random.Generator(stream(seed, f"explanation {result.claim_id}"))
    sets = [cited, *(rng.choice(len(everything), len(cited), replace=False).tolist() for _ in range(draws))]
    without = [[place for place in everything if place not in chosen] for chosen in sets]
    deleted = [_verdict_with(result, rule, left) != result.verdict for left in without]
    inserted = [_verdict_with(result, rule, sorted(chosen)) == result.verdict for chosen in sets]
    return {
        "deletion": deleted[0],
        "deletion_random": float(np.mean(deleted[1:])),
        "insertion": inserted[0],
        "insertion_random": float(np.mean(inserted[1:])),
    }


def quality_rows(results, rule, draws=50, seed=0):
    """Quality of every explanation, one row a claim: documented numbers, then corrected ones."""
    rows = []
    for result in results:
        if result.error is None:
            told = explain(result, rule)
            importance = explain_documented(result).importance
            documented = documented_quality(importance, result.evidence, result.parts, told.text)
            corrected = quality(result, told, rule, draws, seed)
            corrected.pop("reasons")
            rows.append({"id": result.claim_id, "verdict": result.verdict} | corrected)
            rows[-1] |= {f"documented: {name}": value for name, value in documented.items()}
    return pd.DataFrame(rows)


def quality_table(rows, groups=None, n_boot=2_000, seed=0):
    """Mean quality with intervals over groups of claims, one row a measure."""
    found = []
    for name in rows.columns.difference(["id", "verdict"], sort=False):
        defined = rows[rows[name].notna()]
        labels = [(groups or {}).get(claim, claim) for claim in defined["id"]]
        mean = bootstrap_mean(defined[name].astype(float), clusters=labels, n_boot=n_boot, seed=seed)
        counts = {"n": mean.n, "undefined": len(rows) - len(defined), "reason": mean.reason}
        found.append({"measure": name, "value": mean.estimate, "low": mean.low, "high": mean.high} | counts)
    return pd.DataFrame(found)
