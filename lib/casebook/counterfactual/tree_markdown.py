"""The report of one tree as Markdown: a projection of its JSON."""

from casebook.explain.templates import node_markdown, plain
from casebook.inference.intervals import estimate_text

SHUFFLED = 3.3  # mean displacement of the same ten cases in random order


def as_markdown(report):
    """Write a report for reading."""
    root = report["nodes"][0]
    lines = [f"# Sensitivity of the results for {plain(report['case_id'])}", ""]
    lines += [f"Query: {plain(root['query'])}", "", *_score_table(root), ""]
    counted = ", ".join(f"{count} {name}" for name, count in report["counts"].items())
    warnings = [f"- {plain(text)}" for text in report.get("warnings", ())]
    lines += ["Mind:", "", *warnings, ""] if warnings else []
    lines += [f"Counts: {counted}.", "", "## States", ""]
    nodes = _parents_first(report["nodes"])
    for node in nodes:
        depth = "  " * node["depth"]
        lines.append(f"{depth}- **{node['node_id']}** {_title(node)}")
        lines.append(f"{depth}  {plain(node['counterfactual_summary'])}")
    if report["noops"]:
        lines += ["", "## Edits that leave the query as it was", ""]
        lines += [f"- {n['node_id']}: {plain(n['edit'])}" for n in report["noops"]]
    lines += _explanations(nodes)
    return "\n".join(lines) + "\n"


def _title(node):
    return plain(node["edge"]["description"]) if node["edge"] else "as it is"


def _explanations(nodes):
    """Give a section for each node that is explained."""
    lines = []
    for node in nodes:
        if told := node_markdown(node):
            lines += ["", f"### {node['node_id']}: {_title(node)}", "", told.rstrip()]
    return ["", "## Explanations", *lines] if lines else []


def _parents_first(nodes):
    """Order nodes so that each is followed by its own children."""
    children = {}
    for node in nodes:
        children.setdefault(node["parent_id"], []).append(node)
    order, stack = [], children.get(None, [])
    while stack:
        node = stack.pop()
        order.append(node)
        stack += reversed(children.get(node["node_id"], []))
    return order


def _score_table(root):
    lines = [
        "| fact type | edges | mean displacement | normalised footrule | placebo | excess | reason |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, score in root["sensitivity_scores"].items():
        cells = [
            name,
            str(score["edges"]),
            _cell(score["mean_displacement"]),
            _cell(score["normalised_footrule"]),
            "–" if score["placebo"] is None else f"{score['placebo']:.3f}",
            _cell(score["excess"]),
            score["reason"] or "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    note = f"The same ten cases in random order have mean displacement {SHUFFLED}."
    return [*lines, "", f"Intervals resample the facts of this one case. {note}"]


def _cell(number):
    return "–" if number["value"] is None else estimate_text(number)
