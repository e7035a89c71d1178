"""Quality of many explanations: documented numbers beside what they should measure."""

import pandas as pd

from casebook.factcheck.explain import explain
from casebook.factcheck.explain_documented import explain_documented
from casebook.factcheck.explanation_quality import documented_quality, quality
from casebook.stats.intervals import bootstrap_mean

DOCUMENTED = ("coverage", "soundness", "readability", "overall")
CORRECTED = (
    "coverage",
    "influence_coverage",
    "soundness",
    "readability",
    "deletion",
    "deletion_random",
    "insertion",
    "insertion_random",
)


def quality_rows(results, rule, draws=50, seed=0):
    """Measure every explanation both ways."""
    rows = []
    for result in results:
        if result.error is not None:
            continue
        told = explain(result, rule)
        names = [part.id for part in result.subclaims]
        importance = explain_documented(result).importance
        found = quality(result, told, rule, draws, seed)
        documented = documented_quality(importance, result.evidence, names, told.text)
        rows.append(
            {"id": result.claim_id, "verdict": result.verdict}
            | {f"documented: {name}": documented[name] for name in DOCUMENTED}
            | {name: getattr(found, name) for name in CORRECTED}
        )
    columns = ["id", "verdict", *(f"documented: {name}" for name in DOCUMENTED)]
    return pd.DataFrame(rows, columns=[*columns, *CORRECTED])


def quality_table(rows, groups=None, n_boot=2_000, seed=0):
    """Summarise the quality of explanations."""
    table = []
    for name in rows.columns[2:]:
        defined = rows[rows[name].notna()]
        labels = [(groups or {}).get(claim, claim) for claim in defined["id"]]
        found = bootstrap_mean(defined[name].astype(float), clusters=labels, n_boot=n_boot, seed=seed)
        table.append(
            {
                "measure": name,
                "value": found.estimate,
                "low": found.low,
                "high": found.high,
                "n": found.n,
                "undefined": len(rows) - len(defined),
                "reason": found.reason,
            }
        )
    return pd.DataFrame(table)
