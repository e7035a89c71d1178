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
    "scores": ["Scores"],
    "data.scored": ["read_scores"],
    "notebook": ["Chapter", "forest"],
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
    "factcheck.evidence": ["EvidenceBase"],
    "factcheck.pipeline": ["FactChecker"],
    "factcheck.score": ["score_files"],
    "assistant.log": ["read_log"],
    "assistant.gate": ["gate_logs"],
    "assistant.study": ["score_answers"],
    "raters.annotations": ["read_ratings"],
    "raters.forms": ["make_forms"],
    "raters.analysis": ["analyse"],
    "shift.learn": ["learn_posneg"],
    "audits.tables": ["check_tables"],
}
_MODULE = {name: module for module, names in _PUBLIC.items() for name in names}


# Names by which others know a function, in small letters. ImportError, because
# `from casebook import` hides what an AttributeError says.
_NEAR = {
    "accuracy": "score_predictions",
    "agreement": "agreement_table",
    "auroc": "stats.areas.auroc",
    "auroc_contrast": "frames.area_contrasts",
    "auroc_difference": "stats.areas.auroc_difference",
    "bm25": "HybridRetriever",
    "bm25index": "retrieval.search.BM25Index",
    "bootstrap": "bootstrap_mean",
    "bootstrap_ci": "bootstrap_mean",
    "brennan_prediger": "measures.agreement.brennan_prediger",
    "classification_report": "score_predictions",
    "cohen_kappa": "measures.agreement.cohen_kappa",
    "cohen_kappa_score": "measures.agreement.cohen_kappa",
    "cohens_kappa": "measures.agreement.cohen_kappa",
    "compare": "compare_systems",
    "confusion_matrix": "score_predictions",
    "f1_score": "score_predictions",
    "fleiss_kappa": "measures.agreement.fleiss_kappa",
    "footrule": "measures.rankshift.footrule",
    "gwet_ac1": "measures.agreement.gwet_ac1",
    "gwet_ac2": "measures.agreement.gwet_ac2",
    "holm": "stats.tests.holm",
    "icc": "measures.agreement.intraclass_correlation",
    "jaccard": "measures.rankshift.jaccard",
    "kappa": "measures.agreement.cohen_kappa",
    "kendall_w": "measures.agreement.kendall_w",
    "krippendorff": "krippendorff_alpha",
    "krippendorffs_alpha": "krippendorff_alpha",
    "load_dataset": "load",
    "map": "evaluate",
    "mcnemar": "stats.tests.mcnemar",
    "mmr": "maximal_marginal_relevance",
    "mrr": "evaluate",
    "ndcg": "evaluate",
    "paired_test": "paired_randomization",
    "paired_randomisation": "paired_randomization",
    "permutation_test": "paired_randomization",
    "precision": "evaluate",
    "randomization_test": "paired_randomization",
    "rank_biased_overlap": "rbo",
    "recall": "evaluate",
    "retriever": "HybridRetriever",
    "rrf": "reciprocal_rank_fusion",
    "scott_pi": "measures.agreement.scott_pi",
    "sign_test": "stats.tests.exact_sign_test",
    "wilson_interval": "wilson",
}


def __getattr__(name):
    if name in _MODULE:
        return getattr(import_module(f"casebook.{_MODULE[name]}"), name)
    target = _NEAR.get(name.lower())
    if target:
        module, _, function = f"casebook.{target}".rpartition(".")
        raise ImportError(f"casebook has no {name!r}: use 'from {module} import {function}'")
    from casebook.readers import did_you_mean

    remedy = did_you_mean(name, _MODULE)
    raise AttributeError(f"module 'casebook' has no attribute {name!r}{remedy}")


def __dir__():
    return sorted(_MODULE)
