"""Checking a file of claims against named collections, for the command line."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.factcheck.claimset import read_claims, read_plain, shipped_documents
from casebook.factcheck.credibility import read_table
from casebook.factcheck.decompose_model import ModelDecomposer
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.explain import explain
from casebook.factcheck.outcomes import outcomes
from casebook.factcheck.own_study import fitted_stance
from casebook.factcheck.pipeline import DOCUMENTED_CONFIG, FactChecker, PipelineConfig
from casebook.factcheck.public_judge import PublicJudge
from casebook.factcheck.stance import PlaceholderStance
from casebook.factcheck.stance_models import EntailmentStance, ModelStance
from casebook.files import write_text
from casebook.models.encoders import load_encoder
from casebook.models.language import load_language_model
from casebook.models.rerankers import EntailmentModel

OWN = "own"  # the smoke and insurance collections as one
_ENTAILMENT, _MODEL = "entailment:", "model:"


def documents_of(names):
    """Load collections as one."""
    if not names:
        raise InputError("name a collection to search, such as --corpus own")
    frames = []
    for name in names:
        found = shipped_documents() if name == OWN else _collection(name)
        if len(names) > 1 and name != OWN:
            found["doc_id"] = f"{Path(name).name}:" + found["doc_id"]
        frames.append(found)
    joined = pd.concat(frames, ignore_index=True).astype(object)
    return joined.where(joined.notna(), None)


def _collection(name):
    """Load documents; their titles are headers, which are searched with the text."""
    if "/" in str(name) or os.sep in str(name):  # a folder; judgements are not needed
        return read_collection(name, titles=False)
    return load(name, titles=False).documents.copy()


def judge_of(name, base):
    """Build a judge of stance by name."""
    if name == "public":
        return PublicJudge()
    if name in ("features", "features+maxsim"):
        own = shipped_documents()
        train = read_claims(documents=own, split="train")
        encoder = load_encoder() if name.endswith("maxsim") else None
        return fitted_stance(EvidenceBase(own), train, encoder).on(base)
    if name == "placeholder":
        return PlaceholderStance()
    if name.startswith(_ENTAILMENT):
        return EntailmentStance(EntailmentModel(name.removeprefix(_ENTAILMENT)))
    if name.startswith(_MODEL):
        return ModelStance(load_language_model(name.removeprefix(_MODEL)))
    raise InputError(
        f"unknown stance {name!r}: give public, features, features+maxsim, "
        f"placeholder, {_ENTAILMENT}NAME or {_MODEL}NAME"
    )


def check_file(
    path,
    corpora,
    *,
    mode="bm25_stemmed",
    stance="public",
    decomposition="rules",
    documented=False,
    ratings=None,
    **settings,
):
    """Check every claim of a file."""
    claims = read_plain(path)
    table = read_table(Path(ratings)) if ratings else None
    base = EvidenceBase(documents_of(corpora), mode=mode, table=table)
    decomposers = None
    if decomposition.startswith(_MODEL):
        model = load_language_model(decomposition.removeprefix(_MODEL))
        decomposers = {decomposition: ModelDecomposer(model)}
    config = PipelineConfig(decomposition=decomposition, **settings)
    if documented:
        config, stance = replace(DOCUMENTED_CONFIG, k=config.k), "placeholder"
    checker = FactChecker(base, judge_of(stance, base), config, decomposers)
    results = checker.check_all([(claim.id, claim.text) for claim in claims])
    return claims, results, config


def as_report(results, config):
    """Give results as plain values: verdicts, explanations, outcomes."""
    claims = []
    for result in results:
        told = None if result.error else explain(result, config.rule)
        own = {"explanation": told and told.text, "removal": list(told.removal.ids) if told and told.removal else None}
        claims.append(result.as_dict() | own)
    return {"outcomes": outcomes(results), "claims": claims}


def write_predictions(path, results):
    """Write verdicts for ``casebook factcheck score``, crashed ones with no label."""
    frame = pd.DataFrame(
        {
            "id": [result.claim_id for result in results],
            "label": pd.Series([r.verdict for r in results], dtype=object),
            "probability": [result.support for result in results],
        }
    )
    return write_text(path, frame.to_json(orient="records", lines=True))
