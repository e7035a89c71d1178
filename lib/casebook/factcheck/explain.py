"""Why a verdict is what it is: deciding passages, smallest removal, conflicts; and its quality.

References
----------
DeYoung et al. (2020), ERASER, ACL: comprehensiveness and sufficiency. Senter and Smith
(1967), Automated Readability Index, AMRL-TR-66-220.
"""

import re
from collections import namedtuple

import numpy as np
import pandas as pd

from casebook.factcheck import verdict as rules
from casebook.factcheck.verdict import (
    INSUFFICIENT_EVIDENCE,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
    evidence_for,
)
from casebook.stats.intervals import STATISTICS, bootstrap_mean
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
N_RANDOM_SETS = 50


#: The fewest items of evidence without which the verdict would be another, and that verdict.
Removal = namedtuple("Removal", "ids after")
#: Verdicts on the parts, cited evidence, removal, parts with conflicting evidence, and the text.
VerdictExplanation = namedtuple("VerdictExplanation", "verdicts cited removal conflicts text")
#: A change of verdict: verdicts on these parts become, or cease to be, this one.
_Change = namedtuple("_Change", "parts verdict becomes")


def explain_verdict(result, rule):
    """Explain a verdict by the heaviest evidence on the deciding side of each part."""
    verdicts = {part.subclaim_id: part.verdict for part in result.subverdicts}
    cited = []
    for name, verdict in verdicts.items():
        if result.verdict != NOT_SUPPORTED or verdict == NOT_SUPPORTED:
            cited += _deciding_items(result.evidence_of(name), verdict, rule)
    removal = minimal_removal(result, rule)
    conflicts = conflicting_parts(result)
    words = _VERDICT_WORDS
    if rule.documented:
        # What the documented rule calls NOT_SUPPORTED need not be refuted by anything.
        words = words | {NOT_SUPPORTED: "is not supported"}
    texts = {part.id: part.text for part in result.subclaims}
    lines = [f"The claim {words[result.verdict]}."]
    for name, verdict in verdicts.items():
        lines.append(f'Part {name}, "{texts[name]}", {words[verdict]}.')
        lines += [_cited_line(item) for item in cited if item.subclaim_id == name]
    lines += [f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped]
    if conflicts:
        lines.append(f"Evidence is in conflict on {', '.join(conflicts)}.")
    if removal is not None:
        lines.append(
            f"Without {', '.join(removal.ids) or 'anything'} the verdict would be {removal.after}."
        )
    return VerdictExplanation(verdicts, tuple(cited), removal, conflicts, "\n".join(lines))


def _deciding_items(evidence, verdict, rule):
    """Two items of each deciding side: by weight, then by certainty, then in their order."""
    heaviest = sorted(evidence, key=lambda item: (-rule.weight(item), -_certainty(item)))
    items = []
    for stance in _DECIDING_STANCES[verdict]:
        items += [item for item in heaviest if item.stance == stance][:2]
    return items


def _cited_line(item):
    """Whether a passage supports a part, alone or together with others; with its source."""
    others = item.together - 1
    source = f"{item.source} ({item.level} credibility)"
    quote = f'"{item.passage}" ({item.doc_id}, characters {item.start} to {item.end})'
    if not others or item.stance == NEUTRAL:
        return f"{source} {item.stance} it: {quote}."
    verb = {SUPPORTS: "support", REFUTES: "refute"}[item.stance]
    passages = "passages" if others > 1 else "passage"
    return f"{source} and {others} more {passages} together {verb} it: {quote}."


def _certainty(item):
    return 0.0 if item.probability is None else abs(item.probability - 0.5)


def conflicting_parts(result):
    """Sub-claims with evidence for and against."""
    parts = []
    for name in result.parts:
        stances = {item.stance for item in result.evidence_of(name)}
        if {SUPPORTS, REFUTES} <= stances:
            parts.append(name)
    return tuple(parts)


def minimal_removal(result, rule):
    """The smallest set of evidence whose removal changes the verdict, None if there is none.

    For a given number of removals the score of a part moves furthest by taking the heaviest of one
    side, so the search is exact; the claim is decided again without them.
    """
    removals = []
    for change in _possible_changes(result, rule):
        sets = [_fewest_positions(result.evidence, name, rule, change) for name in change.parts]
        if None not in sets:
            removals.append([position for positions in sets for position in positions])
    for removed in sorted(removals, key=len):
        remaining = [
            item for position, item in enumerate(result.evidence) if position not in removed
        ]
        _, after, _ = rules.decide_claim(result.parts, remaining, rule)
        if after != result.verdict:
            return Removal(tuple(result.evidence[position].id for position in removed), after)
    return None


def _possible_changes(result, rule):
    """Changes of the verdicts on parts that would change the verdict on the claim."""
    verdicts = {part.subclaim_id: part.verdict for part in result.subverdicts}
    unsupported = [name for name, verdict in verdicts.items() if verdict != SUPPORTED]
    all_supported = _Change(unsupported, SUPPORTED, becomes=True)
    if result.verdict == SUPPORTED:
        return [_Change([name], SUPPORTED, becomes=False) for name in verdicts]
    if rule.documented:
        return [all_supported]
    if result.verdict == NOT_SUPPORTED:
        refuted = [name for name, verdict in verdicts.items() if verdict == NOT_SUPPORTED]
        return [_Change(refuted, NOT_SUPPORTED, becomes=False)]
    return [
        all_supported,
        *(_Change([name], NOT_SUPPORTED, becomes=True) for name in verdicts),
    ]


def _fewest_positions(evidence, name, rule, change):
    """Fewest items of a part, by position, whose removal makes the change; None if none does."""
    items = {position: item for position, item in enumerate(evidence) if item.subclaim_id == name}
    removals = []
    for order in _removal_orders(items, rule):
        for n_removed in range(len(order) + 1):
            removed = order[:n_removed]
            remaining = [item for position, item in items.items() if position not in removed]
            verdict = rules.judge_subclaim(name, remaining, rule).verdict
            if (verdict == change.verdict) == change.becomes:
                removals.append(removed)
                break
    return min(removals, key=len, default=None)


def _removal_orders(items, rule):
    """Orders of removal that lower the score of a part most, and raise it most."""
    support = {
        position: rule.weight(item) * (item.stance == SUPPORTS)
        for position, item in items.items()
        if rule.counted([item])
    }
    if rule.per_item:
        return sorted(support, key=support.get, reverse=True), sorted(support, key=support.get)
    heaviest = sorted(support, key=lambda position: -rule.weight(items[position]))
    supporting = [position for position in heaviest if support[position] > 0]
    opposing = [position for position in heaviest if not support[position] > 0]
    # When nothing of the other side is left, what remains can only vanish altogether.
    return supporting + opposing, opposing + supporting


def explain_documented(result):
    """The documented agent's importance, critical items and conflicts.

    Importance is by credibility, length and level; a conflict is one of levels. Its
    ``counterfactual`` items sum up to 0.6 of the importance of a SUPPORTED claim; nothing is
    verified.
    """
    weights = {}
    for item in result.evidence:
        length = min(len(item.passage) / 500, 1)
        level = 1.0 if item.level == "high" else 0.5
        weights[item.id] = 0.5 * item.credibility + 0.3 * length + 0.2 * level
    total = sum(weights.values())
    importance = {name: weight / total for name, weight in weights.items()}
    ranked = sorted(importance, key=lambda name: -importance[name])
    n_flipping = None
    if result.verdict == SUPPORTED:
        cumulated = np.cumsum([importance[name] for name in ranked])
        n_flipping = min(int((cumulated <= 0.6).sum()) + 1, len(ranked))
    mixed = []
    for name in result.parts:
        levels = {item.level for item in result.evidence_of(name)}
        if len(levels) > 1:
            mixed.append(name)
    return {
        "importance": importance,
        "critical": ranked[:3],
        "counterfactual": n_flipping,
        "conflicts": tuple(mixed),
    }


def documented_quality(importance_ids, evidence, subclaim_ids, text):
    """The documented coverage, soundness, readability and overall score, each in [0, 1]."""
    covered = {item.subclaim_id for item in evidence}
    coverage = len(set(importance_ids)) / len(evidence) if evidence else 0.0
    soundness = 0.0
    if subclaim_ids:
        soundness = sum(name in covered for name in subclaim_ids) / len(subclaim_ids)
    readability = min(len(text) / 1000, 1.0)
    overall = (coverage + soundness + readability) / 3
    return {
        "coverage": coverage,
        "soundness": soundness,
        "readability": readability,
        "overall": overall,
    }


def automated_readability_index(text):
    """Readability of a text as a US school grade, None without words."""
    words = [word for word in text.split() if re.search(r"[^\W_]", word)]
    if not words:
        return None
    n_characters = len(re.findall(r"[^\W_]", " ".join(words)))
    n_sentences = max(1, len(sentences(text)))
    return 4.71 * n_characters / len(words) + 0.5 * len(words) / n_sentences - 21.43


def quality(result, explanation, rule, seed=0):
    """Corrected quality of an explanation; None where a number is undefined.

    ``coverage``: cited share of the items whose single removal changes the verdict;
    ``influence_coverage``: of the summed changes of scores; ``soundness``: stated sub-verdicts that
    follow from the cited items alone; ``deletion``, ``insertion``: whether the verdict changes
    without the cited items and stays with them alone, beside the mean over 50 random sets of the
    same size.
    """
    evidence = result.evidence
    positions = range(len(evidence))
    cited = [position for position in positions if evidence[position] in explanation.cited]

    def stays(selected):
        items = [item for position, item in enumerate(evidence) if position in selected]
        _, verdict, _ = rules.decide_claim(result.parts, items, rule)
        return verdict == result.verdict

    def changes(removed):
        return not stays(set(positions) - set(removed))

    decisive = [position for position in positions if changes([position])]
    influence = np.array([_influence(result, item, rule) for item in evidence])
    measures = {
        "coverage": _mean_or_none([position in cited for position in decisive]),
        "influence_coverage": None,
        "soundness": _soundness(explanation, rule),
        "readability": automated_readability_index(explanation.text),
    }
    if influence.sum() > 0:
        measures["influence_coverage"] = float(influence[cited].sum() / influence.sum())
    rng = generator(seed, f"explanation {result.claim_id}")
    random_sets = [
        rng.choice(len(evidence), len(cited), replace=False).tolist()
        for _ in range(N_RANDOM_SETS if cited else 0)
    ]
    for name, test in {"deletion": changes, "insertion": stays}.items():
        measures[name] = test(cited) if cited else None
        measures[f"{name}_random"] = _mean_or_none([test(positions) for positions in random_sets])
    return measures


def _soundness(explanation, rule):
    """Share of the sub-verdicts with cited items that follow from these alone."""
    follows = []
    for name, verdict in explanation.verdicts.items():
        cited = evidence_for(explanation.cited, name)
        if cited:
            follows.append(rules.judge_subclaim(name, cited, rule).verdict == verdict)
    return _mean_or_none(follows)


def _mean_or_none(values):
    return float(np.mean(values)) if values else None


def _influence(result, item, rule):
    """Change of a part's score without one item."""
    items = result.evidence_of(item.subclaim_id)
    remaining = [rest for rest in items if rest is not item]
    before, _ = rules.support_score(items, rule)
    after, _ = rules.support_score(remaining, rule)
    # Without its last item a part has no score: all that there was is lost.
    if before is not None and after is None:
        return 1.0
    return abs((before or 0.0) - (after or 0.0))


def quality_rows(results, rule, seed=0):
    """Quality of every explanation, one row a claim: corrected numbers, then documented ones."""
    rows = []
    for result in results:
        if result.error is None:
            explanation = explain_verdict(result, rule)
            row = {"id": result.claim_id} | quality(result, explanation, rule, seed)
            importance = explain_documented(result)["importance"]
            documented = documented_quality(
                importance, result.evidence, result.parts, explanation.text
            )
            row |= {f"documented: {name}": value for name, value in documented.items()}
            rows.append(row)
    return pd.DataFrame(rows)


def quality_table(rows, groups, n_resamples=2_000, seed=0):
    """Mean quality with intervals over groups of claims, one row a measure."""
    measures = []
    for name in rows.columns.drop("id", errors="ignore"):
        defined = rows[rows[name].notna()]
        mean = bootstrap_mean(
            defined[name].astype(float),
            clusters=defined["id"].map(groups),
            n_resamples=n_resamples,
            seed=seed,
        )
        undefined = len(rows) - len(defined)
        row = {"measure": name, **mean.row(), "undefined": undefined, "reason": mean.reason}
        measures.append(row)
    columns = ["measure", *STATISTICS, "n", "undefined", "reason"]
    return pd.DataFrame(measures, columns=columns)
