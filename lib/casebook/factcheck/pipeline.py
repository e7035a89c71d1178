"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

import itertools
import math
import os
import re
from collections import Counter, namedtuple
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter
from typing import Annotated
from urllib.parse import unquote, urlsplit

import pandas as pd
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from casebook.data.cards import cards, first_problem
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.factcheck import claims
from casebook.factcheck import stance as judges
from casebook.factcheck import verdict as rules
from casebook.factcheck.claims import content, names, numbers, sentences, words, yaml_table
from casebook.factcheck.verdict import DOCUMENTED, INSUFFICIENT, Evidence, Rule, VerdictResult
from casebook.models.encoders import load_encoder, locate_model
from casebook.models.language import load_language_model
from casebook.models.rerankers import EntailmentModel
from casebook.paths import home_path
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.readers import read_yaml
from casebook.retrieval.pipeline import HybridRetriever
from casebook.stats.samples import check_choice

MOST_QUERIES = 5


def queries(subclaim, k=3):
    """Up to k texts to search that look at a sub-claim from different sides; none has the words of another."""
    text = subclaim.text
    named = " ".join(names(text))
    spoken = [word for word in words(text) if word not in claims.STOP and word not in words(named)]
    plain = [word for word in spoken if not word[0].isdigit()]
    longest = sorted(dict.fromkeys(plain), key=lambda word: (-len(word), word))
    halves = [named, *plain[:2]], plain, longest[: max(2, len(longest) // 2)]
    kept = {}
    for option in (text, *map(" ".join, halves), named):
        if content(option):
            kept.setdefault(content(option), option.strip())
    return tuple(kept.values())[:k] or (text,)


def documented_queries(subclaim, k=3):
    """Queries by the documented templates; duplicates stay."""
    text, entities = subclaim.text, list(subclaim.entities)
    if "is" in text.lower():
        question = text.replace(".", "?")
    else:
        question = f"When {text}" if "was" in text.lower() else f"What about {text}"
    keywords = {word for word in text.lower().split() if len(word) > 3} - set(
        yaml_table("documented")["query_stop"]
    )
    found = [" ".join([*entities, text]), question, " ".join(sorted(keywords | set(entities))[:8])]
    year = next((number for number in numbers(text) if 1000 <= number.value <= 9999), None)
    if k > 3 and year is not None:
        found.append(f"{text} history timeline {year.value:.0f}")
    return tuple(found[:k])


def diversity(texts):
    """1 less the mean Jaccard similarity of the content stems of all pairs of queries."""
    pairs = list(itertools.combinations([content(text) for text in texts], 2))
    if not pairs:
        return None
    return 1 - sum(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs) / len(pairs)


#: A part of a document, which is named by its row in the collection.
Passage = namedtuple("Passage", "row start end text header")


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
    >>> from casebook.factcheck.pipeline import EvidenceBase
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
        told = documents.reindex(columns=["url", "kind", "agreement", "insurer", "title"]).astype(
            object
        )
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
        return [
            rate(url, kind or None, self._rating_table)
            for url, kind in zip(self.urls, self._kinds, strict=True)
        ]

    @cached_property
    def rarity(self):
        """Inverse document frequency of every content stem, ``""`` for any other."""
        counts = Counter(stem for text in self._searched for stem in content(text))
        return {stem: math.log1p(len(self) / n) for stem, n in counts.items()} | {
            "": math.log1p(len(self))
        }

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
        spans = [(a, b) for a, b in sentences(self.texts[row]) if a < atom.end and atom.start < b]
        return [self.passage(row, *span) for span in spans]

    def deciding(self, claim):
        """The sentences that decide a claim."""
        return list(
            dict.fromkeys(passage for atom in claim.atoms for passage in self.holding(atom))
        )

    def extract(self, row, text, most=2):
        """Sentences of a document by the summed rarity of the content stems shared with a text.

        Stems of the document's name are left out; ties go in document order; sentences that share nothing are
        no evidence.
        """
        wanted = content(text) - content(self.headers[row])

        def weight(span):
            return math.fsum(
                self.rarity[stem] for stem in wanted & content(self.texts[row][slice(*span)])
            )

        return self._heaviest(
            row, ((weight(span), span) for span in sentences(self.texts[row])), most
        )

    def extract_documented(self, row, text, most=3):
        """Paragraphs of at least 50 characters by the number of shared tokens, function words included."""
        wanted = set(text.lower().split())
        paragraphs = re.finditer(r"[^\n]{50,}", self.texts[row])
        weighed = (
            (len(wanted & set(match.group().lower().split())), match.span()) for match in paragraphs
        )
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


#: Credibility of one source: score in [0, 1] and level.
Rating = namedtuple("Rating", "score level")


def rate(url="", kind=None, ratings=None):
    """Rate a source by its kind, else the registered domain of its address, else the public suffix."""
    ratings = read_ratings() if ratings is None else ratings
    score = _score(str(url or "").strip(), str(kind or "").lower(), ratings)
    return Rating(
        score, next((name for name in ("high", "medium") if score >= ratings.levels[name]), "low")
    )


def _score(url, kind, ratings):
    if kind in ratings.kinds:
        return ratings.kinds[kind]
    host = _host(unwrap(url, ratings.archives))
    if host is None:
        return ratings.unknown
    parts = _extractor()(host)
    registered = parts.top_domain_under_public_suffix
    for domain, score in ratings.domains.items():
        if _within(host, domain) and (registered == domain or not registered):
            return score
    label = "" if parts.is_private else parts.suffix.split(".")[0]
    return ratings.suffixes.get(label, ratings.other)


def documented_rating(url):
    """Rate an address by the documented heuristic, quirks included: the end of the host as a string."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return Rating(0.20, "low")
    host = parts.netloc.lower().replace("www.", "")
    for row in yaml_table("documented")["credibility"]:
        if host.endswith(tuple(row["ends"])):
            return Rating(row["score"], row["level"])
    return Rating(0.40 if parts.scheme == "https" else 0.30, "low")


def _scores(rows):
    """Scores by lower-case name; an entry is a score or an object with one."""
    if not isinstance(rows, dict):
        return rows
    return {
        str(name).lower(): one.get("score") if isinstance(one, dict) else one
        for name, one in rows.items()
    }


_Share = Annotated[float, Field(strict=True, ge=0, le=1)]
_Scores = Annotated[dict[str, _Share], BeforeValidator(_scores)]


class Ratings(BaseModel, extra="forbid"):
    """Table of ratings: scores of kinds of document, registered domains and public suffixes."""

    version: int
    levels: dict[str, _Share]
    archives: list[str]
    kinds: _Scores
    domains: _Scores
    suffixes: _Scores
    other: _Share
    unknown: _Share


@cache
def read_ratings(path=claims.FOLDER / "credibility.yml"):
    """Read and check a rating table."""
    try:
        return Ratings.model_validate(read_yaml(path, "rating table"))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


@cache
def _extractor():
    """Public suffix list of the package; nothing is downloaded."""
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


_INNER = re.compile(r"https?(?::|%3A)(?:/|%2F){1,2}[^\s]+", re.IGNORECASE)


def unwrap(url, archives):
    """Address that an archive's address holds, empty if it holds none."""
    for _ in range(5):  # archives of archives exist
        host = _host(url)
        if host is None or not any(_within(host, name) for name in archives):
            return url
        inner = _INNER.search(url, len(urlsplit(url).scheme) + 3)
        url = re.sub(r"^(https?:)/+", r"\1//", unquote(inner.group()), flags=re.I) if inner else ""
    return ""


def _within(host, domain):
    return host == domain or host.endswith(f".{domain}")


def _host(url):
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return (host or "").rstrip(".") or None


# --- the pipeline

STAGES = ("decomposition", "queries", "search", "credibility", "extraction", "stance", "verdict")
GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}
OWN = "own"  # the smoke and insurance collections as one


@dataclass(frozen=True)
class PipelineConfig:
    """Settings: how claims are parted, how many queries a part has (``k``), what is read, and how evidence decides.

    ``documents`` a part (None: all that are found) give ``passages`` each, if they pass the ``gate`` of credibility;
    without ``three_stage`` they are read whole and ungated. ``parity``: ask, rate, extract and number as documented.
    """

    decomposition: str = "rules"
    k: int = 3
    documents: int | None = 3
    three_stage: bool = True
    gate: str = "low"
    passages: int = 2
    rule: Rule = field(default_factory=Rule)
    parity: bool = False

    def __post_init__(self):
        check_choice("gate", self.gate, GATES)
        if not isinstance(self.k, int) or not 1 <= self.k <= MOST_QUERIES:
            raise InputError(f"k must be a whole number from 1 to {MOST_QUERIES}, got {self.k!r}")


class FactChecker:
    """Check claims against a collection.

    Parameters
    ----------
    base : EvidenceBase
        Where evidence is searched.
    stance : object, optional
        Judge of passages with ``judge(claim, passages)``, see `casebook.factcheck.stance`; by default the public one.
    config : PipelineConfig, optional
        Settings.
    memo : dict, optional
        Results shared with other configurations over the same collection and judge.

    Raises
    ------
    InputError
        If the decomposition is unknown.

    Notes
    -----
    ``check(claim, claim_id)`` gives a `casebook.factcheck.verdict.VerdictResult`: verdict (SUPPORTED, NOT_SUPPORTED
    or INSUFFICIENT_EVIDENCE), confidence and degree of support in [0, 1], sub-claims, queries, evidence with
    document and characters, and seconds by stage. A claim that crashes has ``error`` and no verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> from casebook.factcheck.pipeline import EvidenceBase, FactChecker
    >>> from casebook.factcheck.stance import PublicJudge
    >>> documents = pd.DataFrame({"doc_id": ["a", "b"], "text": ["Money is limited to 500.", "Hail is covered."]})
    >>> checker = FactChecker(EvidenceBase(documents), PublicJudge())
    >>> checker.check("Money is limited to 750.").verdict
    'NOT_SUPPORTED'
    """

    def __init__(self, base, stance=None, config=None, memo=None):
        self.base = base
        self.stance = stance or judges.PublicJudge()
        self.config = config or PipelineConfig()
        self._decompose = claims.decomposer_of(self.config.decomposition)
        self._memo = {} if memo is None else memo

    @property
    def passing(self):
        """How many documents pass the credibility gate."""
        return sum(map(self._passes, range(len(self.base))))

    def check_all(self, claims):
        """Check claims, each on its own."""
        return [self.check(claim.text, claim.id) for claim in track(claims, "checking claims")]

    def check(self, claim, claim_id="claim"):
        """Check one claim; if a stage fails, the result has its name and no verdict."""
        stages = _Stages(self._memo)
        try:
            return self._check(stages, claim, claim_id)
        except Exception as error:
            cause = (
                f"{stages.now}: {getattr(error, 'cause', None) or type(error).__name__}: {error}"
            )
            return VerdictResult(
                claim_id, str(claim)[:200], None, timings=stages.seconds, error=cause[:500]
            )

    def _check(self, stages, claim, claim_id):
        config, rule = self.config, self.config.rule
        parts = stages.run(
            ("decomposition", config.decomposition, claim), lambda: self._decompose(claim)
        )
        kept = tuple(part for part in parts if part.verifiability == claims.VERIFIABLE)
        dropped = tuple(part for part in parts if part not in kept)
        result = VerdictResult(
            claim_id, claim, None, subclaims=kept, dropped=dropped, timings=stages.seconds
        )
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not kept or (dropped and not rule.documented):
            _, verdict, confidence = rules.decide([], [], rule)
            return replace(
                result, verdict=verdict, confidence=confidence, reason="no_verifiable_part"
            )
        write, asked, evidence = documented_queries if config.parity else queries, [], []
        for part in kept:
            found = stages.run(
                ("queries", config.parity, part), lambda part=part: write(part, MOST_QUERIES)
            )
            asked += found[: config.k]
            first = 1 if config.parity else len(evidence) + 1
            evidence += self._evidence(stages, part, found[: config.k], first)
        result = replace(result, queries=tuple(asked), evidence=tuple(evidence))
        subverdicts, verdict, confidence = stages.run(
            ("verdict",), lambda: rules.decide(result.parts, evidence, rule)
        )
        support, reason = rules.degree_of_support(result.parts, evidence, rule), None
        if verdict == INSUFFICIENT:
            reason = (
                ", ".join(sorted({part.reason for part in subverdicts} - {None}))
                or "mixed_evidence"
            )
        told = {"verdict": verdict, "confidence": confidence, "support": support, "reason": reason}
        return replace(result, subverdicts=subverdicts, **told)

    def _evidence(self, stages, part, asked, first):
        """Search, rate, extract and judge for one part."""
        config, base = self.config, self.base
        rankings = [
            stages.run(("search", text), lambda text=text: base.search(text)) for text in asked
        ]
        rows = fuse_queries(rankings, config.documents or len(base))
        passages = []
        if config.three_stage:
            rows = stages.run(("credibility",), lambda: [row for row in rows if self._passes(row)])
            extract = base.extract_documented if config.parity else base.extract
            for row in rows:
                key = ("extraction", config.parity, config.passages, row, part.text)
                passages += stages.run(
                    key, lambda row=row: extract(row, part.text, config.passages)
                )
        else:
            passages = [base.whole(row) for row in rows]
        # Passages are judged together: what one says can depend on the others.
        key = ("stance", part.text, tuple(passages))
        stances = stages.run(key, lambda: self.stance.judge(part.text, passages))
        items = []
        for number, (passage, stance) in enumerate(
            zip(passages, stances, strict=True), start=first
        ):
            doc_id = base.doc_ids[passage.row]
            source = (doc_id, passage.header or doc_id, base.urls[passage.row])
            place = (passage.text, passage.start, passage.end)
            items.append(
                Evidence(
                    f"EV{number}", part.id, *source, *place, *self._rating(passage.row), *stance
                )
            )
        return (
            rules.read_together(items) if getattr(self.stance, "reads_together", False) else items
        )

    def _rating(self, row):
        return self.base.documented_ratings[row] if self.config.parity else self.base.ratings[row]

    def _passes(self, row):
        return self._rating(row).score >= GATES[self.config.gate]


class _Stages:
    """Seconds of every stage of one claim, and the stage that runs now.

    What another configuration has found already costs a claim what it cost there: each cell of an ablation
    bears what it would cost alone.
    """

    def __init__(self, memo):
        self.memo, self.seconds, self.now = memo, dict.fromkeys(STAGES, 0.0), STAGES[0]

    def run(self, key, compute):
        """Give what a stage computes; a key is the name of the stage and what it depends on, if it is remembered."""
        self.now = key[0]
        if key not in self.memo or len(key) == 1:
            start = perf_counter()
            self.memo[key] = compute(), perf_counter() - start
        result, seconds = self.memo[key]
        self.seconds[self.now] += seconds
        return result


DOCUMENTED_CONFIG = PipelineConfig(
    "documented", documents=None, gate="medium", passages=3, rule=DOCUMENTED, parity=True
)


# --- collections, judges and checkers by the names that commands and notebooks know


def documents_of(names):
    """Load collections as one: data sets, folders (BEIR layout or plain texts), or ``own``."""
    frames = []
    for name in names:
        folder = folder_of(name)
        if name == OWN:
            found = claims.shipped_documents()
        elif folder:
            found = read_collection(folder, titles=False)
        else:
            found = load(name, titles=False).documents
        if len(names) > 1 and name != OWN:
            found = found.assign(doc_id=f"{folder.name if folder else name}:" + found["doc_id"])
        frames.append(found)
    joined = pd.concat(frames, ignore_index=True).astype(object)
    return joined.where(joined.notna(), None)


def folder_of(name):
    """A folder of documents, None if a name of ours is meant; other than a data set it may have any name."""
    path = home_path(name)
    ours = name == OWN or name in cards()
    return path if not ours and (path.is_dir() or {"/", os.sep} & set(str(name))) else None


def judge_of(name, base):
    """Judge of stance by the name that the command line knows."""
    kind, _, model = name.partition(":")
    if name == "public":
        return judges.PublicJudge()
    if name in ("features", "features+maxsim"):
        own = claims.shipped_documents()
        train = claims.read_claims(documents=own, split="train")
        encoder = load_encoder() if name.endswith("maxsim") else None
        return judges.fitted_stance(EvidenceBase(own), train, encoder).on(base)
    if name == "placeholder":
        return judges.PlaceholderStance()
    if kind == "entailment" and model:
        return judges.EntailmentStance(EntailmentModel(model))
    if kind == "model" and model:
        return judges.ModelStance(load_language_model(model))
    if is_plugin(name):
        return judges.PluginStance(name)
    known = "public, features, features+maxsim, placeholder, entailment:NAME, model:NAME or your own module:object"
    raise InputError(f"unknown stance {name!r}: give {known}")


def check_stance(name):
    """Refuse a name that `judge_of` would refuse, without a judge that takes long to make."""
    kind, _, model = name.partition(":")
    if kind == "entailment" and model:
        locate_model(model)
    elif name not in ("features", "features+maxsim"):
        judge_of(name, None)


def checker_of(
    documents, *, mode="bm25_stemmed", stance="public", documented=False, ratings=None, **settings
):
    """A fact-checker by the names that commands and notebooks know; the documented one sets most by itself."""
    base = EvidenceBase(
        documents, mode=mode, rating_table=read_ratings(Path(ratings)) if ratings else None
    )
    if documented:
        return FactChecker(
            base, judges.PlaceholderStance(), replace(DOCUMENTED_CONFIG, k=settings["k"])
        )
    return FactChecker(base, judge_of(stance, base), PipelineConfig(**settings))
