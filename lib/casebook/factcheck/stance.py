"""Whether a passage supports a sub-claim, refutes it, or neither.

A judge has ``judge(claim, passages) -> list of (stance, probability)``, the probability
being that of support against refutation, None where a judge gives none.
"""

import math
import re
from collections import defaultdict, namedtuple
from difflib import SequenceMatcher
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.factcheck.decompose import VERBS
from casebook.factcheck.model_judges import with_header
from casebook.factcheck.verdict import (
    EVIDENCE_STANCES,
    INSUFFICIENT_EVIDENCE,
    NEUTRAL,
    REFUTES,
    SUPPORTED,
    SUPPORTS,
    overlap,
)
from casebook.factcheck.words import (
    CLAIM_WORDS,
    compared_numbers,
    content,
    proper_names,
    stated_numbers,
    stems,
    word_set,
)
from casebook.models.logistic import logistic_regression, settled
from casebook.plugins import called, plugin
from casebook.readers import read_yaml
from casebook.text import STOP_LIST, sentence_texts, token_spans, tokens

#: Features of the default judge, with the sign that the meaning of each gives to its weight.
JUDGE = Path(__file__).with_name("judge.yml")
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
PASSAGE_FEATURES = (
    "coverage",
    "source",
    "coverage x source",
    "numbers found",
    "numbers in conflict",
    "numbers absent",
    "polarity differs",
    "polarity differs x coverage",
    "log length",
    "maxsim",
)
ASCII_DIGITS = frozenset("0123456789")
NEGATIONS = word_set(CLAIM_WORDS["negations"])
_CLAUSE = re.compile(r"[,;:]\s+|\s+(?:but|yet|although)\s+")

CAUTION = (
    "the default judge compares words, and often misses contradictions of some kinds: see "
    "book/methods/factcheck.md#what-it-does-not-see"
)


class PublicJudge:
    """The default judge: logistic regression on `joint_features`, learnt on five public sets.

    With ``left_out``, its weights are those learnt without that set.

    It reads all evidence of a claim at once, because what supports a claim is often spread over
    several sentences. A document that alone covers nearly all that the evidence covers of the claim
    is judged alone, so that documents can contradict each other; the others are judged together.
    Documents that speak of something else are neutral.

    A rival in the place of a word of the claim refutes it, see `exchanged`; where the two words may
    mean the same, evidence that would support the claim is neutral.
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
        if exchanged(claim, tuple(texts)):
            return NEUTRAL, None
        return SUPPORTS, p

    def judge(self, claim, passages):
        documents = {}
        for passage in passages:
            documents.setdefault(_document_key(passage), []).append(with_header(passage))
        # Another number is a contradiction, and no other subject.
        wanted = _stems_without_numbers(claim)
        gate = judge_table()["relevance"]
        coverage = {
            key: _coverage(wanted, content(" ".join(texts))) for key, texts in documents.items()
        }
        threshold = max(gate["least"], gate["beside"] * max(coverage.values(), default=0.0))
        relevant = [key for key in documents if coverage[key] >= threshold]
        all_texts = [text for key in relevant for text in documents[key]]
        joint_coverage = _coverage(wanted, content(" ".join(all_texts)))
        stances = {}
        for key in relevant:
            stands_alone = coverage[key] >= gate["alone"] * joint_coverage
            stances[key] = self._stance(claim, documents[key] if stands_alone else all_texts)
        return [stances.get(_document_key(passage), (NEUTRAL, None)) for passage in passages]


def _document_key(passage):
    return passage.header, passage.row


@cache
def judge_table():
    return read_yaml(JUDGE)


@cache
def _opposites():
    """Stems that each stem is the opposite of."""
    opposites = defaultdict(set)
    for left, right in map(stems, judge_table()["opposites"]):
        opposites[left].add(right)
        opposites[right].add(left)
    return dict(opposites)


def joint_features(claim, texts):
    """Features of a claim and all of its evidence, in the order of ``SIGNS``."""
    evidence = " ".join(texts)
    claim_stems = content(claim)
    evidence_stems = content(evidence)
    body = _stems_without_numbers(claim)
    names = body & _stems_of_names(claim)
    plain = body - names
    opposites = _opposites()
    only_in_evidence = evidence_stems - claim_stems
    n_opposites = sum(
        bool(opposites.get(stem, set()) & only_in_evidence) for stem in body - evidence_stems
    )
    stronger = frozenset(stems(" ".join(judge_table()["stronger"])))
    added = (frozenset(stems(claim)) & stronger) - frozenset(stems(evidence))
    nearest = max(texts, key=lambda text: _coverage(body, content(text)), default="")
    return np.array(
        [
            _coverage(names, evidence_stems),
            _coverage(plain, evidence_stems),
            *compared_numbers(stated_numbers(claim), stated_numbers(evidence)),
            _polarity_differs(claim, nearest_clause(nearest, plain)),
            n_opposites,
            len(added),
        ],
        dtype=float,
    )


def _stems_without_numbers(text):
    return frozenset(stem for stem in content(text) if not stem[0].isdigit())


def _stems_of_names(text):
    return frozenset().union(*(content(name) for name in proper_names(text)))


def _coverage(wanted, present):
    """Share of the wanted stems that are present."""
    return len(wanted & present) / len(wanted) if wanted else 1.0


def negations(text):
    """How many words turn a statement round."""
    return sum(word in NEGATIONS for word in tokens(text))


def _polarity_differs(claim, clause):
    return float((negations(claim) + negations(clause)) % 2)


def nearest_clause(text, wanted):
    """The clause of a passage that shares most content stems with a claim."""
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    return max(clauses, key=lambda clause: len(wanted & content(clause)), default=text)


#: A word and whether it is a name, which stands in capitals where it does not open a sentence.
Token = namedtuple("Token", "word stem is_name")
#: A word of a claim, the word in its place in the evidence, and whether one excludes the other.
Exchange = namedtuple("Exchange", "word rival excluded")


@lru_cache(maxsize=5_000)
def exchanged(claim, texts):
    """Words of a claim in whose place the evidence has another.

    They are looked up in the sentence that has most of the claim.
    """
    sentences = [sentence for text in texts for sentence in sentence_texts(text)]
    evidence_stems = frozenset().union(*map(content, sentences))
    n_shared = [len(content(claim) & content(sentence)) for sentence in sentences]
    most = max(n_shared, default=0)
    candidates = []
    for sentence, n in zip(sentences, n_shared, strict=True):
        if n == most:
            candidates.append(_exchanges(claim, sentence, evidence_stems))
    return min(candidates, key=len, default=())


def _exchanges(claim, sentence, evidence_stems):
    """Exchanged words between a claim and a sentence."""
    claim_stems = content(claim)
    sentence_stems = content(sentence)
    exchanges = []
    for word, rival in _aligned_tokens(_tokens(claim), _tokens(sentence)):
        rest = claim_stems - {word.stem}
        excluded = _excludes(
            word,
            rival,
            _coverage(rest, sentence_stems),
            verbatim=len(rest) >= 3 and rest <= sentence_stems,
            new=word.stem not in evidence_stems and rival.stem not in claim_stems,
        )
        if excluded is not None:
            exchanges.append(Exchange(word.word, rival.word, excluded))
    return tuple(exchanges)


def _excludes(word, rival, coverage, *, verbatim, new):
    """Whether a word excludes its rival; None if they mean the same or meet by chance.

    That depends on the kind of word, the share of the rest of the claim that the sentence has
    (``coverage``), whether it has all of it (``verbatim``), and whether each word is new to the
    other side.
    """
    function_words = {word.word.lower(), rival.word.lower()} & STOP_LIST
    covered = coverage >= 0.5 and new
    if _share_a_list("synonyms", word, rival):
        return None
    if rival.stem in _opposites().get(word.stem, ()) or _share_a_list("exclusive", word, rival):
        return True if verbatim or (covered and not function_words) else None
    if function_words or word.is_name != rival.is_name or _is_form_of(word.word, rival.word):
        return None
    if word.is_name or {word.word[0], rival.word[0]} <= ASCII_DIGITS:
        return True if verbatim or covered else None
    if verbatim and new and not {word.word, rival.word} & VERBS:
        return False
    return None


def _aligned_tokens(claim_tokens, sentence_tokens):
    """Tokens of a claim and of a sentence between the same words."""
    matcher = SequenceMatcher(
        None,
        [token.stem for token in claim_tokens],
        [token.stem for token in sentence_tokens],
        autojunk=False,
    )
    for kind, start, end, sentence_start, sentence_end in matcher.get_opcodes():
        single = end - start == 1 and end == len(claim_tokens) and start > 0
        if kind == "replace" and (single or end - start == sentence_end - sentence_start):
            rivals = sentence_tokens[sentence_start:sentence_end]
            yield from zip(claim_tokens[start:end], rivals, strict=False)


@lru_cache(maxsize=20_000)
def _tokens(text):
    words = [text[start:end] for _, start, end in token_spans(text)]
    capitals = [word[0].isupper() for word in words]
    # A capital says nothing of the word that opens a sentence, unless the next word has one too.
    is_name = [capitals[:2] == [True, True], *capitals[1:]]
    return tuple(map(Token, words, stems(text), is_name))


def _is_form_of(word, rival):
    """Whether two words are forms or spellings of one; numbers never are."""
    if word[0] in ASCII_DIGITS:
        return False
    return SequenceMatcher(None, word.lower(), rival.lower()).ratio() >= 0.7


def _share_a_list(name, word, rival):
    lists = _lists_by_stem(name)
    return not lists.get(word.stem, set()).isdisjoint(lists.get(rival.stem, ()))


@cache
def _lists_by_stem(name):
    """Numbers of the lists of ``words.yml`` that hold a stem."""
    lists = defaultdict(set)
    for number, group in enumerate(CLAIM_WORDS[name]):
        for stem in stems(group):
            lists[stem].add(number)
    return lists


def passage_features(claim, passage, header="", rarity=None, maxsim=None):
    """Features of a claim and one passage, in the order of ``PASSAGE_FEATURES``."""
    rarity = rarity or {}
    names = _stems_of_names(claim)
    passage_stems = content(passage)
    body = frozenset(stem for stem in content(claim) - names if not stem[0].isdigit())
    total = _summed_rarity(body, rarity)
    coverage = _summed_rarity(body & passage_stems, rarity) / total if total else 0.0
    source = _coverage(names, content(header) | passage_stems)
    # "Pay-by-Mile 2": a number of a name is no number.
    name_words = {word for name in proper_names(claim) for word in tokens(name)}
    numbers = [number for number in stated_numbers(claim) if f"{number.value:g}" not in name_words]
    differs = _polarity_differs(claim, nearest_clause(passage, body))
    return np.array(
        [
            coverage,
            source,
            coverage * source,
            *compared_numbers(numbers, stated_numbers(passage)),
            differs,
            differs * coverage,
            np.log1p(len(tokens(passage))),
            maxsim or 0.0,
        ]
    )


def _summed_rarity(stems, rarity):
    # fsum is exact: the order of a set, another in every process, cannot show.
    return math.fsum(rarity.get(stem, rarity.get("", 1.0)) for stem in stems)


class PlaceholderStance:
    """The documented placeholder: any passage of more than 50 characters supports."""

    def judge(self, claim, passages):
        return [(SUPPORTS if len(passage.text) > 50 else NEUTRAL, None) for passage in passages]


class FeatureStance:
    """Multinomial logistic regression on the `passage_features`."""

    def __init__(self, rarity=None, similarity=None, model=None):
        self._rarity = rarity
        self._similarity = similarity
        self.model = model

    def with_rarity_of(self, base):
        """Give the same model with the word weights of another collection."""
        return FeatureStance(base.rarity, self._similarity, self.model)

    def describe(self, claim, passages):
        """Features of passages of one sub-claim, shape [passages, features]."""
        similarities = [None] * len(passages)
        if self._similarity is not None:
            texts = [passage.text for passage in passages]
            similarities = self._similarity.similarities(claim, texts)
        rows = []
        for passage, similarity in zip(passages, similarities, strict=True):
            rows.append(
                passage_features(claim, passage.text, passage.header, self._rarity, similarity)
            )
        return np.array(rows)

    def fit(self, X, stances):
        self.model = features_model().fit(X, stances)
        return self

    def probabilities(self, X):
        """Probabilities in the order of ``EVIDENCE_STANCES``, shape [pairs, 3]."""
        order = [list(self.model.classes_).index(stance) for stance in EVIDENCE_STANCES]
        return settled(self.model.predict_proba(X)[:, order])

    def judge(self, claim, passages):
        if not passages:
            return []
        return list(map(most_probable, self.probabilities(self.describe(claim, passages))))


def features_model():
    """Logistic regression on standardised features, unfitted."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), logistic_regression())


def most_probable(probabilities):
    """Stance and probability of support from probabilities in the order of `EVIDENCE_STANCES`."""
    stance = EVIDENCE_STANCES[int(np.argmax(probabilities))]
    if stance == NEUTRAL:
        return NEUTRAL, None
    supports, refutes = probabilities[:2]
    return stance, float(supports / (supports + refutes))


class MaxSimilarity:
    """Mean over the claim's tokens of their largest cosine to a token of the passage."""

    def __init__(self, encoder):
        self._encoder = encoder
        self._vectors = {}

    def prepare(self, texts, role="document"):
        """Encode texts at once: far cheaper than one by one."""
        new = [text for text in dict.fromkeys(texts) if (role, text) not in self._vectors]
        if new:
            blocks = self._encoder.token_vectors(new, role)
            for position, text in enumerate(new):
                vectors = blocks.take([position]).vectors
                self._vectors[role, text] = vectors.astype(np.float32)

    def similarities(self, claim, passages):
        self.prepare([claim], "query")
        self.prepare(passages)
        claim_vectors = self._vectors["query", claim]
        similarities = []
        for text in passages:
            vectors = self._vectors["document", text]
            similarity = 0.0
            if len(claim_vectors) and len(vectors):
                cosines = claim_vectors @ vectors.T
                similarity = round(cosines.max(axis=1).mean().item(), 6)
            similarities.append(similarity)
        return similarities


class PluginStance:
    """Judge by a user's own: a function, or an object or class with such a ``judge``.

    Of ``(claim, passages)`` it gives for each passage a stance, or a stance and the probability of
    support against refutation.
    """

    def __init__(self, name):
        judge = plugin(name)
        self._name = name
        self._judge = getattr(judge, "judge", judge)
        if not callable(self._judge):
            raise InputError(
                f"{name} is no judge: give a function (claim, passages) or an object with 'judge'"
            )

    def judge(self, claim, passages):
        if not passages:
            return []
        answers = []
        for answer in called(self._name, self._judge, claim, passages):
            answers.append((answer, None) if isinstance(answer, str) else tuple(answer))
        if len(answers) != len(passages):
            raise InputError(
                f"{self._name} gave {len(answers)} answers for {len(passages)} passages"
            )
        for answer in answers:
            stance, p = answer if len(answer) == 2 else (None, None)
            if stance not in EVIDENCE_STANCES or not (p is None or 0 <= p <= 1):
                raise InputError(
                    f"{self._name} gave {answer!r}: give one of {', '.join(EVIDENCE_STANCES)}, "
                    "and a probability or None"
                )
        return answers


#: One training or test example: a sub-claim, a passage, and how they stand.
TrainingPair = namedtuple("TrainingPair", "claim passage stance group")


def training_pairs(labelled, base):
    """Examples from claims with gold atoms, and neutral ones from other passages.

    Of each atom: its sentences, other sentences of its document, and other documents.
    """
    pairs = []
    for claim in labelled:
        for atom in claim.atoms:
            row = base.rows[atom.doc_id]
            stance = SUPPORTS if atom.label == SUPPORTED else REFUTES
            for passage in [*base.holding(atom), base.whole(row)]:
                pairs.append(TrainingPair(atom.text, passage, stance, claim.group))
            for passage in base.extract(row, atom.text, 3):
                if not overlap(passage, atom):
                    pairs.append(TrainingPair(atom.text, passage, NEUTRAL, claim.group))
            for passage in _passages_elsewhere(base, atom.text, row):
                pairs.append(TrainingPair(atom.text, passage, NEUTRAL, claim.group))
        if claim.label == INSUFFICIENT_EVIDENCE:
            for passage in _passages_elsewhere(base, claim.text, None):
                pairs.append(TrainingPair(claim.text, passage, NEUTRAL, claim.group))
    return pairs


def _passages_elsewhere(base, text, gold_row):
    """Passages of the two nearest other documents."""
    rows = [row for row in base.search(text) if row != gold_row][:2]
    extracts = [passage for row in rows for passage in base.extract(row, text, 1)]
    return extracts + [base.whole(row) for row in rows]


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
