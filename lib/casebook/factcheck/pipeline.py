"""From a claim to a verdict: decompose, query, search, rate, extract, judge, decide."""

from dataclasses import replace

from casebook.errors import InputError
from casebook.factcheck.credibility import GATES, documented_rating
from casebook.factcheck.decompose import decompose, undivided
from casebook.factcheck.decompose_documented import decompose_documented
from casebook.factcheck.evidence import fuse_queries
from casebook.factcheck.memo import Memo
from casebook.factcheck.model import INSUFFICIENT, NOT_SUPPORTED, VERIFIABLE, Evidence, VerdictResult
from casebook.factcheck.pipeline_config import DOCUMENTED_CONFIG, QUERY_WRITERS, PipelineConfig
from casebook.factcheck.queries import MOST
from casebook.factcheck.stage_clock import STAGES, StageClock, StageFailed
from casebook.factcheck.verdict import decide, degree_of_support

__all__ = ["DOCUMENTED_CONFIG", "STAGES", "FactChecker", "PipelineConfig"]

NOT_VERIFIABLE = "no_verifiable_part"
_DECOMPOSERS = {"rules": decompose, "documented": decompose_documented, "none": undivided}


class FactChecker:
    """Check claims against a collection.

    Parameters
    ----------
    base : EvidenceBase
        Where evidence is searched.
    stance : object
        Judge of passages, see `casebook.factcheck.stance`.
    config : PipelineConfig
        Settings.
    decomposers : dict of callable, optional
        Further decomposers by name, such as
        `casebook.factcheck.decompose_model.ModelDecomposer`.
    memo : Memo, optional
        Results shared with other configurations over the same collection and judge.

    Raises
    ------
    InputError
        If the decomposition is unknown.
    """

    def __init__(self, base, stance, config=None, decomposers=None, memo=None):
        self.base, self.stance = base, stance
        self.config = config or PipelineConfig()
        known = _DECOMPOSERS | (decomposers or {})
        if self.config.decomposition not in known:
            raise InputError(f"unknown decomposition {self.config.decomposition!r}; one of {', '.join(known)}")
        self._decompose = known[self.config.decomposition]
        self._memo = Memo() if memo is None else memo

    def check_all(self, claims):
        """Check many claims, each on its own."""
        return [self.check(text, name) for name, text in claims]

    def check(self, claim, claim_id="claim"):
        """Check one claim.

        Parameters
        ----------
        claim : str
            Claim.
        claim_id : str
            Its id.

        Returns
        -------
        VerdictResult
            With ``verdict`` None and ``error`` set if a stage crashed.
        """
        clock = StageClock()
        try:
            return self._check(clock, claim, claim_id)
        except StageFailed as failure:
            return VerdictResult(claim_id, str(claim)[:200], None, timings=clock.seconds, error=str(failure)[:500])

    def _check(self, clock, claim, claim_id):
        with clock.stage("decomposition"):
            key = ("decompose", self.config.decomposition, claim)
            parts = clock.charge(self._memo.get, key, lambda: self._decompose(claim))
        kept = tuple(part for part in parts if part.verifiability == VERIFIABLE)
        dropped = tuple(part for part in parts if part.verifiability != VERIFIABLE)
        result = VerdictResult(claim_id, claim, None, subclaims=kept, dropped=dropped, timings=clock.seconds)
        documented = self.config.rule.claim == "documented"
        # The documented pipeline checks what is left; an honest one cannot say that
        # a claim holds when a part of it was never looked at.
        if not kept or (dropped and not documented):
            return replace(
                result,
                verdict=NOT_SUPPORTED if documented else INSUFFICIENT,
                confidence=0.0 if documented else None,
                reason=NOT_VERIFIABLE,
            )
        asked = self._queries(clock, kept)
        evidence = []
        for part in kept:
            texts = [query.text for query in asked if query.subclaim_id == part.id]
            evidence += self._evidence(clock, part, texts, len(evidence))
        return self._decided(clock, replace(result, queries=asked), tuple(evidence))

    def _queries(self, clock, parts):
        """Write the queries of all parts."""
        write, asked = QUERY_WRITERS[self.config.queries], []
        with clock.stage("queries"):
            for part in parts:
                key = ("queries", self.config.queries, part)
                found = clock.charge(self._memo.get, key, lambda part=part: write(part, MOST))
                asked += found[: self.config.k]
        return tuple(asked)

    def _evidence(self, clock, part, texts, before):
        """Search, rate, extract and judge for one part."""
        with clock.stage("search"):
            rankings = [
                clock.charge(self._memo.get, ("search", text), lambda text=text: self.base.search(text))
                for text in texts
            ]
            most = len(self.base) if self.config.documents is None else None
            rows = fuse_queries(rankings, most or self.config.documents)
        with clock.stage("credibility"):
            rows = [row for row in rows if self._passes(row)]
        with clock.stage("extraction"):
            passages = [p for row in rows for p in self._passages(clock, part, row)]
        with clock.stage("stance"):
            # Passages are judged together: what one says can depend on the others.
            judged = clock.charge(
                self._memo.get, ("stance", part.text, tuple(passages)), lambda: self.stance.judge(part.text, passages)
            )
        first = 1 if self.config.parity else before + 1
        return [
            self._item(f"EV{number}", part, passage, *stance)
            for number, (passage, stance) in enumerate(zip(passages, judged, strict=True), start=first)
        ]

    def _rating(self, row):
        if self.config.parity:
            return documented_rating(self.base.url(row))
        return self.base.ratings[row]

    def _passes(self, row):
        if not self.config.three_stage:
            return True
        return self._rating(row).score >= GATES[self.config.gate]

    def _passages(self, clock, part, row):
        if not self.config.three_stage:
            return [self.base.whole(row)]
        parity, most = self.config.parity, self.config.passages
        extract = self.base.extract_documented if parity else self.base.extract
        key = ("extract", parity, most, row, part.text)
        return clock.charge(self._memo.get, key, lambda: extract(row, part.text, most))

    def _item(self, name, part, passage, stance, probability):
        rating, doc_id = self._rating(passage.row), self.base.doc_ids[passage.row]
        return Evidence(
            id=name,
            subclaim_id=part.id,
            doc_id=doc_id,
            source=passage.header or doc_id,
            url=self.base.url(passage.row),
            passage=passage.text,
            start=passage.start,
            end=passage.end,
            credibility=rating.score,
            level=rating.level,
            stance=stance,
            probability=probability,
        )

    def _decided(self, clock, result, evidence):
        with clock.stage("verdict"):
            names = [part.id for part in result.subclaims]
            parts, verdict, confidence = decide(names, evidence, self.config.rule)
            support = degree_of_support(names, evidence, self.config.rule)
        reasons = {part.reason for part in parts} - {None}
        open_ = verdict == INSUFFICIENT
        return replace(
            result,
            verdict=verdict,
            confidence=confidence,
            support=support,
            evidence=evidence,
            subverdicts=parts,
            reason=", ".join(sorted(reasons)) or "mixed_evidence" if open_ else None,
        )
