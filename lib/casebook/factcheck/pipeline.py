"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

import re
from collections import Counter, namedtuple
from pathlib import Path
from time import perf_counter

from casebook.factcheck.decompose import VERIFIABLE, decomposer_of
from casebook.factcheck.evidence import EvidenceBase, read_rating_table
from casebook.factcheck.judges import PlaceholderStance, judge_of
from casebook.factcheck.stance import PublicJudge, vectors_of
from casebook.factcheck.verdict import (
    DOCUMENTED_RULE,
    Evidence,
    Rule,
    VerdictResult,
    decide_claim,
    degree_of_support,
)
from casebook.factcheck.words import content, proper_names, yaml_table
from casebook.progress import track
from casebook.stats.samples import check_choice
from casebook.text import STOP_LIST, tokens

STAGES = ("decomposition", "queries", "search", "extraction", "stance", "verdict")
CREDIBILITY_GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}


def search_queries(part, k=3, names=()):
    """Up to k queries for a part of a claim, each with the names, no two of equal words."""
    names = " ".join(dict.fromkeys([*proper_names(part.text), *names]))
    known = {*STOP_LIST, *tokens(names)}
    plain = [
        word
        for word in tokens(part.text)
        if word not in known and not word[0].isdigit()
    ]
    by_length = sorted(sorted(set(plain)), key=len, reverse=True)
    half = max(2, len(by_length) // 2)
    candidates = [part.text if names in part.text else f"{part.text} {names}"]
    for chosen in (plain[:2], plain, by_length[:half], []):
        candidates.append(" ".join([names, *chosen]).strip())
    queries = {}
    for query in candidates:
        words = content(query)
        queries[words] = queries.pop(words, query)
    queries.pop(frozenset(), None)
    return tuple(queries.values())[:k] or (part.text,)


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


def fuse_queries(rankings):
    """Reciprocal rank fusion with constant 20; ties go by the collection, not by the best rank."""
    scores = Counter()
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] += 1 / (20 + rank)
    return sorted(scores, key=lambda row: (-round(scores[row], 12), row))


#: Settings: how claims are parted, queries of a part (``k``), what is read, how it decides.
#: ``documents`` a part (None: all that were retrieved) give ``passages`` each, if they pass the
#: ``gate`` of credibility; without ``three_stage`` they are read from beginning to end, and
#: ungated. ``parity``: query, rate, extract and number as documented.
CheckerConfig = namedtuple(
    "CheckerConfig",
    "decomposition k documents three_stage gate passages rule parity",
    defaults=["rules", 3, 3, True, "low", 2, Rule(), False],
)
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
        Judge of passages with ``judge(claim, passages)``, see `casebook.factcheck.judges`; by
        default the public one.
    config : CheckerConfig, optional
        Settings.

    Raises
    ------
    InputError
        If the decomposition or the gate is none that there is.

    Notes
    -----
    ``check(claim, claim_id)`` gives a `casebook.factcheck.verdict.VerdictResult`: verdict
    (SUPPORTED, NOT_SUPPORTED or INSUFFICIENT_EVIDENCE), confidence and degree of support in
    [0, 1], sub-claims, queries, evidence with document and characters, what the evidence lacks,
    and seconds by stage. A claim that crashes has ``error`` and no verdict.

    Examples
    --------
    >>> from casebook import FactChecker
    >>> checker = FactChecker([{"doc_id": "a", "text": "Money is limited to 500."}])
    >>> checker.check("Money is limited to 750.").verdict
    'NOT_SUPPORTED'
    """

    def __init__(self, base, stance=None, config=None):
        self.base = base = (
            base if isinstance(base, EvidenceBase) else EvidenceBase(base)
        )
        self.stance = stance or PublicJudge()
        self.config = config or CheckerConfig()
        check_choice("gate", self.config.gate, CREDIBILITY_GATES)
        ways = base.ratings, search_queries, base.extract
        if self.config.parity:
            ways = base.documented_ratings, documented_queries, base.extract_documented
        self.ratings, self.write, self.extract = ways
        least = CREDIBILITY_GATES[self.config.gate]
        self.passing = {row for row, of in enumerate(self.ratings) if of.score >= least}
        self._decompose = decomposer_of(self.config.decomposition)

    def check_all(self, claims, passages=None):
        passages = passages or [None] * len(claims)
        if isinstance(self.stance, PublicJudge):
            vectors_of("")  # loads its model, which is no part of the time of a claim
        bar = track(zip(claims, passages, strict=True), "checking claims", len(claims))
        return [self.check(claim.text, claim.id, given) for claim, given in bar]

    def check(self, claim, claim_id="claim", passages=None):
        """Check one claim, by what the search finds or by passages that are given.

        If a stage fails, the result has its name and no verdict.
        """
        stages = _Stages()
        result = VerdictResult(claim_id, claim, None, timings=stages.seconds)
        try:
            return self._checked(stages, result, passages)
        except Exception as error:
            message = f"{stages.current}: {type(error).__name__}: {error}"[:500]
            return result._replace(claim=str(claim)[:200], error=message)

    def _checked(self, stages, result, given):
        rule = self.config.rule
        parts = stages.run("decomposition", self._decompose, result.claim)
        verifiable = tuple(part for part in parts if part.verifiability == VERIFIABLE)
        dropped = tuple(part for part in parts if part not in verifiable)
        result = result._replace(subclaims=verifiable, dropped=dropped)
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not verifiable or (dropped and not rule.documented):
            _, verdict, confidence = decide_claim([], [], rule)
            return result._replace(verdict=verdict, confidence=confidence)
        queries = []
        evidence = []
        remarks = {}
        for part in verifiable:
            passages = given
            if given is None:
                part_queries, passages = self._found(stages, part, result.claim)
                queries += part_queries
            stances = stages.run(
                "stance", self.stance.judge, part.text, tuple(passages)
            )
            first = 1 if self.config.parity else len(evidence) + 1
            for number, said in enumerate(zip(passages, stances, strict=True), first):
                evidence.append(self._item(f"EV{number}", part, *said))
            if hasattr(self.stance, "remarks"):
                remarks |= dict.fromkeys(self.stance.remarks(part.text, passages))
        names = [part.id for part in verifiable]
        subverdicts, verdict, confidence = stages.run(
            "verdict", decide_claim, names, evidence, rule
        )
        return result._replace(
            verdict=verdict,
            confidence=confidence,
            support=degree_of_support(names, evidence, rule),
            queries=tuple(queries),
            evidence=tuple(evidence),
            subverdicts=subverdicts,
            remarks=tuple(remarks),
        )

    def _found(self, stages, part, claim):
        """Queries of a part, and what the documents that they find say of it."""
        config = self.config
        names = proper_names(claim)
        queries = stages.run("queries", self.write, part, config.k, names)
        rankings = stages.run("search", self.base.search, queries)
        rows = fuse_queries(rankings)
        if not config.parity:
            rows = self.base.on_subject(rows, {*names, *proper_names(part.text)})
        rows = rows[: config.documents]
        if not config.three_stage:
            return queries, [self.base.whole(row) for row in rows]
        passages = []
        for row in rows:
            if row in self.passing:
                passages += stages.run(
                    "extraction", self.extract, row, part.text, config.passages
                )
        return queries, passages

    def _item(self, name, part, passage, stance):
        doc_id = self.base.doc_ids[passage.row]
        source = passage.header or doc_id, self.base.urls[passage.row]
        text = passage.text, passage.start, passage.end
        return Evidence(
            name, part.id, doc_id, *source, *text, *self.ratings[passage.row], *stance
        )


class _Stages:
    """Seconds of every stage of one claim, and the stage that runs now."""

    def __init__(self):
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.current = STAGES[0]

    def run(self, stage, function, *arguments):
        self.current = stage
        start = perf_counter()
        result = function(*arguments)
        self.seconds[stage] += perf_counter() - start
        return result


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
    base = EvidenceBase(documents, mode, rating_table)
    if documented:
        return FactChecker(base, PlaceholderStance(), DOCUMENTED_CONFIG._replace(k=k))
    config = CheckerConfig(decomposition=decomposition, gate=gate, k=k)
    return FactChecker(base, judge_of(stance), config)
