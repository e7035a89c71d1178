"""Why a verdict is what it is: deciding passages, what would change it, conflicts; and how good an explanation is.

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
from casebook.factcheck.claims import sentences
from casebook.factcheck.verdict import (
    INSUFFICIENT,
    NEUTRAL,
    NOT_SUPPORTED,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
)
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import stream

_SIDES = {SUPPORTED: (SUPPORTS,), NOT_SUPPORTED: (REFUTES,), INSUFFICIENT: (SUPPORTS, REFUTES)}
_SAYS = {SUPPORTED: "is supported", NOT_SUPPORTED: "is refuted", INSUFFICIENT: "cannot be decided"}


#: The fewest items of evidence without which the verdict would be another, and that verdict.
Removal = namedtuple("Removal", "ids after")
#: Verdicts stated of the parts, evidence cited, removal, parts with conflicting evidence, and all of it as text.
Explanation = namedtuple("Explanation", "stated cited removal conflicts text")


def explain(result, rule):
    """Explain a verdict by the heaviest evidence on the deciding side of each part."""
    stated = {part.subclaim_id: part.verdict for part in result.subverdicts}
    cited = []
    for name, verdict in stated.items():
        if result.verdict == NOT_SUPPORTED and verdict != NOT_SUPPORTED:
            continue
        # By weight, then by sureness, then as found; two of each side.
        heaviest = sorted(
            result.evidence_of(name), key=lambda item: (-rule.weight(item), -_sureness(item))
        )
        for side in _SIDES[verdict]:
            cited += [item for item in heaviest if item.stance == side][:2]
    removal, found = minimal_removal(result, rule), conflicts(result)
    # What the documented rule calls NOT_SUPPORTED need not be refuted by anything.
    says = _SAYS | ({NOT_SUPPORTED: "is not supported"} if rule.documented else {})
    texts = {part.id: part.text for part in result.subclaims}
    lines = [f"The claim {says[result.verdict]}."]
    for name, verdict in stated.items():
        lines.append(f'Part {name}, "{texts[name]}", {says[verdict]}.')
        lines += [_cited_line(item) for item in cited if item.subclaim_id == name]
    lines += [f'Not checked: "{part.text}" ({part.verifiability}).' for part in result.dropped]
    if found:
        lines.append(f"Evidence is in conflict on {', '.join(found)}.")
    if removal is not None:
        lines.append(
            f"Without {', '.join(removal.ids) or 'anything'} the verdict would be {removal.after}."
        )
    return Explanation(stated, tuple(cited), removal, found, "\n".join(lines))


def _cited_line(item):
    """What a passage says of a part; where passages were read together, they say it together."""
    others = item.together - 1
    source = f"{item.source} ({item.level} credibility)"
    place = f'"{item.passage}" ({item.doc_id}, characters {item.start} to {item.end})'
    if not others or item.stance == NEUTRAL:
        return f"{source} {item.stance} it: {place}."
    verb = {SUPPORTS: "support", REFUTES: "refute"}[item.stance]
    return f"{source} and {others} more passage{'s' * (others > 1)} together {verb} it: {place}."


def _sureness(item):
    return 0.0 if item.probability is None else abs(item.probability - 0.5)


def conflicts(result):
    """Sub-claims with evidence for and against."""
    sides = {SUPPORTS, REFUTES}
    return tuple(
        name for name in result.parts if sides <= {item.stance for item in result.evidence_of(name)}
    )


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
        after = rules.decide(result.parts, left, rule)[1]
        if after != result.verdict:
            return Removal(tuple(result.evidence[place].id for place in removed), after)
    return None


def _fewest(evidence, name, rule, verdict, becomes):
    """Fewest places of one part's evidence without which its verdict is as wanted, None if that cannot be."""
    own = {place: item for place, item in enumerate(evidence) if item.subclaim_id == name}
    options = []
    for order in _orders(own, rule):
        for number in range(len(order) + 1):
            left = [item for place, item in own.items() if place not in order[:number]]
            if (rules.judge_subclaim(name, left, rule).verdict == verdict) == becomes:
                options.append(order[:number])
                break
    return min(options, key=len, default=None)


def _orders(items, rule):
    """Orders of removal that lower the score of a part most, and raise it most."""
    worth = {
        place: rule.weight(item) * (item.stance == SUPPORTS)
        for place, item in items.items()
        if rule.counted([item])
    }
    if rule.per_item:
        return sorted(worth, key=worth.get, reverse=True), sorted(worth, key=worth.get)
    heaviest = sorted(worth, key=lambda place: -rule.weight(items[place]))
    # When nothing of the other side is left, what remains can only vanish altogether.
    return [
        sorted(heaviest, key=lambda place: (worth[place] > 0) == last) for last in (False, True)
    ]


def explain_documented(result):
    """The documented agent's importance (by credibility, length and level), critical items, conflicts (by level).

    Its ``counterfactual`` items sum up to 0.6 of the importance of a SUPPORTED claim; nothing is verified.
    """
    raw = {
        item.id: 0.5 * item.credibility
        + 0.3 * min(len(item.passage) / 500, 1)
        + 0.2 * (1.0 if item.level == "high" else 0.5)
        for item in result.evidence
    }
    total = sum(raw.values())
    importance = {name: value / total for name, value in raw.items()}
    ranked = sorted(importance, key=lambda name: -importance[name])
    flipping = None
    if result.verdict == SUPPORTED:
        reached = np.cumsum([importance[name] for name in ranked])
        flipping = min(int((reached <= 0.6).sum()) + 1, len(ranked))
    mixed = tuple(
        name for name in result.parts if len({item.level for item in result.evidence_of(name)}) > 1
    )
    return {
        "importance": importance,
        "critical": ranked[:3],
        "counterfactual": flipping,
        "conflicts": mixed,
    }


def documented_quality(importance_ids, evidence, subclaim_ids, text):
    """The documented coverage, soundness, readability and overall score, each in [0, 1]."""
    covered = {item.subclaim_id for item in evidence}
    coverage = len(set(importance_ids)) / len(evidence) if evidence else 0.0
    soundness = (
        sum(name in covered for name in subclaim_ids) / len(subclaim_ids) if subclaim_ids else 0.0
    )
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
    spoken = [word for word in text.split() if re.search(r"[^\W_]", word)]
    if not spoken:
        return None
    characters = len(re.findall(r"[^\W_]", " ".join(spoken)))
    return (
        4.71 * characters / len(spoken) + 0.5 * len(spoken) / max(1, len(sentences(text))) - 21.43
    )


def quality(result, explanation, rule, seed=0):
    """Corrected quality of an explanation; None where a number is undefined.

    ``coverage``: cited share of the items whose single removal changes the verdict; ``influence_coverage``: of the
    summed changes of scores; ``soundness``: stated sub-verdicts that follow from the cited items alone;
    ``deletion``, ``insertion``: whether the verdict changes without the cited items and stays with them alone,
    beside the mean over 50 random sets of the same size.
    """
    evidence, places = result.evidence, range(len(result.evidence))
    cited = [place for place in places if evidence[place] in explanation.cited]

    def stays(kept):
        left = [item for place, item in enumerate(evidence) if place in kept]
        return rules.decide(result.parts, left, rule)[1] == result.verdict

    def changes(removed):
        return not stays({*places} - {*removed})

    influence = np.array([_change(result, item, rule) for item in evidence])
    decisive = [place for place in places if changes([place])]
    follows = []
    for name, verdict in explanation.stated.items():
        own = [item for item in explanation.cited if item.subclaim_id == name]
        if own:
            follows.append(rules.judge_subclaim(name, own, rule).verdict == verdict)
    found = {
        "coverage": float(np.mean([place in cited for place in decisive])) if decisive else None,
        "influence_coverage": float(influence[cited].sum() / influence.sum())
        if influence.sum() > 0
        else None,
        "soundness": float(np.mean(follows)) if follows else None,
        "readability": automated_readability_index(explanation.text),
    }
    if not cited:
        return found | dict.fromkeys(
            ("deletion", "deletion_random", "insertion", "insertion_random")
        )
    rng = np.random.Generator(stream(seed, f"explanation {result.claim_id}"))
    sets = [rng.choice(len(evidence), len(cited), replace=False).tolist() for _ in range(50)]
    for name, test in (("deletion", changes), ("insertion", stays)):
        found |= {name: test(cited), f"{name}_random": float(np.mean([*map(test, sets)]))}
    return found


def _change(result, item, rule):
    """Change of a part's score without one item."""
    own = result.evidence_of(item.subclaim_id)
    before = rules.support_score(own, rule)[0]
    after = rules.support_score([other for other in own if other is not item], rule)[0]
    # Without its last item a part has no score: all that there was is lost.
    lost = before is not None and after is None
    return 1.0 if lost else abs((before or 0.0) - (after or 0.0))


def quality_rows(results, rule, seed=0):
    """Quality of every explanation, one row a claim: documented numbers, then corrected ones."""
    rows = []
    for result in results:
        if result.error is None:
            told = explain(result, rule)
            importance = explain_documented(result)["importance"]
            documented = documented_quality(importance, result.evidence, result.parts, told.text)
            documented = {f"documented: {name}": value for name, value in documented.items()}
            rows.append({"id": result.claim_id} | quality(result, told, rule, seed) | documented)
    return pd.DataFrame(rows)


def quality_table(rows, groups, n_resamples=2_000, seed=0):
    """Mean quality with intervals over groups of claims, one row a measure."""
    found = []
    for name in rows.columns.drop("id", errors="ignore"):
        defined = rows[rows[name].notna()]
        together = defined["id"].map(groups)
        mean = bootstrap_mean(
            defined[name].astype(float), clusters=together, n_resamples=n_resamples, seed=seed
        )
        found.append(
            (
                name,
                mean.estimate,
                mean.low,
                mean.high,
                mean.n,
                len(rows) - len(defined),
                mean.reason,
            )
        )
    return pd.DataFrame(
        found, columns=["measure", "value", "low", "high", "n", "undefined", "reason"]
    )
