"""The default judge: whether passages support a claim, refute it, or neither."""

import itertools
import re
from collections import defaultdict
from functools import cache, lru_cache

import numpy as np

from casebook.factcheck.decompose import finite_verb, tokens_of
from casebook.factcheck.verdict import NEUTRAL, REFUTES, SUPPORTS
from casebook.factcheck.words import (
    CLAIM_WORDS,
    LISTS,
    WORD,
    first_name,
    of_kind,
    words,
    yaml_table,
)
from casebook.models.cache import unit_rows
from casebook.models.encoders import SentenceEncoder
from casebook.text import sentence_texts

FEATURES = (
    "weakest word",
    "words found",
    "lone word",
    "names absent",
    "numbers absent",
    "names apart",
    "numbers apart",
    "polarity differs",
    "opposites",
)
OPPOSITES = defaultdict(set)
for _line in CLAIM_WORDS["opposites"]:
    _first, *_others = [word.stem for word in words(_line)]
    for _other in _others:
        OPPOSITES[_first].add(_other)
        OPPOSITES[_other].add(_first)
_CLAUSE = re.compile(r"[,;:.]\s+|\s+(?:but|yet|although)\s+")
BESIDE = 0.6  # share of the best document's words that a document must have
ALONE = 0.9  # share of all documents' words with which a document is judged alone

CAUTION = (
    "the default judge compares words, and often misses contradictions of some kinds: see "
    "book/methods/factcheck.md#what-it-does-not-see"
)

encoder = cache(SentenceEncoder)
remembered = lru_cache(maxsize=20_000)


@lru_cache(maxsize=10_000)  # texts whose vectors are kept
def vectors_of(text):
    """Vector of a text, and those of its words: means over their tokens, by the encoder."""
    pooled, tokens = encoder().encode_both([text])
    n_read, width = tokens.vectors.shape
    spans = np.array(encoder().token_spans(text)[:n_read]).reshape(-1, 2)
    words_of_text = list(WORD.finditer(text))
    table = np.zeros((len(words_of_text), width), dtype=np.float32)
    for place, match in enumerate(words_of_text):
        inside = (spans[:, 0] < match.end()) & (match.start() < spans[:, 1])
        if inside.any():  # the model does not read a long text to its end
            table[place] = tokens.vectors[inside].mean(axis=0)
    return pooled[0], unit_rows(table).astype(np.float16).astype(np.float32)


class PublicJudge:
    """The default judge: nine `features` of a claim and its evidence, one logistic regression.

    It reads the passages of all documents together, because what supports a claim is often spread
    over several sentences; a document that alone has nearly all of the claim's words is judged
    alone, so that documents can contradict each other. A passage on another subject is neutral,
    and so is all evidence if a name or number of the claim is in no document and nothing is in its
    place; ``remarks`` names it. With ``abstains=False`` the judge takes a side all the same.
    """

    def __init__(self, abstains=True):
        self.abstains = abstains

    def judge(self, claim, passages):
        stances = dict.fromkeys(passages, (NEUTRAL, None))
        documents = by_document(passages)
        if self.abstains:
            documents = (
                [] if unmentioned(claim, passages) else on_subject(claim, passages)
            )
        shared = [_n_shared(claim, document) for document in documents]
        least = max(BESIDE * max(shared, default=0), 1)
        documents = [
            own for n, own in zip(shared, documents, strict=True) if n >= least
        ]
        everything = list(itertools.chain(*documents))
        nearly_all = ALONE * _n_shared(claim, everything)
        for own in documents:
            alone = _n_shared(claim, own) >= nearly_all
            p = probability(claim, own if alone else everything)
            stances |= dict.fromkeys(own, (SUPPORTS if p >= 0.5 else REFUTES, p))
        return [stances[passage] for passage in passages]

    def remarks(self, claim, passages):
        """What the evidence lacks: the subject, names and numbers, or one word."""
        same = list(itertools.chain(*on_subject(claim, passages)))
        absent = unmentioned(claim, same or passages)
        if passages and not same:
            absent = [" ".join(word.text for word in subject(claim))]
        if absent:
            return [f"the evidence does not mention {', '.join(absent)}"]
        new = [_new_word(claim, sentence) for sentence in headed_sentences(same)]
        if new and all(new):
            return [
                f'no evidence has the word "{new[0]}", and all else of the claim stands there'
            ]
        return []


# --- passages


def by_document(passages):
    documents = defaultdict(list)
    for passage in sorted(passages, key=lambda passage: passage.start):
        documents[passage.header, passage.row].append(passage)
    return list(documents.values())


def heading_of(passage):
    return passage.header or first_name(passage.document)


def headed_sentences(passages):
    """Sentences of passages, each with what its document is about."""
    sentences = []
    for passage in passages:
        heading = heading_of(passage)
        for sentence in sentence_texts(passage.text) or [passage.text]:
            sentences.append(f"{heading}. {sentence}" if heading else sentence)
    return sentences


def on_subject(claim, passages):
    """Documents but those of which each passage is about another subject than the claim's."""
    topic = subject(claim)

    def is_of_another(passage):
        texts = [passage.header, passage.text, passage.document]
        n_mentioned = sum(mentioned(word, texts) for word in topic)
        if 2 * n_mentioned > len(topic) or not topic or not passage.document:
            return False
        kinds = [word.kind for word in words(passage.text)[:3]]
        return bool(heading_of(passage)) or "name" in kinds

    return [own for own in by_document(passages) if not all(map(is_of_another, own))]


# --- words of a claim that passages have


@remembered
def stems(text):
    return frozenset(word.stem for word in words(text) if word.kind != "function")


def _plain_stems(text):
    return {word.stem for word in of_kind(text, "word")}


def _stated(texts):
    return frozenset().union(*map(stems, texts))


def _n_shared(claim, passages):
    """How many words of a claim passages have; another number is no other subject."""
    numbers = {word.stem for word in of_kind(claim, "number")}
    return len((stems(claim) - numbers) & _stated(headed_sentences(passages)))


@remembered
def predicate(text):
    """A text from its verb on; all of it if none is found."""
    tokens = tokens_of(text)
    verb = finite_verb(tokens)
    return text[tokens[verb].start :] if verb else text


@remembered
def subject(text):
    """Names before the verb of a text: of whom or what it is."""
    return of_kind(text.removesuffix(predicate(text)), "name")


def _named(claim, kind):
    return [word for word in of_kind(claim, kind) if word not in subject(claim)]


def mentioned(word, texts):
    """Whether a text has a word, or a form of it if it is a name: Sweden, Swedish."""
    stated = _stated(texts)
    if word.kind != "name" or word.stem in stated:
        return word.stem in stated
    for other in stated:
        n = max(4, max(len(word.stem), len(other)) - 3)
        if word.stem[:n] == other[:n]:
            return True
    return False


def unmentioned(claim, passages):
    """Names and numbers of a claim that no document has, with nothing in their place.

    Of passages without their documents nobody knows what these lack.
    """
    if not all(passage.document for passage in passages):
        return []
    sentences = headed_sentences(passages)
    documents = [passage.document for passage in passages]
    said = _plain_stems(predicate(claim)) or _plain_stems(claim)
    # In their place: what else sentences name that have most of what is said.
    near = [text for text in sentences if 2 * len(said & stems(text)) >= len(said)]
    others = itertools.chain(*map(words, near))
    rivals = {other.kind for other in others if not mentioned(other, [claim])}
    named = _named(claim, "name") + _named(claim, "number")
    absent = [word for word in named if not mentioned(word, [*sentences, *documents])]
    return [word.text for word in absent if word.kind not in rivals]


def _new_word(claim, sentence):
    plain = [word for word in words(claim) if word.kind != "function"]
    missing = [word.text for word in plain if word.stem not in stems(sentence)]
    is_alone = len(missing) == 1 and len(stems(claim)) > 3
    return missing[0] if is_alone else None


# --- features


def probability(claim, passages):
    weights = yaml_table("judge")["weights"]
    slopes = [weights[name] for name in FEATURES]
    score = weights["intercept"] + features(claim, passages) @ slopes
    return round(float(1 / (1 + np.exp(-score))), 9)


def negations(text):
    return sum(
        word.text.lower() in LISTS["negations"] or "n't" in word.text
        for word in words(text)
    )


def features(claim, passages):
    """Features of a claim and all of its evidence, in the order of ``FEATURES``."""
    sentences = headed_sentences(passages)
    documents = [passage.document for passage in passages]
    plain = of_kind(claim, "word")
    claim_stems = stems(claim)
    stated = _stated(sentences)
    # the sentence and the clause that have most of the claim
    claim_vector, claim_table = vectors_of(claim)
    vectors, tables = zip(*map(vectors_of, sentences), strict=True)
    n_words = max(len(claim_stems), 1)
    shares = [len(claim_stems & stems(sentence)) / n_words for sentence in sentences]
    pairs = zip(vectors, shares, strict=True)
    likeness = [claim_vector @ vector + share for vector, share in pairs]
    best = sentences[np.argmax(likeness)]
    best_stems = stems(best)
    said = _plain_stems(claim) or claim_stems
    nearest = max(_CLAUSE.split(best), key=lambda clause: len(said & stems(clause)))
    # how near each word of the claim is to a word of the evidence
    cosines = (claim_table @ np.vstack(tables).T).max(axis=1, initial=0)
    gaps = {word: 1 - cosines[word.place] for word in plain if word.stem not in stated}
    missing = [word for word in plain if word.stem not in best_stems]
    both = plain + of_kind(claim, "number")
    n_found = sum(word.stem in best_stems for word in both)
    is_lone = len(missing) == 1 and n_found > 1
    lone = gaps.get(missing[0], 0) if is_lone else 0
    # names that no document has, numbers that no passage has, and those that the sentence lacks
    names = _named(claim, "name")
    numbers = _named(claim, "number")
    absent = [not mentioned(name, sentences + documents) for name in names]
    differs = (negations(claim) + negations(nearest)) % 2
    new = stated - claim_stems
    opposed = [word for word in gaps if OPPOSITES.get(word.stem, set()) & new]
    values = [
        1 - max(gaps.values(), default=0),
        1 - sum(gaps.values()) / max(len(plain), 1),
        lone,
        sum(absent) / max(len(names), 1),
        not all(mentioned(number, sentences) for number in numbers),
        not all(mentioned(name, [best]) for name in names),
        not all(mentioned(number, [best]) for number in numbers),
        differs * len(said & stems(nearest)) / max(len(said), 1),
        len(opposed),
    ]
    return np.array(values, dtype=float).round(3)
