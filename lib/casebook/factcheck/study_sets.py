"""Systems and controls for every set of claims that the experiment knows."""

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.errors import InputError
from casebook.factcheck import ablation as runs
from casebook.factcheck.ablation_configs import documented_configs, factorial_configs
from casebook.factcheck.ablation_report import AblationReport
from casebook.factcheck.cited import Cited, cited_atoms, cited_evidence
from casebook.factcheck.claim_only import claim_only_verdicts
from casebook.factcheck.consumer_verdicts import GOLD, QUESTION, RETRIEVED, SHUFFLED, consumer_study
from casebook.factcheck.credibility import GATES, documented_rating
from casebook.factcheck.own_study import own_study, recalled
from casebook.factcheck.pipeline import DOCUMENTED_CONFIG, FactChecker
from casebook.factcheck.stance import PlaceholderStance
from casebook.factcheck.study_public import aggregation, claim_only_study, gold_evidence
from casebook.factcheck.transfer import FITTED_ON_OWN
from casebook.factcheck.verdict_study import CLAIM_ONLY, PASS_GATE, WRONG, VerdictStudy, of_verdict

S, N, NEI = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT"
OWN = "factcheck_claims"


def run_study(dataset=OWN, *, ablation=True, noise_rates=(), folds=5, seed=0, resamples=10_000):
    """Check the claims of one dataset by its systems and controls."""
    if dataset == OWN:
        return _own_claims(ablation, noise_rates, seed, resamples)
    builders = {
        "consumer_contracts_qa": (_consumer_contracts, "retrieval"),
        "feverous_s": (gold_evidence, "claims"),
        "climate_fever_claims": (aggregation, "claims"),
        "hover": (claim_only_study, "claims"),
    }
    if dataset not in builders:
        known = ", ".join([OWN, *builders])
        raise InputError(f"no verdicts for {dataset!r}: choose from {known}")
    builder, kind = builders[dataset]
    return builder(load(dataset, kind=kind), folds, seed)


def _own_claims(ablation, noise_rates, seed, resamples):
    """Check the project's own claims; everything is fitted on other sources."""
    own = own_study()
    test, results = own.test, own.results
    texts = dict(zip(own.base.doc_ids, own.base.texts, strict=True))
    asked = [(claim.id, claim.text) for claim in test]
    documented = FactChecker(own.base, PlaceholderStance(), DOCUMENTED_CONFIG)
    fitted = FactChecker(own.base, own.fitted, own.config)
    verdicts = {
        "pipeline": [result.verdict for result in results],
        FITTED_ON_OWN: [result.verdict for result in fitted.check_all(asked)],
        "documented": [result.verdict for result in documented.check_all(asked)],
        CLAIM_ONLY: claim_only_verdicts(own.train, test)["label"].tolist(),
    }
    pass_gate = sum(
        documented_rating(own.base.url(row)).score >= GATES[DOCUMENTED_CONFIG.gate] for row in range(len(own.base))
    )
    return VerdictStudy(
        OWN,
        _own_rows(test),
        verdicts,
        WRONG | {"nei": "three_class"},
        blind=(CLAIM_ONLY,),
        slices=("category", "hops"),
        confidence={"pipeline": [_stated(result) for result in results]},
        found=[
            recalled(claim, result)[1] == 1 if claim.atoms else None
            for claim, result in zip(test, results, strict=True)
        ],
        ablation=_ablated(own, noise_rates, seed, resamples) if ablation else None,
        facts={"training claims": len(own.train), "documents": len(own.base), PASS_GATE: pass_gate},
        pipeline=own,
        texts=[claim.text for claim in test],
        decisive=[cited_atoms(claim, texts) for claim in test],
        cited=[cited_evidence(result) for result in results],
    )


def _ablated(own, rates, seed, resamples):
    """Run all configurations, on clean documents and under planted notes."""
    cells, named = factorial_configs(), documented_configs()
    every = runs.run_configs(cells | named, own.base, own.stance, own.test, memo=own.memo).rows
    factorial, nine = (
        runs.AblationRun(every[every["config"].isin(configs)].reset_index(drop=True)) for configs in (cells, named)
    )
    right, seeds = {0.0: factorial.right()}, tuple(range(seed, seed + 3))
    if rates:
        documents = own.base.documents
        right |= runs.noise_study(documents, own.stance, own.test, rates=rates, seeds=seeds).right
    noise = runs.NoiseStudy(right, factorial.groups(), seeds)
    return AblationReport(factorial, nine, noise, seed, resamples)


def _own_rows(claims):
    return pd.DataFrame(
        {
            "id": [c.id for c in claims],
            "label": [NEI if c.label not in (S, N) else c.label for c in claims],
            "group": [c.group or c.id for c in claims],
            "category": [c.category for c in claims],
            "hops": [str(c.hops) for c in claims],
        }
    )


def _stated(result):
    """Probability that the verdict is right, from the degree of support."""
    if result.support is None or result.verdict not in (S, N):
        return None
    return result.support if result.verdict == S else 1 - result.support


def _consumer_contracts(dataset, folds=5, seed=0):
    """Answer yes or no from the clause that was retrieved."""
    found = consumer_study(dataset, folds=folds, seed=seed)
    systems = (RETRIEVED, GOLD, SHUFFLED, QUESTION)
    names = dict(zip(systems, ("pipeline", GOLD, SHUFFLED, CLAIM_ONLY), strict=True))
    rows = found.rows[["id", "label", "group"]].copy()
    rows["clause found at"] = np.select([found.rows["rank"] == 1, found.rows["rank"] > 1], ["rank 1", "later"], "never")
    return VerdictStudy(
        dataset.name,
        rows,
        {name: found.verdicts(s).tolist() for s, name in names.items()},
        WRONG,
        blind=(SHUFFLED, CLAIM_ONLY),
        slices=("clause found at",),
        confidence={name: of_verdict(found.rows[s]) for s, name in names.items()},
        found=(found.rows["rank"] == 1).tolist(),
        facts={"clauses": len(dataset.documents)},
        texts=dataset.queries["text"].tolist(),
        decisive=_clauses(dataset, found.rows["clause"]),
        cited=_clauses(dataset, found.rows["first"]),
    )


def _clauses(dataset, names):
    """Give the clause of each question as a passage, none where there is no name."""
    texts = dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))
    return [[] if name is None else [Cited(name, texts[name], 0, len(texts[name]))] for name in names]
