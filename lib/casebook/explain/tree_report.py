"""The report of one case's tree: plain data for JSON, with explanations, and its table."""

from collections import Counter

from casebook.explain.templates import Explainer
from casebook.measures.rankshift import displacements, normalised_footrule
from casebook.sensitivity import evaluation
from casebook.sensitivity.plausibility import EDIT_OUTCOMES
from casebook.sensitivity.tree import DISPLACEMENT, edge_frame

EDIT_FIELDS = ("fact_type", "item", "old", "new", "description", "removed", "added")


# ---- as plain data


def tree_report(tree, documents, threshold=evaluation.DECISIVE_DISPLACEMENT):
    """A tree as plain data, node by node, with the explanations of results and edges."""
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    explainer = Explainer(texts, domain=tree.domain)
    nodes = [_node(tree.k, node, explainer) for node in tree.nodes]
    scores = score_table(tree, threshold).set_index("fact type")
    nodes[0]["sensitivity_scores"] = scores.to_dict("index")
    noops = [
        {"node_id": node.name, "edit": edit.description} for node, edit in tree.noops
    ]
    outcomes = Counter(outcome for _, _, outcome, _ in tree.decisions)
    counts = {"nodes": len(nodes), "noops": len(tree.noops)}
    counts |= {name: outcomes[name] for name in EDIT_OUTCOMES}
    return {
        "case_id": tree.case_id,
        "k": tree.k,
        "threshold": threshold,
        "counts": counts,
        "informative_terms": list(tree.terms),
        "nodes": nodes,
        "noops": noops,
    }


def _node(k, node, explainer):
    results = []
    for rank, (case, document, score) in enumerate(zip(*node.ranking, strict=True), 1):
        result = {
            "rank": rank,
            "case_id": case,
            "document_id": document,
            "score": score,
        }
        result["explanation"] = explainer.result(node.sheet, document).to_dict()
        results.append(result)
    edge = diff = parent = None
    summary = f"{len(results)} cases retrieved."
    if node.parent:
        parent = node.parent.name
        edge = {name: getattr(node.edit, name) for name in EDIT_FIELDS}
        diff = _diff(node, k)
        dropped = len(diff["dropped_cases"])
        appeared = len(diff["newly_appeared_cases"])
        stable = len(diff["stable_cases"])
        counts = f"{dropped} dropped, {appeared} newly appeared, {stable} stable cases"
        summary = f"{node.edit.description}: {counts}."
    return {
        "node_id": node.name,
        "parent_id": parent,
        "depth": node.depth,
        "edge": edge,
        "fact_sheet_state": node.sheet.model_dump(),
        "query": node.query,
        "retrieval_results": results,
        "diff_vs_parent": diff,
        "counterfactual_summary": summary,
    }


def _diff(node, k):
    before = node.parent.ranking.cases
    after = node.ranking.cases
    dropped = [case for case in before if case not in after]
    appeared = [case for case in after if case not in before]
    stable = [case for case in before if case in after]
    return {
        "dropped_cases": dropped,
        "newly_appeared_cases": appeared,
        "stable_cases": stable,
        "rank_displacements": displacements(before, after, k),
        "mean_displacement": node.displacement(k),
        "normalised_footrule": normalised_footrule(before, after, k),
    }


def score_table(tree, threshold=evaluation.DECISIVE_DISPLACEMENT):
    """Scores of one case, a row per fact type; a single cluster, so its facts are resampled."""
    edges = edge_frame([tree])
    edges["case_id"] = edges["item"]
    options = {"fact_types": tree.domain.fact_types, "seed": tree.settings.seed}
    scores = evaluation.sensitivity(edges, **options)
    moved = evaluation.sensitivity(edges, DISPLACEMENT, **options)["change"]
    scores.insert(1, "mean displacement", moved)
    dispositive = (moved > threshold).astype(object).where(moved.notna(), None)
    scores.insert(2, "dispositive", dispositive)
    return scores.drop(columns=["groups", "p_adjusted"]).rename(
        columns={"value": "excess"}
    )
