"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

import re
from collections import Counter, namedtuple
from pathlib import Path
from time import perf_counter

from casebook.factcheck import verdict as rules
from casebook.factcheck.credibility import read_rating_table
from casebook.factcheck.decompose import VERIFIABLE, decomposer_of
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.judges import PlaceholderStance, judge_of
from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.verdict import DOCUMENTED_RULE, Evidence, Rule, VerdictResult
from casebook.factcheck.words import content, proper_names, yaml_table
from casebook.progress import track
from casebook.stats.samples import check_choice
from casebook.text import STOP_LIST, tokens

MOST_QUERIES = 5
STAGES = ("decomposition", "queries", "search", "credibility", "extraction", "stance", "verdict")
CREDIBILITY_GATES = {"none": 0.0, "low": 0.3, "medium": 0.5, "high": 0.8}


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


def fuse_queries(rankings, most):
    """Reciprocal rank fusion with constant 20; ties go by the collection, not by the best rank."""
    scores = Counter()
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] += 1 / (20 + rank)
    return sorted(scores, key=lambda row: (-round(scores[row], 12), row))[:most]


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
    memo : dict, optional
        Results shared with other configurations over the same collection and judge.

    Raises
    ------
    InputError
        If the decomposition, the gate or ``k`` is none that there is.

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

    def __init__(self, base, stance=None, config=None, memo=None):
        self.base = base if isinstance(base, EvidenceBase) else EvidenceBase(base)
        self.stance = stance or PublicJudge()
        self.config = config or CheckerConfig()
        check_choice("gate", self.config.gate, CREDIBILITY_GATES)
        check_choice("k", self.config.k, range(1, MOST_QUERIES + 1))
        self.ratings = self.base.ratings
        self.write = search_queries
        self.extract = self.base.extract
        if self.config.parity:
            self.ratings = self.base.documented_ratings
            self.write = documented_queries
            self.extract = self.base.extract_documented
        self._memo = {} if memo is None else memo
        name = self.config.decomposition
        self._decompose = self._memo.setdefault(name, decomposer_of(name))

    @property
    def passing(self):
        return len(self._passing(range(len(self.base))))

    def _passing(self, rows):
        least = CREDIBILITY_GATES[self.config.gate]
        return [row for row in rows if self.ratings[row].score >= least]

    def check_all(self, claims):
        return [self.check(claim.text, claim.id) for claim in track(claims, "checking claims")]

    def check(self, claim, claim_id="claim", passages=None):
        """Check one claim, by what the search finds or by passages that are given.

        If a stage fails, the result has its name and no verdict.
        """
        stages = _StageClock(self._memo)
        result = VerdictResult(claim_id, claim, None, timings=stages.seconds)
        try:
            return self._checked(stages, result, passages)
        except Exception as error:
            cause = getattr(error, "cause", None) or type(error).__name__
            message = f"{stages.current}: {cause}: {error}"[:500]
            return result._replace(claim=str(claim)[:200], error=message)

    def _checked(self, stages, result, given):
        rule = self.config.rule
        verifiable, dropped = self._parts(stages, result.claim)
        result = result._replace(subclaims=verifiable, dropped=dropped)
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not verifiable or (dropped and not rule.documented):
            _, verdict, confidence = rules.decide_claim([], [], rule)
            return result._replace(verdict=verdict, confidence=confidence)
        queries = []
        evidence = []
        remarks = {}
        for part in verifiable:
            passages = given
            if given is None:
                part_queries, passages = self._found(stages, part, result.claim)
                queries += part_queries
            first_number = 1 if self.config.parity else len(evidence) + 1
            evidence += self._judged(stages, part, passages, first_number)
            if hasattr(self.stance, "remarks"):
                remarks |= dict.fromkeys(self.stance.remarks(part.text, passages))
        subverdicts, verdict, confidence = stages.run(
            "verdict", rules.decide_claim, result.parts, evidence, rule
        )
        return result._replace(
            verdict=verdict,
            confidence=confidence,
            support=rules.degree_of_support(result.parts, evidence, rule),
            queries=tuple(queries),
            evidence=tuple(evidence),
            subverdicts=subverdicts,
            remarks=tuple(remarks),
        )

    def _parts(self, stages, claim):
        parts = stages.run("decomposition", self._decompose, claim, once=True)
        verifiable = tuple(part for part in parts if part.verifiability == VERIFIABLE)
        return verifiable, tuple(part for part in parts if part not in verifiable)

    def _found(self, stages, part, claim):
        """Queries of a part, and what the documents that they find say of it."""
        config = self.config
        names = proper_names(claim)
        queries = stages.run("queries", self.write, part, MOST_QUERIES, names, once=True)
        queries = queries[: config.k]
        rankings = [stages.run("search", self.base.search, query, once=True) for query in queries]
        rows = fuse_queries(rankings, len(self.base))
        if not config.parity:
            rows = self.base.on_subject(rows, {*names, *proper_names(part.text)})
        rows = rows[: config.documents]
        if not config.three_stage:
            return queries, [self.base.whole(row) for row in rows]
        passages = []
        for row in stages.run("credibility", self._passing, rows):
            arguments = (self.extract, row, part.text, config.passages)
            passages += stages.run("extraction", *arguments, once=True)
        return queries, passages

    def _judged(self, stages, part, passages, first_number):
        arguments = (self.stance.judge, part.text, tuple(passages))
        stances = stages.run("stance", *arguments, once=True)
        # how many passages a judge of all together gave the same probability
        sided = Counter(stance for stance in stances if stance[1] is not None)
        together = sided if getattr(self.stance, "reads_together", False) else {}
        evidence = []
        for number, passage in enumerate(passages):
            doc_id = self.base.doc_ids[passage.row]
            item = Evidence(
                f"EV{first_number + number}",
                part.id,
                doc_id,
                passage.header or doc_id,
                self.base.urls[passage.row],
                passage.text,
                passage.start,
                passage.end,
                *self.ratings[passage.row],
                *stances[number],
                together.get(stances[number], 1),
            )
            evidence.append(item)
        return evidence


class _StageClock:
    """Seconds of every stage of one claim, and the stage that runs now.

    What another configuration has computed already costs a claim what it cost there: each cell of
    an ablation bears what it would cost alone.
    """

    def __init__(self, memo):
        self.memo = memo
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.current = STAGES[0]

    def run(self, stage, function, *arguments, once=False):
        """What a stage computes, once for all configurations or for this claim alone."""
        self.current = stage
        key = (function, *arguments) if once else None
        if key is None or key not in self.memo:
            start = perf_counter()
            self.memo[key] = function(*arguments), perf_counter() - start
        result, seconds = self.memo[key]
        self.seconds[stage] += seconds
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
