"""What checking costs: seconds per stage, queries, evidence, credibility."""

import numpy as np
import pandas as pd

from casebook.factcheck.stage_clock import STAGES


def documented_performance(results):
    """Give the documented performance numbers.

    Parameters
    ----------
    results : sequence of VerdictResult
        Checked claims.

    Returns
    -------
    dict of float
        ``mean_processing_time`` and ``total_processing_time`` of the verdict stage
        alone, missing ones as 0; ``queries_per_claim`` and ``evidence_per_claim`` over
        claims that got so far; ``high_credibility_ratio``: mean over the claims with
        evidence of their share of high items. Empty lists give 0, as documented.
    """
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
    """Share of evidence of high credibility, by both definitions.

    Parameters
    ----------
    results : sequence of VerdictResult
        Checked claims.

    Returns
    -------
    dict
        ``macro`` (mean over the claims with evidence, as documented), ``pooled`` (all
        items together), both None without evidence; ``claims``, ``items``: their n;
        ``without``: claims without evidence, which neither counts.
    """
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
    """Seconds of every stage.

    Parameters
    ----------
    results : sequence of VerdictResult
        Checked claims, crashed ones included.

    Returns
    -------
    pandas.DataFrame
        One row per stage and one for the ``total``: ``mean``, ``median``, ``p95``
        (linear interpolation), ``n``. NaN without claims.
    """
    table = pd.DataFrame(
        [[result.timings.get(stage, 0.0) for stage in STAGES] for result in results],
        columns=list(STAGES),
        dtype=float,
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
    """Give what each claim cost, for tables beside its verdict.

    Parameters
    ----------
    results : sequence of VerdictResult
        Checked claims.

    Returns
    -------
    pandas.DataFrame
        One row per claim: ``id``, ``parts``, ``queries``, ``evidence``, ``seconds``.
    """
    return pd.DataFrame(
        {
            "id": [result.claim_id for result in results],
            "parts": [len(result.subclaims) for result in results],
            "queries": [len(result.queries) for result in results],
            "evidence": [len(result.evidence) for result in results],
            "seconds": [sum(result.timings.values()) for result in results],
        }
    )
