"""A collection that evidence is searched in, its passages, and the credibility of its sources."""

import math
import re
from collections import Counter, namedtuple
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.factcheck.words import content, first_name, unaccented, yaml_table
from casebook.readers import read_yaml
from casebook.retrieval.index import documents_frame
from casebook.retrieval.pipeline import HybridRetriever
from casebook.text import sentences

DEPTH = 10  # documents per query
NAME_FIELDS = ["agreement", "insurer", "title"]

#: A part of a document, which is named by its row in the collection; ``document`` is all its text.
EvidencePassage = namedtuple(
    "EvidencePassage", "row start end text header document", defaults=[""]
)
CREDIBILITY = Path(__file__).with_name("credibility.yml")
#: Credibility of one source: score in [0, 1] and level.
Rating = namedtuple("Rating", "score level")


class EvidenceBase:
    """A collection that evidence is taken from.

    Parameters
    ----------
    documents : pandas.DataFrame or list of dict
        ``doc_id`` and ``text``; ``agreement``, ``insurer`` and ``title`` make a header that is
        searched with the text, ``url`` and ``kind`` are rated.
    mode : str
        System of `casebook.retrieval.pipeline.HybridRetriever` that searches.
    rating_table : RatingTable, optional
        See `read_rating_table`.

    Raises
    ------
    InputError
        If there are no documents, or an id stands twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from casebook import EvidenceBase
    >>> texts = ["Hail is covered. Frost is not.", "Cats."]
    >>> base = EvidenceBase(pd.DataFrame({"doc_id": ["a", "b"], "text": texts}))
    >>> ((row,),) = base.search(["hail"])
    >>> [passage.text for passage in base.extract(row, "Hail is covered.")]
    ['Hail is covered.']
    """

    def __init__(self, documents, mode="bm25_stemmed", rating_table=None):
        self.documents = documents = documents_frame(documents)
        self.mode = mode
        self.texts = documents["text"].tolist()
        self.doc_ids = documents["doc_id"].tolist()
        self.rows = {doc_id: row for row, doc_id in enumerate(self.doc_ids)}
        fields = documents.reindex(columns=[*NAME_FIELDS, "url", "kind"]).astype(object)
        fields = fields.where(fields.notna(), "").astype(str).map(str.strip)
        names = fields[NAME_FIELDS].to_numpy().tolist()
        self.headers = [", ".join(dict.fromkeys(filter(None, each))) for each in names]
        self.urls = fields["url"].tolist()
        rated = zip(self.urls, fields["kind"], strict=True)
        self.ratings = [rate(url, kind, rating_table) for url, kind in rated]
        self.documented_ratings = list(map(documented_rating, self.urls))
        pairs = zip(self.headers, self.texts, strict=True)
        self.searched = [
            f"{header}. {text}" if header else text for header, text in pairs
        ]
        searched = documents.assign(text=self.searched)
        self._retriever = HybridRetriever(
            searched, mode=mode, top_k=min(DEPTH, len(self.texts))
        )

    @cached_property
    def rarity(self):
        """Inverse document frequency of every content stem, ``""`` for any other."""
        counts = Counter(stem for text in self.searched for stem in content(text))
        counts[""] = 1
        return {
            stem: math.log1p(len(self.texts) / count) for stem, count in counts.items()
        }

    def search(self, queries):
        """Rows of the documents that each query finds, best first; blank queries are left out."""
        asked = [query for query in queries if query.strip()]
        if not asked:
            return []
        result = self._retriever.retrieve_many(asked, depth=1)
        return [ids[ids >= 0].tolist() for ids in result.final.ids[:, : result.top_k]]

    def on_subject(self, rows, names):
        """Of some documents those that have half as many of the names as the best has."""
        counts = {}
        for row in rows:
            text = unaccented(self.searched[row])
            counts[row] = sum(unaccented(name) in text for name in names)
        most = max(counts.values(), default=0)
        return [row for row in rows if 2 * counts[row] >= most]

    def passage(self, row, start, end):
        text = self.texts[row]
        return EvidencePassage(
            row, start, end, text[start:end], self.headers[row], text
        )

    def whole(self, row):
        return self.passage(row, 0, len(self.texts[row]))

    def holding(self, atom):
        row = self.rows[atom.doc_id]
        spans = sentences(self.texts[row])
        held = [
            (start, end)
            for start, end in spans
            if start < atom.end and atom.start < end
        ]
        return [self.passage(row, *span) for span in held]

    def deciding(self, claim):
        passages = [passage for atom in claim.atoms for passage in self.holding(atom)]
        return list(dict.fromkeys(passages))

    def found(self, result):
        evidence = result.evidence
        passages = [
            self.passage(self.rows[item.doc_id], item.start, item.end)
            for item in evidence
        ]
        return list(dict.fromkeys(passages))

    def extract(self, row, text, most=2):
        """Sentences of a document by the summed rarity of the content stems shared with a text.

        Stems of the document's name are left out; ties go in document order; sentences that share
        nothing are no evidence.
        """
        wanted = content(text) - content(
            self.headers[row] or first_name(self.texts[row])
        )
        weighted = []
        for start, end in sentences(self.texts[row]):
            shared = wanted & content(self.texts[row][start:end])
            # fsum is exact: the order of a set, another in every process, cannot show
            weighted.append(
                (math.fsum(self.rarity[stem] for stem in shared), (start, end))
            )
        return self._heaviest(row, weighted, most)

    def extract_documented(self, row, text, most=3):
        """Paragraphs of 50 characters or more by the number of shared tokens, stop words too."""
        wanted = set(text.lower().split())
        weighted = []
        for match in re.finditer(r"[^\n]{50,}", self.texts[row]):
            shared = wanted & set(match.group().lower().split())
            weighted.append((len(shared), match.span()))
        return self._heaviest(row, weighted, most)

    def _heaviest(self, row, weighted_spans, most):
        ranked = sorted(
            (-weight, span) for weight, span in weighted_spans if weight > 0
        )
        return [self.passage(row, *span) for _, span in ranked[:most]]


# --- credibility: by a table of kinds, domains and suffixes, and as documented


_Score = Annotated[float, Field(strict=True, ge=0, le=1)]


class RatingTable(BaseModel, extra="forbid"):
    """Scores of kinds of document, registered domains and public suffixes, in small letters."""

    version: int
    levels: dict[str, _Score]
    kinds: dict[str, _Score]
    domains: dict[str, _Score]
    suffixes: dict[str, _Score]
    other: _Score
    unknown: _Score


@cache
def read_rating_table(path=CREDIBILITY):
    try:
        return RatingTable.model_validate(read_yaml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


def rate(url="", kind="", table=None):
    """Rate a source by its kind, else its registered domain, else the public suffix."""
    table = table or read_rating_table()
    address = _extractor()(url.strip().lower())
    score = table.unknown
    if address.fqdn:
        suffix = "" if address.is_private else address.suffix.split(".")[0]
        score = table.suffixes.get(suffix, table.other)
        score = table.domains.get(address.top_domain_under_public_suffix, score)
    score = table.kinds.get(kind.lower(), score)
    reached = [level for level in ("high", "medium") if score >= table.levels[level]]
    return Rating(score, *reached[:1] or ["low"])


@cache
def _extractor():
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


def documented_rating(url):
    """Rate an address by the documented heuristic, quirks included: the end of the host."""
    try:
        address = urlsplit(url)
    except ValueError:
        return Rating(0.20, "low")
    host = address.netloc.lower().replace("www.", "")
    for row in yaml_table("documented")["credibility"]:
        if host.endswith(tuple(row["ends"])):
            return Rating(row["score"], row["level"])
    return Rating(0.40 if address.scheme == "https" else 0.30, "low")
