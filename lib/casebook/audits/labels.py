"""Audit of relevance labels.

Retrieval is measured against labels, and labels that were dealt out by a program, or
leak between splits, make every number worthless without any of them looking wrong.
A flag means: beyond what the natural structure of a collection gives. A pattern is
flagged if labels in random order do not make it (`ALPHA`), if it is larger than on any
sound collection that we know (`EXCESS`), and if the words of the questions concerned do
not speak for their labels: documents on one subject stand together, but a program that
deals labels out does not read. Evidence says where to look.
"""

import re
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from casebook.audits.findings import NOTED, Audit, Finding, judged, not_applicable, p_value
from casebook.audits.label_tables import read_labels
from casebook.stats.intervals import bootstrap_mean, wilson
from casebook.stats.samples import stream

__all__ = ["audit_labels", "read_labels"]

ALPHA = 0.01  # of a pattern in labels against random ones
EXCESS = {"round robin": 0.3, "recurring order": 0.3, "neighbours": 0.55, "reused lists": 0.5, "popularity": 0.3}
"""Share of the way from chance to 1 from which a pattern may be flagged: a quarter more
than the largest of all sound collections at hand, as they are, at least 0.3
(tests/validation/audit_calibration.py)."""
TOLERATED = 0.05  # share of units that may be wrong before labels are flagged
UNRELATED = 0.53  # share of documents with fewer common words; 0.5 is chance
CUT = 10
DRAWS = 999
FEWEST_QUESTIONS = 20  # for a statement on the words of questions
MOST = 300  # questions, and documents of others, whose words are compared
LONGEST = 10_000  # characters of a text whose words are compared
SHOWN = 5  # pieces of evidence kept
SLACK = 1  # years between a judgment and its report
FIRST_YEAR = 1800


def audit_labels(labels, seed=0):
    """Make all checks of relevance labels.

    Parameters
    ----------
    labels : casebook.audits.label_set.Labels, str or path-like
        Labels, or what `read_labels` reads.
    seed : int, default 0
        Of permutations and intervals.

    Returns
    -------
    casebook.audits.findings.Audit
        One finding per check, and two per pair of splits.

    Raises
    ------
    InputError
        As `read_labels`.
    """
    if not hasattr(labels, "splits"):
        labels = read_labels(labels)
    findings = [check(labels, seed) for check in CHECKS]
    return Audit(labels.name, (*findings, *split_leaks(labels, seed)))


def _pattern(check, labels, statistic, interval, draws, concerned, evidence, seed):
    """Flag a pattern that neither chance nor the words of its questions explain."""
    flagged = p_value(draws, interval.estimate) <= ALPHA
    flagged &= _excess(interval.estimate, np.mean(draws)) >= EXCESS[check]
    if flagged:
        flagged, evidence = _unread(labels, concerned, evidence, seed)
    return judged(check, flagged, statistic, interval, evidence, draws)


def _excess(value, chance):
    """Share of the way from chance to 1."""
    return (value - chance) / max(1 - chance, 1e-9)


def _unread(labels, concerned, evidence, seed):
    """Tell whether words fail to speak for the labels of questions; add evidence."""
    share = _word_shares(labels, concerned, seed)
    if len(share) < 5:
        return True, evidence
    said = f"{len(share)} questions concerned share more words with their documents"
    error = share.std(ddof=1) / np.sqrt(len(share))
    unread = share.mean() < 0.6 or share.mean() - 2 * error < 0.5
    return unread, [*evidence, f"{said} than with {share.mean():.0%} of the others"]


# --- order -------------------------------------------------------------------------


def round_robin(labels, seed=0, draws=DRAWS):
    """Look for labels dealt out document after document."""
    statistic = "share of steps to a used document that advance by the commonest step"
    targets, lists, queries = _sequence(labels)
    size = len(labels.documents)
    steps, again = _steps(targets, size)
    if again.sum() < 20 or size < 3:
        reason = "fewer than 20 steps to a document that was used before"
        return not_applicable("round robin", statistic, reason, int(again.sum()))
    step, count = _commonest(steps[again], size)
    rng = np.random.Generator(stream(seed, "round robin"))
    random = np.empty(draws)
    for i in range(draws):
        shuffled, used = _steps(rng.permutation(targets), size)
        random[i] = _commonest(shuffled[used], size)[1] / max(used.sum(), 1)
    every = steps == step % size
    signed = step if step <= size // 2 else step - size
    evidence = (
        f"{every.sum()} of {len(steps)} successive labels advance by {signed:+d} modulo {size}",
        "first positions: " + " ".join(map(str, targets[:15])),
    )
    concerned = {queries[i] for i in lists[1:][every & again]} if queries else ()
    interval = wilson(count, int(again.sum()))
    found = "round robin", labels, statistic, interval, random
    return _pattern(*found, concerned, evidence, seed)


def _steps(targets, size):
    """Give steps modulo the collection, and which of them lead to a used document."""
    steps = np.diff(targets) % size
    first = np.zeros(len(targets), dtype=bool)
    first[np.unique(targets, return_index=True)[1]] = True
    return steps, ~first[1:]


def _commonest(steps, size):
    """Give the commonest step other than 0 and its count."""
    counts = np.bincount(steps, minlength=size)
    counts[0] = 0
    return int(counts.argmax()), int(counts.max())


def recurring_order(labels, seed=0):
    """Look for labels dealt out from a shuffled deck, again and again."""
    statistic = "share of returns to a document that the same document follows again"
    targets, lists, queries = _sequence(labels)
    ends = np.flatnonzero(np.append(np.diff(lists), 1)) + 1 if len(lists) else lists
    first, last = targets[np.append(0, ends[:-1])[: len(ends)]], targets[ends - 1]
    again, followed = _recurring(last, first)
    if len(again) < 20 or len(labels.documents) < 3:
        reason = "fewer than 20 returns to a document"
        return not_applicable("recurring order", statistic, reason, len(again))
    rng = np.random.Generator(stream(seed, "recurring order"))
    random = []
    for _ in range(DRAWS):
        order = rng.permutation(len(ends))
        follow = _recurring(last[order], first[order])[1]
        random.append(follow.mean() if len(follow) else 0.0)
    interval = wilson(int(followed.sum()), len(again))
    evidence = [f"{followed.sum()} of {len(again)} returns"]
    concerned = {queries[i] for i in again[followed]} if queries else ()
    found = "recurring order", labels, statistic, interval, random
    return _pattern(*found, concerned, evidence, seed)


def _sequence(labels):
    """Positions of the labels in the order of the file, their lists, and questions."""
    if labels.links is not None:
        targets = labels.links["target"].to_numpy()
        return targets, np.arange(len(targets)), None
    place = {document: i for i, document in enumerate(labels.documents)}
    first = {labels.group(query): query for query in reversed(labels.relevant)}
    asked = [q for q in labels.relevant if first[labels.group(q)] == q]
    pairs = [(place[document], number) for number, query in enumerate(asked) for document in labels.relevant[query]]
    targets, lists = np.array(pairs, dtype=int).reshape(-1, 2).T
    return targets, lists, asked


def _recurring(last, first):
    """Numbers of lists whose last document ended one before; if their followers agree."""
    if len(last) < 2:
        return np.array([], dtype=int), np.array([], dtype=bool)
    end, follower = last[:-1], first[1:]
    kept = np.flatnonzero(end != follower)
    # Stable: the visits to one document stand together, in the order of the file.
    order = kept[np.argsort(end[kept], kind="stable")]
    same = end[order][1:] == end[order][:-1]
    again, before = order[1:][same], order[:-1][same]
    return again, follower[again] == follower[before]


def neighbours(labels, seed=0):
    """Look for relevant documents that stand next to each other in the collection."""
    statistic = "mean share of relevant documents followed by another one"
    place = {document: i for i, document in enumerate(labels.documents)}
    sets = {
        query: [place[d] for d in documents]
        for query, documents in labels.relevant.items()
        if 3 <= len(documents) < len(place)
    }
    if len(sets) < 5:
        reason = "fewer than five questions with three relevant documents"
        return not_applicable("neighbours", statistic, reason, len(sets))
    sizes = np.array([len(places) for places in sets.values()])
    rows = np.repeat(np.arange(len(sets)), sizes)
    places = np.concatenate([np.array(places) for places in sets.values()])
    found = _followed(rows, places, sizes, len(place))
    rng = np.random.Generator(stream(seed, "neighbours"))
    orders = (rng.permutation(len(place)) for _ in range(DRAWS))
    random = [_followed(rows, o[places], sizes, len(place)).mean() for o in orders]
    blocks = [query for query, share in zip(sets, found, strict=True) if share > 0.999]
    evidence = [f"{len(blocks)} of {len(sets)} questions have one unbroken block"]
    evidence += [f"question {query}: positions {_range(sorted(sets[query]))}" for query in blocks[: SHOWN - 1]]
    clusters = [str(labels.group(query)) for query in sets]
    interval = bootstrap_mean(found, clusters=clusters, n_boot=2000, seed=seed)
    concerned = [query for query, share in zip(sets, found, strict=True) if share > 0.5]
    found = "neighbours", labels, statistic, interval, random
    return _pattern(*found, concerned, evidence, seed)


def _followed(rows, places, sizes, n):
    """Share of a question's places, but for one, whose successor is one; shape (Q,)."""
    # Rows are set apart by a gap, so that a place after the last begins no row.
    keys = np.sort(rows * (n + 1) + places)
    together = np.bincount(rows[:-1][np.diff(keys) == 1], minlength=len(sizes))
    ends = np.cumsum(sizes)
    first, last = keys[ends - sizes] % (n + 1), keys[ends - 1] % (n + 1)
    return (together + ((first == 0) & (last == n - 1))) / (sizes - 1)


def _range(places):
    if len(places) <= 6:
        return " ".join(map(str, places))
    return f"{' '.join(map(str, places[:3]))} ... {places[-1]}"


# --- content -----------------------------------------------------------------------


def unrelated_texts(labels, seed=0):
    """Look for labels that have nothing to do with the words of their questions."""
    statistic = "share of other questions' documents with fewer words of the question"
    shares = _word_shares(labels, labels.relevant, seed)
    if len(shares) < FEWEST_QUESTIONS:
        reason = f"fewer than {FEWEST_QUESTIONS} questions with texts and common words"
        return not_applicable("unrelated texts", statistic, reason, len(shares))
    # By lot a question's share lies above one half as often as below it.
    rng = np.random.Generator(stream(seed, "unrelated texts"))
    signs = rng.choice([-1.0, 1.0], (DRAWS, len(shares)))
    random = 0.5 + (signs * (shares - 0.5)).mean(axis=1)
    interval = bootstrap_mean(shares, n_boot=2000, seed=seed)
    flagged = shares.mean() < UNRELATED and p_value(random, shares.mean()) > ALPHA
    evidence = [f"{np.mean(shares > 0.5):.0%} of {len(shares)} questions lie above 0.5"]
    found = "unrelated texts", flagged, statistic, interval, evidence, random
    return judged(*found)


def _word_shares(labels, queries, seed):
    """Share of other questions' documents less similar than the own, by question."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, relevant = labels.document_texts, labels.relevant
    rng = np.random.Generator(stream(seed, "words of questions"))
    known = _drawn([q for q in queries if labels.query_texts.get(q)], MOST, rng)
    names = dict.fromkeys(d for q in known for d in relevant[q] if d in texts)
    others = {d: None for documents in relevant.values() for d in documents}
    names |= dict.fromkeys(_drawn([d for d in others if d in texts], MOST, rng))
    place = {document: i for i, document in enumerate(names)}
    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    if not known or not any(re.search(r"\w", texts[d]) for d in place):
        return np.array([])
    documents = words.fit_transform(texts[d][:LONGEST] for d in place)
    asked = words.transform(labels.query_texts[q][:LONGEST] for q in known)
    scores, found = (asked @ documents.T).toarray(), []
    for query, score in zip(known, scores, strict=True):
        own = [place[d] for d in relevant[query] if d in place]
        rest = np.ones(len(place), bool)
        if query in labels.candidates:
            rest = np.isin(list(place), list(labels.candidates[query]))
        rest[own] = False
        if own and score.max() > 0 and rest.any():
            high, low = score[own][:, None], score[rest][None, :]
            found.append(np.mean((high > low) + 0.5 * (high == low)))
    return np.array(found)


def _drawn(names, most, rng):
    """Draw at most so many names, in their order."""
    if len(names) <= most:
        return names
    return [names[i] for i in np.sort(rng.permutation(len(names))[:most])]


def anachronisms(labels, seed=0):
    """Look for citations of what did not exist yet."""
    statistic = "share of links to a document younger than the citation by over a year"
    year, target = _years(labels)
    sound = (year >= FIRST_YEAR) & (year <= target.max(initial=0) + SLACK)
    n = int(sound.sum())
    if n < 2:
        reason = "no years of both sides of a link"
        return not_applicable("anachronisms", statistic, reason, n)
    late = target - year > SLACK
    rng = np.random.Generator(stream(seed, "anachronisms"))
    random = [np.mean(rng.permutation(target[sound]) - year[sound] > SLACK) for _ in range(DRAWS)]
    both = late & sound
    pairs = zip(year[both], target[both], strict=True)
    examples = [f"{y} -> {t}" for y, t in pairs][:SHOWN]
    evidence = [
        f"{int(late.sum())} of {len(year)} with years unchecked",
        f"{len(year) - n} entries have no possible year",
        *(["for example " + ", ".join(examples)] if examples else []),
    ]
    share = wilson(int(both.sum()), n)
    flagged = share.low > TOLERATED
    found = "anachronisms", flagged, statistic, share, evidence, random
    return judged(*found, side="below")


def _years(labels):
    """Years of citation and of target, aligned."""
    if labels.links is not None:
        links = labels.links
        return links["year"].to_numpy(), links["target_year"].to_numpy()
    pairs = [
        (labels.query_years[query], labels.document_years[document])
        for query, documents in labels.relevant.items()
        for document in documents
        if query in labels.query_years and document in labels.document_years
    ]
    return tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)


def duplicates(labels, seed=0):
    """Look for judgements made twice, and for unjudged twins of relevant documents."""
    statistic = "share of judgements that repeat another or leave out a twin document"
    same = defaultdict(list)
    for document, text in labels.document_texts.items():
        same["".join(text.lower().split())].append(document)
    groups = [group for plain, group in same.items() if plain and len(group) > 1]
    twins = {d: [t for t in group if t != d] for group in groups for d in group}
    pairs = [(q, d) for q, documents in labels.relevant.items() for d in documents]
    n = len(pairs) + len(labels.repeated)
    if not n:
        return not_applicable("duplicates", statistic, "no relevance judgements")
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
    share = wilson(min(doubled + len(left_out), n), n)
    flagged = share.low > TOLERATED
    return judged("duplicates", flagged, statistic, share, evidence)


def reused_lists(labels, seed=0):
    """Look for one list of relevant documents given to several questions."""
    statistic = "share of questions whose relevant documents are all another one's"
    relevant = {q: d for q, d in labels.relevant.items() if len(d) >= 2}
    if len(relevant) < 3:
        reason = "fewer than three questions with two relevant documents"
        return not_applicable("reused lists", statistic, reason, len(relevant))
    place = {document: i for i, document in enumerate(labels.documents)}
    member = np.zeros((len(relevant), len(place)), dtype=np.float32)
    for row, documents in zip(member, relevant.values(), strict=True):
        row[[place[d] for d in documents]] = 1
    group = np.array([str(labels.group(query)) for query in relevant])
    other = group[:, None] != group[None, :]
    inside = _inside(member, other)
    rng = np.random.Generator(stream(seed, "reused lists"))
    random = [_inside(_random_sets(member, rng), other).any(axis=1).mean() for _ in range(DRAWS // 10)]
    reused, names = inside.any(axis=1), list(relevant)
    concerned = [names[i] for i in np.flatnonzero(reused)]
    evidence = [
        f"all {len(relevant[names[i]])} of question {names[i]} are those of question {names[int(inside[i].argmax())]}"
        for i in np.flatnonzero(reused)[:SHOWN]
    ]
    interval = wilson(int(reused.sum()), len(reused))
    found = "reused lists", labels, statistic, interval, random
    return _pattern(*found, concerned, evidence, seed)


def _inside(member, other):
    """Whether the set of row i lies within that of row j of another group."""
    common = member @ member.T
    return (common >= member.sum(axis=1)[:, None] - 0.5) & other


def _random_sets(member, rng):
    """Draw sets of the same sizes, each independent of the others."""
    keys = rng.random(member.shape, dtype=np.float32)
    last = member.sum(axis=1).astype(int)[:, None] - 1
    ordered = np.partition(keys, np.unique(last), axis=1)
    limit = np.take_along_axis(ordered, last, axis=1)
    return (keys <= limit).astype(np.float32)


# --- chance ------------------------------------------------------------------------


def random_order(labels, seed=0):
    """State the recall at 10 of a random order: what a small collection gives away."""
    statistic = f"expected recall of the first {CUT} in random order"
    if not labels.whole or not labels.relevant:
        reason = "the collection is not known" if labels.relevant else "no judgements"
        return not_applicable("random order", statistic, reason)
    everything = labels.documents
    pools = [len(labels.candidates.get(query, everything)) for query in labels.relevant]
    value = float(np.mean([min(1.0, CUT / pool) for pool in pools]))
    pairs = zip(labels.relevant.values(), pools, strict=True)
    ratio = np.mean([len(documents) / pool for documents, pool in pairs])
    evidence = (f"{np.median(pools):.0f} documents are ranked (median)", f"{ratio:.1%} of them are relevant (mean)")
    reason = "exact: an expectation has no interval"
    shown = {"evidence": evidence, "reason": reason, "n": len(pools), "chance": value}
    return Finding("random order", NOTED, statistic, value, **shown)


def popularity(labels, seed=0):
    """Recall at 10 of one ranking for all questions, the most relevant ones first."""
    statistic = f"recall of the {CUT} documents relevant to most other questions"
    groups = {labels.group(query) for query in labels.relevant}
    if len(groups) < FEWEST_QUESTIONS or labels.candidates:
        reason = "each question has its own candidates"
        if not labels.candidates:
            reason = f"fewer than {FEWEST_QUESTIONS} independent questions"
        return not_applicable("popularity", statistic, reason, len(groups))
    place = {document: i for i, document in enumerate(labels.documents)}
    sets = [[place[d] for d in documents] for documents in labels.relevant.values()]
    codes = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    group = np.array([codes[labels.group(query)] for query in labels.relevant])
    recalls = _popular_recalls(sets, group, len(place))
    clusters = [str(labels.group(query)) for query in labels.relevant]
    interval = bootstrap_mean(recalls, clusters=clusters, n_boot=2000, seed=seed)
    total = Counter(d for documents in labels.relevant.values() for d in documents)
    evidence = ["most relevant: " + ", ".join(f"{d} ({n})" for d, n in total.most_common(3))]
    chance = min(1.0, CUT / len(place))
    flagged = _excess(interval.estimate, chance) >= EXCESS["popularity"]
    if flagged:
        relevant = zip(labels.relevant, recalls, strict=True)
        concerned = [query for query, recall in relevant if recall > 0]
        flagged, evidence = _unread(labels, concerned, evidence, seed)
    found = judged("popularity", flagged, statistic, interval, evidence)
    return replace(found, chance=chance)


def _popular_recalls(sets, group, size):
    """Recall, by question, of the ten documents that lead among other groups."""
    total = np.bincount(np.concatenate(sets), minlength=size)
    ranked = np.argsort(-total, kind="stable")
    recalls = np.empty(len(sets))
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        documents, own = np.unique(np.concatenate([sets[i] for i in rows]), return_counts=True)
        # Without a group's own labels only its own documents fall behind.
        near = np.sort(ranked[: CUT + len(documents)])
        rest = total[near]
        rest[np.isin(near, documents)] -= own[np.isin(documents, near)]
        best = np.argsort(-rest, kind="stable")[:CUT]
        leading = set(near[best[rest[best] > 0]].tolist())
        for i in rows:
            recalls[i] = len(leading.intersection(sets[i])) / len(sets[i])
    return recalls


# --- splits ------------------------------------------------------------------------

STATISTIC = "share of questions that share a relevant document with the other split"
REPEATED = "share of questions whose words are also a question of the other split"


def split_leaks(labels, seed=0):
    """Look for relevant documents and questions that stand in two splits."""
    first, *others = list(labels.splits) or [None]
    if not others:
        reason = "there is one split only"
        return [not_applicable("split leak", STATISTIC, reason), not_applicable("repeated questions", REPEATED, reason)]
    return [
        finding
        for other in others
        for finding in (_shared_documents(labels, first, other, seed), _repeated_questions(labels, first, other))
    ]


def _shared_documents(labels, first, other, seed):
    """Flag a split that keeps documents apart no better than one drawn at random."""
    check = f"split leak: {other} with {first}"
    parts = [{q: set(d) for q, d in labels.splits[name].items() if d} for name in (first, other)]
    if not all(parts):
        return not_applicable(check, STATISTIC, "a split has no relevant document")
    known = set().union(*parts[0].values())
    leaking = [query for query, documents in parts[1].items() if documents & known]
    n = len(parts[1])
    share = wilson(len(leaking), n)
    rng = np.random.Generator(stream(seed, check))
    everything = parts[0] | parts[1]
    groups = defaultdict(list)
    for query in everything:
        groups[labels.group(query)].append(everything[query])
    random = [_random_share(list(groups.values()), n, rng) for _ in range(199)]
    tied = _largest_tied(everything)
    avoidable = len(everything) - tied >= n
    apart = p_value(random, share.estimate, "below") <= 0.05
    flagged = share.low > TOLERATED and avoidable and not apart and n >= CUT
    why = ""
    if n < CUT:
        why = f", fewer than {CUT} questions: stated, not judged"
    elif not avoidable:
        why = f", which no split avoids: documents tie {tied} questions together"
    elif share.low > TOLERATED:
        than = "fewer than" if apart else "as many as"
        why = f", {than} in a split of the same questions drawn at random"
    evidence = [f"{len(leaking)} of {n} questions{why}"]
    evidence += [f"{q}: {sorted(parts[1][q] & known)[0]}" for q in leaking[:SHOWN]]
    found = check, flagged, STATISTIC, share, evidence, random
    finding = judged(*found, side="below")
    return finding if n >= CUT else replace(finding, verdict=NOTED)


def _random_share(groups, n, rng):
    """Share of n questions of random groups that share a document with the others."""
    held, learned, count = [], [], 0
    for i in rng.permutation(len(groups)):
        if count < n:
            held += groups[i]
            count += len(groups[i])
        else:
            learned += groups[i]
    known = set().union(*learned)
    return sum(not known.isdisjoint(documents) for documents in held) / len(held)


def _largest_tied(relevant):
    """Questions of the largest set that shared documents tie together."""
    names = {d: i for i, d in enumerate(sorted(set().union(*relevant.values())))}
    pairs = [(i, names[d]) for i, ds in enumerate(relevant.values()) for d in ds]
    rows, columns = np.array(pairs).T
    size = len(relevant)
    edges = coo_matrix((np.ones(len(rows)), (rows, columns + size)), (size + len(names),) * 2)
    _, component = connected_components(edges, directed=False)
    return int(np.bincount(component[:size]).max())


def _repeated_questions(labels, first, other):
    check = f"repeated questions: {other} with {first}"
    texts = labels.query_texts
    asked = {_words(texts[q]) for q in labels.splits[first] if q in texts}
    again = [q for q in labels.splits[other] if q in texts]
    if not asked or not again:
        return not_applicable(check, REPEATED, "texts of the questions unknown")
    repeated = [query for query in again if _words(texts[query]) in asked]
    share = wilson(len(repeated), len(again))
    evidence = [f"{len(repeated)} of {len(again)} questions", *repeated[:SHOWN]]
    return judged(check, share.low > TOLERATED, REPEATED, share, evidence)


def _words(text):
    return " ".join(re.findall(r"\w+", text.lower()))


CHECKS = (
    round_robin,
    recurring_order,
    neighbours,
    unrelated_texts,
    anachronisms,
    duplicates,
    reused_lists,
    random_order,
    popularity,
)
