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
from itertools import product

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
    """Weights of words by how few texts hold them."""
    texts = list(texts)
    frequency = Counter(word for text in texts for word in content_words(text))
    weights = {
        word: math.log((len(texts) + 1) / (count + 1)) + 1 for word, count in frequency.items()
    }
    return weights | {None: math.log(len(texts) + 1) + 1}


def source_texts(sources):
    """Sources as a list of texts."""
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
    supports = documented_shares(explanation, sources, in_code)
    shares = [support.share for support in supports if support.share is not None]
    if not shares:
        return 1.0 if in_code else None
    return grounded_share(shares)


def grounded_share(shares, threshold=THRESHOLD):
    """Share of shares that reach the threshold."""
    return sum(share >= threshold - 1e-12 for share in shares) / len(shares)


def documented_shares(explanation, sources, in_code=False):
    """Support of each sentence under the documented rule; in the code no word is full support."""
    vocabularies = [documented_words(source, in_code) for source in source_texts(sources)]
    supports = []
    for sentence in filter(None, _DOCUMENTED_BREAK.split(explanation.strip())):
        words = documented_words(sentence, in_code)
        share = 1.0 if in_code else None
        if words:
            common = max((len(words & vocabulary) for vocabulary in vocabularies), default=0)
            share = common / len(words)
        supports.append(Support(sentence, len(words), share))
    return tuple(supports)


def documented_words(text, in_code=False):
    """Content words of the documented rule, or all words as its code; never numbers."""
    words = frozenset(_DOCUMENTED_TOKEN.findall(text.lower()))
    return words if in_code else words - STOP_LIST


def sentence_shares(explanation, sources):
    """Support of each sentence under all rules, {rule: supports}."""
    return {
        "documented": documented_shares(explanation, sources),
        "code": documented_shares(explanation, sources, in_code=True),
        "corrected": faithfulness(explanation, sources).sentences,
    }


# The same count against foreign sources, as control.


@dataclass(frozen=True)
class Pairing:
    """Explanations with their own and with foreign sources."""

    explanations: dict
    sources: dict
    source_of: dict
    foreign: dict


def pair_sources(explanations, sources, source_of, *, draws=3, seed=0, pool=None):
    """Foreign sources for each explanation: those of others, or of a pool of sources."""
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
    """Share of words of every sentence in its own and in foreign sources, under all rules."""
    rows = []
    for key, text in pairing.explanations.items():
        own = pairing.source_of[key]
        for position, source in enumerate([own, *pairing.foreign[key]]):
            condition = MISMATCHED if position else MATCHED
            for rule, supports in sentence_shares(text, pairing.sources[source]).items():
                for number, support in enumerate(supports):
                    of_sentence = (number, support.n_words, support.share)
                    rows.append((rule, condition, key, source, str(own), *of_sentence))
    columns = ["rule", "condition", "explanation", "source", "own", "sentence", "words", "share"]
    return pd.DataFrame(rows, columns=columns).astype({"share": float})


def separation(rows, rule):
    """AUROC of a sentence's share of words: own source against foreign ones."""
    part = rows[(rows["rule"] == rule) & rows["share"].notna()]
    # A foreign row depends on its explanation, hence on the explanation's own source.
    return auroc(
        part["condition"] == MATCHED,
        part["share"],
        clusters=part["own"].tolist(),
        units=part["explanation"].tolist(),
    )


# Sweeps: by threshold, by length of the source and by length of the sentence.


def threshold_sweep(rows, thresholds=THRESHOLDS, *, n_resamples=10_000, seed=0):
    """Score of own and of foreign sources at several thresholds."""
    scores = []
    for rule, threshold, condition in product(RULES, thresholds, (MATCHED, MISMATCHED)):
        part = rows[rows["rule"] == rule]
        claims = part[(part["condition"] == condition) & part["share"].notna()]
        grounded = claims["share"] >= threshold - 1e-12
        means = grounded.groupby([claims["explanation"], claims["own"]], sort=False).mean()
        score = _mean("score", means, n_resamples, seed)
        without = part["explanation"].nunique() - score["n"]
        row = {"rule": rule, "threshold": threshold, "condition": condition}
        scores.append(row | score | {"without_claim": without})
    return pd.DataFrame(scores)


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
    edges = [0, 5, 10, 20, 40, np.inf]
    labels = ["0-4", "5-9", "10-19", "20-39", "40 or more"]
    claims = rows.assign(words=pd.cut(rows["words"], edges, right=False, labels=labels))
    keys = ["rule", "condition", "words"]
    means = []
    for key, part in claims.dropna(subset=["share"]).groupby(keys, observed=True):
        mean = _mean("share", part.set_index("own")["share"], n_resamples, seed)
        means.append(dict(zip(keys, key, strict=True)) | mean)
    return pd.DataFrame(means)


def _mean(name, shares, n_resamples, seed):
    """Mean share and its interval by own sources, which the index names."""
    clusters = shares.index.get_level_values("own").tolist()
    mean = bootstrap_mean(shares.to_numpy(), clusters=clusters, n_resamples=n_resamples, seed=seed)
    return mean.row(name)
