"""What checking costs: seconds per stage, queries, evidence, credibility."""

import numpy as np
import pandas as pd

from casebook.factcheck.stage_clock import STAGES


def documented_performance(results):
    """Give the documented performance numbers."""
    times = [result.timings.get("verdict", 0.0) for result in results]
    whole = [result for result in results if result.error is None]
    shares = [_high_share(result) for result in whole if result.evidence]
    return {
        "mean_processing_time": _mean(times),
        "total_processing_time": float(sum(times)),
        "queries_per_claim": _mean([len(result.queries) for result in whole]),
        "evidence_per_claim": _mean([len(result.evidence) for result in whole]),
        "high_credibility_ratio": _mean(shares),
    }


def _mean(values):
    return float(np.mean(values)) if values else 0.0


def _high_share(result):
    return sum(item.level == "high" for item in result.evidence) / len(result.evidence)


def high_credibility(results):
    """Share of evidence of high credibility, by both definitions."""
    held = [result for result in results if result.evidence]
    items = [item for result in held for item in result.evidence]
    high = sum(item.level == "high" for item in items)
    return {
        "macro": _mean([_high_share(result) for result in held]) if held else None,
        "pooled": high / len(items) if items else None,
        "claims": len(held),
        "items": len(items),
        "without": len(results) - len(held),
    }


def timings(results):
    """Seconds of every stage."""
    table = pd.DataFrame(
        [[result.timings.get(stage, 0.0) for stage in STAGES] for result in results], columns=list(STAGES), dtype=float
    )
    table["total"] = table.sum(axis=1)
    return pd.DataFrame(
        {
            "stage": table.columns,
            "mean": table.mean().to_numpy(),
            "median": table.median().to_numpy(),
            "p95": table.quantile(0.95).to_numpy(),
            "n": len(table),
        }
    )


def cost_rows(results):
    """Give what each claim cost, for tables beside its verdict."""
    return pd.DataFrame(
        {
            "id": [result.claim_id for result in results],
            "parts": [len(result.subclaims) for result in results],
            "queries": [len(result.queries) for result in results],
            "evidence": [len(result.evidence) for result in results],
            "seconds": [sum(result.timings.values()) for result in results],
        }
    )
