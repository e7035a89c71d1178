"""The report of one tree, node by node, as JSON."""

from casebook.counterfactual.controls import coverage
from casebook.counterfactual.edges import edge_frame, placebo_frame
from casebook.counterfactual.evaluation import placebo_threshold
from casebook.counterfactual.facts import to_dict
from casebook.counterfactual.placebo import VACUOUS
from casebook.counterfactual.sensitivity import sensitivity
from casebook.errors import InputError
from casebook.measures.rankshift import jaccard, normalised_footrule, rank_changes, rbo
from casebook.readers import read_json

FORMAT = "casebook sensitivity tree 1"
_SHOWN = 5  # cases named in a sentence


def as_json(tree, n_boot=10_000, explain=None):
    """Give a tree as plain data."""
    edges, placebos = edge_frame([tree]), placebo_frame([tree])
    nodes = [_node(tree, node, explain) for node in tree.nodes]
    nodes[0]["sensitivity_scores"] = _scores(edges, n_boot, tree.settings.seed)
    limit = placebo_threshold(placebos, "footrule", 0.5)
    counts = {name: int(count) for name, count in sorted(tree.counts.items())}
    outcomes = [outcome for _, _, outcome, _ in tree.decisions]
    counts |= {o: outcomes.count(o) for o in ("accept", "reject", "undetermined")}
    return {
        "format": FORMAT,
        "case_id": tree.case_id,
        "k": tree.k,
        "counts": counts | {"nodes": len(nodes), "noops": len(tree.noops)},
        "informative_terms": list(tree.terms),
        "warnings": _warnings(tree, nodes[0]["sensitivity_scores"]),
        "placebo_mean_footrule": limit,
        "nodes": nodes,
        "noops": [
            {"node_id": node.name, "fact_type": edit.fact_type, "edit": edit.description} for node, edit in tree.noops
        ],
        "coverage": coverage(edges, 1).to_dict("records"),
    }


def _warnings(tree, scores):
    """Say what the scores are worth: poor queries, no placebos, strong placebos."""
    found = [tree.poor] if tree.poor else []
    if tree.settings.placebo_draws and not tree.write.context:
        found.append(f"excess is undefined: {VACUOUS}")
    for name, score in scores.items():
        moved, placebo = score["normalised_footrule"]["value"], score["placebo"]
        if None not in (moved, placebo) and placebo > moved:
            found.append(
                f"{name}: placebos, which change no fact, move the results more "
                f"({placebo:.3f}) than the edits ({moved:.3f})"
            )
    return found


def read_report(path):
    """Read a report that was written as JSON."""
    report = read_json(path)
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise InputError(
            f"{path}: is no report of a tree: make one with 'casebook sensitivity run CASE DATASET -o FILE'"
        )
    return report


def _node(tree, node, explain):
    edit, found = node.edit, node.found
    results = [
        {"rank": rank, "case_id": case, "document_id": document, "score": score}
        for rank, (case, document, score) in enumerate(zip(found.cases, found.documents, found.scores, strict=True), 1)
    ]
    row = {
        "node_id": node.name,
        "parent_id": node.parent.name if node.parent else None,
        "depth": node.depth,
        "edge": edit and _edge(node),
        "fact_sheet_state": to_dict(node.sheet),
        "query": node.query,
        "retrieval_results": results,
        "retrieval_error": found.error,
        "diff_vs_parent": _diff(node, tree.k) if node.parent else None,
    }
    row["counterfactual_summary"] = _summary(row)
    if explain:
        _explain(row, explain(node))
    return row


def _explain(row, told):
    """Set the explanation of each result and of the edge; None where there is none."""
    for result in row["retrieval_results"]:
        result["explanation"] = told["results"][result["case_id"]]
    if row["edge"]:
        row["edge"]["explanation"] = told["edge"]


def _edge(node):
    edit = node.edit
    return {
        "fact_type": edit.fact_type,
        "item": edit.item,
        "operation": edit.operation,
        "old": edit.old,
        "new": edit.new,
        "description": edit.description,
        "words_removed": edit.removed,
        "words_added": edit.added,
        "by_hand": node.manual,
    }


def _diff(node, k):
    """Compare with the parent; None where a retrieval failed."""
    if node.found.error or node.parent.found.error:
        return None
    before, after = node.parent.found.cases, node.found.cases
    changes = rank_changes(before, after, k)
    return {
        "dropped_cases": list(changes.dropped),
        "newly_appeared_cases": list(changes.new),
        "stable_cases": list(changes.stable),
        "rank_displacements": changes.displacement,
        "mean_displacement": node.displacement(k),
        "normalised_footrule": normalised_footrule(before, after, k),
        "rbo": rbo(before, after),
        "jaccard": jaccard(before, after, k),
        "n_parent": changes.n_before,
        "n_child": changes.n_after,
    }


def _summary(row):
    """Say in a sentence or two what became of the results."""
    if row["retrieval_error"]:
        return f"Retrieval failed: {row['retrieval_error']}."
    diff = row["diff_vs_parent"]
    if row["parent_id"] is None:
        return f"{len(row['retrieval_results'])} cases retrieved."
    if diff is None:
        return "The state before it has no results to compare with."
    if diff["mean_displacement"] is None:
        return "Nothing retrieved before or after."
    moved = f"mean displacement {diff['mean_displacement']:.2f}, "
    moved += f"normalised footrule {diff['normalised_footrule']:.2f}"
    if not diff["dropped_cases"] and not diff["newly_appeared_cases"]:
        if not any(diff["rank_displacements"].values()):
            return f"Same cases in the same order ({moved})."
        return f"Same cases in another order ({moved})."
    dropped = _listed("dropped", diff["dropped_cases"])
    return f"{dropped}; {_listed('new', diff['newly_appeared_cases'])} ({moved})."


def _listed(what, cases):
    if not cases:
        return f"none {what}"
    more = ", ..." if len(cases) > _SHOWN else ""
    return f"{len(cases)} {what}: {', '.join(cases[:_SHOWN])}{more}"


def _scores(edges, n_boot, seed):
    """Aggregate one case, whose facts are resampled: it is a single cluster."""
    frame = sensitivity(edges, clusters="item", n_boot=n_boot, seed=seed)
    parity = sensitivity(edges, "displacement", clusters="item", n_boot=n_boot, seed=seed)
    scores = {}
    rows = zip(frame.to_dict("records"), parity.to_dict("records"), strict=True)
    for row, documented in rows:
        scores[row["fact type"]] = {
            "edges": row["edges"],
            "noops": row["noop"],
            "invalid": row["invalid"],
            "normalised_footrule": _triple(row, "sensitivity"),
            "placebo": _none(row["placebo"]),
            "excess": _triple(row, "excess"),
            "p": _none(row["p"]),
            "mean_displacement": _triple(documented, "sensitivity"),
            "reason": _none(row["reason"]),
        }
    return scores


def _triple(row, name):
    bounds = [_none(row[f"{name} low"]), _none(row[f"{name} high"])]
    return {"value": _none(row[name]), "ci": bounds}


def _none(value):
    return None if value is None or value != value else value
