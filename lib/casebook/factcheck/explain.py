"""Why a verdict is what it is: deciding passages, smallest removal, conflicts; and its quality.

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
#: Verdicts on the parts, cited evidence, removal, parts with conflicting evidence, and the text.
VerdictExplanation = namedtuple("VerdictExplanation", "verdicts cited removal conflicts text")


def explain_verdict(result, rule):
    """Explanation of a verdict by the heaviest evidence on the deciding side of each part."""
    words = _DOCUMENTED_WORDS if rule.documented else _VERDICT_WORDS
    texts = {part.id: part.text for part in result.subclaims}
    verdicts = {part.subclaim_id: part.verdict for part in result.subverdicts}
    cited = []
    lines = [f"The claim {words[result.verdict]}."]
    for name, verdict in verdicts.items():
        lines.append(f'Part {name}, "{texts[name]}", {words[verdict]}.')
        if result.verdict != NOT_SUPPORTED or verdict == NOT_SUPPORTED:
            of_part = _deciding_items(result.evidence_of(name), verdict, rule)
            lines += map(_cited_line, of_part)
            cited += of_part
    lines += [f"{remark[:1].upper()}{remark[1:]}." for remark in result.remarks]
    lines += [f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped]
    conflicts = conflicting_parts(result)
    if conflicts:
        lines.append(f"Evidence is in conflict on {', '.join(conflicts)}.")
    removal = minimal_removal(result, rule)
    if removal is not None:
        ids = ", ".join(removal.ids) or "anything"
        lines.append(f"Without {ids} the verdict would be {removal.after}.")
    return VerdictExplanation(verdicts, tuple(cited), removal, conflicts, "\n".join(lines))


def _deciding_items(evidence, verdict, rule):
    """Two items of each deciding side: by weight, then by certainty, then in their order."""

    def weight(item):
        certainty = 0.0 if item.probability is None else abs(item.probability - 0.5)
        return rule.weight(item), certainty

    heaviest = sorted(evidence, key=weight, reverse=True)
    items = []
    for stance in _DECIDING_STANCES[verdict]:
        items += [item for item in heaviest if item.stance == stance][:2]
    return items


def _cited_line(item):
    """Whether a passage supports a part, alone or together with others; with its source."""
    source = f"{item.source} ({item.level} credibility)"
    does = item.stance
    if item.together > 1:
        others = "1 more passage" if item.together == 2 else f"{item.together - 1} more passages"
        does = f"and {others} together {item.stance.removesuffix('s')}"
    place = f"{item.doc_id}, characters {item.start} to {item.end}"
    return f'{source} {does} it: "{item.passage}" ({place}).'


def conflicting_parts(result):
    """Sub-claims with evidence for and against."""
    sides = {name: set() for name in result.parts}
    for item in result.evidence:
        sides[item.subclaim_id].add(item.stance)
    return tuple(name for name, stances in sides.items() if stances >= {SUPPORTS, REFUTES})


def minimal_removal(result, rule):
    """The smallest set of evidence whose removal changes the verdict, None if there is none.

    Of every part the smallest removal to each verdict that it can have is found by trying all; of
    all combinations the smallest decides.
    """
    ways = []
    for part in result.subverdicts:
        evidence = result.evidence_of(part.subclaim_id)
        deciding = _DECIDING_STANCES[part.verdict]
        counted = rule.counted(evidence)
        counted.sort(key=lambda item: (item.stance not in deciding, -rule.weight(item)))
        fewest = {}
        for size in range(len(counted) + 1):
            for removed in itertools.combinations(counted, size):
                remaining = [item for item in evidence if item not in removed]
                verdict = rules.judge_subclaim(part.subclaim_id, remaining, rule).verdict
                fewest.setdefault(verdict, removed)
        ways.insert(0, fewest.values())
    combinations = [list(itertools.chain(*sets[::-1])) for sets in itertools.product(*ways)]
    for removed in sorted(combinations, key=len):
        remaining = [item for item in result.evidence if item not in removed]
        _, after, _ = rules.decide_claim(result.parts, remaining, rule)
        if after != result.verdict:
            return Removal(tuple(item.id for item in removed), after)
    return None


def explain_documented(result):
    """The documented agent's importance, critical items and conflicts.

    Importance is by credibility, length and level; a conflict is one of levels. Its
    ``counterfactual`` items sum up to 0.6 of the importance of a SUPPORTED claim; nothing is
    verified.
    """
    weights = pd.Series(dtype=float)
    levels = {name: set() for name in result.parts}
    for item in result.evidence:
        length = min(len(item.passage) / 500, 1)
        level = 1.0 if item.level == "high" else 0.5
        weights[item.id] = 0.5 * item.credibility + 0.3 * length + 0.2 * level
        levels[item.subclaim_id].add(item.level)
    importance = weights / weights.sum()
    ranked = importance.sort_values(ascending=False, kind="stable")
    n_flipping = None
    if result.verdict == SUPPORTED:
        n_flipping = min(int((ranked.cumsum() <= 0.6).sum()) + 1, len(ranked))
    return {
        "importance": importance.to_dict(),
        "critical": ranked.index[:3].tolist(),
        "counterfactual": n_flipping,
        "conflicts": tuple(name for name, found in levels.items() if len(found) > 1),
    }


def documented_quality(importance_ids, evidence, subclaim_ids, text):
    """The documented coverage, soundness, readability and overall score, each in [0, 1]."""
    covered = {item.subclaim_id for item in evidence}
    scores = {
        "coverage": len(set(importance_ids)) / max(len(evidence), 1),
        "soundness": len(covered.intersection(subclaim_ids)) / max(len(subclaim_ids), 1),
        "readability": min(len(text) / 1000, 1.0),
    }
    return scores | {"overall": sum(scores.values()) / 3}


def automated_readability_index(text):
    """Readability of a text as a US school grade, None without words."""
    words = [word for word in text.split() if _LETTER.search(word)]
    if not words:
        return None
    n_characters = len(_LETTER.findall(" ".join(words)))
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
        items = [evidence[position] for position in positions if position in selected]
        _, verdict, _ = rules.decide_claim(result.parts, items, rule)
        return verdict == result.verdict

    def changes(removed):
        return not stays(set(positions).difference(removed))

    decisive = [position for position in positions if changes([position])]
    influence = np.array([_influence(result, item, rule) for item in evidence])
    follows = []
    for name, verdict in explanation.verdicts.items():
        of_part = evidence_for(explanation.cited, name)
        if of_part:
            follows.append(rules.judge_subclaim(name, of_part, rule).verdict == verdict)
    measures = {
        "coverage": _mean_or_none([position in cited for position in decisive]),
        "influence_coverage": None,
        "soundness": _mean_or_none(follows),
        "readability": automated_readability_index(explanation.text),
    }
    if influence.sum() > 0:
        measures["influence_coverage"] = float(influence[cited].sum() / influence.sum())
    rng = generator(seed, f"explanation {result.claim_id}")
    draws = range(N_RANDOM_SETS if cited else 0)
    random_sets = [rng.choice(len(evidence), len(cited), replace=False).tolist() for _ in draws]
    for name, test in {"deletion": changes, "insertion": stays}.items():
        measures[name] = test(cited) if cited else None
        measures[f"{name}_random"] = _mean_or_none([test(chosen) for chosen in random_sets])
    return measures


def _mean_or_none(values):
    return float(np.mean(values)) if values else None


def _influence(result, item, rule):
    """Change of a part's score without one item; all of it where nothing else is counted."""
    items = result.evidence_of(item.subclaim_id)
    before, _ = rules.support_score(items, rule)
    after, _ = rules.support_score([rest for rest in items if rest is not item], rule)
    if before is None or after is None:
        return float(before is not after)
    return abs(before - after)


def quality_rows(results, rule, seed=0):
    """Quality of every explanation, one row a claim: corrected numbers, then documented ones."""
    rows = []
    for result in results:
        if result.error is None:
            explanation = explain_verdict(result, rule)
            importance = explain_documented(result)["importance"]
            text = explanation.text
            documented = documented_quality(importance, result.evidence, result.parts, text)
            documented = {f"documented: {name}": value for name, value in documented.items()}
            of_claim = quality(result, explanation, rule, seed)
            rows.append({"id": result.claim_id} | of_claim | documented)
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
