"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

import contextlib
import itertools
import math
import os
import re
from collections import Counter, namedtuple
from collections.abc import Mapping
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
from casebook.factcheck.decompose import VERIFIABLE, decomposer_of
from casebook.factcheck.model_judges import (
    EntailmentStance,
    ModelStance,
    seconds_of_preparing,
)
from casebook.factcheck.verdict import (
    DOCUMENTED_RULE,
    INSUFFICIENT_EVIDENCE,
    Evidence,
    Rule,
    VerdictResult,
)
from casebook.factcheck.words import content, proper_names, stated_numbers, yaml_table
from casebook.models.answers import load_judging_model, prices_of_tokens
from casebook.models.encoders import load_encoder
from casebook.models.entailment import EntailmentModel
from casebook.paths import home_path
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.readers import read_yaml
from casebook.retrieval.index import documents_frame
from casebook.retrieval.pipeline import HybridRetriever
from casebook.stats.samples import check_choice
from casebook.text import STOP_LIST, sentences, tokens

CREDIBILITY = Path(__file__).with_name("credibility.yml")
MOST_QUERIES = 5


def search_queries(subclaim, k=3):
    """Up to k queries for a sub-claim from different sides, of which no two have equal words."""
    text = subclaim.text
    names = " ".join(proper_names(text))
    name_words = tokens(names)
    plain_words = [
        word
        for word in tokens(text)
        if word not in STOP_LIST and word not in name_words and not word[0].isdigit()
    ]
    by_length = sorted(dict.fromkeys(plain_words), key=lambda word: (-len(word), word))
    candidates = [
        text,
        " ".join([names, *plain_words[:2]]),
        " ".join(plain_words),
        " ".join(by_length[: max(2, len(by_length) // 2)]),
        names,
    ]
    queries = {}
    for query in candidates:
        if content(query):
            queries.setdefault(content(query), query.strip())
    return tuple(queries.values())[:k] or (text,)


def documented_queries(subclaim, k=3):
    """Queries by the documented templates; duplicates stay."""
    text = subclaim.text
    entities = list(subclaim.entities)
    if "is" in text.lower():
        question = text.replace(".", "?")
    elif "was" in text.lower():
        question = f"When {text}"
    else:
        question = f"What about {text}"
    long_words = {word for word in text.lower().split() if len(word) > 3}
    keywords = long_words - set(yaml_table("documented")["query_stop"])
    queries = [
        " ".join([*entities, text]),
        question,
        " ".join(sorted(keywords | set(entities))[:8]),
    ]
    years = [number.value for number in stated_numbers(text) if 1000 <= number.value <= 9999]
    if k > 3 and years:
        queries.append(f"{text} history timeline {years[0]:.0f}")
    return tuple(queries[:k])


def diversity(texts):
    """1 less the mean Jaccard similarity of the content stems of all pairs of queries."""
    similarities = []
    for stems, other_stems in itertools.combinations([content(text) for text in texts], 2):
        union = stems | other_stems
        similarities.append(len(stems & other_stems) / len(union) if union else 1.0)
    if not similarities:
        return None
    return 1 - sum(similarities) / len(similarities)


#: A part of a document, which is named by its row in the collection.
EvidencePassage = namedtuple("EvidencePassage", "row start end text header")

SOURCE_FIELDS = ["url", "kind", "agreement", "insurer", "title"]
HEADER_FIELDS = ["agreement", "insurer", "title"]


class EvidenceBase:
    """A collection that evidence is taken from.

    Parameters
    ----------
    documents : pandas.DataFrame, list or dict
        ``doc_id`` and ``text``, in any form that
        `casebook.retrieval.index.documents_frame` takes; ``agreement``, ``insurer`` and ``title``
        make a header that is searched with the text, ``url`` and ``kind`` are rated.
    mode : str
        System of `casebook.retrieval.pipeline.HybridRetriever` that searches.
    encoder : object, default "default"
        Its encoder; None for none.
    depth : int, default 10
        Documents per query.
    rating_table : RatingTable, optional
        See `read_rating_table`.

    Raises
    ------
    InputError
        If there are no documents, or an id stands twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from casebook.factcheck.pipeline import EvidenceBase
    >>> texts = ["Hail is covered. Frost is not.", "Cats."]
    >>> base = EvidenceBase(pd.DataFrame({"doc_id": ["a", "b"], "text": texts}))
    >>> (row,) = base.search("hail")
    >>> [passage.text for passage in base.extract(row, "Hail is covered.")]
    ['Hail is covered.']
    """

    def __init__(
        self, documents, mode="bm25_stemmed", encoder="default", depth=10, rating_table=None
    ):
        documents = documents_frame(documents)
        if documents.empty:
            raise InputError("the collection holds no documents: nothing to search")
        self.documents = documents.reset_index(drop=True)
        self.mode = mode
        self._rating_table = rating_table
        self.texts = documents["text"].tolist()
        self.doc_ids = documents["doc_id"].tolist()
        self.rows = {doc_id: row for row, doc_id in enumerate(self.doc_ids)}
        fields = documents.reindex(columns=SOURCE_FIELDS).astype(object)
        fields = fields.where(fields.notna(), "").astype(str).map(str.strip)
        self.urls = fields["url"].tolist()
        self._kinds = fields["kind"].tolist()
        self.headers = []
        for names in fields[HEADER_FIELDS].to_numpy().tolist():
            self.headers.append(", ".join(dict.fromkeys(filter(None, names))))
        self._searched_texts = []
        for header, text in zip(self.headers, self.texts, strict=True):
            self._searched_texts.append(f"{header}. {text}" if header else text)
        searched = self.documents.assign(text=self._searched_texts)
        self._retriever = HybridRetriever(searched, encoder, mode=mode, top_k=min(depth, len(self)))

    def __len__(self):
        return len(self.documents)

    @cached_property
    def documented_ratings(self):
        return [documented_rating(url) for url in self.urls]

    @cached_property
    def ratings(self):
        sources = zip(self.urls, self._kinds, strict=True)
        return [rate(url, kind, self._rating_table) for url, kind in sources]

    @cached_property
    def rarity(self):
        """Inverse document frequency of every content stem, ``""`` for any other."""
        counts = Counter(stem for text in self._searched_texts for stem in content(text))
        rarity = {stem: math.log1p(len(self) / count) for stem, count in counts.items()}
        return rarity | {"": math.log1p(len(self))}

    def search(self, query):
        """Rows of the documents for one query, best first."""
        if not query.strip():
            return []
        result = self._retriever.retrieve_many([query], depth=1)
        ranked = result.final.ids[0, : result.top_k]
        return ranked[ranked >= 0].tolist()

    def passage(self, row, start, end):
        return EvidencePassage(row, start, end, self.texts[row][start:end], self.headers[row])

    def whole(self, row):
        return self.passage(row, 0, len(self.texts[row]))

    def holding(self, atom):
        """The sentences that contain words of a quote."""
        row = self.rows[atom.doc_id]
        return [
            self.passage(row, start, end)
            for start, end in sentences(self.texts[row])
            if start < atom.end and atom.start < end
        ]

    def deciding(self, claim):
        """The sentences that decide a claim."""
        passages = [passage for atom in claim.atoms for passage in self.holding(atom)]
        return list(dict.fromkeys(passages))

    def extract(self, row, text, most=2):
        """Sentences of a document by the summed rarity of the content stems shared with a text.

        Stems of the document's name are left out; ties go in document order; sentences that share
        nothing are no evidence.
        """
        wanted = content(text) - content(self.headers[row])
        weighted = []
        for start, end in sentences(self.texts[row]):
            shared = wanted & content(self.texts[row][start:end])
            weighted.append((math.fsum(self.rarity[stem] for stem in shared), (start, end)))
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
        ranked = sorted((-weight, span) for weight, span in weighted_spans if weight > 0)
        return [self.passage(row, *span) for _, span in ranked[:most]]


def fuse_queries(rankings, most):
    """Reciprocal rank fusion with constant 20; ties go by the collection, not by the best rank."""
    scores = Counter()
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] += 1 / (20 + rank)
    return sorted(scores, key=lambda row: (-round(scores[row], 12), row))[:most]


#: Credibility of one source: score in [0, 1] and level.
Rating = namedtuple("Rating", "score level")


def rate(url="", kind=None, table=None):
    """Rate a source by its kind, else its registered domain, else the public suffix."""
    table = table or read_rating_table()
    score = _credibility(str(url or "").strip(), str(kind or "").lower(), table)
    for level in ("high", "medium"):
        if score >= table.levels[level]:
            return Rating(score, level)
    return Rating(score, "low")


def _credibility(url, kind, table):
    if kind in table.kinds:
        return table.kinds[kind]
    host = _host(unwrap(url, table.archives))
    if host is None:
        return table.unknown
    address = _extractor()(host)
    registered = address.top_domain_under_public_suffix
    for domain, score in table.domains.items():
        if _is_within_domain(host, domain) and (registered == domain or not registered):
            return score
    suffix = "" if address.is_private else address.suffix.split(".")[0]
    return table.suffixes.get(suffix, table.other)


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


def _scores_by_name(rows):
    """Scores by lower-case name; an entry is a score or an object with one."""
    if not isinstance(rows, dict):
        return rows
    scores = {}
    for name, entry in rows.items():
        scores[str(name).lower()] = entry.get("score") if isinstance(entry, dict) else entry
    return scores


_UnitShare = Annotated[float, Field(strict=True, ge=0, le=1)]
_ScoresByName = Annotated[dict[str, _UnitShare], BeforeValidator(_scores_by_name)]


class RatingTable(BaseModel, extra="forbid"):
    """Scores of kinds of document, registered domains and public suffixes."""

    version: int
    levels: dict[str, _UnitShare]
    archives: list[str]
    kinds: _ScoresByName
    domains: _ScoresByName
    suffixes: _ScoresByName
    other: _UnitShare
    unknown: _UnitShare


@cache
def read_rating_table(path=CREDIBILITY):
    """Read and check a rating table."""
    try:
        return RatingTable.model_validate(read_yaml(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error


@cache
def _extractor():
    """Public suffix list of the package; nothing is downloaded."""
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True
    )


_INNER_URL = re.compile(r"https?(?::|%3A)(?:/|%2F){1,2}[^\s]+", re.IGNORECASE)


def unwrap(url, archives):
    """Address within an archive's address, empty if there is none."""
    for _ in range(5):  # archives of archives exist
        host = _host(url)
        if host is None or not any(_is_within_domain(host, domain) for domain in archives):
            return url
        inner = _INNER_URL.search(url, len(urlsplit(url).scheme) + 3)
        if inner is None:
            return ""
        url = re.sub(r"^(https?:)/+", r"\1//", unquote(inner.group()), flags=re.IGNORECASE)
    return ""


def _is_within_domain(host, domain):
    return host == domain or host.endswith(f".{domain}")


def _host(url):
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname
    except ValueError:
        return None
    return (host or "").rstrip(".") or None


# --- the pipeline

STAGES = ("decomposition", "queries", "search", "credibility", "extraction", "stance", "verdict")
CREDIBILITY_GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}
OWN_COLLECTION = "own"  # the smoke and insurance collections as one


@dataclass(frozen=True)
class CheckerConfig:
    """Settings: how claims are parted, queries of a part (``k``), what is read, how it decides.

    ``documents`` a part (None: all that were retrieved) give ``passages`` each, if they pass the
    ``gate`` of credibility; without ``three_stage`` they are read from beginning to end, and
    ungated. ``parity``: query, rate, extract and number as documented.
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
        check_choice("gate", self.gate, CREDIBILITY_GATES)
        if not isinstance(self.k, int) or not 1 <= self.k <= MOST_QUERIES:
            raise InputError(f"k must be a whole number from 1 to {MOST_QUERIES}, got {self.k!r}")


class FactChecker:
    """Check claims against a collection.

    Parameters
    ----------
    base : EvidenceBase, or documents
        Where evidence is searched; documents become an `EvidenceBase`.
    stance : object, optional
        Judge of passages with ``judge(claim, passages)``, see `casebook.factcheck.stance`; by
        default the public one.
    config : CheckerConfig, optional
        Settings.
    memo : dict, optional
        Results shared with other configurations over the same collection and judge.

    Raises
    ------
    InputError
        If the decomposition is unknown.

    Notes
    -----
    ``check(claim, claim_id)`` gives a `casebook.factcheck.verdict.VerdictResult`: verdict
    (SUPPORTED, NOT_SUPPORTED or INSUFFICIENT_EVIDENCE), confidence and degree of support in
    [0, 1], sub-claims, queries, evidence with document and characters, and seconds by stage. A
    claim that crashes has ``error`` and no verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> from casebook.factcheck.pipeline import EvidenceBase, FactChecker
    >>> from casebook.factcheck.stance import PublicJudge
    >>> texts = ["Money is limited to 500.", "Hail is covered."]
    >>> documents = pd.DataFrame({"doc_id": ["a", "b"], "text": texts})
    >>> checker = FactChecker(EvidenceBase(documents), PublicJudge())
    >>> checker.check("Money is limited to 750.").verdict
    'NOT_SUPPORTED'
    """

    def __init__(self, base, stance=None, config=None, memo=None):
        is_collection = isinstance(base, pd.DataFrame | list | tuple | Mapping)
        self.base = EvidenceBase(base) if is_collection else base
        self.stance = stance or judges.PublicJudge()
        self.config = config or CheckerConfig()
        self._decompose = decomposer_of(self.config.decomposition)
        self._memo = {} if memo is None else memo
        self._seconds_prepared = 0.0  # of a part of a claim, by the judge for all of them at once

    @property
    def passing(self):
        """How many documents pass the credibility gate."""
        return sum(map(self._passes, range(len(self.base))))

    def check_all(self, claims):
        """Check claims, each on its own; a judge that reads in batches prepares for all at once."""
        if hasattr(self.stance, "prepare"):
            self._prepare([claim.text for claim in claims])
        return [self.check(claim.text, claim.id) for claim in track(claims, "checking claims")]

    def _prepare(self, texts_of_claims):
        """Let the judge compute what it needs for all claims; what fails here fails in `check`."""
        texts = []
        evidence = []
        for claim in track(texts_of_claims, "finding evidence"):
            stages = _StageClock(self._memo)
            with contextlib.suppress(Exception):
                verifiable, dropped = self._parts(stages, claim)
                if dropped and not self.config.rule.documented:
                    continue
                for part in verifiable:
                    queries = self._queries(stages, part)
                    evidence.append(self._passages(stages, part, queries))
                    texts.append(part.text)
        with contextlib.suppress(Exception):
            seconds = seconds_of_preparing(self.stance, texts, evidence)
            self._seconds_prepared = seconds / max(len(texts), 1)

    def check(self, claim, claim_id="claim"):
        """Check one claim; if a stage fails, the result has its name and no verdict."""
        stages = _StageClock(self._memo)
        try:
            return self._check(stages, claim, claim_id)
        except Exception as error:
            cause = getattr(error, "cause", None) or type(error).__name__
            message = f"{stages.current}: {cause}: {error}"
            return VerdictResult(
                claim_id,
                str(claim)[:200],
                None,
                timings=stages.seconds,
                error=message[:500],
            )

    def _check(self, stages, claim, claim_id):
        config = self.config
        rule = config.rule
        verifiable, dropped = self._parts(stages, claim)
        result = VerdictResult(
            claim_id,
            claim,
            None,
            subclaims=verifiable,
            dropped=dropped,
            timings=stages.seconds,
        )
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not verifiable or (dropped and not rule.documented):
            _, verdict, confidence = rules.decide_claim([], [], rule)
            return replace(
                result, verdict=verdict, confidence=confidence, reason="no_verifiable_part"
            )
        queries = []
        evidence = []
        for part in verifiable:
            part_queries = self._queries(stages, part)
            number = 1 if config.parity else len(evidence) + 1
            queries += part_queries
            evidence += self._evidence(stages, part, part_queries, number)
        subverdicts, verdict, confidence = stages.run(
            "verdict", rules.decide_claim, result.parts, evidence, rule
        )
        reason = None
        if verdict == INSUFFICIENT_EVIDENCE:
            reasons = {part.reason for part in subverdicts if part.reason is not None}
            reason = ", ".join(sorted(reasons)) or "mixed_evidence"
        return replace(
            result,
            verdict=verdict,
            confidence=confidence,
            support=rules.degree_of_support(result.parts, evidence, rule),
            queries=tuple(queries),
            evidence=tuple(evidence),
            subverdicts=subverdicts,
            reason=reason,
        )

    def _parts(self, stages, claim):
        """The parts of a claim that can be verified, and the others."""
        key = (self.config.decomposition, claim)
        parts = stages.run("decomposition", self._decompose, claim, key=key)
        verifiable = tuple(part for part in parts if part.verifiability == VERIFIABLE)
        return verifiable, tuple(part for part in parts if part not in verifiable)

    def _queries(self, stages, part):
        parity = self.config.parity
        write = documented_queries if parity else search_queries
        queries = stages.run("queries", write, part, MOST_QUERIES, key=(parity, part))
        return queries[: self.config.k]

    def _evidence(self, stages, part, queries, first_number):
        """Search, rate, extract and judge for one part."""
        passages = self._passages(stages, part, queries)
        # Passages are judged together: what one says can depend on the others.
        key = (part.text, tuple(passages))
        stances = stages.run(
            "stance", self.stance.judge, part.text, passages, key=key, before=self._seconds_prepared
        )
        pairs = zip(passages, stances, strict=True)
        evidence = [
            evidence_item(
                number,
                part.id,
                passage,
                stance,
                doc_id=self.base.doc_ids[passage.row],
                url=self.base.urls[passage.row],
                rating=self._rating(passage.row),
            )
            for number, (passage, stance) in enumerate(pairs, first_number)
        ]
        if getattr(self.stance, "reads_together", False):
            return rules.count_joint_passages(evidence)
        return evidence

    def _passages(self, stages, part, queries):
        """What the documents that were retrieved for a part say of it."""
        config = self.config
        base = self.base
        rankings = [stages.run("search", base.search, query, key=query) for query in queries]
        rows = fuse_queries(rankings, config.documents or len(base))
        if not config.three_stage:
            return [base.whole(row) for row in rows]
        rows = stages.run("credibility", self._rows_that_pass, rows)
        extract = base.extract_documented if config.parity else base.extract
        passages = []
        for row in rows:
            key = (config.parity, config.passages, row, part.text)
            passages += stages.run("extraction", extract, row, part.text, config.passages, key=key)
        return passages

    def _rating(self, row):
        return self.base.documented_ratings[row] if self.config.parity else self.base.ratings[row]

    def _passes(self, row):
        return self._rating(row).score >= CREDIBILITY_GATES[self.config.gate]

    def _rows_that_pass(self, rows):
        return [row for row in rows if self._passes(row)]


TRUSTED = Rating(1.0, "high")


def evidence_item(number, subclaim_id, passage, stance, *, doc_id="", url="", rating=TRUSTED):
    """Give a passage with its stance, a pair of word and probability, as a piece of evidence."""
    word, probability = stance
    return Evidence(
        id=f"EV{number}",
        subclaim_id=subclaim_id,
        doc_id=doc_id,
        source=passage.header or doc_id,
        url=url,
        passage=passage.text,
        start=passage.start,
        end=passage.end,
        credibility=rating.score,
        level=rating.level,
        stance=word,
        probability=probability,
    )


class _StageClock:
    """Seconds of every stage of one claim, and the stage that runs now.

    What another configuration has computed already costs a claim what it cost there: each cell of
    an ablation bears what it would cost alone.
    """

    def __init__(self, memo):
        self.memo = memo
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.current = STAGES[0]

    def run(self, stage, function, *arguments, key=None, before=0.0):
        """Give what a stage computes; with a key, it is computed once for all configurations.

        ``before`` are seconds that it took already.
        """
        self.current = stage
        if (stage, key) not in self.memo or key is None:
            start = perf_counter()
            result = function(*arguments)
            self.memo[stage, key] = result, before + perf_counter() - start
        result, seconds = self.memo[stage, key]
        self.seconds[stage] += seconds
        return result


DOCUMENTED_CONFIG = CheckerConfig(
    decomposition="documented",
    documents=None,
    gate="medium",
    passages=3,
    rule=DOCUMENTED_RULE,
    parity=True,
)


# --- collections, judges and checkers by the names that commands and notebooks know


def load_documents(names):
    """Load collections as one: data sets, folders (BEIR layout or plain texts), or ``own``."""
    frames = []
    for name in names:
        folder = folder_of(name)
        if name == OWN_COLLECTION:
            documents = claims.shipped_documents()
        elif folder:
            documents = read_collection(folder, titles=False)
        else:
            documents = load(name, titles=False).documents
        if len(names) > 1 and name != OWN_COLLECTION:
            prefix = folder.name if folder else name
            documents = documents.assign(doc_id=f"{prefix}:" + documents["doc_id"])
        frames.append(documents)
    joined = pd.concat(frames, ignore_index=True).astype(object)
    return joined.where(joined.notna(), None)


def folder_of(name):
    """Give a folder of documents, None if a data set is meant; others may have any name."""
    path = home_path(name)
    if name == OWN_COLLECTION or name in cards():
        return None
    return path if path.is_dir() or {"/", os.sep} & set(str(name)) else None


ENTAILMENT = "entailment:"
#: entailment:MODEL, or entailment:CLASS+CLASS+CLASS=MODEL in the order of the model's outputs.
_ENTAILMENT_MODEL = re.compile(r"(?:(?P<classes>\w+(?:\+\w+)+)=)?(?P<model>.+)")
ENDPOINT = "endpoint:"
_ENDPOINT_BEFORE = "model:"  # model:endpoint:NAME, which means the same
NAMES_OF_JUDGES = (
    "public, features, features+maxsim, placeholder, entailment:MODEL, endpoint:MODEL or your own "
    "module:object"
)


def judge_of(name, base):
    """Give a judge of stance by its name on the command line."""
    model = name.removeprefix(_ENDPOINT_BEFORE)
    if name == "public":
        return judges.PublicJudge()
    if name in ("features", "features+maxsim"):
        shipped = claims.shipped_documents()
        train = claims.read_claims(documents=shipped, split="train")
        encoder = load_encoder() if name.endswith("maxsim") else None
        return judges.fitted_stance(EvidenceBase(shipped), train, encoder).with_rarity_of(base)
    if name == "placeholder":
        return judges.PlaceholderStance()
    if name.startswith(ENTAILMENT) and name != ENTAILMENT:
        match = _ENTAILMENT_MODEL.fullmatch(name.removeprefix(ENTAILMENT))
        classes = match["classes"].split("+") if match["classes"] else ()
        return EntailmentStance(EntailmentModel(match["model"], classes=classes))
    if model.startswith(ENDPOINT) and model != ENDPOINT:
        prices_of_tokens()
        return ModelStance(load_judging_model(model))
    if is_plugin(name):
        return judges.PluginStance(name)
    raise InputError(f"unknown stance {name!r}: give {NAMES_OF_JUDGES}")


def name_of_judge(name):
    """Give a judge's name in files and messages, in which no folder is."""
    match = _ENTAILMENT_MODEL.fullmatch(name.removeprefix(ENTAILMENT))
    if not name.startswith(ENTAILMENT) or match is None:
        return name
    return f"{ENTAILMENT}{Path(match['model']).name}"


def title_of_judge(name):
    """Give the name of a judge that readers of a table see: default, entailment: MODEL."""
    name = name_of_judge(name).removeprefix(_ENDPOINT_BEFORE)
    if name.startswith((ENTAILMENT, ENDPOINT)):
        return name.replace(":", ": ", 1)
    return yaml_table("names")["judges"].get(name, name)


def checker_of(
    documents,
    *,
    mode="bm25_stemmed",
    stance="public",
    decomposition="rules",
    gate="low",
    k=3,
    documented=False,
    ratings=None,
):
    """Give a fact-checker by names; the documented one sets stance, decomposition and gate."""
    rating_table = read_rating_table(Path(ratings)) if ratings else None
    base = EvidenceBase(documents, mode=mode, rating_table=rating_table)
    if documented:
        return FactChecker(base, judges.PlaceholderStance(), replace(DOCUMENTED_CONFIG, k=k))
    config = CheckerConfig(decomposition=decomposition, gate=gate, k=k)
    return FactChecker(base, judge_of(stance, base), config)
