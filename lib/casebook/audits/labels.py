"""Audit of relevance labels.

Retrieval is measured against labels, and labels that were dealt out by a program, or leak between
splits, make every number worthless without any of them looking wrong. A flag means: beyond what the
natural structure of a collection gives. A pattern is flagged if labels in random order do not make
it (`ALPHA`), if it is larger than on any other sound collection that we know (`thresholds`), and if
the words of the questions concerned do not speak for their labels: documents on one subject stand
together, but a program that deals labels out does not read. Evidence says where to look.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from casebook.audits.sources import read_labels
from casebook.data.splits import connected_components
from casebook.stats.intervals import bootstrap_mean, wilson
from casebook.stats.samples import generator

FLAGGED = "flagged"
PASSED = "passed"
NOTED = "noted"
NOT_APPLICABLE = "not applicable"
ALPHA = 0.01  # of a pattern in labels against random ones
EXCESS = Path(__file__).with_name("excess.csv")
"""Excess of each pattern on each sound collection (by tests/validation/audit_calibration.py)."""
HEADROOM = 1.25  # times the largest excess of a sound collection
LEAST_EXCESS = 0.3
TOLERATED = 0.05  # share of units that may be wrong before labels are flagged
UNRELATED = 0.53  # share of documents with fewer common words; 0.5 is chance
RECALL_CUT = 10
DRAWS = 999
FEWEST_STEPS = 20  # to a document used before, for a statement on the order of labels
FEWEST_QUESTIONS = 20  # for a statement on the words of questions
MOST_COMPARED = 300  # questions, and documents of others, whose words are compared
LONGEST_COMPARED = 10_000  # characters of a text whose words are compared
MOST_EVIDENCE = 5
REPORT_DELAY = 1  # years between a judgment and its report
FIRST_YEAR = 1800


class Finding(NamedTuple):
    """Result of one check.

    A small `p` speaks for a flag: labels in random order rarely have a value as high. A small
    `p_sound` speaks against one: they rarely have a value as good. `decision` says what the verdict
    rests on, `reason` why there is no value or interval.
    """

    check: str
    verdict: str
    statistic: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    chance: float | None = None
    p: float | None = None
    p_sound: float | None = None
    decision: str = ""
    evidence: tuple = ()
    reason: str | None = None


@dataclass(frozen=True)
class Audit:
    """All findings about one set of labels."""

    name: str
    findings: tuple

    @property
    def verdict(self):
        """``"flagged"`` if a check is, ``"passed"`` if one passed and none is flagged."""
        verdicts = {finding.verdict for finding in self.findings}
        for verdict in (FLAGGED, PASSED):
            if verdict in verdicts:
                return verdict
        return NOT_APPLICABLE

    def finding(self, check):
        """Give the finding of one check."""
        return next(finding for finding in self.findings if finding.check == check)

    def frame(self):
        """Give the findings as a table, one row per check; evidence is joined."""
        rows = []
        for finding in self.findings:
            row = {"audited": self.name, **finding._asdict()}
            row["evidence"] = "; ".join(finding.evidence)
            rows.append(row)
        return pd.DataFrame(rows)


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
        ``verdict``, and ``findings``: one per check and two per pair of splits, each with its
        verdict, a statistic in [0, 1] with its 95 % interval, n, the value of labels in random
        order (``chance``), what decided, and evidence. A small ``p`` speaks for a flag, a small
        ``p_sound`` against one. ``frame()`` gives them as a table. A set that is itself one of the
        sound collections is judged by thresholds from the others.

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
    findings = []
    for check, (find, statistic) in CHECKS.items():
        findings.append(Finding(check=check, statistic=statistic, **find(labels, seed)))
    return Audit(labels.name, (*findings, *split_leaks(labels, seed)))


@cache
def thresholds(name=""):
    """Give the excess from which each pattern may be flagged, from all other sound collections."""
    largest = pd.read_csv(EXCESS, index_col="set").drop(index=name, errors="ignore").max()
    return (HEADROOM * largest).clip(lower=LEAST_EXCESS).to_dict()


def monte_carlo_p(draws, value, side="above"):
    """Give the p-value of a Monte Carlo test, never 0."""
    sign = 1 if side == "above" else -1
    as_far = sign * np.asarray(draws) >= sign * value - 1e-12
    return float((1 + as_far.sum()) / (len(draws) + 1))


# --- verdicts: the fields of a finding


def _not_applicable(reason, n=0):
    return {"verdict": NOT_APPLICABLE, "n": n, "reason": reason}


def _finding_fields(flagged, interval, decision, evidence, *, chance=None, p=None, p_sound=None):
    return {
        "verdict": FLAGGED if flagged else PASSED,
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "n": interval.n,
        "decision": decision,
        "evidence": tuple(evidence),
        "chance": chance,
        "p": p,
        "p_sound": p_sound,
    }


def _tolerated(share, evidence, random_shares=None):
    """Flag a share of wrong units whose lower bound lies above what is tolerated."""
    chance = None
    p_sound = None
    if random_shares is not None:
        chance = float(np.mean(random_shares))
        p_sound = monte_carlo_p(random_shares, share.estimate, "below")
    decision = f"lower bound {share.low:.3f}, flagged above {TOLERATED:.2f}"
    flagged = share.low > TOLERATED
    return _finding_fields(flagged, share, decision, evidence, chance=chance, p_sound=p_sound)


def _pattern(
    check, labels, interval, *, seed, evidence, concerned, random_values=None, chance=None
):
    """Flag a pattern that neither chance nor the words of the questions concerned explain."""
    p = None
    if random_values is not None:
        chance = float(np.mean(random_values))
        p = monte_carlo_p(random_values, interval.estimate)
    threshold = thresholds(labels.name)[check]
    excess = (interval.estimate - chance) / max(1 - chance, 1e-9)
    decision = f"excess {excess:.2f}, flagged from {threshold:.2f}"
    flagged = excess >= threshold
    if p is not None and p > ALPHA:
        flagged = False
        decision = f"p {p:.2g}, flagged up to {ALPHA}: labels in random order show it too"
    if flagged:
        shares = _word_shares(labels, concerned, seed)
        if len(shares) >= 5:
            mean = shares.mean()
            error = shares.std(ddof=1) / np.sqrt(len(shares))
            flagged = mean < 0.6 or mean - 2 * error < 0.5
            evidence = [
                *evidence,
                f"{len(shares)} questions concerned share more words with their documents "
                f"than with {mean:.0%} of the others",
            ]
            if not flagged:
                decision += ", but the words of the questions explain it"
    return _finding_fields(flagged, interval, decision, evidence, chance=chance, p=p)


# --- order -------------------------------------------------------------------------


def round_robin(labels, seed=0, draws=DRAWS):
    """Look for labels dealt out document after document."""
    positions, lists, queries = _label_sequence(labels)
    size = len(labels.documents)
    steps, to_used, commonest, count = _steps(positions, size)
    n = int(to_used.sum())
    if n < FEWEST_STEPS or size < 3:
        return _not_applicable("fewer than 20 steps to a document that was used before", n)
    rng = generator(seed, "round robin")
    random_shares = np.empty(draws)
    for i in range(draws):
        _, random_to_used, _, random_count = _steps(rng.permutation(positions), size)
        random_shares[i] = random_count / max(random_to_used.sum(), 1)
    by_commonest = steps == commonest
    signed = commonest if commonest <= size // 2 else commonest - size
    return _pattern(
        "round robin",
        labels,
        wilson(count, n),
        random_values=random_shares,
        seed=seed,
        evidence=[
            f"{by_commonest.sum()} of {len(steps)} successive labels advance by {signed:+d} "
            f"modulo {size}",
            "first positions: " + " ".join(map(str, positions[:15])),
        ],
        concerned=_queries_of(lists[1:][by_commonest & to_used], queries),
    )


def _steps(positions, size):
    """Give the steps modulo the collection, and which of them lead to a document used before.

    Then the commonest of these but 0, and how often it comes.
    """
    is_new = np.zeros(len(positions), dtype=bool)
    is_new[np.unique(positions, return_index=True)[1]] = True
    steps = np.diff(positions) % max(size, 1)
    to_used = ~is_new[1:]
    counts = np.bincount(steps[to_used], minlength=max(size, 1))
    counts[0] = 0
    return steps, to_used, int(counts.argmax()), int(counts.max())


def _label_sequence(labels):
    """Give the positions of the labels in the order of the file, their lists, and the questions."""
    if labels.links is not None:
        positions = labels.links["target"].to_numpy()
        return positions, np.arange(len(positions)), None
    relevant = labels.relevant
    first_of_group = {}
    for query in relevant:
        first_of_group.setdefault(labels.group(query), query)
    queries = list(first_of_group.values())
    positions = []
    lists = []
    for number, query in enumerate(queries):
        for document in relevant[query]:
            positions.append(labels.position[document])
            lists.append(number)
    return np.array(positions, dtype=int), np.array(lists, dtype=int), queries


def _queries_of(lists, queries):
    """Name the questions of lists, each once; citations have none."""
    if not queries:
        return []
    return list(dict.fromkeys(queries[number] for number in lists))


def recurring_order(labels, seed=0):
    """Look for labels dealt out from a shuffled deck, again and again."""
    positions, lists, queries = _label_sequence(labels)
    starts = np.flatnonzero(np.diff(lists, prepend=-1))
    ends = np.append(starts[1:], len(positions))[: len(starts)] - 1
    first_documents = positions[starts]
    last_documents = positions[ends]
    returns, same_follower = _recurring(last_documents, first_documents)
    if len(returns) < FEWEST_STEPS or len(labels.documents) < 3:
        return _not_applicable("fewer than 20 returns to a document", len(returns))
    rng = generator(seed, "recurring order")
    random_shares = []
    for _ in range(DRAWS):
        order = rng.permutation(len(starts))
        _, random_same = _recurring(last_documents[order], first_documents[order])
        random_shares.append(random_same.mean() if len(random_same) else 0.0)
    return _pattern(
        "recurring order",
        labels,
        wilson(int(same_follower.sum()), len(returns)),
        random_values=random_shares,
        seed=seed,
        evidence=[f"{same_follower.sum()} of {len(returns)} returns"],
        concerned=_queries_of(returns[same_follower], queries),
    )


def _recurring(last_documents, first_documents):
    """Give the lists whose last document ended one before, and if the same document follows it."""
    ending = last_documents[:-1]
    follower = first_documents[1:]
    moving = np.flatnonzero(ending != follower)
    # Stable: the visits to one document stand together, in the order of the file.
    order = moving[np.argsort(ending[moving], kind="stable")]
    returning = ending[order][1:] == ending[order][:-1]
    later = order[1:][returning]
    earlier = order[:-1][returning]
    return later, follower[later] == follower[earlier]


def relevant_neighbours(labels, seed=0):
    """Look for relevant documents that stand next to each other in the collection."""
    size = len(labels.position)
    sets = {
        query: [labels.position[document] for document in documents]
        for query, documents in labels.relevant.items()
        if 3 <= len(documents) < size
    }
    if len(sets) < 5:
        return _not_applicable("fewer than five questions with three relevant documents", len(sets))
    sizes = np.array([len(positions) for positions in sets.values()])
    rows = np.repeat(np.arange(len(sets)), sizes)
    positions = np.concatenate(list(sets.values()))
    shares = _share_followed(rows, positions, sizes, size)
    rng = generator(seed, "neighbours")
    random_means = []
    for _ in range(DRAWS):
        shuffled = rng.permutation(size)[positions]
        random_means.append(_share_followed(rows, shuffled, sizes, size).mean())
    queries = np.array(list(sets), dtype=object)
    blocks = queries[shares > 0.999]
    evidence = [f"{len(blocks)} of {len(sets)} questions have one unbroken block"]
    for query in blocks[: MOST_EVIDENCE - 1]:
        block = [str(position) for position in sorted(sets[query])]
        if len(block) > 6:
            block = [*block[:3], "...", block[-1]]
        evidence.append(f"question {query}: positions {' '.join(block)}")
    clusters = [str(labels.group(query)) for query in sets]
    return _pattern(
        "neighbours",
        labels,
        bootstrap_mean(shares, clusters=clusters, n_resamples=2000, seed=seed),
        random_values=random_means,
        seed=seed,
        evidence=evidence,
        concerned=queries[shares > 0.5],
    )


def _share_followed(rows, positions, sizes, n):
    """Share of each question's documents that another of them follows in the collection.

    One of them cannot be followed and is not counted; after the last document comes the first.
    """
    member = np.zeros((len(sizes), n), dtype=bool)
    member[rows, positions] = True
    return np.bincount(rows, member[rows, (positions + 1) % n]) / (sizes - 1)


# --- content -----------------------------------------------------------------------


def unrelated_texts(labels, seed=0):
    """Look for labels that have nothing to do with the words of their questions."""
    shares = _word_shares(labels, labels.relevant, seed)
    if len(shares) < FEWEST_QUESTIONS:
        reason = f"fewer than {FEWEST_QUESTIONS} questions with texts and common words"
        return _not_applicable(reason, len(shares))
    # In random labels a question's share lies above one half as often as below it.
    signs = generator(seed, "unrelated texts").choice([-1.0, 1.0], (DRAWS, len(shares)))
    random_means = 0.5 + (signs * (shares - 0.5)).mean(axis=1)
    mean = shares.mean()
    p = monte_carlo_p(random_means, mean)
    return _finding_fields(
        mean < UNRELATED and p > ALPHA,
        bootstrap_mean(shares, n_resamples=2000, seed=seed),
        f"value {mean:.3f}, flagged below {UNRELATED} if chance gives it too "
        f"(p_sound above {ALPHA})",
        [f"{np.mean(shares > 0.5):.0%} of {len(shares)} questions lie above 0.5"],
        chance=float(random_means.mean()),
        p_sound=p,
    )


def _word_shares(labels, queries, seed):
    """Share of other questions' documents less similar than its own ones, by question."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = labels.document_texts
    relevant = labels.relevant
    rng = generator(seed, "words of questions")
    queries = _sample([query for query in queries if labels.query_texts.get(query)], rng)
    others = _sample(list(dict.fromkeys(d for _, d in labels.pairs if d in texts)), rng)
    of_queries = [d for query in queries for d in relevant[query] if d in texts]
    documents = list(dict.fromkeys(of_queries + others))
    if not queries or not any(re.search(r"\w", texts[d]) for d in documents):
        return np.array([])
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    document_vectors = words.fit_transform(texts[d][:LONGEST_COMPARED] for d in documents)
    query_vectors = words.transform(labels.query_texts[q][:LONGEST_COMPARED] for q in queries)
    similarities = (query_vectors @ document_vectors.T).toarray()
    shares = []
    for query, similarity in zip(queries, similarities, strict=True):
        is_relevant = np.isin(documents, relevant[query])
        is_other = ~is_relevant
        if query in labels.candidates:
            is_other &= np.isin(documents, list(labels.candidates[query]))
        if is_relevant.any() and similarity.max() > 0 and is_other.any():
            of_relevant = similarity[is_relevant][:, None]
            of_others = similarity[is_other][None, :]
            wins = (of_relevant > of_others) + 0.5 * (of_relevant == of_others)
            shares.append(np.mean(wins))
    return np.array(shares)


def _sample(names, rng):
    """Draw at most so many names, in their order."""
    if len(names) <= MOST_COMPARED:
        return names
    indices = rng.permutation(len(names))[:MOST_COMPARED]
    return [names[i] for i in np.sort(indices)]


def anachronisms(labels, seed=0):
    """Look for citations of what did not exist yet."""
    year, target_year = _years_of_links(labels)
    last_year = target_year.max(initial=0) + REPORT_DELAY
    possible = (year >= FIRST_YEAR) & (year <= last_year)
    n = int(possible.sum())
    if n < 2:
        return _not_applicable("no years of both sides of a link", n)
    late = target_year - year > REPORT_DELAY
    rng = generator(seed, "anachronisms")
    random_shares = []
    for _ in range(DRAWS):
        delay = rng.permutation(target_year[possible]) - year[possible]
        random_shares.append(np.mean(delay > REPORT_DELAY))
    anachronistic = late & possible
    evidence = [
        f"{int(late.sum())} of {len(year)} with years unchecked",
        f"{len(year) - n} entries have no possible year",
    ]
    pairs = zip(year[anachronistic], target_year[anachronistic], strict=True)
    examples = [f"{citing} -> {target}" for citing, target in pairs][:MOST_EVIDENCE]
    if examples:
        evidence.append("for example " + ", ".join(examples))
    return _tolerated(wilson(int(anachronistic.sum()), n), evidence, random_shares)


def _years_of_links(labels):
    """Years of the citing question and of the document, of all links that have both."""
    if labels.links is not None:
        return labels.links["year"].to_numpy(), labels.links["target_year"].to_numpy()
    years = []
    for query, document in labels.pairs:
        if query in labels.query_years and document in labels.document_years:
            years.append((labels.query_years[query], labels.document_years[document]))
    return np.array(years, dtype=int).reshape(-1, 2).T


def duplicates(labels, seed=0):
    """Look for judgements made twice, and for unjudged twins of relevant documents."""
    pairs = labels.pairs
    n = len(pairs) + len(labels.repeated)
    if not n:
        return _not_applicable("no relevance judgements")
    groups = _same_texts(labels.document_texts)
    twins = {d: [twin for twin in group if twin != d] for group in groups for d in group}
    relevant = labels.relevant
    left_out = {}
    for query, document in pairs:
        for twin in twins.get(document, ()):
            if twin not in relevant[query]:
                left_out[query, document] = (
                    f"question {query}: {document} is relevant, its twin {twin} is not"
                )
    repeated = len(labels.repeated) + len(pairs) - len(set(pairs))
    n_copies = sum(len(group) - 1 for group in groups) + len(labels.copies)
    copies = "texts of the documents unknown"
    if labels.document_texts:
        copies = f"documents that repeat the text of another: {n_copies}"
    evidence = [f"{repeated} repeated judgements", copies]
    evidence += [" = ".join(group) for group in groups[:MOST_EVIDENCE]]
    evidence += labels.copies[:MOST_EVIDENCE]
    evidence += labels.repeated[:2]
    evidence += list(left_out.values())[:2]
    return _tolerated(wilson(min(repeated + len(left_out), n), n), evidence)


def _same_texts(texts):
    """Group documents of the same text, whatever its blanks and letter case."""
    groups = defaultdict(list)
    for document, text in texts.items():
        groups["".join(text.lower().split())].append(document)
    return [group for text, group in groups.items() if text and len(group) > 1]


def reused_lists(labels, seed=0):
    """Look for one list of relevant documents given to several questions."""
    relevant = {
        query: documents for query, documents in labels.relevant.items() if len(documents) >= 2
    }
    if len(relevant) < 3:
        return _not_applicable(
            "fewer than three questions with two relevant documents", len(relevant)
        )
    queries = list(relevant)
    member = np.zeros((len(relevant), len(labels.documents)), dtype=np.float32)
    for row, documents in zip(member, relevant.values(), strict=True):
        row[[labels.position[document] for document in documents]] = 1
    group = np.array([str(labels.group(query)) for query in relevant])
    other_group = group[:, None] != group[None, :]
    inside = _inside(member, other_group)
    rng = generator(seed, "reused lists")
    random_shares = []
    for _ in range(DRAWS // 10):
        random_inside = _inside(_random_sets(member, rng), other_group)
        random_shares.append(random_inside.any(axis=1).mean())
    reused = np.flatnonzero(inside.any(axis=1))
    evidence = []
    for i in reused[:MOST_EVIDENCE]:
        containing = queries[int(inside[i].argmax())]
        evidence.append(
            f"all {len(relevant[queries[i]])} of question {queries[i]} "
            f"are those of question {containing}"
        )
    return _pattern(
        "reused lists",
        labels,
        wilson(len(reused), len(queries)),
        random_values=random_shares,
        seed=seed,
        evidence=evidence,
        concerned=[queries[i] for i in reused],
    )


def _inside(member, other_group):
    """Say whether the set of row i lies within that of row j of another group."""
    return (member @ member.T >= member.sum(axis=1)[:, None] - 0.5) & other_group


def _random_sets(member, rng):
    """Draw sets of the same sizes, each independent of the others."""
    keys = rng.random(member.shape, dtype=np.float32)
    last = member.sum(axis=1).astype(int)[:, None] - 1
    limit = np.take_along_axis(np.partition(keys, np.unique(last), axis=1), last, axis=1)
    return (keys <= limit).astype(np.float32)


# --- chance ------------------------------------------------------------------------


def random_recall(labels, seed=0):
    """State the recall at 10 of a random order: what a small collection gives away."""
    if not labels.relevant:
        return _not_applicable("no judgements")
    if not labels.complete:
        return _not_applicable("the collection is not known")
    pools = [len(labels.candidates.get(query, labels.documents)) for query in labels.relevant]
    recall = float(np.mean([min(1.0, RECALL_CUT / pool) for pool in pools]))
    n_relevant = [len(documents) for documents in labels.relevant.values()]
    relevant_share = np.mean(np.divide(n_relevant, pools))
    return {
        "verdict": NOTED,
        "value": recall,
        "chance": recall,
        "n": len(pools),
        "decision": "never flagged: it is chance",
        "evidence": (
            f"{np.median(pools):.0f} documents are ranked (median)",
            f"{relevant_share:.1%} of them are relevant (mean)",
        ),
        "reason": "exact: an expectation has no interval",
    }


def popularity(labels, seed=0):
    """Recall at 10 of one ranking for all questions, the most relevant ones first."""
    groups = [str(labels.group(query)) for query in labels.relevant]
    n_groups = len(set(groups))
    if labels.candidates:
        return _not_applicable("each question has its own candidates", n_groups)
    if n_groups < FEWEST_QUESTIONS:
        return _not_applicable(f"fewer than {FEWEST_QUESTIONS} independent questions", n_groups)
    recalls = _popular_recalls(list(labels.relevant.values()), groups, labels.position)
    counts = Counter(document for _, document in labels.pairs)
    leading = ", ".join(f"{document} ({count})" for document, count in counts.most_common(3))
    return _pattern(
        "popularity",
        labels,
        bootstrap_mean(recalls, clusters=groups, n_resamples=2000, seed=seed),
        seed=seed,
        chance=min(1.0, RECALL_CUT / len(labels.documents)),
        evidence=["most relevant: " + leading],
        concerned=[
            query for query, recall in zip(labels.relevant, recalls, strict=True) if recall > 0
        ],
    )


def _popular_recalls(sets, groups, position):
    """Recall, by question, of the ten documents that are relevant to most other groups.

    Ties go to the document that stands first in the collection.
    """
    total = Counter(document for documents in sets for document in documents)
    by_group = defaultdict(Counter)
    for group, documents in zip(groups, sets, strict=True):
        by_group[group].update(documents)
    ranked = sorted(total, key=lambda d: (-total[d], position[d]))
    leading = {}
    for group, counts in by_group.items():
        # Without a group's own labels only its own documents fall behind.
        in_others = [d for d in ranked[: RECALL_CUT + len(counts)] if total[d] > counts[d]]
        in_others.sort(key=lambda d: (counts[d] - total[d], position[d]))
        leading[group] = set(in_others[:RECALL_CUT])
    recalls = []
    for group, documents in zip(groups, sets, strict=True):
        recalls.append(len(leading[group].intersection(documents)) / len(documents))
    return np.array(recalls)


# --- splits ------------------------------------------------------------------------


def split_leaks(labels, seed=0):
    """Look for relevant documents and questions that stand in two splits."""
    splits = list(labels.splits)
    findings = []
    if len(splits) < 2:
        for kind, (_, statistic) in SPLIT_CHECKS.items():
            fields = _not_applicable("there is one split only")
            findings.append(Finding(check=kind, statistic=statistic, **fields))
    for split in splits[1:]:
        for kind, (look, statistic) in SPLIT_CHECKS.items():
            check = f"{kind}: {split} with {splits[0]}"
            fields = look(labels, splits[0], split, generator(seed, check))
            findings.append(Finding(check=check, statistic=statistic, **fields))
    return findings


def _shared_documents(labels, reference_split, split, rng):
    """Flag a split that keeps documents apart no better than one drawn at random."""
    reference = _relevant_sets(labels.splits[reference_split])
    relevant = _relevant_sets(labels.splits[split])
    if not reference or not relevant:
        return _not_applicable("a split has no relevant document")
    n = len(relevant)
    of_reference = set().union(*reference.values())
    leaking = [query for query, documents in relevant.items() if documents & of_reference]
    everything = reference | relevant
    groups = defaultdict(list)
    for query, documents in everything.items():
        groups[labels.group(query)].append(documents)
    random_shares = [_random_share(list(groups.values()), n, rng) for _ in range(199)]
    evidence = [f"{len(leaking)} of {n} questions"]
    for query in leaking[:MOST_EVIDENCE]:
        evidence.append(f"{query}: {min(relevant[query] & of_reference)}")
    finding = _tolerated(wilson(len(leaking), n), evidence, random_shares)
    if n < RECALL_CUT:
        finding["verdict"] = NOTED
        finding["decision"] = f"fewer than {RECALL_CUT} questions: stated, not judged"
        return finding
    component_sizes = Counter(connected_components(everything).values())
    largest = max(component_sizes.values())  # questions that shared documents tie together
    if len(everything) - largest < n:
        finding["verdict"] = PASSED
        finding["decision"] = f"no split avoids it: documents tie {largest} questions together"
    elif finding["verdict"] == FLAGGED:
        better_than_random = finding["p_sound"] <= 0.05
        if better_than_random:
            finding["verdict"] = PASSED
        finding["decision"] += (
            f"; {'fewer than' if better_than_random else 'as many as'} in a split of the same "
            f"questions drawn at random ({finding['chance']:.3f})"
        )
    return finding


def _relevant_sets(questions):
    """Relevant documents of the questions that have any."""
    return {query: set(documents) for query, documents in questions.items() if documents}


def _random_share(groups, n, rng):
    """Share of at least n questions of random groups that share a document with the others."""
    order = rng.permutation(len(groups))
    sizes = np.cumsum([len(groups[i]) for i in order])
    n_groups = int(np.searchsorted(sizes, n)) + 1
    sample = [documents for i in order[:n_groups] for documents in groups[i]]
    others = set().union(*(documents for i in order[n_groups:] for documents in groups[i]))
    return sum(not others.isdisjoint(documents) for documents in sample) / len(sample)


def _repeated_questions(labels, reference_split, split, rng):
    """Flag a split that repeats the words of questions of another one."""
    words = {
        query: " ".join(re.findall(r"\w+", text.lower()))
        for query, text in labels.query_texts.items()
    }
    of_reference = {words[query] for query in labels.splits[reference_split] if query in words}
    queries = [query for query in labels.splits[split] if query in words]
    if not of_reference or not queries:
        return _not_applicable("texts of the questions unknown")
    repeated = [query for query in queries if words[query] in of_reference]
    evidence = [f"{len(repeated)} of {len(queries)} questions", *repeated[:MOST_EVIDENCE]]
    return _tolerated(wilson(len(repeated), len(queries)), evidence)


SPLIT_CHECKS = {
    "split leak": (
        _shared_documents,
        "share of questions that share a relevant document with the other split",
    ),
    "repeated questions": (
        _repeated_questions,
        "share of questions whose words are also a question of the other split",
    ),
}
CHECKS = {
    "round robin": (
        round_robin,
        "share of steps to a used document that advance by the commonest step",
    ),
    "recurring order": (
        recurring_order,
        "share of returns to a document that the same document follows again",
    ),
    "neighbours": (
        relevant_neighbours,
        "mean share of relevant documents followed by another one",
    ),
    "unrelated texts": (
        unrelated_texts,
        "share of other questions' documents with fewer words of the question",
    ),
    "anachronisms": (
        anachronisms,
        "share of links to a document younger than the citation by over a year",
    ),
    "duplicates": (
        duplicates,
        "share of judgements that repeat another or leave out a twin document",
    ),
    "reused lists": (
        reused_lists,
        "share of questions whose relevant documents are all another one's",
    ),
    "random order": (
        random_recall,
        f"expected recall of the first {RECALL_CUT} in random order",
    ),
    "popularity": (
        popularity,
        f"recall of the {RECALL_CUT} documents relevant to most other questions",
    ),
}
"""Checks and their statistics."""
