"""What a faithfulness score is worth: the same count against foreign sources.

Every explanation is scored against its own source and against those of others. If the
two cannot be told apart, the score says nothing about faithfulness, however high it is.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.inference.samples import check_choice, check_count, stream
from casebook.measures.auroc import auroc
from casebook.measures.faithfulness import PASSAGE_WORDS, faithfulness
from casebook.measures.faithfulness_documented import (
    documented_shares,
    documented_words,
)

RULES = ("documented", "corrected")
MATCHED, MISMATCHED = "matched", "mismatched"
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
    part = rows_of_rule(rows, rule)
    # A foreign row depends on its explanation, hence on the explanation's own source.
    return auroc(
        part["condition"] == MATCHED,
        part["share"],
        level=level,
        clusters=source_clusters(rows, part),
    )


def rows_of_rule(rows, rule):
    """Give the rows of one rule that have a share.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `sentence_rows`.
    rule : str
        One of `RULES`.

    Returns
    -------
    pandas.DataFrame
        Rows.

    Raises
    ------
    InputError
        If the rule is unknown.
    """
    check_choice("rule", rule, RULES)
    return rows[(rows["rule"] == rule) & rows["share"].notna()]


def source_clusters(rows, part):
    """Give the source that each row's explanation is matched to.

    Parameters
    ----------
    rows : pandas.DataFrame
        From `sentence_rows`.
    part : pandas.DataFrame
        Some of the rows.

    Returns
    -------
    list of str
        One source per row of the part.
    """
    matched = rows[rows["condition"] == MATCHED]
    source = dict(zip(matched["explanation"], matched["source"], strict=True))
    return [str(source[key]) for key in part["explanation"]]
