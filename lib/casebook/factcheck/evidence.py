"""Evidence in three stages: search a collection, rate the source, extract passages."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.credibility import rate
from casebook.factcheck.words import content, sentences
from casebook.retrieval.pipeline import HybridRetriever

RANK_CONSTANT = 20  # of the fusion over the queries of one sub-claim
_SHORTEST_DOCUMENTED = 50  # characters of a documented passage
_HEADER_COLUMNS = ("agreement", "insurer", "title")


@dataclass(frozen=True)
class Passage:
    """A part of a document."""

    row: int
    start: int
    end: int
    text: str
    header: str


class EvidenceBase:
    """A collection that evidence is taken from."""

    def __init__(self, documents, mode="bm25_stemmed", encoder=None, depth=10, table=None):
        if not isinstance(documents, pd.DataFrame) or documents.empty:
            raise InputError("the collection holds no documents: nothing to search")
        self.documents = documents.reset_index(drop=True)
        self.headers = [_header(row) for row in self._records()]
        named = self.documents.assign(text=self._named_texts())
        depth = min(depth, len(named))
        self._retriever = HybridRetriever(named, encoder, mode=mode, top_k=depth)
        self.texts = self.documents["text"].tolist()
        self.doc_ids = self.documents["doc_id"].tolist()
        self._urls = [_text_of(row, "url") for row in self._records()]
        self._table = table

    def __len__(self):
        return len(self.documents)

    def _records(self):
        return self.documents.to_dict("records")

    def _named_texts(self):
        texts = zip(self.headers, self.documents["text"], strict=True)
        return [f"{header}. {text}" if header else text for header, text in texts]

    @cached_property
    def ratings(self):
        """Rating of every document, list of Rating."""
        return [rate(_text_of(row, "url"), _text_of(row, "kind") or None, self._table) for row in self._records()]

    @cached_property
    def rarity(self):
        """Inverse document frequency of every content stem, ``""`` for any other."""
        counts = Counter()
        for text in self._named_texts():
            counts.update(content(text))
        known = {stem: math.log1p(len(self) / n) for stem, n in counts.items()}
        return known | {"": math.log1p(len(self))}

    def url(self, row):
        """Give the address of a document, empty if it has none."""
        return self._urls[row]

    def search(self, query):
        """Find documents for one query."""
        if not query.strip():
            return []
        found = self._retriever.retrieve_many([query], depth=1)
        ranked = found.final.ids[0, : found.top_k]
        return ranked[ranked >= 0].tolist()

    def passage(self, row, start, end):
        """Give a part of a document, Passage."""
        text = self.texts[row]
        return Passage(row, start, end, text[start:end], self.headers[row])

    def whole(self, row):
        """Give a document as one passage."""
        return self.passage(row, 0, len(self.texts[row]))

    def extract(self, row, text, most=2):
        """Take the sentences of a document that speak most to a text.

        Parameters
        ----------
        row : int
            Document.
        text : str
            Sub-claim.
        most : int
            Most sentences.

        Returns
        -------
        list of Passage
            By the summed rarity of the content stems that sentence and sub-claim
            share, those of the document's name left out; ties in document order.
            Sentences that share nothing are not evidence.
        """
        document = self.texts[row]
        wanted = content(text) - content(self.headers[row])
        ranked = []
        for start, end in sentences(document):
            shared = wanted & content(document[start:end])
            weight = math.fsum(self.rarity[stem] for stem in shared)
            if weight > 0:
                ranked.append((-weight, start, end))
        return [self.passage(row, start, end) for _, start, end in sorted(ranked)[:most]]

    def extract_documented(self, row, text, most=3):
        """Take passages as documented."""
        document = self.texts[row]
        wanted = set(text.lower().split())
        ranked = []
        for match in re.finditer(r"[^\n]+", document):
            shared = len(wanted & set(match.group().lower().split()))
            if shared and len(match.group()) >= _SHORTEST_DOCUMENTED:
                ranked.append((-shared, *match.span()))
        return [self.passage(row, start, end) for _, start, end in sorted(ranked)[:most]]


def _header(row):
    """Name a document, without saying a word twice."""
    parts = [_text_of(row, name) for name in _HEADER_COLUMNS]
    return ", ".join(dict.fromkeys(part for part in parts if part))


def _text_of(row, name):
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def fuse_queries(rankings, most):
    """Join what several queries found."""
    scores = Counter()
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] += 1 / (RANK_CONSTANT + rank)
    return sorted(scores, key=lambda row: (-round(scores[row], 12), row))[:most]
