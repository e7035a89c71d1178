"""What `casebook factcheck run` prints and writes: verdicts, and what the fact-checker's document measures of them."""

from collections import Counter

import pandas as pd

from casebook.factcheck.explain import explain, quality_rows, quality_table
from casebook.factcheck.score import (
    cost_rows,
    documented_performance,
    high_credibility,
    honest_accuracy,
    join_labels,
    performance_score,
    run_log,
    score_joined,
    timings,
)
from casebook.factcheck.verdict import INSUFFICIENT, NOT_SUPPORTED, SUPPORTED
from casebook.files import write_text
from casebook.stats.intervals import bootstrap_mean, bounded, bounds_text

PERFORMANCE = {
    "mean_processing_time": "Mean processing time, seconds a claim",
    "queries_per_claim": "Queries per claim",
    "evidence_per_claim": "Evidence per claim",
    "high_credibility_ratio": "High-credibility ratio",
}
QUALITY = {
    "coverage": "Coverage",
    "soundness": "Soundness",
    "readability": "Readability",
    "overall": "Overall quality",
    "deletion": "Deletion test",
    "insertion": "Insertion test",
}


def as_report(claims, results, config, *, n_boot=1000, seed=0):
    """Everything that is known of checked claims, as plain values."""
    told = []
    for result in results:
        explained = None if result.error else explain(result, config.rule)
        removal = list(explained.removal.ids) if explained and explained.removal else None
        told.append(result.as_dict() | {"explanation": explained and explained.text, "removal": removal})
    groups = {claim.id: claim.group or claim.id for claim in claims}
    log = log_rows(claims, results)
    report = {"outcomes": outcomes(results), "log": _plain(log), "log_score": performance_score(log)}
    report |= {"log_accuracy": honest_accuracy(log)} if log["labelled"].any() else {}
    seconds = timings([result for result in results if result.error is None] or results)
    report["performance"] = {
        "document": documented_performance(results),
        "all_stages": {"mean_processing_time": float(seconds["mean"].iloc[-1])} | _means(results),
        "stages": _plain(seconds),
    }
    rows = quality_rows(results, config.rule, seed)
    report["explanations"] = _plain(quality_table(rows, groups, n_boot, seed)) if len(rows) else []
    report["systems"] = _plain(shares(claims, results, n_boot=n_boot, seed=seed))
    labelled = [claim.id for claim in claims if claim.label]
    scored = score_labelled(claims, results, n_boot, seed) if labelled else None
    report["labels"] = scored and scored.as_dict()
    return report | {"claims": told}, scored


def score_labelled(claims, results, n_boot=1000, seed=0):
    """Scores of the claims that have a label; INSUFFICIENT is a class of its own if any claim has it."""
    rows = [{"id": c.id, "label": c.label, "group": c.group or c.id} for c in claims if c.label]
    gold, verdicts = pd.DataFrame(rows), {result.claim_id: result.verdict for result in results}
    answers = pd.DataFrame({"id": gold["id"], "label": gold["id"].map(verdicts).astype(object)})
    policy = {"nei": "three_class"} if INSUFFICIENT in set(gold["label"]) else {}
    together = None if gold["group"].is_unique else "group"
    return score_joined(join_labels(gold, answers), policy=policy, cluster=together, n_boot=n_boot, seed=seed)


def log_rows(claims, results):
    """The run log: a row a claim with verdict, label, cost, and the columns of the fact-checker's own log."""
    labels = [claim.label or None for claim in claims]
    logged = run_log(results, labels).drop(columns=["id", "seconds"])
    found = cost_rows(results).join(logged)
    found.insert(1, "label", pd.Series([result.verdict for result in results], dtype=object))
    found.insert(2, "gold", pd.Series(labels, dtype=object))
    found.insert(3, "probability", pd.Series([result.support for result in results], dtype=float))
    return found.assign(error=pd.Series([result.error for result in results], dtype=object))


def shares(claims, results, *, n_boot=1000, seed=0):
    """Share of each verdict by system of a log of answers (the claims' category), with intervals over questions."""
    rows = []
    for name in dict.fromkeys(claim.category for claim in claims):
        mine = [(c, r) for c, r in zip(claims, results, strict=True) if c.category == name]
        together = [claim.group or claim.id for claim, _ in mine]
        for verdict in (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT):
            right = [float(result.verdict == verdict) for _, result in mine]
            mean = bootstrap_mean(right, clusters=together, n_boot=n_boot, seed=seed)
            rows.append({"category": name, "verdict": verdict, "n": mean.n} | bounded("share", mean))
    return pd.DataFrame(rows)


def _means(results):
    whole = [result for result in results if result.error is None]
    if not whole:
        return dict.fromkeys(("queries_per_claim", "evidence_per_claim", "high_credibility_ratio"))
    costs = cost_rows(whole)
    found = {f"{name}_per_claim": float(costs[name].mean()) for name in ("queries", "evidence")}
    return found | {"high_credibility_ratio": high_credibility(whole)["pooled"]}


def _plain(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def as_lines(report, scored=None):
    """The report as lines for a terminal."""
    for claim in report["claims"]:
        yield f"{claim['claim_id']}: {claim['verdict'] or claim['error']}"
        yield from (f"    {line}" for line in (claim["explanation"] or "").splitlines())
    yield ", ".join(f"{n} {name}" for name, n in report["outcomes"].items())
    if len({row["category"] for row in report["systems"]}) > 1:
        yield "\nVerdicts by category (share of claims with 95 % interval)"
        for row in report["systems"]:
            bounds = bounds_text(row["share low"], row["share high"])
            yield f"  {row['category']:24} {row['verdict']:22} {row['share']:.3f} {bounds}  n={row['n']}"
    if scored:
        yield "\nVerdicts against the labels"
        yield from (f"  {line}" for line in scored.as_text().splitlines())
    yield "\nCost of a claim, as the fact-checker's document defines it and over all stages"
    performance = report["performance"]
    for name, title in PERFORMANCE.items():
        yield f"  {title:40} {_number(performance['document'][name])}  {_number(performance['all_stages'][name])}"
    if report["explanations"]:
        yield "\nQuality of the explanations, as the document defines it and by the standard definition"
        found = {row["measure"]: row["value"] for row in report["explanations"]}
        for name, title in QUALITY.items():
            yield f"  {title:40} {_number(found.get(f'documented: {name}'))}  {_number(found.get(name))}"


def _number(value):
    return f"{'-':>9}" if value is None else f"{value:9.4f}"


def outcomes(results):
    """How often checking ended with each verdict, or crashed where and why."""
    ends = ["crashed in " + ": ".join(r.error.split(": ", 2)[:2]) if r.error else r.verdict for r in results]
    return dict(Counter(ends).most_common())


def write_log(path, claims, results):
    """Write the run log, which ``casebook factcheck score`` reads as predictions; crashed claims have no label."""
    return write_text(path, log_rows(claims, results).to_json(orient="records", lines=True, force_ascii=False))
