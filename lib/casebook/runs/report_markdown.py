"""Reports of compare, best and decide as Markdown."""

from casebook.runs.metrics import label


def markdown(kind, report):
    """Write a report: a line per entry, and the table of a ranking."""
    lines = [f"# {kind}: {label(report['metricKey'])}", ""]
    for name, value in report.items():
        if name == "top":
            continue
        shown = value if value not in (None, {}, []) else "n/a"
        lines.append(f"- {name}: {shown}")
    if "top" in report:
        columns = ("rank", "score", "map1", "ndcg3", "workflowName", "runId")
        lines += ["", " | ".join(columns), " | ".join("---" for _ in columns)]
        lines += [" | ".join(cell(row[c]) for c in columns) for row in report["top"]]
    return "\n".join(lines) + "\n"


def cell(value):
    """Give one value of a table: six digits, ``n/a`` for what is undefined."""
    if value is None:
        return "n/a"
    return f"{value:.6f}" if isinstance(value, float) else str(value)
