"""Casebook: an executable book of evidence about legal and insurance AI systems."""

import warnings
from importlib import import_module

__version__ = "1.0.0"

# Packages that we import ask for widgets, which no notebook here needs.
warnings.filterwarnings("ignore", "IProgress not found")

# Public names by module. They are loaded when first used, so that `import casebook` is quick.
_PUBLIC = {
    "data.registry": "list_datasets load",
    "data.sets": "load_claims",
    "trec": "read_qrels read_run write_run",
    "measures.ranking": "evaluate",
    "measures.agreement": "agreement_table krippendorff_alpha",
    "measures.rankshift": "mean_displacement normalised_footrule rbo",
    "measures.classification": "score_predictions",
    "measures.faithfulness": "faithfulness",
    "scores": "Scores",
    "data.scored": "read_scores",
    "notebook": "Chapter forest",
    "frames": "contrasts estimates",
    "stats.tests": "paired_randomization",
    "stats.intervals": "bootstrap_mean wilson",
    "models.encoders": "load_encoder",
    "retrieval.pipeline": "HybridRetriever",
    "retrieval.fuse": "maximal_marginal_relevance reciprocal_rank_fusion",
    "retrieval.ablation": "run_ablation",
    "sensitivity.extract": "extract_sheet",
    "sensitivity.tree": "grow_trees",
    "explain.templates": "Explainer",
    "factcheck.evidence": "EvidenceBase",
    "factcheck.pipeline": "FactChecker",
    "factcheck.score": "score_files",
    "assistant.log": "read_log",
    "assistant.gate": "gate_logs",
    "assistant.study": "score_answers",
    "raters.annotations": "read_ratings",
    "raters.forms": "make_forms",
    "raters.analysis": "analyse",
    "shift.learn": "learn_posneg",
    "audits.tables": "check_tables",
}
_MODULE = {name: module for module, names in _PUBLIC.items() for name in names.split()}


def __getattr__(name):
    if name in _MODULE:
        return getattr(import_module(f"casebook.{_MODULE[name]}"), name)
    from casebook.readers import did_you_mean

    remedy = did_you_mean(name, _MODULE)
    raise AttributeError(f"module 'casebook' has no attribute {name!r}{remedy}")


def __dir__():
    return sorted(_MODULE)
