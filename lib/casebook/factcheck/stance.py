"""Whether a passage supports a sub-claim, refutes it, or neither.

A judge has ``judge(claim, passages) -> list of (stance, probability)``, the probability
being that of support against refutation, None where a judge gives none.
"""

import math
import re
from collections import defaultdict, namedtuple
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Literal

import numpy as np
from pydantic import BaseModel

from casebook.errors import InputError
from casebook.factcheck import claims
from casebook.factcheck.claims import (
    STOP,
    VERBS,
    answered,
    compared_numbers,
    content,
    listed,
    names,
    numbers,
    sentences,
    stems,
    words,
)
from casebook.factcheck.verdict import (
    INSUFFICIENT,
    NEUTRAL,
    REFUTES,
    STANCES,
    SUPPORTED,
    SUPPORTS,
    overlap,
)
from casebook.models.logistic import logistic_regression, settled
from casebook.plugins import called, plugin
from casebook.readers import read_yaml

#: Feature of the default judge to the sign that its weight has by its meaning, whatever the data say.
SIGNS = {
    "names found": 1,
    "words found": 1,
    "numbers found": 1,
    "numbers in conflict": -1,
    "numbers absent": -1,
    "polarity differs": -1,
    "opposites": -1,
    "stronger words": -1,
}
#: Features of one passage, of the judge that is fitted on our claims.
NAMES = (
    *(
        "coverage",
        "source",
        "coverage x source",
        "numbers found",
        "numbers in conflict",
        "numbers absent",
    ),
    *("polarity differs", "polarity differs x coverage", "log length", "maxsim"),
)
DIGITS = frozenset("0123456789")
NEGATIONS = listed(claims.WORDS["negations"])
_CLAUSE = re.compile(r"[,;:]\s+|\s+(?:but|yet|although)\s+")


class PublicJudge:
    """The default judge: logistic regression on `joint_features`, learnt on five public sets but for one left out.

    It reads all evidence of a claim at once, because what supports a claim is often spread over several sentences. A
    document that alone covers nearly all that the evidence covers of the claim is judged alone, so that documents can
    contradict each other; the others are judged together. Documents that speak of something else are neutral.

    A rival in the place of a word of the claim refutes it, see `exchanged`; where the two words may mean the same,
    evidence that would support the claim is neutral.
    """

    reads_together = True

    def __init__(self, left_out=None):
        weights = judge_table()["weights"]
        name = left_out or "none"
        if name not in weights:
            raise InputError(f"no weights without {name!r}: there are {', '.join(weights)}")
        self._weights = weights[name]

    def probability(self, claim, texts):
        """Probability of support against refutation, in (0, 1)."""
        features = dict(zip(SIGNS, joint_features(claim, texts), strict=True))
        weights = self._weights["features"]
        score = self._weights["intercept"] + math.fsum(
            weights[name] * value for name, value in features.items()
        )
        if any(exchange.excluded for exchange in exchanged(claim, tuple(texts))):
            score += judge_table()["exchanged"]
        return round(1 / (1 + math.exp(-score)), 9)

    def _stance(self, claim, texts):
        p = self.probability(claim, texts)
        if p < 0.5:
            return REFUTES, p
        return (NEUTRAL, None) if exchanged(claim, tuple(texts)) else (SUPPORTS, p)

    def judge(self, claim, passages):
        documents = {}
        for passage in passages:
            documents.setdefault((passage.header, passage.row), []).append(_headed(passage))
        # Another number is a contradiction, and no other subject.
        wanted = frozenset(stem for stem in content(claim) if not stem[0].isdigit())
        gate = judge_table()["relevance"]
        shares = {
            name: _share(wanted, content(" ".join(texts))) for name, texts in documents.items()
        }
        bar = max(gate["least"], gate["beside"] * max(shares.values(), default=0.0))
        relevant = [name for name in documents if shares[name] >= bar]
        together = [text for name in relevant for text in documents[name]]
        alone = gate["alone"] * _share(wanted, content(" ".join(together)))
        judged = {}
        for name in relevant:
            judged[name] = self._stance(
                claim, documents[name] if shares[name] >= alone else together
            )
        return [judged.get((passage.header, passage.row), (NEUTRAL, None)) for passage in passages]


@cache
def judge_table():
    return read_yaml(claims.FOLDER / "judge.yml")


@cache
def _opposites():
    """Stems that each stem is the opposite of."""
    found = defaultdict(set)
    for first, second in map(stems, judge_table()["opposites"]):
        found[first].add(second)
        found[second].add(first)
    return dict(found)


def joint_features(claim, texts):
    """What a claim and all of its evidence share, in the order of ``SIGNS``."""
    opposites, stronger = _opposites(), frozenset(stems(" ".join(judge_table()["stronger"])))
    whole = " ".join(texts)
    wanted, there = content(claim), content(whole)
    body = frozenset(stem for stem in wanted if not stem[0].isdigit())
    named = body & frozenset().union(*(content(name) for name in names(claim)))
    plain = body - named
    nearest = max(texts, key=lambda text: _share(body, content(text)), default="")
    turned = sum(bool(opposites.get(stem, set()) & (there - wanted)) for stem in body - there)
    added = (frozenset(stems(claim)) & stronger) - frozenset(stems(whole))
    counted = compared_numbers(numbers(claim), numbers(whole))
    differs = _polarity_differs(claim, nearest_clause(nearest, plain))
    return np.array(
        [_share(named, there), _share(plain, there), *counted, differs, turned, len(added)],
        dtype=float,
    )


def _share(wanted, there):
    return len(wanted & there) / len(wanted) if wanted else 1.0


def negations(text):
    """How many words turn a statement round."""
    return sum(word in NEGATIONS for word in words(text))


def _polarity_differs(claim, clause):
    return float((negations(claim) + negations(clause)) % 2)


def nearest_clause(text, wanted):
    """The clause of a passage that shares most content stems with a claim."""
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    return max(clauses, key=lambda clause: len(wanted & content(clause)), default=text)


#: A word and whether it is a name, which stands in capitals where it does not open a sentence.
Token = namedtuple("Token", "word stem named")
#: A word of a claim, the word in its place in the evidence, and whether one excludes the other.
Exchange = namedtuple("Exchange", "word other excluded")


@lru_cache(maxsize=5_000)
def exchanged(claim, texts):
    """Words of a claim in whose place the evidence has another, in the sentence that has most of the claim."""
    spans = [text[start:end] for text in texts for start, end in sentences(text)]
    most = max((len(content(claim) & content(span)) for span in spans), default=0)
    there = frozenset().union(*map(content, spans))
    nearest = [span for span in spans if len(content(claim) & content(span)) == most]
    return min((_exchanges(claim, span, there) for span in nearest), key=len, default=())


def _exchanges(claim, sentence, there):
    """Exchanged words between a claim and a sentence; ``there``: stems of all evidence."""
    wanted, inside = content(claim), content(sentence)
    exchanges = []
    for word, other in _same_place(_tokens(claim), _tokens(sentence)):
        rest = wanted - {word.stem}
        new = word.stem not in there and other.stem not in wanted
        excluded = _excludes(
            word, other, _share(rest, inside), verbatim=len(rest) >= 3 and rest <= inside, new=new
        )
        if excluded is not None:
            exchanges.append(Exchange(word.word, other.word, excluded))
    return tuple(exchanges)


def _excludes(word, other, share, *, verbatim, new):
    """Whether a word excludes the one in its place; None if they mean the same or stand there by chance.

    That depends on the kind of word, the share of the rest of the claim that the sentence has, whether it has all of it
    (``verbatim``), and whether each word is new to the other side.
    """
    function_words = {word.word.lower(), other.word.lower()} & STOP
    if _share_a_list("synonyms", word, other):
        return None
    if other.stem in _opposites().get(word.stem, ()) or _share_a_list("exclusive", word, other):
        return verbatim or (share >= 0.5 and new and not function_words) or None
    if function_words or word.named != other.named or _is_form_of(word.word, other.word):
        return None
    if word.named or {word.word[0], other.word[0]} <= DIGITS:
        return verbatim or (share >= 0.5 and new) or None
    return False if verbatim and new and not {word.word, other.word} & VERBS else None


def _same_place(asked, read):
    """Tokens of a claim and of a sentence that stand between the same words."""
    matcher = SequenceMatcher(
        None, [token.stem for token in asked], [token.stem for token in read], autojunk=False
    )
    for kind, first, last, start, end in matcher.get_opcodes():
        lone = last - first == 1 and last == len(asked) and first > 0
        if kind == "replace" and (lone or last - first == end - start):
            yield from zip(asked[first:last], read[start:end], strict=False)


@lru_cache(maxsize=20_000)
def _tokens(text):
    found = [match.group() for match in claims.WORD.finditer(text)]
    capital = [word[0].isupper() for word in found]
    opening = capital[:2] == [True, True]
    return tuple(map(Token, found, stems(text), [opening, *capital[1:]]))


def _is_form_of(word, other):
    """Whether two words are forms or spellings of one; numbers never are."""
    return (
        word[0] not in DIGITS and SequenceMatcher(None, word.lower(), other.lower()).ratio() >= 0.7
    )


def _share_a_list(name, one, other):
    lists = _lists(name)
    return not lists.get(one.stem, set()).isdisjoint(lists.get(other.stem, ()))


@cache
def _lists(name):
    """Numbers of the lists of ``words.yml`` that hold a stem."""
    found = defaultdict(set)
    for number, group in enumerate(claims.WORDS[name]):
        for stem in stems(group):
            found[stem].add(number)
    return found


def features(claim, passage, header="", rarity=None, maxsim=None):
    """What a claim and one passage share, in the order of ``NAMES``."""
    rarity = rarity or {}
    named = frozenset().union(*(content(name) for name in names(claim)))
    there = content(passage)
    body = frozenset(stem for stem in content(claim) - named if not stem[0].isdigit())
    # fsum is exact: the order of a set, another in every process, cannot show.
    weight, shared = (
        math.fsum(rarity.get(stem, rarity.get("", 1.0)) for stem in s) for s in (body, body & there)
    )
    coverage = shared / weight if weight else 0.0
    source = len(named & (content(header) | there)) / len(named) if named else 1.0
    # "Pay-by-Mile 2": a number of a name is no number.
    in_names = {word for name in names(claim) for word in words(name)}
    counted = [number for number in numbers(claim) if f"{number.value:g}" not in in_names]
    compared = compared_numbers(counted, numbers(passage))
    differs, length = (
        _polarity_differs(claim, nearest_clause(passage, body)),
        np.log1p(len(words(passage))),
    )
    found = [
        coverage,
        source,
        coverage * source,
        *compared,
        differs,
        differs * coverage,
        length,
        maxsim or 0.0,
    ]
    return np.array(found)


class PlaceholderStance:
    """The documented placeholder: any passage of more than 50 characters supports."""

    def judge(self, claim, passages):
        return [
            (SUPPORTS, None) if len(passage.text) > 50 else (NEUTRAL, None) for passage in passages
        ]


class FeatureStance:
    """Multinomial logistic regression on the `features` of one passage."""

    def __init__(self, rarity=None, similarity=None, model=None):
        self._rarity, self._similarity, self.model = rarity, similarity, model

    def on(self, base):
        """The same model with the word weights of another collection."""
        return FeatureStance(base.rarity, self._similarity, self.model)

    def describe(self, claim, passages):
        """Features of passages of one sub-claim, shape [passages, features]."""
        similar = [None] * len(passages)
        if self._similarity is not None:
            similar = self._similarity.similarities(claim, [passage.text for passage in passages])
        pairs = zip(passages, similar, strict=True)
        return np.array(
            [features(claim, one.text, one.header, self._rarity, value) for one, value in pairs]
        )

    def fit(self, X, stances):
        self.model = features_model().fit(X, stances)
        return self

    def probabilities(self, X):
        """Probabilities in the order of ``STANCES``, shape [pairs, 3]."""
        order = [list(self.model.classes_).index(stance) for stance in STANCES]
        return settled(self.model.predict_proba(X)[:, order])

    def judge(self, claim, passages):
        if not passages:
            return []
        return [judged(shares) for shares in self.probabilities(self.describe(claim, passages))]


def features_model():
    """Logistic regression on standardised features, unfitted."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), logistic_regression())


def judged(shares):
    """Stance and probability from probabilities in the order of ``STANCES``."""
    stance = STANCES[int(np.argmax(shares))]
    return (
        (NEUTRAL, None)
        if stance == NEUTRAL
        else (stance, float(shares[0] / (shares[0] + shares[1])))
    )


class MaxSimilarity:
    """Mean over the claim's tokens of their largest cosine to a token of the passage, by an encoder."""

    def __init__(self, encoder):
        self._encoder, self._known = encoder, {}

    def prepare(self, texts, role="document"):
        """Encode texts at once: far cheaper than one by one."""
        new = [text for text in dict.fromkeys(texts) if (role, text) not in self._known]
        if new:
            blocks = self._encoder.token_vectors(new, role)
            for place, text in enumerate(new):
                self._known[role, text] = blocks.take([place]).vectors.astype(np.float32)

    def similarities(self, claim, passages):
        self.prepare([claim], "query")
        self.prepare(passages)
        asked, found = (
            self._known["query", claim],
            [self._known["document", text] for text in passages],
        )
        return [
            round((asked @ one.T).max(axis=1).mean().item(), 6) if len(asked) * len(one) else 0.0
            for one in found
        ]


class EntailmentStance:
    """Judge by an entailment model, a cross-encoder with three classes."""

    def __init__(self, model):
        self._model = model

    def judge(self, claim, passages):
        if not passages:
            return []
        shares = self._model.probabilities(
            [_headed(passage) for passage in passages], [claim] * len(passages)
        )
        return [judged(row) for row in shares]


def _headed(passage):
    return f"{passage.header}. {passage.text}" if passage.header else passage.text


class Answer(BaseModel):
    """What a language model answers about one passage."""

    stance: Literal[STANCES]


class ModelStance:
    """Judge by a language model, passage by passage."""

    prompt = """Does the passage support the claim, refute it, or neither (neutral)?
Claim: {claim}
Passage from {passage.header}: {passage.text}
Answer with JSON: {{"stance": "supports" | "refutes" | "neutral"}}"""

    def __init__(self, model):
        self._model = model

    def judge(self, claim, passages):
        prompts = [self.prompt.format(claim=claim, passage=passage) for passage in passages]
        stances = [answered(self._model, prompt, Answer).stance for prompt in prompts]
        return [(stance, {SUPPORTS: 1.0, REFUTES: 0.0}.get(stance)) for stance in stances]


class PluginStance:
    """Judge by a user's own: a function ``(claim, passages)``, or an object or class with such a ``judge``.

    It gives for each passage a stance, or a stance and the probability of support against refutation.
    """

    def __init__(self, name):
        found = plugin(name)
        found = called(name, found) if isinstance(found, type) else found
        self._name, self._judge = name, getattr(found, "judge", found)
        if not callable(self._judge):
            raise InputError(
                f"{name} is no judge: give a function (claim, passages) or an object with 'judge'"
            )

    def judge(self, claim, passages):
        if not passages:
            return []
        given = called(self._name, self._judge, claim, passages)
        answers = [(one, None) if isinstance(one, str) else tuple(one) for one in given]
        if len(answers) != len(passages):
            raise InputError(
                f"{self._name} gave {len(answers)} answers for {len(passages)} passages"
            )
        for one in answers:
            stance, p = one if len(one) == 2 else (None, None)
            if stance not in STANCES or not (p is None or 0 <= p <= 1):
                known = ", ".join(STANCES)
                raise InputError(
                    f"{self._name} gave {one!r}: give one of {known}, and a probability or None"
                )
        return answers


#: One training or test example: a sub-claim, a passage, and how they stand.
Pair = namedtuple("Pair", "claim passage stance group")


def training_pairs(labelled, base):
    """Examples from claims with gold atoms: their sentences, other sentences of the document, other documents."""
    pairs = []
    for claim in labelled:
        for atom in claim.atoms:
            row = base.rows[atom.doc_id]
            beside = [
                passage for passage in base.extract(row, atom.text, 3) if not overlap(passage, atom)
            ]
            beside += _elsewhere(base, atom.text, row)
            stance = SUPPORTS if atom.label == SUPPORTED else REFUTES
            decisive = [*base.holding(atom), base.whole(row)]
            pairs += [Pair(atom.text, passage, stance, claim.group) for passage in decisive]
            pairs += [Pair(atom.text, passage, NEUTRAL, claim.group) for passage in beside]
        if claim.label == INSUFFICIENT:
            others = _elsewhere(base, claim.text, None)
            pairs += [Pair(claim.text, passage, NEUTRAL, claim.group) for passage in others]
    return pairs


def _elsewhere(base, text, gold):
    """Passages of the two nearest other documents."""
    others = [row for row in base.search(text) if row != gold][:2]
    return [p for row in others for p in base.extract(row, text, 1)] + [
        base.whole(row) for row in others
    ]


def fitted_stance(base, labelled, encoder=None):
    """Fit the feature model on claims with gold evidence, FeatureStance."""
    pairs = training_pairs(labelled, base)
    similarity = None
    if encoder is not None:
        similarity = MaxSimilarity(encoder)
        similarity.prepare([pair.passage.text for pair in pairs])
        similarity.prepare([pair.claim for pair in pairs], "query")
    model = FeatureStance(base.rarity, similarity)
    X = np.vstack([model.describe(pair.claim, [pair.passage]) for pair in pairs])
    return model.fit(X, [pair.stance for pair in pairs])
