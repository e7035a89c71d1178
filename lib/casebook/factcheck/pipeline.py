"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

import contextlib
import itertools
import math
import os
import re
from collections import Counter, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter

import pandas as pd

from casebook.data.cards import cards
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.factcheck import claims
from casebook.factcheck import stance as judges
from casebook.factcheck import verdict as rules
from casebook.factcheck.credibility import TRUSTED, documented_rating, rate, read_rating_table
from casebook.factcheck.decompose import VERIFIABLE, decomposer_of
from casebook.factcheck.model_judges import EntailmentStance, ModelStance, seconds_of_preparing
from casebook.factcheck.verdict import (
    DOCUMENTED_RULE,
    INSUFFICIENT_EVIDENCE,
    Evidence,
    Rule,
    VerdictResult,
)
from casebook.factcheck.words import content, proper_names, unaccented, yaml_table
from casebook.models.answers import load_judging_model, prices_of_tokens
from casebook.models.entailment import EntailmentModel
from casebook.paths import home_path
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.retrieval.index import documents_frame
from casebook.retrieval.pipeline import HybridRetriever
from casebook.stats.samples import check_choice
from casebook.text import STOP_LIST, sentences, tokens

MOST_QUERIES = 5
STAGES = ("decomposition", "queries", "search", "credibility", "extraction", "stance", "verdict")
CREDIBILITY_GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}
SOURCE_FIELDS = ["url", "kind", "agreement", "insurer", "title"]
HEADER_FIELDS = ["agreement", "insurer", "title"]
OWN_COLLECTION = "own"  # the smoke and insurance collections as one


def search_queries(part, k=3, names=()):
    """Up to k queries for a part of a claim, each with the names, no two of equal words."""
    names = " ".join(dict.fromkeys([*proper_names(part.text), *names]))
    known = {*STOP_LIST, *tokens(names)}
    plain = [word for word in tokens(part.text) if word not in known and not word[0].isdigit()]
    by_length = sorted(dict.fromkeys(plain), key=lambda word: (-len(word), word))
    candidates = [part.text if names in part.text else f"{part.text} {names}"]
    for chosen in (plain[:2], plain, by_length[: max(2, len(by_length) // 2)], []):
        candidates.append(" ".join([names, *chosen]).strip())
    queries = {content(query): query for query in reversed(candidates) if content(query)}
    return tuple(reversed(queries.values()))[:k] or (part.text,)


def documented_queries(part, k=3, names=()):
    """Queries by the documented templates; duplicates stay."""
    text = part.text
    question = f"What about {text}"
    if "is" in text.lower():
        question = text.replace(".", "?")
    elif "was" in text.lower():
        question = f"When {text}"
    long_words = {word for word in text.lower().split() if len(word) > 3}
    keywords = long_words - set(yaml_table("documented")["query_stop"])
    keyword_query = " ".join(sorted(keywords | set(part.entities))[:8])
    queries = [" ".join([*part.entities, text]), question, keyword_query]
    years = re.findall(r"\b[1-9]\d{3}\b", text)
    if k > 3 and years:
        queries.append(f"{text} history timeline {years[0]}")
    return tuple(queries[:k])


#: A part of a document, which is named by its row in the collection; ``document`` is all its text.
EvidencePassage = namedtuple("EvidencePassage", "row start end text header document", defaults=[""])


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
        See `casebook.factcheck.credibility.read_rating_table`.

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
        names = fields[HEADER_FIELDS].to_numpy().tolist()
        self.headers = [", ".join(dict.fromkeys(filter(None, row))) for row in names]
        pairs = zip(self.headers, self.texts, strict=True)
        self.searched = [f"{header}. {text}" if header else text for header, text in pairs]
        searched = self.documents.assign(text=self.searched)
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
        counts = Counter(stem for text in self.searched for stem in content(text))
        rarity = {stem: math.log1p(len(self) / count) for stem, count in counts.items()}
        return rarity | {"": math.log1p(len(self))}

    def search(self, query):
        """Rows of the documents for one query, best first."""
        if not query.strip():
            return []
        result = self._retriever.retrieve_many([query], depth=1)
        ranked = result.final.ids[0, : result.top_k]
        return ranked[ranked >= 0].tolist()

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
        return EvidencePassage(row, start, end, text[start:end], self.headers[row], text)

    def whole(self, row):
        return self.passage(row, 0, len(self.texts[row]))

    def holding(self, atom):
        """The sentences that contain words of a quote."""
        row = self.rows[atom.doc_id]
        spans = sentences(self.texts[row])
        held = [(start, end) for start, end in spans if start < atom.end and atom.start < end]
        return [self.passage(row, *span) for span in held]

    def deciding(self, claim):
        """The sentences that decide a claim."""
        passages = [passage for atom in claim.atoms for passage in self.holding(atom)]
        return list(dict.fromkeys(passages))

    def extract(self, row, text, most=2):
        """Sentences of a document by the summed rarity of the content stems shared with a text.

        Stems of the document's name are left out; ties go in document order; sentences that share
        nothing are no evidence.
        """
        heading = self.headers[row] or judges.first_name(self.texts[row])
        wanted = content(text) - content(heading)
        weighted = []
        for start, end in sentences(self.texts[row]):
            shared = wanted & content(self.texts[row][start:end])
            # fsum is exact: the order of a set, another in every process, cannot show
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


DOCUMENTED_CONFIG = CheckerConfig(
    decomposition="documented",
    documents=None,
    gate="medium",
    passages=3,
    rule=DOCUMENTED_RULE,
    parity=True,
)


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
    [0, 1], sub-claims, queries, evidence with document and characters, what the evidence lacks,
    and seconds by stage. A claim that crashes has ``error`` and no verdict.

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
        texts = []
        evidence = []
        for claim in track(claims, "finding evidence"):
            stages = _StageClock(self._memo)
            with contextlib.suppress(Exception):  # what fails here fails in `check`
                for part in self._parts(stages, claim.text)[0]:
                    texts.append(part.text)
                    evidence.append(self._found(stages, part, claim.text)[1])
        with contextlib.suppress(Exception):
            seconds = seconds_of_preparing(self.stance, texts, evidence)
            self._seconds_prepared = seconds / max(len(texts), 1)
        return [self.check(claim.text, claim.id) for claim in track(claims, "checking claims")]

    def check(self, claim, claim_id="claim"):
        """Check one claim; if a stage fails, the result has its name and no verdict."""
        stages = _StageClock(self._memo)
        result = VerdictResult(claim_id, claim, None, timings=stages.seconds)
        try:
            return self._checked(stages, result)
        except Exception as error:
            cause = getattr(error, "cause", None) or type(error).__name__
            message = f"{stages.current}: {cause}: {error}"[:500]
            return replace(result, claim=str(claim)[:200], error=message)

    def _checked(self, stages, result):
        rule = self.config.rule
        verifiable, dropped = self._parts(stages, result.claim)
        result = replace(result, subclaims=verifiable, dropped=dropped)
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not verifiable or (dropped and not rule.documented):
            _, verdict, confidence = rules.decide_claim([], [], rule)
            reason = "no_verifiable_part"
            return replace(result, verdict=verdict, confidence=confidence, reason=reason)
        queries = []
        evidence = []
        remarks = []
        for part in verifiable:
            part_queries, passages = self._found(stages, part, result.claim)
            queries += part_queries
            evidence += self._judged(stages, part, passages, len(evidence) + 1)
            if hasattr(self.stance, "remarks"):
                remarks += self.stance.remarks(part.text, passages)
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
            remarks=tuple(dict.fromkeys(remarks)),
        )

    def _parts(self, stages, claim):
        """The parts of a claim that can be verified, and the others."""
        key = (self.config.decomposition, claim)
        parts = stages.run("decomposition", self._decompose, claim, key=key)
        verifiable = tuple(part for part in parts if part.verifiability == VERIFIABLE)
        return verifiable, tuple(part for part in parts if part not in verifiable)

    def _found(self, stages, part, claim):
        """Queries of a part, and what the documents that they find say of it."""
        config = self.config
        base = self.base
        write = documented_queries if config.parity else search_queries
        names = proper_names(claim)
        key = (config.parity, part, names)
        queries = stages.run("queries", write, part, MOST_QUERIES, names, key=key)[: config.k]
        rankings = [stages.run("search", base.search, query, key=query) for query in queries]
        rows = fuse_queries(rankings, len(base))
        if not config.parity:
            rows = base.on_subject(rows, {*names, *proper_names(part.text)})
        rows = rows[: config.documents]
        if not config.three_stage:
            return queries, [base.whole(row) for row in rows]
        rows = stages.run("credibility", lambda: list(filter(self._passes, rows)))
        extract = base.extract_documented if config.parity else base.extract
        passages = []
        for row in rows:
            key = (config.parity, config.passages, row, part.text)
            passages += stages.run("extraction", extract, row, part.text, config.passages, key=key)
        return queries, passages

    def _judged(self, stages, part, passages, first_number):
        """Passages with their stances; they are judged together, as one can depend on others."""
        judge = self.stance.judge
        key = (part.text, tuple(passages))
        before = self._seconds_prepared
        stances = stages.run("stance", judge, part.text, passages, key=key, before=before)
        numbers = itertools.count(1 if self.config.parity else first_number)
        evidence = []
        for number, passage, stance in zip(numbers, passages, stances, strict=False):
            row = passage.row
            item = evidence_item(number, part.id, passage, stance, rating=self._rating(row))
            item = replace(item, doc_id=self.base.doc_ids[row], url=self.base.urls[row])
            evidence.append(replace(item, source=item.source or item.doc_id))
        if getattr(self.stance, "reads_together", False):
            return rules.count_joint_passages(evidence)
        return evidence

    def _rating(self, row):
        return self.base.documented_ratings[row] if self.config.parity else self.base.ratings[row]

    def _passes(self, row):
        return self._rating(row).score >= CREDIBILITY_GATES[self.config.gate]


def evidence_item(number, subclaim_id, passage, stance, rating=TRUSTED):
    """A passage with its stance, a pair of word and probability, as a piece of evidence."""
    return Evidence(
        id=f"EV{number}",
        subclaim_id=subclaim_id,
        doc_id="",
        source=passage.header,
        url="",
        passage=passage.text,
        start=passage.start,
        end=passage.end,
        credibility=rating.score,
        level=rating.level,
        stance=stance[0],
        probability=stance[1],
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


# --- collections, judges and checkers by the names that commands and notebooks know


def load_documents(names):
    """Collections as one: data sets, folders (BEIR layout or plain texts), or ``own``."""
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
    """A folder of documents, None if a data set is meant; others may have any name."""
    if name == OWN_COLLECTION or name in cards():
        return None
    path = home_path(name)
    return path if path.is_dir() or {"/", os.sep} & set(str(name)) else None


ENTAILMENT = "entailment:"
#: entailment:MODEL, or entailment:CLASS+CLASS+CLASS=MODEL in the order of the model's outputs.
_ENTAILMENT_MODEL = re.compile(r"entailment:(?:(?P<classes>\w+(?:\+\w+)+)=)?(?P<model>.+)")
ENDPOINT = "endpoint:"
_ENDPOINT_BEFORE = "model:"  # model:endpoint:NAME, which means the same


def judge_of(name, base=None):
    """A judge of stance by its name on the command line."""
    entailment = _ENTAILMENT_MODEL.fullmatch(name)
    model = name.removeprefix(_ENDPOINT_BEFORE)
    if name == "public":
        return judges.PublicJudge()
    if name == "forced":
        return judges.PublicJudge(abstains=False)
    if name == "placeholder":
        return judges.PlaceholderStance()
    if entailment:
        classes = (entailment["classes"] or "").split("+")
        return EntailmentStance(
            EntailmentModel(entailment["model"], classes=list(filter(None, classes)))
        )
    if model.startswith(ENDPOINT) and model != ENDPOINT:
        prices_of_tokens()
        return ModelStance(load_judging_model(model))
    if is_plugin(name):
        return judges.PluginStance(name)
    raise InputError(
        f"unknown stance {name!r}: give public, forced, placeholder, entailment:MODEL, "
        "endpoint:MODEL or your own module:object"
    )


def name_of_judge(name):
    """A judge's name in files and messages, in which no folder is."""
    match = _ENTAILMENT_MODEL.fullmatch(name)
    return f"{ENTAILMENT}{Path(match['model']).name}" if match else name


def title_of_judge(name):
    """The name of a judge that readers of a table see: default, entailment: MODEL."""
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
    """A fact-checker by names; the documented one sets stance, decomposition and gate."""
    rating_table = read_rating_table(Path(ratings)) if ratings else None
    base = EvidenceBase(documents, mode=mode, rating_table=rating_table)
    if documented:
        return FactChecker(base, judges.PlaceholderStance(), replace(DOCUMENTED_CONFIG, k=k))
    config = CheckerConfig(decomposition=decomposition, gate=gate, k=k)
    return FactChecker(base, judge_of(stance, base), config)
