"""The report of one case's tree: plain data for JSON, with explanations, and its Markdown."""

import json
from collections import Counter
from pathlib import Path

import jinja2
import pandas as pd

from casebook.errors import InputError
from casebook.explain.templates import Explainer
from casebook.measures.rankshift import displacements, jaccard, normalised_footrule, rbo
from casebook.readers import read_json
from casebook.sensitivity import evaluation
from casebook.sensitivity.plausibility import EDIT_OUTCOMES
from casebook.sensitivity.tree import DISPLACEMENT, edge_frame
from casebook.tables import escape_markdown

TREE_FORMAT = "casebook sensitivity tree 2"
EDIT_FIELDS = ("fact_type", "item", "old", "new", "description", "removed", "added")


# ---- as plain data


def tree_report(tree, documents, threshold=evaluation.DECISIVE_DISPLACEMENT):
    """A tree as plain data, node by node, with the explanations of results and edges."""
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    explainer = Explainer(texts, domain=tree.domain)
    nodes = [_node(tree.k, node, explainer) for node in tree.nodes]
    scores = _scores(tree, threshold)
    nodes[0]["sensitivity_scores"] = json.loads(scores.to_json(orient="index", double_precision=15))
    outcomes = Counter(outcome for _, _, outcome, _ in tree.decisions)
    counts = {"nodes": len(nodes), "noops": len(tree.noops)}
    counts |= {name: outcomes[name] for name in EDIT_OUTCOMES}
    return {
        "format": TREE_FORMAT,
        "case_id": tree.case_id,
        "k": tree.k,
        "threshold": threshold,
        "counts": counts,
        "informative_terms": list(tree.terms),
        "nodes": nodes,
        "noops": [{"node_id": node.name, "edit": edit.description} for node, edit in tree.noops],
    }


def read_report(path):
    report = read_json(path)
    if not isinstance(report, dict) or report.get("format") != TREE_FORMAT:
        way = "make one with 'casebook sensitivity run CASE DATASET -o FILE'"
        raise InputError(f"{path}: is no report of a tree: {way}")
    return report


def _node(k, node, explainer):
    row = {
        "node_id": node.name,
        "parent_id": node.parent and node.parent.name,
        "depth": node.depth,
        "edge": None,
        "fact_sheet_state": node.sheet.model_dump(),
        "query": node.query,
        "retrieval_results": [],
        "diff_vs_parent": None,
        "counterfactual_summary": f"{len(node.ranking.cases)} cases retrieved.",
    }
    for rank, (case, document, score) in enumerate(zip(*node.ranking, strict=True), 1):
        result = {"rank": rank, "case_id": case, "document_id": document, "score": score}
        result["explanation"] = explainer.result(node.sheet, document).to_dict()
        row["retrieval_results"].append(result)
    if node.parent:
        row["edge"] = {name: getattr(node.edit, name) for name in EDIT_FIELDS}
        row["edge"]["explanation"] = explainer.edge(node).to_dict()
        row["diff_vs_parent"] = diff = _diff(node, k)
        kinds = ("dropped", "newly_appeared", "stable")
        counts = [f"{len(diff[f'{kind}_cases'])} {kind.replace('_', ' ')}" for kind in kinds]
        moved = diff["mean_displacement"] or 0.0
        summary = f"Cases: {', '.join(counts)}; mean displacement {moved:.2f}."
        row["counterfactual_summary"] = summary
    return row


def _diff(node, k):
    before = node.parent.ranking.cases
    after = node.ranking.cases
    return {
        "dropped_cases": [case for case in before if case not in after],
        "newly_appeared_cases": [case for case in after if case not in before],
        "stable_cases": [case for case in before if case in after],
        "rank_displacements": displacements(before, after, k),
        "mean_displacement": node.displacement(k),
        "normalised_footrule": normalised_footrule(before, after, k),
        "rbo": rbo(before, after),
        "jaccard": jaccard(before, after, k),
        "n_parent": len(before),
        "n_child": len(after),
    }


def _scores(tree, threshold):
    # Of one case, a single cluster, the facts are resampled.
    edges = edge_frame([tree])
    options = {"clusters": "item", "fact_types": tree.domain.fact_types, "seed": tree.settings.seed}
    scores = evaluation.sensitivity(edges, **options).set_index("fact type")
    moved = evaluation.sensitivity(edges, DISPLACEMENT, **options).set_index("fact type")
    scores = scores.rename(columns={"sensitivity": "footrule"}).drop(columns=["cases", "p_holm"])
    scores.insert(1, "mean displacement", moved["sensitivity"])
    dispositive = (scores["mean displacement"] > threshold).astype(object)
    scores.insert(2, "dispositive", dispositive.where(scores["mean displacement"].notna(), None))
    return scores


# ---- for reading


def score_table(report):
    """Scores of a report, a row per fact type."""
    scores = report["nodes"][0]["sensitivity_scores"]
    columns = ["edges", "mean displacement", "dispositive", "footrule", "placebo"]
    columns += ["excess", "excess low", "excess high", "reason"]
    table = pd.DataFrame.from_dict(scores, orient="index")[columns]
    return table.rename_axis("fact type").reset_index()


def tree_markdown(report):
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = escape_markdown
    template = environment.from_string(Path(__file__).with_name("tree.md.jinja").read_text("utf-8"))
    # By name (r, r.1, r.1.1, r.2) each node is followed by its own children.
    nodes = sorted(report["nodes"], key=lambda node: list(map(int, node["node_id"].split(".")[1:])))
    table = score_table(report).round(3).fillna("–")
    return template.render(report | {"nodes": nodes, "table": table})
