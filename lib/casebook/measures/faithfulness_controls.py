"""What a faithfulness score is worth: the same count against foreign sources.

Every explanation is scored against its own source and against those of others. If the
two cannot be told apart, the score says nothing about faithfulness, however high it is.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.classification import auroc
from casebook.measures.faithfulness import PASSAGE_WORDS, faithfulness
from casebook.measures.faithfulness_documented import documented_shares, documented_words
from casebook.stats.samples import check_choice, check_count, stream

RULES = ("documented", "corrected")
MATCHED, MISMATCHED = "matched", "mismatched"
COLUMNS = ("rule", "condition", "explanation", "source", "sentence", "words", "share")


@dataclass(frozen=True)
class Pairing:
    """Explanations with their own and with foreign sources."""

    explanations: dict
    sources: dict
    own: dict
    foreign: dict


def pair_sources(explanations, sources, own, *, draws=3, seed=0):
    """Give each explanation sources that belong to others."""
    check_count("draws", draws)
    lost = [key for key in explanations if own.get(key) not in sources]
    if lost:
        raise InputError(f"{len(lost)} explanation(s) have no source, first {lost[0]!r}")
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
    """Score every sentence against its own and foreign sources under both rules."""
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
    """AUROC of the share of words: own sources against foreign ones."""
    part = rows_of_rule(rows, rule)
    # A foreign row depends on its explanation, hence on the explanation's own source.
    return auroc(part["condition"] == MATCHED, part["share"], level=level, clusters=source_clusters(rows, part))


def rows_of_rule(rows, rule):
    """Give the rows of one rule that have a share."""
    check_choice("rule", rule, RULES)
    return rows[(rows["rule"] == rule) & rows["share"].notna()]


def source_clusters(rows, part):
    """Give the source that each row's explanation is matched to."""
    matched = rows[rows["condition"] == MATCHED]
    source = dict(zip(matched["explanation"], matched["source"], strict=True))
    return [str(source[key]) for key in part["explanation"]]
