"""The report of one case's tree: plain data for JSON, with explanations, and its Markdown."""

from collections import Counter
from pathlib import Path

import jinja2
import pandas as pd

from casebook.errors import InputError
from casebook.explain.templates import Explainer
from casebook.measures.rankshift import displacements, jaccard, normalised_footrule, rbo
from casebook.readers import read_json
from casebook.sensitivity import evaluation
from casebook.sensitivity.edits import NO_INERT_WORDS
from casebook.sensitivity.facts import to_dict
from casebook.sensitivity.plausibility import EDIT_OUTCOMES
from casebook.sensitivity.tree import DISPLACEMENT, edge_frame
from casebook.stats.intervals import bounds_text
from casebook.stats.samples import number_or_none
from casebook.tables import escape_markdown

TREE_FORMAT = "casebook sensitivity tree 1"
RANDOM_DISPLACEMENT = 3.3  # mean displacement of the same ten cases in random order
EDIT_FIELDS = ("fact_type", "item", "old", "new", "description", "removed", "added")
_YES_NO = {True: "yes", False: "no", None: "–"}


# ---- as plain data


def tree_report(tree, documents, *, documented=False, threshold=evaluation.DECISIVE_DISPLACEMENT):
    """A tree as plain data, node by node, with the explanations of results and edges."""
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    explainer = Explainer(texts, documented, domain=tree.domain)
    nodes = [_node(tree.k, node, explainer) for node in tree.nodes]
    nodes[0]["sensitivity_scores"] = scores = _scores(tree)
    outcomes = Counter(outcome for _, _, outcome, _ in tree.decisions)
    counts = {"nodes": len(nodes), "noops": len(tree.noops)}
    report = {
        "format": TREE_FORMAT,
        "case_id": tree.case_id,
        "k": tree.k,
        "counts": counts | {name: outcomes[name] for name in EDIT_OUTCOMES},
        "informative_terms": list(tree.terms),
        "warnings": list(_warnings(tree, scores)),
        "nodes": nodes,
        "noops": [{"node_id": node.name, "edit": edit.description} for node, edit in tree.noops],
    }
    return with_threshold(report, threshold)


def with_threshold(report, threshold=None):
    """Fact types are dispositive if their mean displacement exceeds a threshold.

    Without one, it is the report's own.
    """
    threshold = report["threshold"] if threshold is None else threshold
    for score in report["nodes"][0]["sensitivity_scores"].values():
        moved = score["mean_displacement"]["value"]
        score["dispositive"] = None if moved is None else moved > threshold
    return report | {"threshold": threshold}


def read_report(path):
    report = read_json(path)
    if not isinstance(report, dict) or report.get("format") != TREE_FORMAT:
        raise InputError(
            f"{path}: is no report of a tree: "
            "make one with 'casebook sensitivity run CASE DATASET -o FILE'"
        )
    return report


def _node(k, node, explainer):
    row = {
        "node_id": node.name,
        "parent_id": None,
        "depth": node.depth,
        "edge": None,
        "fact_sheet_state": to_dict(node.sheet),
        "query": node.query,
        "retrieval_results": [],
        "diff_vs_parent": None,
        "counterfactual_summary": f"{len(node.ranking.cases)} cases retrieved.",
    }
    for rank, (case, document, score) in enumerate(zip(*node.ranking, strict=True), 1):
        result = {"rank": rank, "case_id": case, "document_id": document, "score": score}
        explanation = explainer.result(node.sheet, document).to_dict()
        row["retrieval_results"].append(result | {"explanation": explanation})
    if node.parent:
        row["parent_id"] = node.parent.name
        row["edge"] = {name: getattr(node.edit, name) for name in EDIT_FIELDS}
        row["edge"]["explanation"] = explainer.edge(node).to_dict()
        row["diff_vs_parent"] = diff = _diff(node, k)
        row["counterfactual_summary"] = _summary(diff)
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


def _summary(diff):
    if diff["mean_displacement"] is None:
        return "Nothing retrieved before or after."
    counts = [f"{len(diff[key])} {key.replace('_', ' ')}" for key in list(diff)[:3]]
    moved = f"mean displacement {diff['mean_displacement']:.2f}"
    moved += f", normalised footrule {diff['normalised_footrule']:.2f}"
    return f"{', '.join(counts)} ({moved})."


def _scores(tree):
    """Scores of one case, whose facts are resampled: it is a single cluster."""
    edges = edge_frame([tree])
    options = {"fact_types": tree.domain.fact_types, "seed": tree.settings.seed}
    footrule = evaluation.sensitivity(edges, clusters="item", **options)
    displacement = evaluation.sensitivity(edges, DISPLACEMENT, clusters="item", **options)
    scores = {}
    for row, moved in zip(
        footrule.to_dict("records"), displacement.to_dict("records"), strict=True
    ):
        scores[row["fact type"]] = {
            "edges": row["edges"],
            "noops": row["noop"],
            "normalised_footrule": _number(row, "sensitivity"),
            "placebo": number_or_none(row["placebo"]),
            "excess": _number(row, "excess"),
            "p": number_or_none(row["p"]),
            "mean_displacement": _number(moved, "sensitivity"),
            "reason": row["reason"],
        }
    return scores


def _number(row, name):
    value, low, high = (number_or_none(row[f"{name}{end}"]) for end in ("", " low", " high"))
    return {"value": value, "ci": [low, high]}


def _warnings(tree, scores):
    """What the scores are worth: poor queries, no placebos, strong placebos."""
    if tree.poor:
        yield tree.poor
    if tree.settings.placebo_draws and not tree.write.context:
        yield f"excess is undefined: {NO_INERT_WORDS}"
    for name, score in scores.items():
        moved = score["normalised_footrule"]["value"]
        if moved is not None and (score["placebo"] or 0) > moved:
            yield (
                f"{name}: placebos, which change no fact, move the results more "
                f"({score['placebo']:.3f}) than the edits ({moved:.3f})"
            )


# ---- for reading


def score_table(report):
    """Scores of a report, a row per fact type, with the intervals in brackets."""
    rows = []
    for name, score in report["nodes"][0]["sensitivity_scores"].items():
        row = {"fact type": name, "edges": str(score["edges"])}
        for column in ("mean_displacement", "normalised_footrule", "excess"):
            number = score[column]
            text = "–"
            if number["value"] is not None:
                text = f"{number['value']:z.3f} {bounds_text(*number['ci'])}"
            row[column.replace("_", " ")] = text
        row["placebo"] = "–" if score["placebo"] is None else f"{score['placebo']:.3f}"
        row["dispositive"] = _YES_NO[score["dispositive"]]
        rows.append(row | {"reason": score["reason"] or ""})
    return pd.DataFrame(rows)


def tree_markdown(report):
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = escape_markdown
    template = environment.from_string(Path(__file__).with_name("tree.md.jinja").read_text("utf-8"))
    # By name (r, r.1, r.1.1, r.2) each node is followed by its own children.
    nodes = sorted(report["nodes"], key=lambda node: list(map(int, node["node_id"].split(".")[1:])))
    about = report | {"nodes": nodes, "table": score_table(report), "random": RANDOM_DISPLACEMENT}
    return template.render(about)
