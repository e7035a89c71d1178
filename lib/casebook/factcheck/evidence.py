"""Evidence in three stages: write queries and search a collection, rate the source, extract passages."""

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.claims import FOLDER, STOP, content, names, numbers, sentences, words, yaml_table
from casebook.factcheck.verdict import LEVELS
from casebook.readers import read_yaml
from casebook.retrieval.pipeline import HybridRetriever

MOST_QUERIES = 5


@dataclass(frozen=True)
class Query:
    """A search text for one sub-claim."""

    subclaim_id: str
    text: str


def queries(subclaim, k=3):
    """Up to k queries that look at a sub-claim from different sides; none has the words of another."""
    text = subclaim.text
    named = " ".join(names(text))
    spoken = [word for word in words(text) if word not in STOP and word not in words(named)]
    plain = [word for word in spoken if not word[0].isdigit()]
    longest = sorted(dict.fromkeys(plain), key=lambda word: (-len(word), word))
    options = (
        text,
        " ".join([named, *plain[:2]]),
        " ".join(plain),
        " ".join(longest[: max(2, len(longest) // 2)]),
        named,
    )
    kept = {}
    for option in options:
        if content(option):
            kept.setdefault(content(option), Query(subclaim.id, option.strip()))
    return tuple(kept.values())[:k] or (Query(subclaim.id, text),)


def documented_queries(subclaim, k=3):
    """Queries by the documented templates; duplicates stay."""
    text, entities = subclaim.text, list(subclaim.entities)
    if "is" in text.lower():
        question = text.replace(".", "?")
    else:
        question = f"When {text}" if "was" in text.lower() else f"What about {text}"
    keywords = {word for word in text.lower().split() if len(word) > 3} - set(yaml_table("documented")["query_stop"])
    found = [" ".join([*entities, text]), question, " ".join(sorted(keywords | set(entities))[:8])]
    year = next((number for number in numbers(text) if 1000 <= number.value <= 9999), None)
    if k > 3 and year is not None:
        found.append(f"{text} history timeline {year.value:.0f}")
    return tuple(Query(subclaim.id, option) for option in found[:k])


QUERY_WRITERS = {"diverse": queries, "documented": documented_queries}


def diversity(texts):
    """1 less the mean Jaccard similarity of the content stems of all pairs of queries."""
    pairs = list(itertools.combinations([content(text) for text in texts], 2))
    if not pairs:
        return None
    return 1 - sum(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs) / len(pairs)


@dataclass(frozen=True)
class Passage:
    """A part of a document."""

    row: int
    start: int
    end: int
    text: str
    header: str


def overlap(one, other):
    """Whether two spans of a document share characters."""
    return one.start < other.end and other.start < one.end


class EvidenceBase:
    """A collection that evidence is taken from.

    Parameters
    ----------
    documents : pandas.DataFrame
        ``doc_id`` and ``text``; ``agreement``, ``insurer`` and ``title`` make a header that is searched with the
        text, ``url`` and ``kind`` are rated.
    mode : str
        System of `casebook.retrieval.pipeline.HybridRetriever` that searches.
    encoder : object, optional
        Its encoder.
    depth : int, default 10
        Documents per query.
    rating_table : dict, optional
        See `read_ratings`.

    Raises
    ------
    InputError
        If there are no documents, or an id stands twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from casebook.factcheck.evidence import EvidenceBase
    >>> base = EvidenceBase(pd.DataFrame({"doc_id": ["a", "b"], "text": ["Hail is covered. Frost is not.", "Cats."]}))
    >>> (row,) = base.search("hail")
    >>> [passage.text for passage in base.extract(row, "Hail is covered.")]
    ['Hail is covered.']
    """

    def __init__(self, documents, mode="bm25_stemmed", encoder=None, depth=10, rating_table=None):
        if not isinstance(documents, pd.DataFrame) or documents.empty:
            raise InputError("the collection holds no documents: nothing to search")
        self.documents, self.mode = documents.reset_index(drop=True), mode
        self._rating_table = rating_table
        self.texts, self.doc_ids = documents["text"].tolist(), documents["doc_id"].tolist()
        self.rows = {doc_id: row for row, doc_id in enumerate(self.doc_ids)}
        told = documents.reindex(columns=["url", "kind", "agreement", "insurer", "title"]).astype(object)
        told = told.where(told.notna(), "").astype(str).apply(lambda column: column.str.strip())
        self.urls, self._kinds = told["url"].tolist(), told["kind"].tolist()
        named = told[["agreement", "insurer", "title"]].to_numpy().tolist()
        self.headers = [", ".join(dict.fromkeys(filter(None, parts))) for parts in named]
        pairs = zip(self.headers, self.texts, strict=True)
        self._searched = [f"{header}. {text}" if header else text for header, text in pairs]
        searched = self.documents.assign(text=self._searched)
        self._retriever = HybridRetriever(searched, encoder, mode=mode, top_k=min(depth, len(self)))

    def __len__(self):
        return len(self.documents)

    @cached_property
    def documented_ratings(self):
        return [documented_rating(url) for url in self.urls]

    @cached_property
    def ratings(self):
        return [rate(url, kind or None, self._rating_table) for url, kind in zip(self.urls, self._kinds, strict=True)]

    @cached_property
    def rarity(self):
        """Inverse document frequency of every content stem, ``""`` for any other."""
        counts = Counter(stem for text in self._searched for stem in content(text))
        return {stem: math.log1p(len(self) / n) for stem, n in counts.items()} | {"": math.log1p(len(self))}

    def search(self, query):
        """Rows of the documents for one query, best first."""
        if not query.strip():
            return []
        found = self._retriever.retrieve_many([query], depth=1)
        ranked = found.final.ids[0, : found.top_k]
        return ranked[ranked >= 0].tolist()

    def passage(self, row, start, end):
        return Passage(row, start, end, self.texts[row][start:end], self.headers[row])

    def whole(self, row):
        return self.passage(row, 0, len(self.texts[row]))

    def holding(self, atom):
        """The sentences that hold the words of a quote."""
        row = self.rows[atom.doc_id]
        passages = [self.passage(row, *span) for span in sentences(self.texts[row])]
        return [passage for passage in passages if overlap(passage, atom)]

    def deciding(self, claim):
        """The sentences that decide a claim."""
        return list(dict.fromkeys(passage for atom in claim.atoms for passage in self.holding(atom)))

    def extract(self, row, text, most=2):
        """Sentences of a document by the summed rarity of the content stems shared with a text.

        Stems of the document's name are left out; ties go in document order; sentences that share nothing are
        no evidence.
        """
        wanted = content(text) - content(self.headers[row])

        def weight(span):
            return math.fsum(self.rarity[stem] for stem in wanted & content(self.texts[row][slice(*span)]))

        return self._heaviest(row, ((weight(span), span) for span in sentences(self.texts[row])), most)

    def extract_documented(self, row, text, most=3):
        """Paragraphs of at least 50 characters by the number of shared tokens, function words included."""
        wanted, found = set(text.lower().split()), re.finditer(r"[^\n]+", self.texts[row])
        long = (match for match in found if len(match.group()) >= 50)
        weighed = ((len(wanted & set(match.group().lower().split())), match.span()) for match in long)
        return self._heaviest(row, weighed, most)

    def _heaviest(self, row, weighed, most):
        ranked = sorted((-weight, span) for weight, span in weighed if weight > 0)
        return [self.passage(row, *span) for _, span in ranked[:most]]


def fuse_queries(rankings, most):
    """Reciprocal rank fusion with constant 20; ties go by the collection and not by the best rank."""
    scores = Counter()
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] += 1 / (20 + rank)
    return sorted(scores, key=lambda row: (-round(scores[row], 12), row))[:most]


class Rating(NamedTuple):
    """Credibility of one source."""

    score: float
    level: str
    rule: str


def rate(url="", kind=None, ratings=None):
    """Rate a source by its kind, else the registered domain of its address, else the public suffix."""
    ratings = read_ratings() if ratings is None else ratings
    score, rule = _rated(str(url or "").strip(), str(kind or "").lower(), ratings)
    level = next((name for name in LEVELS[:2] if score >= ratings["levels"][name]), "low")
    return Rating(float(score), level, rule)


def _rated(url, kind, ratings):
    if kind in ratings["kinds"]:
        return ratings["kinds"][kind], f"kind {kind}"
    address, opaque = unwrap(url, ratings["archives"])
    host = _host(address) if address else None
    if opaque or host is None:
        return ratings["unknown"], "archive without an address" if opaque else "no address"
    parts = _extractor()(host)
    registered = parts.top_domain_under_public_suffix
    for domain, score in ratings["domains"].items():
        if _within(host, domain) and (registered == domain or not registered):
            return score, f"domain {domain}"
    label = parts.suffix.split(".")[0]
    if not parts.is_private and label in ratings["suffixes"]:
        return ratings["suffixes"][label], f"suffix {parts.suffix}"
    return ratings["other"], "other"


def documented_rating(url):
    """Rate an address by the documented heuristic, quirks included: the end of the host as a string."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return Rating(0.20, "low", "cannot be read")
    host = parts.netloc.lower().replace("www.", "")
    for row in yaml_table("documented")["credibility"]:
        for end in row["ends"]:
            if host.endswith(end):
                return Rating(row["score"], row["level"], f"host ends in {end}")
    return Rating(0.40, "low", "https") if parts.scheme == "https" else Rating(0.30, "low", "not https")


@cache
def read_ratings(path=FOLDER / "credibility.yml"):
    """Read and check a rating table: scores in [0, 1] of kinds, domains and public suffixes."""
    ratings, sections = read_yaml(path, "rating table"), ("kinds", "domains", "suffixes")
    wanted = {"version", "levels", "other", "unknown", "archives", *sections}
    if not isinstance(ratings, dict) or set(ratings) != wanted:
        raise InputError(f"{path}: needs exactly {sorted(wanted)}")
    for section in sections:
        if not isinstance(ratings[section], dict):
            raise InputError(f"{path}: section {section!r} must map names to scores")
        entries = ratings[section].items()
        ratings[section] = {str(name).lower(): e.get("score") if isinstance(e, dict) else e for name, e in entries}
    for section in (*sections, "other", "unknown"):
        scores = ratings[section] if section in sections else {section: ratings[section]}
        for name, score in scores.items():
            if not isinstance(score, int | float) or not 0 <= score <= 1:
                raise InputError(f"{path}: {section} {name!r}: score {score!r} not in 0..1")
    return ratings


@cache
def _extractor():
    """Public suffix list of the package; nothing is downloaded."""
    import tldextract

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


_INNER = re.compile(r"https?(?::|%3A)(?:/|%2F){1,2}[^\s]+", re.IGNORECASE)


def unwrap(url, archives):
    """Address that an archive's address holds, and whether it is an archive that holds none."""
    for _ in range(5):  # archives of archives exist
        host = _host(url)
        if host is None or not any(_within(host, name) for name in archives):
            return url, False
        inner = _INNER.search(url, len(urlsplit(url).scheme) + 3)
        if inner is None:
            return url, True
        url = re.sub(r"^(https?:)/+", r"\1//", unquote(inner.group()), flags=re.I)
    return url, True


def _within(host, domain):
    return host == domain or host.endswith(f".{domain}")


def _host(url):
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return (host or "").rstrip(".") or None
