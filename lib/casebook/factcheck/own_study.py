"""The pipeline on the project's own claims: collection, judge, claims, verdicts."""

from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from casebook.factcheck.cited import touches
from casebook.factcheck.claimset import read_claims, shipped_documents
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.memo import Memo
from casebook.factcheck.pipeline import FactChecker, PipelineConfig
from casebook.factcheck.public_judge import PublicJudge
from casebook.factcheck.similarity import MaxSimilarity
from casebook.factcheck.stance import FeatureStance
from casebook.factcheck.stance_pairs import training_pairs


def fitted_stance(base, claims, encoder=None):
    """Fit the feature model on claims with gold evidence."""
    pairs = training_pairs(claims, base)
    similarity = None
    if encoder is not None:
        similarity = MaxSimilarity(encoder)
        similarity.prepare([pair.passage.text for pair in pairs])
        similarity.prepare([pair.claim for pair in pairs], "query")
    return FeatureStance(base.rarity, similarity).fit(pairs)


@dataclass(frozen=True, eq=False)
class OwnStudy:
    """Held-out claims, a judge that never saw their sources, and verdicts."""

    base: EvidenceBase
    train: list
    test: list
    stance: object
    config: PipelineConfig
    memo: Memo = field(default_factory=Memo)

    @cached_property
    def fitted(self):
        """A judge that knows our training claims only, FeatureStance."""
        return fitted_stance(self.base, self.train)

    @cached_property
    def results(self):
        """Results of the test claims, list of VerdictResult."""
        checker = FactChecker(self.base, self.stance, self.config, memo=self.memo)
        return checker.check_all([(claim.id, claim.text) for claim in self.test])

    def evidence_recall(self):
        """Compare evidence found with gold evidence, claim by claim."""
        rows = []
        for claim, result in zip(self.test, self.results, strict=True):
            if claim.atoms:
                documents, passages = recalled(claim, result)
                rows.append(
                    {
                        "id": claim.id,
                        "group": claim.group,
                        "hops": claim.hops,
                        "documents": documents,
                        "passages": passages,
                        "right": result.verdict == claim.label,
                    }
                )
        return pd.DataFrame(rows)


def recalled(claim, result):
    """Compare the evidence of one claim with its gold evidence."""
    found = {item.doc_id for item in result.evidence}
    documents = sum(atom.doc_id in found for atom in claim.atoms)
    passages = sum(any(touches(item, atom) for item in result.evidence) for atom in claim.atoms)
    return documents / len(claim.atoms), passages / len(claim.atoms)


def own_study(config=None, *, mode="bm25_stemmed"):
    """Set the experiment up on the shipped collections and claims."""
    documents = shipped_documents()
    base = EvidenceBase(documents, mode=mode)
    claims = read_claims(documents=documents)
    train = [claim for claim in claims if claim.split == "train"]
    test = [claim for claim in claims if claim.split == "test"]
    return OwnStudy(base, train, test, PublicJudge(), config or PipelineConfig())
