"""How often the default judge notices that one word of a true sentence was exchanged for a rival,
by kind of word.

``python tests/validation/exchanges.py`` writes the table of the book (seed 0). Sentences come from our own collections
and from frames of our own; the evidence is the sentence as it was, between the two sentences beside it. The controls
are the same sentences unchanged, and sentences in which a synonym stands for a word.
"""

import itertools
import random
import re
from collections import defaultdict, namedtuple
from pathlib import Path
from unittest import mock

import pandas as pd

from casebook.data import load
from casebook.factcheck.decompose import VERBS
from casebook.factcheck.pipeline import EvidencePassage
from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.verdict import NEUTRAL, REFUTES
from casebook.factcheck.words import CLAIM_WORDS
from casebook.files import write_text
from casebook.paths import ROOT
from casebook.readers import read_yaml
from casebook.stats.intervals import bounds_text, wilson
from casebook.text import STOP_LIST, sentence_texts

TABLE = ROOT / "book" / "methods" / "exchanges.csv"
MATERIAL = read_yaml(Path(__file__).with_name("exchanges.yml"))
GARDEN = ROOT / "tests" / "factcheck" / "garden.yml"
COLLECTIONS = ("smoke", "insurance", "planted")
SENTENCES_PER_COLLECTION = 400
PAIRS_PER_KIND = 40
UNCHANGED = "unchanged"
SYNONYM = "synonym"
EXCHANGED = "exchanged"

#: A claim, the sentence that it was made from between its neighbours, how it was made, and the kind
# of its word.
Pair = namedtuple("Pair", "claim evidence change kind")


def our_texts():
    texts = [document["text"] for document in read_yaml(GARDEN)]
    for name in COLLECTIONS:
        texts += load(name, titles=False).documents["text"].tolist()
    return texts


def our_sentences(rng):
    found = {}
    for text in our_texts():
        parts = sentence_texts(text)
        for place, part in enumerate(parts):
            if 6 <= len(part.split()) <= 40:
                found.setdefault(part, parts[max(place - 1, 0) : place + 2])
    chosen = list(found.items())
    rng.shuffle(chosen)
    return chosen


def with_words(text, word, other):
    """A text with its first such word exchanged, None if it has none."""
    changed = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", other, text, count=1)
    return None if changed == text else changed


def from_collections(rng):
    chosen = our_sentences(rng)
    pairs = []
    for kind, words in MATERIAL["collections"].items():
        pairs += _limited(_of_list(chosen, kind, words.split(), rng))
    pairs += _limited(_of_numbers(chosen, rng))
    pairs += _limited(_of_any_noun(chosen, rng))
    synonyms = (
        Pair(claim, beside, SYNONYM, synonym_kind(word, other))
        for sentence, beside in chosen
        for word, other in MATERIAL["synonyms"]["in collections"]
        if (claim := with_words(sentence, word, other))
    )
    return pairs + _limited(synonyms, 3 * PAIRS_PER_KIND)


def _limited(pairs, most=PAIRS_PER_KIND):
    return list(itertools.islice(pairs, most))


def _of_list(chosen, kind, words, rng):
    """Pairs in which a word of a list gives place to another; antonyms to their own."""
    for sentence, beside in chosen:
        for place, word in enumerate(words):
            if kind == "antonyms":
                other = words[place ^ 1]
            else:
                other = rng.choice([other for other in words if other != word])
            claim = with_words(sentence, word, other)
            if claim:
                yield Pair(claim, beside, EXCHANGED, kind)
                break


def _of_numbers(chosen, rng):
    for sentence, beside in chosen:
        match = re.search(r"(?<![\w.,])\d+(?:,\d{3})*(?![\w.,]*\d)", sentence)
        if match:
            value = int(match.group().replace(",", ""))
            other = rng.choice([value + 1, value + 10, value * 2])
            if other != value:
                yield Pair(
                    sentence[: match.start()] + str(other) + sentence[match.end() :],
                    beside,
                    EXCHANGED,
                    "numbers",
                )


def _of_any_noun(chosen, rng):
    """Pairs in which the word between an article and a preposition gives place to such a word of
    another sentence."""
    slot = re.compile(r"\b(?:the|a|an) ([a-z]{4,})(?= (?:of|in|at|from|for|by|with) )")
    nouns = sorted(
        {word for sentence, _ in chosen for word in slot.findall(sentence)} - STOP_LIST - VERBS
    )
    for sentence, beside in chosen:
        match = slot.search(sentence)
        if match and match.group(1) in nouns:
            other = rng.choice([noun for noun in nouns if noun not in " ".join(beside)])
            yield Pair(
                sentence[: match.start(1)] + other + sentence[match.end(1) :],
                beside,
                EXCHANGED,
                "any noun",
            )


def from_frames(rng):
    pairs = []
    for kind, material in MATERIAL["frames"].items():
        words = material["words"]
        options = (
            itertools.permutations(words.split(), 2)
            if isinstance(words, str)
            else map(str.split, words)
        )
        filled = [(frame, *option) for option in options for frame in material["frames"]]
        rng.shuffle(filled)
        pairs += [_filled(row, EXCHANGED, kind) for row in filled[:PAIRS_PER_KIND]]
    synonyms = MATERIAL["synonyms"]
    filled = [(frame, *option) for option in synonyms["words"] for frame in synonyms["frames"]]
    return pairs + [_filled(row, SYNONYM, synonym_kind(*row[1:])) for row in filled]


def synonym_kind(word, other):
    listed = any({word, other} <= set(group.split()) for group in CLAIM_WORDS["synonyms"])
    return "synonyms that the judge lists" if listed else "synonyms in no list of the judge"


def _filled(row, change, kind):
    frame, word, other = row
    beside = [
        "It stood in the guide of 1936.",
        frame.replace("_", word),
        "Nothing else is known of it.",
    ]
    return Pair(frame.replace("_", other), beside, change, kind)


def all_pairs(seed=0):
    """Exchanged pairs, pairs with a synonym, and each exchanged sentence unchanged."""
    rng = random.Random(seed)
    pairs = from_collections(rng) + from_frames(rng)
    middle = [
        max(pair.evidence, key=lambda part, pair=pair: _shared(part, pair.claim)) for pair in pairs
    ]
    same = [
        Pair(sentence, pair.evidence, UNCHANGED, pair.kind)
        for pair, sentence in zip(pairs, middle, strict=True)
        if pair.change == EXCHANGED
    ]
    return pairs + same


def _shared(part, claim):
    return len(set(part.split()) & set(claim.split()))


def stance_of(pair, judge):
    passages = [EvidencePassage(0, 0, len(text), text, "") for text in pair.evidence]
    return judge.judge(pair.claim, passages)[0][0]


def shares(pairs, judge, stance):
    """Share of claims on which a judge takes a stance, by kind and change, with Wilson's
    interval."""
    counts = defaultdict(list)
    for pair in pairs:
        verdict = stance_of(pair, judge) == stance
        counts[pair.kind, pair.change].append(verdict)
        counts[f"all {pair.change}", pair.change].append(verdict)
    return {key: wilson(sum(verdicts), len(verdicts)) for key, verdicts in counts.items()}


def book_table(pairs):
    """Rows of the book: the judge with its rule and without it."""
    refuted = shares(pairs, PublicJudge(), REFUTES)
    neutral = shares(pairs, PublicJudge(), NEUTRAL)
    with mock.patch("casebook.factcheck.stance.exchanged", return_value=()):
        without = shares(pairs, PublicJudge(), REFUTES)
    rows = []
    for (kind, change), share in refuted.items():
        row = {
            "change": change,
            "word": kind,
            "sentences": share.n,
            "refuted without the rule": f"{without[kind, change].estimate:.2f}",
            "refuted": f"{share.estimate:.2f} {bounds_text(share.low, share.high)}",
            "left open": f"{neutral[kind, change].estimate:.2f}",
        }
        if change != UNCHANGED or kind == f"all {UNCHANGED}":
            rows.append((change, kind.startswith("all "), row))
    rows.sort(key=lambda ranked: ranked[:2])
    return pd.DataFrame([row for *_, row in rows])


if __name__ == "__main__":
    table = book_table(all_pairs())
    write_text(TABLE, table.to_csv(index=False, lineterminator="\n"))
    print(table.to_string(index=False))
