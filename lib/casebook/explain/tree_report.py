"""The report of one case's tree: plain data for JSON, with explanations, and its Markdown."""

from collections import Counter

import pandas as pd

from casebook.errors import InputError
from casebook.explain.templates import Explainer, node_markdown
from casebook.measures.rankshift import displacements, jaccard, normalised_footrule, rbo
from casebook.readers import read_json
from casebook.sensitivity import evaluation
from casebook.sensitivity.edits import NO_INERT_WORDS
from casebook.sensitivity.facts import to_dict
from casebook.sensitivity.plausibility import EDIT_OUTCOMES
from casebook.sensitivity.tree import DISPLACEMENT, FOOTRULE, edge_frame, placebo_frame
from casebook.stats.intervals import bounds_text
from casebook.tables import escape_markdown

TREE_FORMAT = "casebook sensitivity tree 1"
RANDOM_DISPLACEMENT = 3.3  # mean displacement of the same ten cases in random order
RESULTS_LISTED = 5  # in the summary of a state
EDIT_FIELDS = ("fact_type", "item", "operation", "old", "new", "description")
_YES_NO = {True: "yes", False: "no", None: "–"}


# ---- as plain data


def tree_report(tree, documents, *, documented=False, threshold=evaluation.DECISIVE_DISPLACEMENT):
    """Give a tree as plain data, node by node, with the explanations of results and edges."""
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    explain = Explainer(texts, documented, domain=tree.domain)
    edges = edge_frame([tree])
    scores = _scores(edges, tree)
    nodes = [_node(tree, node, explain) for node in tree.nodes]
    nodes[0]["sensitivity_scores"] = scores
    outcomes = Counter(outcome for _, _, outcome, _ in tree.decisions)
    counts = dict(sorted(tree.counts.items())) | {name: outcomes[name] for name in EDIT_OUTCOMES}
    report = {
        "format": TREE_FORMAT,
        "case_id": tree.case_id,
        "k": tree.k,
        "counts": counts | {"nodes": len(tree.nodes), "noops": len(tree.noops)},
        "informative_terms": list(tree.terms),
        "warnings": _warnings(tree, scores),
        "placebo_mean_footrule": evaluation.placebo_threshold(
            placebo_frame([tree]), FOOTRULE, quantile=0.5
        ),
        "nodes": nodes,
        "noops": [
            {"node_id": node.name, "fact_type": edit.fact_type, "edit": edit.description}
            for node, edit in tree.noops
        ],
        "coverage": evaluation.coverage(edges, 1, tree.domain.fact_types).to_dict("records"),
    }
    return with_threshold(report, threshold)


def with_threshold(report, threshold=None):
    """Call the fact types dispositive whose mean displacement exceeds a threshold.

    Without one, it is the report's own.
    """
    if threshold is None:
        threshold = report.get("threshold", evaluation.DECISIVE_DISPLACEMENT)
    for score in report["nodes"][0]["sensitivity_scores"].values():
        moved = score["mean_displacement"]["value"]
        score["dispositive"] = None if moved is None else moved > threshold
    return report | {"threshold": threshold}


def read_report(path):
    """Read a report that was written as JSON."""
    report = read_json(path)
    if not isinstance(report, dict) or report.get("format") != TREE_FORMAT:
        raise InputError(
            f"{path}: is no report of a tree: "
            "make one with 'casebook sensitivity run CASE DATASET -o FILE'"
        )
    return report


def _node(tree, node, explain):
    explanations = explain(node)
    edge = None
    if node.edit:
        edge = {name: getattr(node.edit, name) for name in EDIT_FIELDS} | {
            "words_removed": node.edit.removed,
            "words_added": node.edit.added,
            "explanation": explanations["edge"],
        }
    ranking = node.ranking
    listed = zip(ranking.cases, ranking.documents, ranking.scores, strict=True)
    row = {
        "node_id": node.name,
        "parent_id": node.parent.name if node.parent else None,
        "depth": node.depth,
        "edge": edge,
        "fact_sheet_state": to_dict(node.sheet),
        "query": node.query,
        "retrieval_results": [
            {
                "rank": rank,
                "case_id": case,
                "document_id": document,
                "score": score,
                "explanation": explanations["results"][case],
            }
            for rank, (case, document, score) in enumerate(listed, 1)
        ],
        "retrieval_error": ranking.error,
        "diff_vs_parent": _diff(node, tree.k) if node.parent else None,
    }
    return row | {"counterfactual_summary": _summary(row)}


def _diff(node, k):
    """Compare a ranking with that of the parent; None where a retrieval failed."""
    if node.ranking.error or node.parent.ranking.error:
        return None
    before = node.parent.ranking.cases
    after = node.ranking.cases
    first = before[:k]
    now = after[:k]
    return {
        "dropped_cases": [case for case in first if case not in now],
        "newly_appeared_cases": [case for case in now if case not in first],
        "stable_cases": [case for case in first if case in now],
        "rank_displacements": displacements(before, after, k),
        "mean_displacement": node.displacement(k),
        "normalised_footrule": normalised_footrule(before, after, k),
        "rbo": rbo(before, after),
        "jaccard": jaccard(before, after, k),
        "n_parent": len(first),
        "n_child": len(now),
    }


def _summary(row):
    """Say in a sentence or two how the results changed."""
    diff = row["diff_vs_parent"]
    if row["retrieval_error"]:
        return f"Retrieval failed: {row['retrieval_error']}."
    if diff is None:  # the case as it is, or a state after one that has no results
        return f"{len(row['retrieval_results'])} cases retrieved."
    if diff["mean_displacement"] is None:
        return "Nothing retrieved before or after."
    moved = f"mean displacement {diff['mean_displacement']:.2f}"
    moved += f", normalised footrule {diff['normalised_footrule']:.2f}"
    dropped = diff["dropped_cases"]
    new = diff["newly_appeared_cases"]
    if dropped or new:
        return f"{_listed('dropped', dropped)}; {_listed('new', new)} ({moved})."
    order = "another" if any(diff["rank_displacements"].values()) else "the same"
    return f"Same cases in {order} order ({moved})."


def _listed(what, cases):
    if not cases:
        return f"none {what}"
    more = ", ..." if len(cases) > RESULTS_LISTED else ""
    return f"{len(cases)} {what}: {', '.join(cases[:RESULTS_LISTED])}{more}"


def _scores(edges, tree):
    """Aggregate one case, whose facts are resampled: it is a single cluster."""
    rows = {}
    for measure in (FOOTRULE, DISPLACEMENT):
        frame = evaluation.sensitivity(
            edges,
            measure,
            clusters="item",
            fact_types=tree.domain.fact_types,
            seed=tree.settings.seed,
        ).astype(object)
        rows[measure] = frame.where(frame.notna(), None).to_dict("records")
    scores = {}
    for row, displacement in zip(rows[FOOTRULE], rows[DISPLACEMENT], strict=True):
        scores[row["fact type"]] = {
            "edges": row["edges"],
            "noops": row["noop"],
            "invalid": row["invalid"],
            "normalised_footrule": _number(row, "sensitivity"),
            "placebo": row["placebo"],
            "excess": _number(row, "excess"),
            "p": row["p"],
            "mean_displacement": _number(displacement, "sensitivity"),
            "reason": row["reason"],
        }
    return scores


def _number(row, name):
    return {"value": row[name], "ci": [row[f"{name} low"], row[f"{name} high"]]}


def _warnings(tree, scores):
    """Say what the scores are worth: poor queries, no placebos, strong placebos."""
    warnings = []
    if tree.poor:
        warnings.append(tree.poor)
    if tree.settings.placebo_draws and not tree.write.context:
        warnings.append(f"excess is undefined: {NO_INERT_WORDS}")
    for name, score in scores.items():
        moved = score["normalised_footrule"]["value"]
        placebo = score["placebo"]
        if moved is not None and placebo is not None and placebo > moved:
            warnings.append(
                f"{name}: placebos, which change no fact, move the results more "
                f"({placebo:.3f}) than the edits ({moved:.3f})"
            )
    return warnings


# ---- for reading


def score_table(report):
    """Give the scores of a report, a row per fact type, with the intervals in brackets."""
    rows = [
        {
            "fact type": name,
            "edges": str(score["edges"]),
            "mean displacement": _estimate(score["mean_displacement"]),
            "dispositive": _YES_NO[score["dispositive"]],
            "normalised footrule": _estimate(score["normalised_footrule"]),
            "placebo": "–" if score["placebo"] is None else f"{score['placebo']:.3f}",
            "excess": _estimate(score["excess"]),
            "reason": score["reason"] or "",
        }
        for name, score in report["nodes"][0]["sensitivity_scores"].items()
    ]
    return pd.DataFrame(rows)


def _estimate(number):
    if number["value"] is None:
        return "–"
    return f"{number['value']:z.3f} {bounds_text(*number['ci'])}"


def tree_markdown(report):
    """Write a report as Markdown: a projection of its JSON."""
    table = score_table(report)
    rows = [table.columns, ["---"] * len(table.columns), *table.to_numpy()]
    counts = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
    states = []
    explanations = []
    # By name (r, r.1, r.1.1, r.2) each node is followed by its own children.
    for node in sorted(report["nodes"], key=_position_in_tree):
        indent = "  " * node["depth"]
        title = escape_markdown(node["edge"]["description"]) if node["edge"] else "as it is"
        states.append(f"{indent}- **{node['node_id']}** {title}")
        states.append(f"{indent}  {escape_markdown(node['counterfactual_summary'])}")
        text = node_markdown(node)
        if text:
            explanations += [f"### {node['node_id']}: {title}", "", text.rstrip(), ""]
    lines = [
        f"# Sensitivity of the results for {escape_markdown(report['case_id'])}",
        "",
        f"Query: {escape_markdown(report['nodes'][0]['query'])}",
        "",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        "Intervals resample the facts of this one case, or its edits where a type has fewer than "
        "six facts. The same ten cases in random order have mean displacement "
        f"{RANDOM_DISPLACEMENT}.",
        "",
        f"Dispositive: the mean displacement exceeds {report['threshold']:g}.",
        "",
        *_section("Mind:", [f"- {escape_markdown(text)}" for text in report.get("warnings", ())]),
        f"Counts: {counts}.",
        "",
        "## States",
        "",
        *states,
        "",
        *_section(
            "## Edits that leave the query as it was",
            [f"- {noop['node_id']}: {escape_markdown(noop['edit'])}" for noop in report["noops"]],
        ),
        *_section("## Explanations", explanations),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _position_in_tree(node):
    return [int(number) for number in node["node_id"].split(".")[1:]]


def _section(title, lines):
    return [title, "", *lines, ""] if lines else []
