"""Faithfulness: how much of an explanation its sources support.

`documented_faithfulness` is the rule that COUNTERCASE's document states, or that of its
code, and `faithfulness` the standard one. None understands language: they count shared
words, and mean something only beside the same count against sources that have nothing to
do with the explanation: `pair_sources` draws these, `sentence_rows` scores every sentence
against own and foreign sources, and `separation` says whether the two can be told apart.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.areas import auroc
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import generator
from casebook.text import STOP_LIST, content_words, passages, sentences

THRESHOLD = 0.4
PASSAGE_WORDS = 200
RULES = {
    "documented": "COUNTERCASE's rule",
    "code": "COUNTERCASE's rule in its code",
    "corrected": "Standard",
}
"""Rules and their names; the document states content words, its code counts function words too."""
MATCHED = "matched"
MISMATCHED = "mismatched"
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class Support:
    """One sentence, its number of content words, and the largest share of them in one passage."""

    text: str
    n_words: int
    share: float | None


@dataclass(frozen=True)
class Faithfulness:
    """Faithfulness of one explanation: of its claims, the sentences that have a share."""

    score: float | None
    mean_share: float | None
    n_claims: int
    reason: str | None
    sentences: tuple


def faithfulness(
    explanation, sources, *, threshold=THRESHOLD, max_words=PASSAGE_WORDS, weights=None
):
    """Share of an explanation's claims that one bounded passage supports.

    Parameters
    ----------
    explanation : str
        Its sentences with content words are the claims.
    sources : str or sequence of str
        Texts; cut into overlapping passages, so that a long text grounds no more.
    threshold : float, default 0.4
        Least share of a claim's content words in one passage, in (0, 1].
    max_words : int, default 200
        Length of a passage; None: whole texts.
    weights : dict, optional
        From `inverse_frequency`: rare words count more.

    Returns
    -------
    Faithfulness
        ``score`` in [0, 1], or None with ``reason`` ``"no_claim"`` or ``"no_source"``;
        counts, and every sentence with its best share.

    Raises
    ------
    InputError
        If the threshold is outside (0, 1] or a source is no text.

    Examples
    --------
    >>> source = "The tenant paid the deposit in March. The landlord kept it."
    >>> faithfulness("The landlord kept the deposit. Interest was due in June.", source).score
    0.5
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], not {threshold}")
    vocabularies = []
    for source in source_texts(sources):
        for passage in passages(source, max_words):
            vocabularies.append(content_words(passage))
    supports = []
    for start, end in sentences(explanation):
        words = content_words(explanation[start:end])
        shares = [_share(words, vocabulary, weights) for vocabulary in vocabularies if words]
        supports.append(Support(explanation[start:end], len(words), max(shares, default=None)))
    shares = [support.share for support in supports if support.share is not None]
    if not shares:
        reason = "no_source" if any(support.n_words for support in supports) else "no_claim"
        return Faithfulness(None, None, 0, reason, tuple(supports))
    return Faithfulness(
        score=grounded_share(shares, threshold),
        mean_share=math.fsum(shares) / len(shares),
        n_claims=len(shares),
        reason=None,
        sentences=tuple(supports),
    )


def inverse_frequency(texts):
    """Weigh words by how few texts hold them."""
    texts = list(texts)
    frequency = Counter(word for text in texts for word in content_words(text))
    weights = {
        word: math.log((len(texts) + 1) / (count + 1)) + 1 for word, count in frequency.items()
    }
    return weights | {None: math.log(len(texts) + 1) + 1}


def source_texts(sources):
    """Give sources as a list of texts."""
    texts = [sources] if isinstance(sources, str) else list(sources)
    wrong = [type(text).__name__ for text in texts if not isinstance(text, str)]
    if wrong:
        raise InputError(f"a source is {wrong[0]}, not text")
    return texts


def _share(words, vocabulary, weights):
    supported = words & vocabulary
    if weights is None:
        return len(supported) / len(words)
    unseen = weights[None]
    # Summed in one order, so that equal sets give equal shares.
    total = math.fsum(weights.get(word, unseen) for word in words)
    return math.fsum(weights.get(word, unseen) for word in supported) / total


# The documented rule, and that of its code.

_DOCUMENTED_BREAK = re.compile(r"(?<=[.!?])\s+")
_DOCUMENTED_TOKEN = re.compile(r"[a-z][a-z0-9]+")


def documented_faithfulness(explanation, sources, in_code=False):
    """Share of sentences of which 40 % of the content words stand in one source.

    None without a content word. In COUNTERCASE's code function words count too, and an explanation
    without a sentence has 1.0.
    """
    shares_of_sentences = documented_shares(explanation, sources, in_code)
    shares = [share for share, _ in shares_of_sentences if share is not None]
    if not shares:
        return 1.0 if in_code else None
    return grounded_share(shares)


def grounded_share(shares, threshold=THRESHOLD):
    """Share of shares that reach the threshold."""
    return sum(share >= threshold - 1e-12 for share in shares) / len(shares)


def documented_shares(explanation, sources, in_code=False):
    """Give each sentence's best share of words under the documented rule.

    None without a content word; in the code a sentence without a word is grounded.
    """
    vocabularies = [documented_words(source, in_code) for source in source_texts(sources)]
    shares = []
    for sentence in filter(None, _DOCUMENTED_BREAK.split(explanation.strip())):
        words = documented_words(sentence, in_code)
        if words:
            common = max((len(words & vocabulary) for vocabulary in vocabularies), default=0)
            shares.append((common / len(words), sentence))
        else:
            shares.append((1.0 if in_code else None, sentence))
    return shares


def documented_words(text, in_code=False):
    """Give the content words of the documented rule, or all words as its code; never numbers."""
    words = frozenset(_DOCUMENTED_TOKEN.findall(text.lower()))
    return words if in_code else words - STOP_LIST


def sentence_shares(explanation, sources):
    """Number of words and best share of each sentence under all rules, {rule: [(words, share)]}."""
    shares = {}
    for rule, in_code in (("documented", False), ("code", True)):
        documented = documented_shares(explanation, sources, in_code)
        shares[rule] = [
            (len(documented_words(sentence, in_code)), share) for share, sentence in documented
        ]
    supports = faithfulness(explanation, sources).sentences
    shares["corrected"] = [(support.n_words, support.share) for support in supports]
    return shares


# The same count against foreign sources, as control.


@dataclass(frozen=True)
class Pairing:
    """Explanations with their own and with foreign sources."""

    explanations: dict
    sources: dict
    source_of: dict
    foreign: dict


def pair_sources(explanations, sources, source_of, *, draws=3, seed=0, pool=None):
    """Give each explanation foreign sources: those of others, or of a pool of sources."""
    lost = [key for key in explanations if source_of.get(key) not in sources]
    if lost:
        raise InputError(f"{len(lost)} explanation(s) have no source, first {lost[0]!r}")
    if pool is None:
        pool = [source_of[key] for key in explanations]
    candidates = sorted(set(pool), key=str)
    if len({sources[source] for source in candidates}) < 2:
        raise InputError("mismatched sources need at least two different sources")
    rng = generator(seed, "mismatched sources")
    foreign = {}
    for key in explanations:
        own_text = sources[source_of[key]]
        foreign_sources = [source for source in candidates if sources[source] != own_text]
        drawn_positions = rng.permutation(len(foreign_sources))[:draws]
        foreign[key] = tuple(foreign_sources[position] for position in drawn_positions)
    return Pairing(dict(explanations), dict(sources), dict(source_of), foreign)


def sentence_rows(pairing):
    """Score every sentence against its own and foreign sources under all rules."""
    rows = []
    for key, text in pairing.explanations.items():
        conditions = [(MATCHED, pairing.source_of[key])]
        for source in pairing.foreign[key]:
            conditions.append((MISMATCHED, source))
        for condition, source in conditions:
            for rule, shares in sentence_shares(text, pairing.sources[source]).items():
                for number, (words, share) in enumerate(shares):
                    rows.append((rule, condition, key, source, number, words, share))
    columns = ["rule", "condition", "explanation", "source", "sentence", "words", "share"]
    return pd.DataFrame(rows, columns=columns).astype({"share": float})


def separation(rows, rule):
    """AUROC of a sentence's share of words: own source against foreign ones."""
    part = _rows_of_rule(rows, rule)
    # A foreign row depends on its explanation, hence on the explanation's own source.
    return auroc(
        part["condition"] == MATCHED,
        part["share"],
        clusters=_source_clusters(rows, part["explanation"]),
        units=part["explanation"].tolist(),
    )


def _rows_of_rule(rows, rule):
    """Give the rows of one rule that have a share."""
    return rows[(rows["rule"] == rule) & rows["share"].notna()]


def _source_clusters(rows, explanations):
    """Give the source that each explanation is matched to."""
    matched = rows[rows["condition"] == MATCHED].drop_duplicates("explanation")
    return explanations.map(matched.set_index("explanation")["source"]).astype(str).tolist()


# Sweeps: by threshold, by length of the source and by length of the sentence.


def threshold_sweep(rows, thresholds=THRESHOLDS, *, n_resamples=10_000, seed=0):
    """Score of own and of foreign sources at several thresholds."""
    scores = []
    for rule in RULES:
        part = _rows_of_rule(rows, rule)
        total = rows.loc[rows["rule"] == rule, "explanation"].nunique()
        for threshold, condition in product(thresholds, (MATCHED, MISMATCHED)):
            claims = part[part["condition"] == condition]
            grounded = claims["share"] >= threshold - 1e-12
            means = grounded.groupby(claims["explanation"], sort=False).mean()
            means = means.rename("share").reset_index()
            score, low, high, n = _mean(rows, means, n_resamples, seed)
            scores.append((rule, threshold, condition, score, low, high, n, total - n))
    columns = ["rule", "threshold", "condition", "score", "low", "high", "n", "without_claim"]
    numbers = dict.fromkeys(["score", "low", "high"], float)
    return pd.DataFrame(scores, columns=columns).astype(numbers)


def length_sweep(pairing, lengths, *, n_resamples=10_000, seed=0):
    """Score at several source lengths: what a longer source grounds by itself."""
    parts = []
    for length in lengths:
        cut = {key: " ".join(text.split()[:length]) for key, text in pairing.sources.items()}
        lengths_of_own = [len(cut[source].split()) for source in pairing.source_of.values()]
        rows = sentence_rows(replace(pairing, sources=cut))
        scores = threshold_sweep(rows, [THRESHOLD], n_resamples=n_resamples, seed=seed)
        parts.append(scores.assign(source_words=length, mean_words=np.mean(lengths_of_own)))
    return pd.concat(parts, ignore_index=True)


def by_sentence_length(rows, *, n_resamples=10_000, seed=0):
    """Mean share by number of words in the sentence."""
    edges = (0, 5, 10, 20, 40)
    labels = [f"{low}-{high - 1}" for low, high in pairwise(edges)]
    labels.append(f"{edges[-1]} or more")
    bins = pd.cut(rows["words"], [*edges, np.inf], right=False, labels=labels)
    claims = rows.assign(length=bins).dropna(subset=["share"])
    groups = claims.groupby(["rule", "condition", "length"], observed=True)
    means = []
    for keys, part in groups:
        means.append((*keys, *_mean(rows, part, n_resamples, seed)))
    columns = ["rule", "condition", "words", "share", "low", "high", "n"]
    numbers = dict.fromkeys(["share", "low", "high"], float)
    return pd.DataFrame(means, columns=columns).astype(numbers)


def _mean(rows, part, n_resamples, seed):
    """Mean share, its interval by sources, and n."""
    clusters = _source_clusters(rows, part["explanation"])
    mean = bootstrap_mean(
        part["share"].to_numpy(), clusters=clusters, n_resamples=n_resamples, seed=seed
    )
    return mean.estimate, mean.low, mean.high, len(part)
