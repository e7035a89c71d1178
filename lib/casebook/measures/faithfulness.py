"""Faithfulness: how much of an explanation its sources support.

`documented_faithfulness` is the rule that COUNTERCASE's document states, or that of its
code, and `faithfulness` the standard one. None understands language: they count shared
words, and mean something only beside the same count against sources that have nothing to
do with the explanation: `pair_sources` draws these, `sentence_rows` scores every sentence
against own and foreign sources, and `separation` is the AUROC between the two.
"""

import math
import re
from collections import Counter, namedtuple
from functools import partial

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.stats.areas import auroc
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import generator
from casebook.text import STOP_LIST, content_words, passages, sentence_texts

THRESHOLD = 0.4
PASSAGE_WORDS = 200
# The document states content words, its code counts function words too.
RULES = {
    "documented": "COUNTERCASE as stated",
    "code": "COUNTERCASE as coded",
    "corrected": "Standard",
}
MATCHED = "matched"
MISMATCHED = "mismatched"


#: One sentence, its number of content words, and the largest share of them in one passage.
Support = namedtuple("Support", "text n_words share")
#: Faithfulness of one explanation: of its claims, the sentences that have a share.
Faithfulness = namedtuple("Faithfulness", "score mean_share reason sentences")


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
        ``mean_share``, and every sentence with its best share.

    Raises
    ------
    InputError
        If the threshold is outside (0, 1].

    Examples
    --------
    >>> source = "The tenant paid the deposit in March. The landlord kept it."
    >>> faithfulness("The landlord kept the deposit. Interest was due in June.", source).score
    0.5
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], not {threshold}")
    cut = [
        passage for source in _texts(sources) for passage in passages(source, max_words)
    ]
    weigh = partial(_weight, weights) if weights else len
    supports = _supports(sentence_texts(explanation), cut, content_words, weigh=weigh)
    shares = [support.share for support in supports if support.share is not None]
    if not shares:
        reason = (
            "no_source" if any(support.n_words for support in supports) else "no_claim"
        )
        return Faithfulness(None, None, reason, supports)
    mean = math.fsum(shares) / len(shares)
    return Faithfulness(grounded_share(shares, threshold), mean, None, supports)


def inverse_frequency(texts):
    """Weights of words by how few texts hold them; None stands for a word of no text."""
    n = len(texts) + 1
    frequency = Counter(word for text in texts for word in content_words(text))
    rarity = {None: n} | {word: n / (count + 1) for word, count in frequency.items()}
    return {word: math.log(times) + 1 for word, times in rarity.items()}


def grounded_share(shares, threshold=THRESHOLD):
    """Share of shares that reach the threshold."""
    return sum(share >= threshold - 1e-12 for share in shares) / len(shares)


def _texts(sources):
    return [sources] if isinstance(sources, str) else list(sources)


def _weight(weights, words):
    return math.fsum(weights.get(word, weights[None]) for word in words)


def _supports(texts, sources, words_of, *, weigh=len, wordless=None, sourceless=None):
    """Support of each sentence: the weight of its words in one source over that of all."""
    vocabularies = [words_of(source) for source in sources]
    supports = []
    for text in texts:
        words = words_of(text)
        share = sourceless if words else wordless
        if words and vocabularies:
            share = max(
                weigh(words & vocabulary) for vocabulary in vocabularies
            ) / weigh(words)
        supports.append(Support(text, len(words), share))
    return tuple(supports)


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
    score = 1.0 if in_code else None
    return grounded_share(shares) if shares else score


def documented_shares(explanation, sources, in_code=False):
    """Support of each sentence under the documented rule; in the code no word is full support."""
    texts = filter(None, _DOCUMENTED_BREAK.split(explanation.strip()))
    words_of = partial(documented_words, in_code=in_code)
    wordless = 1.0 if in_code else None
    return _supports(
        texts, _texts(sources), words_of, wordless=wordless, sourceless=0.0
    )


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


def pair_sources(explanations, sources, source_of, *, draws=3, seed=0, pool=None):
    """Foreign sources for each explanation: those of others, or of a pool of sources."""
    candidates = sorted(set(pool or map(source_of.get, explanations)), key=str)
    if len({sources[source] for source in candidates}) < 2:
        raise InputError("mismatched sources need at least two different sources")
    rng = generator(seed, "mismatched sources")
    foreign = {}
    for key in explanations:
        own = sources[source_of[key]]
        others = [source for source in candidates if sources[source] != own]
        foreign[key] = tuple(others[k] for k in rng.permutation(len(others))[:draws])
    return foreign


def sentence_rows(explanations, sources, source_of, foreign):
    """Share of words of every sentence in its own and in foreign sources, under all rules."""
    rows = []
    for key, text in explanations.items():
        own = source_of[key]
        for source in [own, *foreign[key]]:
            condition = MATCHED if source == own else MISMATCHED
            for rule, supports in sentence_shares(text, sources[source]).items():
                for number, (_, words, share) in enumerate(supports):
                    rows.append(
                        (rule, condition, key, source, str(own), number, words, share)
                    )
    columns = [
        "rule",
        "condition",
        "explanation",
        "source",
        "own",
        "sentence",
        "words",
        "share",
    ]
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


# Sweeps: by threshold and by length of the source.


def threshold_sweep(rows, thresholds, **options):
    """Score of own and of foreign sources at several thresholds."""
    claims = rows.assign(rule=pd.Categorical(rows["rule"], list(RULES))).dropna(
        subset="share"
    )
    claims = claims.merge(pd.DataFrame({"threshold": thresholds}), how="cross")
    claims["score"] = claims["share"] >= claims["threshold"] - 1e-12
    keys = ["rule", "threshold", "condition"]
    units = claims.groupby([*keys, "explanation", "own"], sort=False, observed=True)
    scores = _means("score", units["score"].mean().reset_index(), keys, **options)
    explanations = rows.groupby("rule")["explanation"].nunique()
    return scores.assign(without_claim=scores["rule"].map(explanations) - scores["n"])


def length_sweep(explanations, sources, source_of, foreign, lengths, **options):
    """Score at several source lengths: what a longer source grounds by itself."""
    parts = []
    for length in lengths:
        cut = {key: " ".join(text.split()[:length]) for key, text in sources.items()}
        own_lengths = [len(cut[source].split()) for source in source_of.values()]
        rows = sentence_rows(explanations, cut, source_of, foreign)
        scores = threshold_sweep(rows, [THRESHOLD], **options)
        parts.append(
            scores.assign(source_words=length, mean_words=np.mean(own_lengths))
        )
    return pd.concat(parts, ignore_index=True)


def _means(name, frame, keys, **options):
    """Means of groups of a frame, with intervals by own sources."""
    rows = []
    for key, part in frame.groupby(keys, observed=True):
        scores = part[name].to_numpy(dtype=float)
        mean = bootstrap_mean(scores, clusters=part["own"].tolist(), **options)
        rows.append(dict(zip(keys, key, strict=True)) | mean.row(name))
    return pd.DataFrame(rows, columns=[*keys, name, "low", "high", "n"])
