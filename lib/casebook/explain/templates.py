"""Why a document was found, in sentences.

The sentences come from templates. One is written only after the fact that it names was found in
the passage, and carries the position.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from casebook.readers import read_yaml
from casebook.sensitivity import facts
from casebook.sensitivity.domain import SHIPPED_DOMAIN
from casebook.sensitivity.edits import TEMPLATE_LABELS, Vocabulary
from casebook.sensitivity.extract import extract_sheet
from casebook.text import STOP_LIST, passages, token_spans, tokens

SENTENCES = read_yaml(Path(__file__).with_name("sentences.yml"))
_TEMPLATE_WORDS = TEMPLATE_LABELS | {"versus", "unknown", "years", "months", "days"}


class Sentence(NamedTuple):
    text: str
    kind: str
    support: tuple = ()  # words of a document, each with its place


class Passage(NamedTuple):
    """The part of a document that an explanation was made from; `start` is its position there."""

    document_id: str
    text: str
    start: int = 0

    def support(self, start, end):
        """Words of the document: ``text[start:end] == quote``."""
        place = {"start": self.start + start, "end": self.start + end}
        return {"document_id": self.document_id, **place, "quote": self.text[start:end]}


class Explanation(NamedTuple):
    sentences: list

    @property
    def text(self):
        return " ".join(sentence.text for sentence in self.sentences)

    def to_dict(self):
        return {
            "text": self.text,
            "sentences": [each._asdict() for each in self.sentences],
        }


class Explainer:
    """Explanations of search results in sentences that point to their support.

    Parameters
    ----------
    texts : dict
        {document: text} of every document that may be explained.
    domain : Domain, optional
        Acts and fact types of your own that documents are searched for.

    Examples
    --------
    >>> from casebook.sensitivity.extract import extract_sheet
    >>> from casebook.explain.templates import Explainer
    >>> texts = {"d1": "He was convicted under section 302 IPC.", "d2": "The rent was due."}
    >>> sheet = extract_sheet("The accused was charged under section 302 IPC.").sheet
    >>> explainer = Explainer(texts)
    >>> [explainer.result(sheet, document).text for document in texts]
    ['Both cite IPC-302.', 'No fact or term of the query was found in it.']
    """

    def __init__(self, texts, domain=SHIPPED_DOMAIN):
        self.texts = texts
        self.domain = domain
        self.weights = TermWeights(texts.values())

    def passage(self, sheet, document):
        """Passage of a document that shares most with a sheet, the first of equals."""
        text = self.texts[document]
        query = facts.in_words(facts.query_text(sheet))
        start = 0
        cut = []
        for window in passages(text, 200) or (text,):  # words
            start = text.index(window, start)
            shared = self.weights.shared(query, window)
            weight = sum(self.weights.weight(term) for term, _, _ in shared)
            cut.append((-weight, start, window))
        _, start, window = min(cut)
        return Passage(document, window, start)

    def result(self, sheet, document):
        """What a fact sheet and a document have in common, in at most two sentences."""
        passage = self.passage(sheet, document)
        positions = positions_of(passage.text, self.domain)
        shared = {}  # facts in words, those of one's own types with these
        for fact in facts.facts_of(sheet):
            if fact.key in positions:
                is_own = fact.field.startswith("further_facts")
                shared[fact.key] = f"{fact.type} {fact.text}" if is_own else fact.text
        sentences = []
        kinds = SENTENCES["kinds"]
        for kind, template in SENTENCES["common"].items():
            keys = [key for key in shared if kinds.get(key[0], "further") == kind]
            if keys:
                text = template.format(", ".join(shared[key] for key in keys))
                support = [passage.support(*positions[key]) for key in keys]
                sentences.append(Sentence(text, kind, support))
        # Sections have a sentence of their own.
        others = sheet.model_copy(update={"sections_cited": ()})
        query = facts.in_words(facts.query_text(others))
        spans = self.weights.shared(query, passage.text)[:3]  # that a sentence can name
        if spans:
            words, starts, ends = zip(*spans, strict=True)
            text = SENTENCES["terms"].format(", ".join(words))
            support = list(map(passage.support, starts, ends))
            sentences.append(Sentence(text, "terms", support))
        nothing = [Sentence(SENTENCES["nothing"], "nothing")]
        return Explanation(sentences[:2] or nothing)


# --- facts


@lru_cache(maxsize=4096)
def positions_of(text, domain=SHIPPED_DOMAIN):
    """The facts that a passage states, {key: (start, end)}."""
    if not text.strip():
        return {}
    extraction = extract_sheet(text, domain=domain)
    return {found.key: (found.start, found.end) for found in extraction.spans}


# --- terms


@lru_cache(maxsize=4096)
def terms(text):
    spans = token_spans(text)
    return [span for span in spans if len(span[0]) >= 3 and span[0] not in STOP_LIST]


class TermWeights(Vocabulary):
    """Inverse document frequencies of a collection: ln((N + 1) / (df + 1)) + 1."""

    def __init__(self, texts):
        super().__init__(texts, tokens)

    def weight(self, term):
        return math.log((self.n + 1) / (self.df[term] + 1)) + 1

    def shared(self, query, text):
        """Terms that a query and a text share, the rarest first: (term, start, end)."""
        asked = {term for term, _, _ in terms(query)} - _TEMPLATE_WORDS
        first = {}
        for span in terms(text):
            if span[0] in asked:
                first.setdefault(span[0], span)
        return sorted(first.values(), key=lambda span: (-self.weight(span[0]), span[0]))
