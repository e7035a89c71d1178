"""What a faithfulness score is worth: the same count against foreign sources.

Every explanation is scored against its own source and against those of others. If the
two cannot be told apart, the score says nothing about faithfulness, however high it is.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.bootstrap import bootstrap_mean
from casebook.inference.samples import check_choice, check_count, stream
from casebook.measures.auroc import auroc
from casebook.measures.faithfulness import (
    PASSAGE_WORDS,
    documented_shares,
    documented_words,
    faithfulness,
)

RULES = ("documented", "corrected")
MATCHED, MISMATCHED = "matched", "mismatched"
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
COLUMNS = ("rule", "condition", "explanation", "source", "sentence", "words", "share")


@dataclass(frozen=True)
class Pairing:
    """Explanations with their own and with foreign sources.

    Attributes
    ----------
    explanations : dict of hashable to str
        Texts to judge.
    sources : dict of hashable to str
        Source texts.
    own : dict of hashable to hashable
        Explanation to its source.
    foreign : dict of hashable to tuple of hashable
        Explanation to sources of others.
    """

    explanations: dict
    sources: dict
    own: dict
    foreign: dict


def pair_sources(explanations, sources, own, *, draws=3, seed=0):
    """Give each explanation sources that belong to others.

    Parameters
    ----------
    explanations : dict of hashable to str
        Texts to judge.
    sources : dict of hashable to str
        Source texts; equal texts count as one source.
    own : dict of hashable to hashable
        Explanation to the source that it was made from.
    draws : int, default 3
        Foreign sources per explanation, without repetition; fewer if there are not so
        many.
    seed : int, default 0
        Of the draw.

    Returns
    -------
    Pairing

    Raises
    ------
    InputError
        If an explanation has no source, or there is but one source.
    """
    check_count("draws", draws)
    lost = [key for key in explanations if own.get(key) not in sources]
    if lost:
        raise InputError(
            f"{len(lost)} explanation(s) have no source, first {lost[0]!r}"
        )
    used = sorted({own[key] for key in explanations}, key=str)
    if len({sources[key] for key in used}) < 2:
        raise InputError("mismatched sources need at least two different sources")
    rng = np.random.Generator(stream(seed, "mismatched sources"))
    foreign = {}
    for key in explanations:
        others = [s for s in used if sources[s] != sources[own[key]]]
        chosen = rng.permutation(len(others))[:draws]
        foreign[key] = tuple(others[i] for i in chosen)
    return Pairing(dict(explanations), dict(sources), dict(own), foreign)


def sentence_rows(pairing, *, max_words=PASSAGE_WORDS, weights=None):
    """Score every sentence against its own and foreign sources under both rules.

    Parameters
    ----------
    pairing : Pairing
        From `pair_sources`.
    max_words, weights
        Of the corrected rule, as in `casebook.measures.faithfulness.faithfulness`.

    Returns
    -------
    pandas.DataFrame
        One row per rule, condition, explanation, source and sentence: `COLUMNS`.
        ``words`` is how many distinct words were counted and ``share`` how many of them
        the source has; under the corrected rule sentences without a content word have
        a missing share.
    """
    rows = []
    for key, text in pairing.explanations.items():
        conditions = [(MATCHED, pairing.own[key])]
        conditions += [(MISMATCHED, other) for other in pairing.foreign[key]]
        for condition, source in conditions:
            own = pairing.sources[source]
            place = (condition, key, source)
            for number, (share, sentence) in enumerate(documented_shares(text, own)):
                words = len(documented_words(sentence))
                rows.append((RULES[0], *place, number, words, share))
            found = faithfulness(text, own, max_words=max_words, weights=weights)
            for number, support in enumerate(found.sentences):
                rows.append((RULES[1], *place, number, support.n_words, support.share))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"share": float})


def separation(rows, rule, *, level=0.95):
    """AUROC of the share of words: own sources against foreign ones.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `sentence_rows`.
    rule : {"documented", "corrected"}
        Which rule.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    casebook.inference.intervals.Interval
        Probability that a sentence shares more with its own source than a sentence
        with a foreign one, ties half; 0.5 is chance. Sentences of explanations of one
        source are one cluster.
    """
    part = _claims(rows, rule)
    # A foreign row depends on its explanation, hence on the explanation's own source.
    return auroc(
        part["condition"] == MATCHED,
        part["share"],
        level=level,
        clusters=_clusters(rows, part),
    )


def _claims(rows, rule):
    check_choice("rule", rule, RULES)
    return rows[(rows["rule"] == rule) & rows["share"].notna()]


def _clusters(rows, part):
    matched = rows[rows["condition"] == MATCHED]
    source = dict(zip(matched["explanation"], matched["source"], strict=True))
    return [str(source[key]) for key in part["explanation"]]


def threshold_sweep(rows, thresholds=THRESHOLDS, *, seed=0):
    """Score of own and of foreign sources at several thresholds.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `sentence_rows`.
    thresholds : sequence of float
        Shares that ground a sentence, inclusive.
    seed : int
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per rule, threshold and condition: ``score`` (mean over explanations of
        the share of grounded sentences) with ``low`` and ``high`` (bootstrap over
        sources), ``n`` explanations with a claim and ``without_claim``.
    """
    found = []
    for rule in RULES:
        part = _claims(rows, rule)
        total = rows.loc[rows["rule"] == rule, "explanation"].nunique()
        for threshold in thresholds:
            part = part.assign(grounded=part["share"] >= threshold - 1e-12)
            for condition in (MATCHED, MISMATCHED):
                chosen = part[part["condition"] == condition]
                means = chosen.groupby("explanation", sort=False)["grounded"].mean()
                clusters = _clusters(rows, means.reset_index())
                interval = bootstrap_mean(
                    means.to_numpy(), clusters=clusters, n_boot=2000, seed=seed
                )
                bounds = (interval.estimate, interval.low, interval.high)
                n = len(means)
                found.append((rule, threshold, condition, *bounds, n, total - n))
    columns = ["rule", "threshold", "condition", "score", "low", "high", "n"]
    return pd.DataFrame(found, columns=[*columns, "without_claim"])


def length_sweep(pairing, lengths, *, threshold=0.4, seed=0):
    """Score at several source lengths: what a longer source grounds by itself.

    Parameters
    ----------
    pairing : Pairing
        From `pair_sources`.
    lengths : sequence of int
        Words kept of every source, from its beginning.
    threshold : float, default 0.4
        Share that grounds a sentence.
    seed : int
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        `threshold_sweep` at one threshold, with ``source_words`` (asked for) and
        ``mean_words`` (there were). The corrected rule looks at passages of at most
        `PASSAGE_WORDS` words, the documented one at all of them together.
    """
    parts = []
    for length in lengths:
        check_count("length", length)
        cut = {key: _head(text, length) for key, text in pairing.sources.items()}
        own = [len(cut[source].split()) for source in pairing.own.values()]
        shorter = Pairing(pairing.explanations, cut, pairing.own, pairing.foreign)
        found = threshold_sweep(sentence_rows(shorter), [threshold], seed=seed)
        parts.append(found.assign(source_words=length, mean_words=np.mean(own)))
    return pd.concat(parts, ignore_index=True)


def _head(text, words):
    """Keep the first words of a text."""
    return " ".join(text.split()[:words])


def by_sentence_length(rows, edges=(0, 5, 10, 20, 40)):
    """Mean share by number of words in the sentence.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `sentence_rows`.
    edges : sequence of int
        Lower edges of the classes; the last is open.

    Returns
    -------
    pandas.DataFrame
        One row per rule, condition and class: ``words`` (label), ``share``, ``low``,
        ``high`` and ``n`` sentences.
    """
    labels = [f"{a}-{b - 1}" for a, b in pairwise(edges)]
    bins = pd.cut(
        rows["words"],
        [*edges, np.inf],
        right=False,
        labels=[*labels, f"{edges[-1]} or more"],
    )
    claims = rows.assign(length=bins).dropna(subset=["share"])
    found = []
    for (rule, condition, length), part in claims.groupby(
        ["rule", "condition", "length"], observed=True
    ):
        clusters = _clusters(rows, part)
        interval = bootstrap_mean(
            part["share"].to_numpy(), clusters=clusters, n_boot=2000
        )
        bounds = (interval.estimate, interval.low, interval.high)
        found.append((rule, condition, length, *bounds, len(part)))
    columns = ["rule", "condition", "words", "share", "low", "high", "n"]
    return pd.DataFrame(found, columns=columns)
