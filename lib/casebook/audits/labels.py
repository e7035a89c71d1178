"""Audit of relevance labels.

Retrieval is measured against labels, and labels that were dealt out by a program, or leak between splits, make every
number worthless without any of them looking wrong. A flag means: beyond what the natural structure of a collection
gives. A pattern is flagged if labels in random order do not make it (`ALPHA`), if it is larger than on any other sound
collection that we know (`thresholds`), and if the words of the questions concerned do not speak for their labels:
documents on one subject stand together, but a program that deals labels out does not read. Evidence says where to look.
"""

import re
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from casebook.audits.sources import read_labels
from casebook.data.splits import connected_components
from casebook.paths import DATA
from casebook.stats.intervals import bootstrap_mean, wilson
from casebook.stats.samples import stream

FLAGGED, PASSED, NOTED, NOT_APPLICABLE = "flagged", "passed", "noted", "not applicable"
ALPHA = 0.01  # of a pattern in labels against random ones
EXCESS = DATA / "audits" / "excess.csv"
"""Excess of each pattern on each sound collection, as it is (tests/validation/audit_calibration.py writes it)."""
HEADROOM = 1.25  # times the largest excess of a sound collection
LEAST_EXCESS = 0.3
TOLERATED = 0.05  # share of units that may be wrong before labels are flagged
UNRELATED = 0.53  # share of documents with fewer common words; 0.5 is chance
CUT = 10
DRAWS = 999
FEWEST_STEPS = 20  # to a document used before, for a statement on the order of labels
FEWEST_QUESTIONS = 20  # for a statement on the words of questions
MOST = 300  # questions, and documents of others, whose words are compared
LONGEST = 10_000  # characters of a text whose words are compared
SHOWN = 5  # pieces of evidence kept
SLACK = 1  # years between a judgment and its report
FIRST_YEAR = 1800

_FIELDS = {
    "value": None,
    "low": None,
    "high": None,
    "n": 0,
    "chance": None,
    "p": None,
    "p_sound": None,
    "decision": "",
    "evidence": (),
    "reason": None,
}
Finding = namedtuple(
    "Finding", ["check", "verdict", "statistic", *_FIELDS], defaults=_FIELDS.values()
)
Finding.__doc__ = """Result of one check.

A small `p` speaks for a flag: labels in random order rarely have a value as high. A small `p_sound` speaks against one:
they rarely have a value as good. `decision` says what the verdict rests on, `reason` why there is no value or interval.
"""


@dataclass(frozen=True)
class Audit:
    """All findings about one thing."""

    name: str
    findings: tuple

    @property
    def verdict(self):
        """``"flagged"`` if a check is, ``"passed"`` if one passed and none is flagged."""
        verdicts = {finding.verdict for finding in self.findings}
        return next(
            (verdict for verdict in (FLAGGED, PASSED) if verdict in verdicts), NOT_APPLICABLE
        )

    def finding(self, check):
        """Give the finding of one check."""
        return next(finding for finding in self.findings if finding.check == check)

    def frame(self):
        """Give the findings as a table, one row per check; evidence is joined."""
        rows = [
            finding._asdict() | {"evidence": "; ".join(finding.evidence)}
            for finding in self.findings
        ]
        return pd.DataFrame([{"audited": self.name} | row for row in rows])


def audit_labels(labels, seed=0):
    """Make all checks of relevance labels.

    Parameters
    ----------
    labels : casebook.audits.sources.Labels, str or path-like
        Labels; or a data set, a BEIR folder, TREC judgements, or CSV of positions.
    seed : int, default 0
        Of permutations and intervals.

    Returns
    -------
    Audit
        ``verdict``, and ``findings``: one per check and two per pair of splits, each with its verdict, a statistic in
        [0, 1] with its 95 % interval, n, the value of labels in random order (``chance``), what decided, and evidence.
        A small ``p`` speaks for a flag, a small ``p_sound`` against one. ``frame()`` gives them as a table. A set that
        is itself one of the sound collections is judged by thresholds from the others.

    Raises
    ------
    InputError
        If there are no such labels, or the file is not in one of the forms.

    Examples
    --------
    >>> from casebook.audits.sources import Labels
    >>> documents = [f"d{n}" for n in range(20)]
    >>> dealt = {f"q{n}": [documents[n % 20]] for n in range(60)}
    >>> found = audit_labels(Labels("dealt", {"all": dealt}, documents)).finding("round robin")
    >>> found.verdict, found.value, found.p, found.evidence[0]
    ('flagged', 1.0, 0.001, '59 of 59 successive labels advance by +1 modulo 20')
    """
    if not hasattr(labels, "splits"):
        labels = read_labels(labels)
    findings = [
        Finding(check=check.__name__.replace("_", " "), statistic=statistic, **check(labels, seed))
        for check, statistic in CHECKS.items()
    ]
    return Audit(labels.name, (*findings, *split_leaks(labels, seed)))


def _rng(seed, purpose):
    return np.random.Generator(stream(seed, purpose))


def _not_applicable(reason, n=0):
    return {"verdict": NOT_APPLICABLE, "n": n, "reason": reason}


@cache
def thresholds(name=""):
    """Excess from which each pattern may be flagged in a set of this name, from all other sound collections."""
    largest = pd.read_csv(EXCESS, index_col="set").drop(index=name, errors="ignore").max()
    return (HEADROOM * largest).clip(lower=LEAST_EXCESS).to_dict()


def p_value(draws, value, side="above"):
    """Give the p-value of a Monte Carlo test, never 0."""
    sign = 1 if side == "above" else -1
    as_far = sign * np.asarray(draws) >= sign * value - 1e-12
    return float((1 + as_far.sum()) / (len(draws) + 1))


def _finding(flagged, interval, decision, evidence, **fields):
    """Give a finding's fields."""
    bounds = {
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "n": interval.n,
    }
    verdict = FLAGGED if flagged else PASSED
    return {
        "verdict": verdict,
        **bounds,
        "decision": decision,
        "evidence": tuple(evidence),
        **fields,
    }


def _tolerated(share, evidence, draws=None):
    """Flag a share whose lower bound lies above what is tolerated, beside its value at random."""
    decision = f"lower bound {share.low:.3f}, flagged above {TOLERATED:.2f}"
    finding = _finding(share.low > TOLERATED, share, decision, evidence)
    if draws is None:
        return finding
    return finding | {
        "chance": float(np.mean(draws)),
        "p_sound": p_value(draws, share.estimate, "below"),
    }


def _pattern(check, labels, seed, interval, evidence, concerned, draws=None, chance=None):
    """Flag a pattern that neither chance nor the words of the questions concerned explain."""
    p = None
    if draws is not None:
        chance, p = float(np.mean(draws)), p_value(draws, interval.estimate)
    limit = thresholds(labels.name)[check]
    excess = (interval.estimate - chance) / max(1 - chance, 1e-9)
    decision = f"excess {excess:.2f}, flagged from {limit:.2f}"
    flagged = excess >= limit
    if p is not None and p > ALPHA:
        flagged, decision = (
            False,
            f"p {p:.2g}, flagged up to {ALPHA}: labels in random order show it too",
        )
    if flagged:
        shares = _word_shares(labels, concerned, seed)
        if len(shares) >= 5:
            error = shares.std(ddof=1) / np.sqrt(len(shares))
            flagged = shares.mean() < 0.6 or shares.mean() - 2 * error < 0.5
            said = f"{len(shares)} questions concerned share more words with their documents"
            evidence = [*evidence, f"{said} than with {shares.mean():.0%} of the others"]
            if not flagged:
                decision += ", but the words of the questions explain it"
    return _finding(flagged, interval, decision, evidence, chance=chance, p=p)


# --- order -------------------------------------------------------------------------


def round_robin(labels, seed=0, draws=DRAWS):
    """Look for labels dealt out document after document."""
    targets, lists, queries = _sequence(labels)
    size = len(labels.documents)
    steps, again, step, count = _steps(targets, size)
    if again.sum() < FEWEST_STEPS or size < 3:
        return _not_applicable(
            "fewer than 20 steps to a document that was used before", int(again.sum())
        )
    rng, random = _rng(seed, "round robin"), np.empty(draws)
    for i in range(draws):
        _, used, _, most = _steps(rng.permutation(targets), size)
        random[i] = most / max(used.sum(), 1)
    every = steps == step
    signed = step if step <= size // 2 else step - size
    evidence = (
        f"{every.sum()} of {len(steps)} successive labels advance by {signed:+d} modulo {size}",
        "first positions: " + " ".join(map(str, targets[:15])),
    )
    concerned = {queries[i] for i in lists[1:][every & again]} if queries else ()
    return _pattern(
        "round robin", labels, seed, wilson(count, int(again.sum())), evidence, concerned, random
    )


def _steps(targets, size):
    """Give steps modulo the collection, which lead to a used document, and the commonest of these but 0, with count."""
    first = np.zeros(len(targets), dtype=bool)
    first[np.unique(targets, return_index=True)[1]] = True
    steps, again = np.diff(targets) % max(size, 1), ~first[1:]
    counts = np.bincount(steps[again], minlength=max(size, 1))
    counts[0] = 0
    return steps, again, int(counts.argmax()), int(counts.max())


def _sequence(labels):
    """Positions of the labels in the order of the file, their lists, and questions."""
    if labels.links is not None:
        targets = labels.links["target"].to_numpy()
        return targets, np.arange(len(targets)), None
    first = {labels.group(query): query for query in reversed(labels.relevant)}
    asked = [query for query in labels.relevant if first[labels.group(query)] == query]
    pairs = [
        (labels.place[d], number)
        for number, query in enumerate(asked)
        for d in labels.relevant[query]
    ]
    targets, lists = np.array(pairs, dtype=int).reshape(-1, 2).T
    return targets, lists, asked


def recurring_order(labels, seed=0):
    """Look for labels dealt out from a shuffled deck, again and again."""
    targets, lists, queries = _sequence(labels)
    ends = np.flatnonzero(np.append(np.diff(lists), 1)) + 1 if len(lists) else lists
    first, last = targets[np.append(0, ends[:-1])[: len(ends)]], targets[ends - 1]
    again, followed = _recurring(last, first)
    if len(again) < FEWEST_STEPS or len(labels.documents) < 3:
        return _not_applicable("fewer than 20 returns to a document", len(again))
    rng, random = _rng(seed, "recurring order"), []
    for _ in range(DRAWS):
        order = rng.permutation(len(ends))
        follow = _recurring(last[order], first[order])[1]
        random.append(follow.mean() if len(follow) else 0.0)
    evidence = [f"{followed.sum()} of {len(again)} returns"]
    concerned = {queries[i] for i in again[followed]} if queries else ()
    interval = wilson(int(followed.sum()), len(again))
    return _pattern("recurring order", labels, seed, interval, evidence, concerned, random)


def _recurring(last, first):
    """Numbers of lists whose last document ended one before; if their followers agree."""
    end, follower = last[:-1], first[1:]
    kept = np.flatnonzero(end != follower)
    # Stable: the visits to one document stand together, in the order of the file.
    order = kept[np.argsort(end[kept], kind="stable")]
    same = end[order][1:] == end[order][:-1]
    again, before = order[1:][same], order[:-1][same]
    return again, follower[again] == follower[before]


def neighbours(labels, seed=0):
    """Look for relevant documents that stand next to each other in the collection."""
    place, relevant = labels.place, labels.relevant.items()
    sets = {
        query: [place[d] for d in documents]
        for query, documents in relevant
        if 3 <= len(documents) < len(place)
    }
    if len(sets) < 5:
        return _not_applicable("fewer than five questions with three relevant documents", len(sets))
    sizes = np.array([len(places) for places in sets.values()])
    rows, places = np.repeat(np.arange(len(sets)), sizes), np.concatenate(list(sets.values()))
    found = _followed(rows, places, sizes, len(place))
    rng = _rng(seed, "neighbours")
    random = [
        _followed(rows, rng.permutation(len(place))[places], sizes, len(place)).mean()
        for _ in range(DRAWS)
    ]
    blocks = [query for query, share in zip(sets, found, strict=True) if share > 0.999]
    evidence = [f"{len(blocks)} of {len(sets)} questions have one unbroken block"]
    for query in blocks[: SHOWN - 1]:
        places = list(map(str, sorted(sets[query])))
        places = places if len(places) <= 6 else [*places[:3], "...", places[-1]]
        evidence.append(f"question {query}: positions {' '.join(places)}")
    clusters = [str(labels.group(query)) for query in sets]
    interval = bootstrap_mean(found, clusters=clusters, n_resamples=2000, seed=seed)
    concerned = [query for query, share in zip(sets, found, strict=True) if share > 0.5]
    return _pattern("neighbours", labels, seed, interval, evidence, concerned, random)


def _followed(rows, places, sizes, n):
    """Share of a question's places, but for one, whose successor is one, the first after the last; shape (Q,)."""
    member = np.zeros((len(sizes), n), dtype=bool)
    member[rows, places] = True
    return np.bincount(rows, member[rows, (places + 1) % n]) / (sizes - 1)


# --- content -----------------------------------------------------------------------


def unrelated_texts(labels, seed=0):
    """Look for labels that have nothing to do with the words of their questions."""
    shares = _word_shares(labels, labels.relevant, seed)
    if len(shares) < FEWEST_QUESTIONS:
        reason = f"fewer than {FEWEST_QUESTIONS} questions with texts and common words"
        return _not_applicable(reason, len(shares))
    # By lot a question's share lies above one half as often as below it.
    signs = _rng(seed, "unrelated texts").choice([-1.0, 1.0], (DRAWS, len(shares)))
    random = 0.5 + (signs * (shares - 0.5)).mean(axis=1)
    interval = bootstrap_mean(shares, n_resamples=2000, seed=seed)
    p = p_value(random, shares.mean())
    flagged = shares.mean() < UNRELATED and p > ALPHA
    decision = f"value {shares.mean():.3f}, flagged below {UNRELATED} if chance gives it too (p_sound above {ALPHA})"
    evidence = [f"{np.mean(shares > 0.5):.0%} of {len(shares)} questions lie above 0.5"]
    return _finding(flagged, interval, decision, evidence, chance=float(random.mean()), p_sound=p)


def _word_shares(labels, queries, seed):
    """Share of other questions' documents less similar than the own, by question."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, relevant, rng = labels.document_texts, labels.relevant, _rng(seed, "words of questions")
    known = _drawn([query for query in queries if labels.query_texts.get(query)], rng)
    others = _drawn(list(dict.fromkeys(d for _, d in labels.pairs if d in texts)), rng)
    names = list(
        dict.fromkeys([d for query in known for d in relevant[query] if d in texts] + others)
    )
    if not known or not any(re.search(r"\w", texts[d]) for d in names):
        return np.array([])
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    documents = words.fit_transform(texts[d][:LONGEST] for d in names)
    asked, found = words.transform(labels.query_texts[query][:LONGEST] for query in known), []
    for query, score in zip(known, (asked @ documents.T).toarray(), strict=True):
        own = np.isin(names, relevant[query])
        rest = ~own & (
            np.isin(names, list(labels.candidates[query])) if query in labels.candidates else True
        )
        if own.any() and score.max() > 0 and rest.any():
            high, low = score[own][:, None], score[rest][None, :]
            found.append(np.mean((high > low) + 0.5 * (high == low)))
    return np.array(found)


def _drawn(names, rng):
    """Draw at most so many names, in their order."""
    return (
        names
        if len(names) <= MOST
        else [names[i] for i in np.sort(rng.permutation(len(names))[:MOST])]
    )


def anachronisms(labels, seed=0):
    """Look for citations of what did not exist yet."""
    if labels.links is not None:
        year, target = labels.links["year"].to_numpy(), labels.links["target_year"].to_numpy()
    else:
        asked, written = labels.query_years, labels.document_years
        known = [
            (asked[query], written[d])
            for query, d in labels.pairs
            if query in asked and d in written
        ]
        year, target = np.array(known, dtype=int).reshape(-1, 2).T
    sound = (year >= FIRST_YEAR) & (year <= target.max(initial=0) + SLACK)
    n = int(sound.sum())
    if n < 2:
        return _not_applicable("no years of both sides of a link", n)
    late = target - year > SLACK
    rng = _rng(seed, "anachronisms")
    random = [np.mean(rng.permutation(target[sound]) - year[sound] > SLACK) for _ in range(DRAWS)]
    both = late & sound
    examples = [f"{y} -> {t}" for y, t in zip(year[both], target[both], strict=True)][:SHOWN]
    evidence = [
        f"{int(late.sum())} of {len(year)} with years unchecked",
        f"{len(year) - n} entries have no possible year",
        *(["for example " + ", ".join(examples)] if examples else []),
    ]
    return _tolerated(wilson(int(both.sum()), n), evidence, random)


def duplicates(labels, seed=0):
    """Look for judgements made twice, and for unjudged twins of relevant documents."""
    same = defaultdict(list)
    for document, text in labels.document_texts.items():
        same["".join(text.lower().split())].append(document)
    groups = [group for plain, group in same.items() if plain and len(group) > 1]
    twins = {d: [twin for twin in group if twin != d] for group in groups for d in group}
    pairs = labels.pairs
    n = len(pairs) + len(labels.repeated)
    if not n:
        return _not_applicable("no relevance judgements")
    left_out = {
        (query, document): f"question {query}: {document} is relevant, its twin {twin} is not"
        for query, document in pairs
        for twin in twins.get(document, ())
        if twin not in labels.relevant[query]
    }
    doubled = len(labels.repeated) + len(pairs) - len(set(pairs))
    copies = sum(len(group) - 1 for group in groups) + len(labels.copies)
    known = f"documents that repeat the text of another: {copies}"
    evidence = (
        f"{doubled} repeated judgements",
        known if labels.document_texts else "texts of the documents unknown",
        *(" = ".join(group) for group in groups[:SHOWN]),
        *labels.copies[:SHOWN],
        *labels.repeated[:2],
        *list(left_out.values())[:2],
    )
    return _tolerated(wilson(min(doubled + len(left_out), n), n), evidence)


def reused_lists(labels, seed=0):
    """Look for one list of relevant documents given to several questions."""
    relevant = {
        query: documents for query, documents in labels.relevant.items() if len(documents) >= 2
    }
    if len(relevant) < 3:
        return _not_applicable(
            "fewer than three questions with two relevant documents", len(relevant)
        )
    names, member = (
        list(relevant),
        np.zeros((len(relevant), len(labels.documents)), dtype=np.float32),
    )
    for row, documents in zip(member, relevant.values(), strict=True):
        row[[labels.place[d] for d in documents]] = 1
    group = np.array([str(labels.group(query)) for query in relevant])
    other = group[:, None] != group[None, :]
    inside = _inside(member, other)
    rng = _rng(seed, "reused lists")
    random = [
        _inside(_random_sets(member, rng), other).any(axis=1).mean() for _ in range(DRAWS // 10)
    ]
    reused = np.flatnonzero(inside.any(axis=1))
    evidence = [
        f"all {len(relevant[names[i]])} of question {names[i]} are those of question {names[int(inside[i].argmax())]}"
        for i in reused[:SHOWN]
    ]
    interval, concerned = wilson(len(reused), len(names)), [names[i] for i in reused]
    return _pattern("reused lists", labels, seed, interval, evidence, concerned, random)


def _inside(member, other):
    """Whether the set of row i lies within that of row j of another group."""
    return (member @ member.T >= member.sum(axis=1)[:, None] - 0.5) & other


def _random_sets(member, rng):
    """Draw sets of the same sizes, each independent of the others."""
    keys = rng.random(member.shape, dtype=np.float32)
    last = member.sum(axis=1).astype(int)[:, None] - 1
    limit = np.take_along_axis(np.partition(keys, np.unique(last), axis=1), last, axis=1)
    return (keys <= limit).astype(np.float32)


# --- chance ------------------------------------------------------------------------


def random_order(labels, seed=0):
    """State the recall at 10 of a random order: what a small collection gives away."""
    if not labels.whole or not labels.relevant:
        return _not_applicable(
            "the collection is not known" if labels.relevant else "no judgements"
        )
    pools = [len(labels.candidates.get(query, labels.documents)) for query in labels.relevant]
    value = float(np.mean([min(1.0, CUT / pool) for pool in pools]))
    ratio = np.mean(
        [len(found) / pool for found, pool in zip(labels.relevant.values(), pools, strict=True)]
    )
    evidence = (
        f"{np.median(pools):.0f} documents are ranked (median)",
        f"{ratio:.1%} of them are relevant (mean)",
    )
    reason = "exact: an expectation has no interval"
    known = {
        "value": value,
        "chance": value,
        "n": len(pools),
        "decision": "never flagged: it is chance",
    }
    return {"verdict": NOTED, **known, "evidence": evidence, "reason": reason}


def popularity(labels, seed=0):
    """Recall at 10 of one ranking for all questions, the most relevant ones first."""
    groups, relevant = [str(labels.group(query)) for query in labels.relevant], labels.relevant
    if labels.candidates:
        return _not_applicable("each question has its own candidates", len(set(groups)))
    if len(set(groups)) < FEWEST_QUESTIONS:
        return _not_applicable(
            f"fewer than {FEWEST_QUESTIONS} independent questions", len(set(groups))
        )
    recalls = _popular_recalls(list(relevant.values()), groups, labels.place)
    interval = bootstrap_mean(recalls, clusters=groups, n_resamples=2000, seed=seed)
    total = Counter(d for _, d in labels.pairs)
    evidence = ["most relevant: " + ", ".join(f"{d} ({n})" for d, n in total.most_common(3))]
    concerned = [query for query, recall in zip(relevant, recalls, strict=True) if recall > 0]
    chance = min(1.0, CUT / len(labels.documents))
    return _pattern("popularity", labels, seed, interval, evidence, concerned, chance=chance)


def _popular_recalls(sets, groups, place):
    """Recall, by question, of the ten documents that lead among other groups; ties go to the earlier place."""
    total, own = Counter(d for documents in sets for d in documents), defaultdict(Counter)
    for group, documents in zip(groups, sets, strict=True):
        own[group].update(documents)
    ranked, leading = sorted(total, key=lambda d: (-total[d], place[d])), {}
    for group, counts in own.items():
        # Without a group's own labels only its own documents fall behind.
        left = [d for d in ranked[: CUT + len(counts)] if total[d] > counts[d]]
        leading[group] = set(sorted(left, key=lambda d: (counts[d] - total[d], place[d]))[:CUT])
    found = zip(groups, sets, strict=True)
    return np.array(
        [len(leading[group].intersection(documents)) / len(documents) for group, documents in found]
    )


# --- splits ------------------------------------------------------------------------

LEAK = "share of questions that share a relevant document with the other split"
REPEATED = "share of questions whose words are also a question of the other split"


def split_leaks(labels, seed=0):
    """Look for relevant documents and questions that stand in two splits."""
    kinds = {
        "split leak": (LEAK, _shared_documents),
        "repeated questions": (REPEATED, _repeated_questions),
    }
    first, *others = list(labels.splits) or [None]
    none = _not_applicable("there is one split only")
    if not others:
        return [
            Finding(check, statistic=statistic, **none) for check, (statistic, _) in kinds.items()
        ]
    findings = []
    for other in others:
        for kind, (statistic, look) in kinds.items():
            check = f"{kind}: {other} with {first}"
            findings.append(
                Finding(check, statistic=statistic, **look(labels, first, other, _rng(seed, check)))
            )
    return findings


def _shared_documents(labels, first, other, rng):
    """Flag a split that keeps documents apart no better than one drawn at random."""
    parts = [
        {query: set(d) for query, d in labels.splits[name].items() if d} for name in (first, other)
    ]
    if not all(parts):
        return _not_applicable("a split has no relevant document")
    known, n = set().union(*parts[0].values()), len(parts[1])
    leaking = [query for query, documents in parts[1].items() if documents & known]
    everything, groups = parts[0] | parts[1], defaultdict(list)
    for query, documents in everything.items():
        groups[labels.group(query)].append(documents)
    random = [_random_share(list(groups.values()), n, rng) for _ in range(199)]
    tied = Counter(connected_components(everything).values()).most_common(1)[0][
        1
    ]  # by shared documents
    avoidable = len(everything) - tied >= n
    evidence = [f"{len(leaking)} of {n} questions"]
    evidence += [f"{query}: {sorted(parts[1][query] & known)[0]}" for query in leaking[:SHOWN]]
    finding = _tolerated(wilson(len(leaking), n), evidence, random)
    if n < CUT:
        return finding | {
            "verdict": NOTED,
            "decision": f"fewer than {CUT} questions: stated, not judged",
        }
    if not avoidable:
        decision = f"no split avoids it: documents tie {tied} questions together"
        return finding | {"verdict": PASSED, "decision": decision}
    if finding["verdict"] == FLAGGED:
        apart = finding["p_sound"] <= 0.05
        fewer = "fewer than" if apart else "as many as"
        finding["verdict"] = PASSED if apart else FLAGGED
        finding["decision"] += (
            f"; {fewer} in a split of the same questions drawn at random ({finding['chance']:.3f})"
        )
    return finding


def _random_share(groups, n, rng):
    """Share of at least n questions of random groups that share a document with the others."""
    order = rng.permutation(len(groups))
    sizes = np.cumsum([len(groups[i]) for i in order])
    last = int(np.searchsorted(sizes, n)) + 1
    held = [documents for i in order[:last] for documents in groups[i]]
    known = set().union(*(documents for i in order[last:] for documents in groups[i]))
    return sum(not known.isdisjoint(documents) for documents in held) / len(held)


def _repeated_questions(labels, first, other, rng):
    plain = {
        query: " ".join(re.findall(r"\w+", text.lower()))
        for query, text in labels.query_texts.items()
    }
    asked = {plain[query] for query in labels.splits[first] if query in plain}
    again = [query for query in labels.splits[other] if query in plain]
    if not asked or not again:
        return _not_applicable("texts of the questions unknown")
    repeated = [query for query in again if plain[query] in asked]
    evidence = [f"{len(repeated)} of {len(again)} questions", *repeated[:SHOWN]]
    return _tolerated(wilson(len(repeated), len(again)), evidence)


CHECKS = {
    round_robin: "share of steps to a used document that advance by the commonest step",
    recurring_order: "share of returns to a document that the same document follows again",
    neighbours: "mean share of relevant documents followed by another one",
    unrelated_texts: "share of other questions' documents with fewer words of the question",
    anachronisms: "share of links to a document younger than the citation by over a year",
    duplicates: "share of judgements that repeat another or leave out a twin document",
    reused_lists: "share of questions whose relevant documents are all another one's",
    random_order: f"expected recall of the first {CUT} in random order",
    popularity: f"recall of the {CUT} documents relevant to most other questions",
}
"""Checks and their statistics; a check is called as its function."""
