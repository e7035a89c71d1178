"""Casebook: an executable book of evidence about legal and insurance AI systems."""

from importlib import import_module

__version__ = "0.2.0"

# Public names by module. They are loaded when first used, so that `import casebook` is quick.
_PUBLIC = {
    "data.registry": ["list_datasets", "load"],
    "data.claims": ["load_claims"],
    "trec": ["read_qrels", "read_run", "write_run"],
    "measures.ranking": ["evaluate"],
    "measures.agreement": ["agreement_table", "krippendorff_alpha"],
    "measures.rankshift": ["mean_displacement", "normalised_footrule", "rbo"],
    "measures.classification": ["score_predictions"],
    "measures.faithfulness": ["faithfulness"],
    "frames": ["compare_systems", "contrasts", "estimates"],
    "stats.tests": ["paired_randomization"],
    "stats.intervals": ["bootstrap_mean", "wilson"],
    "models.encoders": ["load_encoder"],
    "retrieval.pipeline": ["HybridRetriever"],
    "retrieval.fuse": ["maximal_marginal_relevance", "reciprocal_rank_fusion"],
    "retrieval.ablation": ["run_ablation"],
    "sensitivity.extract": ["extract_sheet"],
    "sensitivity.tree": ["grow_trees"],
    "explain.templates": ["Explainer"],
    "factcheck.pipeline": ["EvidenceBase", "FactChecker"],
    "factcheck.score": ["score_files"],
    "assistant.log": ["read_log"],
    "assistant.study": ["gate_logs", "score_answers"],
    "raters.annotations": ["read_ratings"],
    "raters.forms": ["make_forms"],
    "raters.analysis": ["analyse"],
    "shift.learn": ["learn_posneg"],
    "audits.labels": ["audit_labels"],
    "audits.tables": ["check_tables"],
}
_MODULE = {name: module for module, names in _PUBLIC.items() for name in names}


# Names by which others know a function. ImportError, because `from casebook import` hides what an
# AttributeError says.
_NEAR = {
    "compare": "compare_systems",
    "mmr": "maximal_marginal_relevance",
    "rrf": "reciprocal_rank_fusion",
    "ndcg": "evaluate",
    "footrule": "normalised_footrule",
    "cohen_kappa": "measures.agreement.cohen_kappa",
    "fleiss_kappa": "measures.agreement.fleiss_kappa",
    "sign_test": "stats.tests.exact_sign_test",
}


def __getattr__(name):
    if name in _NEAR:
        module, _, function = f"casebook.{_NEAR[name]}".rpartition(".")
        raise ImportError(f"casebook has no {name!r}: use 'from {module} import {function}'")
    if name not in _MODULE:
        raise AttributeError(f"module 'casebook' has no attribute {name!r}")
    return getattr(import_module(f"casebook.{_MODULE[name]}"), name)


def __dir__():
    return sorted(_MODULE)
