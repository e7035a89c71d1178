"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

import itertools
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import pandas as pd

from casebook.data.cards import cards
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.factcheck.claims import shipped_documents
from casebook.factcheck.decompose import DECOMPOSERS, VERIFIABLE, decomposers_of
from casebook.factcheck.evidence import MOST_QUERIES, QUERY_WRITERS, EvidenceBase, fuse_queries, read_ratings
from casebook.factcheck.stance import PlaceholderStance, judge_of
from casebook.factcheck.verdict import (
    DOCUMENTED,
    INSUFFICIENT,
    NOT_SUPPORTED,
    Evidence,
    Rule,
    VerdictResult,
    decide,
    degree_of_support,
)
from casebook.progress import track
from casebook.stats.samples import check_choice

STAGES = ("decomposition", "queries", "search", "credibility", "extraction", "stance", "verdict")
GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}
OWN = "own"  # the smoke and insurance collections as one


@dataclass(frozen=True)
class PipelineConfig:
    """Settings: how claims are parted and queries written (``k`` a part), what is read, and how evidence decides.

    ``documents`` a part (None: all that are found) give ``passages`` each, if they pass the ``gate`` of credibility;
    without ``three_stage`` they are read whole and ungated. ``parity``: rate, extract and number as documented.
    """

    decomposition: str = "rules"
    queries: str = "diverse"
    k: int = 3
    documents: int | None = 3
    three_stage: bool = True
    gate: str = "low"
    passages: int = 2
    rule: Rule = field(default_factory=Rule)
    parity: bool = False

    def __post_init__(self):
        check_choice("queries", self.queries, QUERY_WRITERS)
        check_choice("gate", self.gate, GATES)
        if not isinstance(self.k, int) or not 1 <= self.k <= MOST_QUERIES:
            raise InputError(f"k must be a whole number from 1 to {MOST_QUERIES}, got {self.k!r}")


class FactChecker:
    """Check claims against a collection.

    Parameters
    ----------
    base : EvidenceBase
        Where evidence is searched.
    stance : object
        Judge of passages with ``judge(claim, passages)``, see `casebook.factcheck.stance`.
    config : PipelineConfig, optional
        Settings.
    decomposers : dict of callable, optional
        Further decomposers by name, such as `casebook.factcheck.decompose.ModelDecomposer`.
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
    >>> from casebook.factcheck.evidence import EvidenceBase
    >>> from casebook.factcheck.pipeline import FactChecker
    >>> from casebook.factcheck.stance import PublicJudge
    >>> documents = pd.DataFrame({"doc_id": ["a", "b"], "text": ["Money is limited to 500.", "Hail is covered."]})
    >>> checker = FactChecker(EvidenceBase(documents), PublicJudge())
    >>> checker.check("Money is limited to 750.").verdict
    'NOT_SUPPORTED'
    """

    def __init__(self, base, stance, config=None, decomposers=None, memo=None):
        self.base, self.stance = base, stance
        self.config, self.decomposers = config or PipelineConfig(), decomposers or {}
        known = DECOMPOSERS | self.decomposers
        check_choice("decomposition", self.config.decomposition, known)
        self._decompose = known[self.config.decomposition]
        self._memo = {} if memo is None else memo

    @property
    def passing(self):
        """How many documents pass the credibility gate."""
        return sum(map(self._passes, range(len(self.base))))

    def check_all(self, claims):
        """Check pairs of id and claim, each on its own."""
        return [self.check(text, name) for name, text in track(claims, "checking claims")]

    def check(self, claim, claim_id="claim"):
        """Check one claim; if a stage fails, the result has its name and no verdict."""
        stages = _Stages(self._memo)
        try:
            return self._check(stages, claim, claim_id)
        except Exception as error:
            cause = f"{stages.now}: {getattr(error, 'cause', None) or type(error).__name__}: {error}"
            return VerdictResult(claim_id, str(claim)[:200], None, timings=stages.seconds, error=cause[:500])

    def _check(self, stages, claim, claim_id):
        config, rule = self.config, self.config.rule
        parts = stages.run(("decomposition", config.decomposition, claim), lambda: self._decompose(claim))
        kept = tuple(part for part in parts if part.verifiability == VERIFIABLE)
        dropped = tuple(part for part in parts if part.verifiability != VERIFIABLE)
        result = VerdictResult(claim_id, claim, None, subclaims=kept, dropped=dropped, timings=stages.seconds)
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not kept or (dropped and not rule.documented):
            verdict, confidence = (NOT_SUPPORTED, 0.0) if rule.documented else (INSUFFICIENT, None)
            return replace(result, verdict=verdict, confidence=confidence, reason="no_verifiable_part")
        write, asked, evidence = QUERY_WRITERS[config.queries], {}, []
        for part in kept:
            found = stages.run(("queries", config.queries, part), lambda part=part: write(part, MOST_QUERIES))
            asked[part] = found[: config.k]
        for part in kept:
            evidence += self._evidence(stages, part, asked[part], first=1 if config.parity else len(evidence) + 1)
        subverdicts, verdict, confidence = stages.run(("verdict",), lambda: decide(result.parts, evidence, rule))
        reason = None
        if verdict == INSUFFICIENT:
            reason = ", ".join(sorted({part.reason for part in subverdicts} - {None})) or "mixed_evidence"
        return replace(
            result,
            verdict=verdict,
            confidence=confidence,
            support=degree_of_support(result.parts, evidence, rule),
            queries=tuple(itertools.chain(*asked.values())),
            evidence=tuple(evidence),
            subverdicts=subverdicts,
            reason=reason,
        )

    def _evidence(self, stages, part, asked, first):
        """Search, rate, extract and judge for one part."""
        config, base = self.config, self.base
        rankings = [stages.run(("search", q.text), lambda text=q.text: base.search(text)) for q in asked]
        rows = fuse_queries(rankings, config.documents or len(base))
        passages = []
        if config.three_stage:
            rows = stages.run(("credibility",), lambda: [row for row in rows if self._passes(row)])
            extract = base.extract_documented if config.parity else base.extract
            for row in rows:
                key = ("extraction", config.parity, config.passages, row, part.text)
                passages += stages.run(key, lambda row=row: extract(row, part.text, config.passages))
        else:
            passages = [base.whole(row) for row in rows]
        # Passages are judged together: what one says can depend on the others.
        key = ("stance", part.text, tuple(passages))
        stances = stages.run(key, lambda: self.stance.judge(part.text, passages))
        items = []
        for number, (passage, stance) in enumerate(zip(passages, stances, strict=True), start=first):
            rating, doc_id = self._rating(passage.row), base.doc_ids[passage.row]
            source = (doc_id, passage.header or doc_id, base.urls[passage.row])
            place = (passage.text, passage.start, passage.end)
            items.append(Evidence(f"EV{number}", part.id, *source, *place, rating.score, rating.level, *stance))
        return items

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
    "documented", "documented", documents=None, gate="medium", passages=3, rule=DOCUMENTED, parity=True
)


def documents_of(names):
    """Load collections as one: data sets, folders (BEIR layout or plain texts), or ``own``."""
    if not names:
        raise InputError("name a collection to search, such as --corpus ./documents")
    frames = []
    for name in names:
        folder = folder_of(name)
        if name == OWN:
            found = shipped_documents()
        elif folder:
            found = read_collection(folder, titles=False)
        else:
            found = load(name, titles=False).documents.copy()
        if len(names) > 1 and name != OWN:
            found["doc_id"] = f"{folder.name if folder else name}:" + found["doc_id"]
        frames.append(found)
    joined = pd.concat(frames, ignore_index=True).astype(object)
    return joined.where(joined.notna(), None)


def folder_of(name):
    """A folder of documents, None if a name of ours is meant; other than a data set it may have any name."""
    path = Path(name).expanduser()
    ours = name == OWN or name in cards()
    return path if not ours and (path.is_dir() or {"/", os.sep} & set(str(name))) else None


def checker_of(
    documents,
    *,
    mode="bm25_stemmed",
    stance="public",
    decomposition="rules",
    documented=False,
    ratings=None,
    **settings,
):
    """A fact-checker by the names that commands and notebooks know."""
    base = EvidenceBase(documents, mode=mode, rating_table=read_ratings(Path(ratings)) if ratings else None)
    if documented:
        return FactChecker(base, PlaceholderStance(), replace(DOCUMENTED_CONFIG, **settings))
    config = PipelineConfig(decomposition=decomposition, **settings)
    return FactChecker(base, judge_of(stance, base), config, decomposers_of(decomposition))
