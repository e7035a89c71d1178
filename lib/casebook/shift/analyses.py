"""One shift looked at closely: its queries, segments, gate and documented keys."""

import numpy as np
import pandas as pd

from casebook.measures.ranking import describe
from casebook.shift import segments
from casebook.shift.evaluate import GAP_MEASURE, RIDGE
from casebook.shift.evaluators import evaluate_shift
from casebook.shift.gate import judge
from casebook.shift.learner import DOCUMENTED
from casebook.shift.per_query import per_query

# What the documented keys are called in the field.
PARITY = {"original:map@1": "RR", "original:ndcg@3": "nDCG@3"}


def ranks(study, system=DOCUMENTED):
    """Give the rank of the first relevant document before and after the shift."""
    before, after = _records(study, system)
    frame = pd.DataFrame({"query_id": before["QueryId"], "before": before["Rank"], "after": after["Rank"]})
    texts = study.dataset.queries.set_index("query_id")["text"]
    frame.insert(1, "query", frame["query_id"].map(texts))
    gain = after["Ap1"] - before["Ap1"]
    frame["change"] = np.select([gain > 0, gain < 0], ["up", "down"], "equal")
    return frame.loc[gain.sort_values(ascending=False, kind="stable").index]


def changed_ranks(frame, most=20):
    """Choose the queries whose first relevant document moved most."""
    moved = frame[frame["change"] != "equal"]
    if len(moved) <= most:
        return moved
    return pd.concat([moved.head(most // 2), moved.tail(most - most // 2)])


def rank_counts(frame):
    """Say how many queries were promoted, demoted and left alone."""
    counts = frame["change"].value_counts()
    up, down, equal = (int(counts.get(c, 0)) for c in ("up", "down", "equal"))
    first = int(((frame["after"] == 1) & (frame["before"] > 1)).sum())
    lost = int(((frame["before"] == 1) & (frame["after"] > 1)).sum())
    return (
        f"First relevant document: {up} queries up ({first} to the top), {down} down "
        f"({lost} from the top), {equal} unchanged."
    )


def segmented(study, system=DOCUMENTED, n_boot=10_000):
    """Apply the shift where the gap rule of the other folds says so."""
    before, after = _records(study, system)
    rule = segments.gap_gain(before, after) >= study.fits[system].taus
    bound = segments.oracle(before, after, GAP_MEASURE)
    rows = []
    for label, apply in (("segmented", rule), ("oracle", bound)):
        draws = (study.clusters, n_boot, study.seed)
        found = segments.summarise(before, after, apply, *draws)
        if not rows:
            rows.append(_segment_row("baseline", "Baseline", found, rule & False))
            rows.append(_segment_row("shifted", "PosNeg", found, rule | True))
        rows.append(_segment_row(label, "Segmented", found, apply))
    return pd.DataFrame(rows)


def gate(study, system=DOCUMENTED, profile="documented", n_resamples=10_000):
    """Judge a shift by the acceptance gate, on the bound of the paired interval."""
    run = evaluate_shift(study.data, study.fits[system].shifted(study.data))
    options = {"n_resamples": n_resamples, "seed": study.seed}
    return judge(run, profile, clusters=study.clusters, **options)


def gate_table(study, n_resamples=10_000):
    """Judge the documented shift and the ridge map by the acceptance gate."""
    rows = [
        {
            "system": name,
            "rule": check.metric,
            "delta": check.delta,
            "delta low": check.low,
            "delta high": check.high,
            "eps": check.eps,
            "verdict": check.verdict,
        }
        for name in (DOCUMENTED, RIDGE)
        for check in gate(study, name, n_resamples=n_resamples).checks
    ]
    return pd.DataFrame(rows)


def parity_table(study, system=DOCUMENTED):
    """Put each documented key beside the standard measure."""
    vectors = study.fits[system].shifted(study.data)
    names = [*PARITY, *PARITY.values()]
    base = study.data.score(study.data.queries, measures=names).mean()
    after = study.data.score(vectors, measures=names).mean()
    rows = [
        {
            "documented": key,
            "baseline": base[key],
            "shifted": after[key],
            "standard": standard,
            "standard baseline": base[standard],
            "standard shifted": after[standard],
            "what it is": describe(key).parity_note,
        }
        for key, standard in PARITY.items()
    ]
    return pd.DataFrame(rows)


def _records(study, system):
    vectors = study.fits[system].shifted(study.data)
    return per_query(study.data, study.data.queries), per_query(study.data, vectors)


def _segment_row(label, system, found, apply):
    row = {"answers": label, "shifted": int(apply.sum()), "skipped": int((~apply).sum())}
    for measure, number in found["kpi"][system].items():
        row[measure] = number["value"]
        row[f"{measure} low"], row[f"{measure} high"] = number["ci"]
        gain = found["delta"].get(system, {}).get(measure)
        row[f"{measure} gain"] = None if gain is None else gain["value"]
        bounds = (None, None) if gain is None else gain["ci"]
        row[f"{measure} gain low"], row[f"{measure} gain high"] = bounds
    return row
