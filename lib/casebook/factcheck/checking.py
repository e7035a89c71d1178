"""Checking a file of claims against named collections, for the command line."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.datasets.beir import read_collection
from casebook.datasets.registry import load
from casebook.errors import InputError
from casebook.factcheck.claimset import (
    read_claims,
    read_plain,
    shipped_documents,
)
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
from casebook.models.entailment import EntailmentModel
from casebook.models.language_model import load_language_model
from casebook.models.load import load_encoder

OWN = "own"  # the smoke and insurance collections as one
_ENTAILMENT, _MODEL = "entailment:", "model:"


def documents_of(names):
    """Load collections as one.

    Parameters
    ----------
    names : sequence of str
        Names of data sets, folders with ``corpus.jsonl`` (written with a separator),
        or ``own`` for the smoke and
        insurance collections, all of whose documents are primary sources.

    Returns
    -------
    pandas.DataFrame
        With several names, ids carry the name of their collection.

    Raises
    ------
    InputError
        If none is named or one cannot be loaded.
    """
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
    """Build a judge of stance by name.

    Parameters
    ----------
    name : str
        ``public`` (the default: weights learnt on several public sets), ``features``
        (fitted on the training part of the own claims), ``features+maxsim`` (with the
        packaged encoder's late interaction), ``placeholder`` (as documented),
        ``entailment:NAME`` or ``model:NAME``.
    base : EvidenceBase
        Collection that it will judge.

    Returns
    -------
    object
        See `casebook.factcheck.stance`.

    Raises
    ------
    InputError
        If the name is unknown or the model is not there.
    """
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
    """Check every claim of a file.

    Parameters
    ----------
    path : path-like
        JSON lines with ``claim``, or a text with one claim a line.
    corpora : sequence of str
        As for `documents_of`.
    mode : str
        System that searches.
    stance : str
        As for `judge_of`.
    decomposition : str
        ``rules``, ``documented``, ``none`` or ``model:NAME``.
    documented : bool
        The whole pipeline as documented, with the placeholder stance.
    ratings : path-like, optional
        Rating table instead of the project's.
    **settings
        Other fields of `PipelineConfig`.

    Returns
    -------
    claims : list of Claim
        As read.
    results : list of VerdictResult
        In their order.
    config : PipelineConfig
        The settings used.

    Raises
    ------
    InputError
        If the file, a collection, a model or a setting is not there or not valid.
    """
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
    """Give results as plain values: verdicts, explanations, outcomes.

    Parameters
    ----------
    results : sequence of VerdictResult
        Checked claims.
    config : PipelineConfig
        Settings they were checked with.

    Returns
    -------
    dict
        ``outcomes`` (counts) and ``claims``: each with ``explanation`` and
        ``removal``, None after a crash.
    """
    claims = []
    for result in results:
        told = None if result.error else explain(result, config.rule)
        own = {
            "explanation": told and told.text,
            "removal": list(told.removal.ids) if told and told.removal else None,
        }
        claims.append(result.as_dict() | own)
    return {"outcomes": outcomes(results), "claims": claims}


def write_predictions(path, results):
    """Write verdicts for ``casebook factcheck score``, crashed ones with no label.

    Parameters
    ----------
    path : path-like
        JSON lines.
    results : sequence of VerdictResult
        Checked claims.

    Returns
    -------
    pathlib.Path
        The file.
    """
    frame = pd.DataFrame(
        {
            "id": [result.claim_id for result in results],
            "label": pd.Series([r.verdict for r in results], dtype=object),
            "probability": [result.support for result in results],
        }
    )
    return write_text(path, frame.to_json(orient="records", lines=True))
