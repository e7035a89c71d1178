"""Does a shift outlive a change of the collection? Learn at one stage, run at all."""

import pandas as pd

from casebook.data.sets import drift_stages
from casebook.shift.embedded import embed
from casebook.shift.evaluate import LEARNERS, SELECTION, cross_fit
from casebook.shift.simulators import load_embedder
from casebook.shift.study import SHOWN_APART
from casebook.stats.tests import difference_intervals

POLICIES, QUERIES, STAGES, TRAIN_STAGE = 80, 160, 3, 1
_COLUMNS = ("seed", "stage", "system", "query_id", "group", "baseline", "shifted")


def run_drift(seeds, embedder="minilm", *, sizes=(POLICIES, QUERIES), k=5):
    """Learn on stage 1 of generated collections and run on stages 0, 1 and 2."""
    encoder, parts = load_embedder(embedder), []
    for seed in seeds:
        stages = [embed(dataset, encoder) for dataset in drift_stages(*sizes, seed=seed, stages=STAGES)]
        for system in SHOWN_APART:
            fit = cross_fit(stages[TRAIN_STAGE], LEARNERS[system], k=k, seed=seed)
            for stage, data in enumerate(stages):
                frame = _stage_rows(data, fit)
                parts.append(frame.assign(seed=seed, stage=stage, system=system))
    if not parts:
        return pd.DataFrame(columns=list(_COLUMNS))
    return pd.concat(parts, ignore_index=True)[list(_COLUMNS)]


def _stage_rows(data, fit):
    """Score one stage; all stages have the same questions in the same order."""
    vectors = data.queries.copy()
    for fold, chosen in zip(fit.folds, fit.selections, strict=True):
        vectors[fold] += chosen.scale * chosen.shift.move(data.queries[fold])
    groups = data.dataset.groups
    return pd.DataFrame(
        {
            "query_id": data.query_ids,
            "group": [groups[query] for query in data.query_ids],
            "baseline": data.score(data.queries, None, [SELECTION])[SELECTION].array,
            "shifted": data.score(vectors, None, [SELECTION])[SELECTION].array,
        }
    )


def drift_table(rows, n_resamples=10_000, seed=0):
    """Summarise the gain at each stage over all collections."""
    found = []
    for (system, stage), part in rows.groupby(["system", "stage"], sort=False):
        gain = part["shifted"] - part["baseline"]
        number = _number(part, gain, n_resamples, seed)
        each = gain.groupby(part["seed"]).mean()
        found.append(
            {
                "system": system,
                "stage": stage,
                "baseline": part["baseline"].mean(),
                "gain": number["value"],
                "gain low": number["ci"][0],
                "gain high": number["ci"][1],
                "lowest": each.min(),
                "highest": each.max(),
                "seeds": len(each),
                "n": number["n"],
            }
        )
    columns = ["system", "stage", "baseline", "gain", "gain low", "gain high"]
    return pd.DataFrame(found, columns=[*columns, "lowest", "highest", "seeds", "n"])


def drift_numbers(rows, n_resamples=10_000, seed=0):
    """Give the gains for ``numbers.json``."""
    numbers = {}
    for (system, stage), part in rows.groupby(["system", "stage"], sort=False):
        gain = part["shifted"] - part["baseline"]
        measures = {f"{SELECTION} gain": _number(part, gain, n_resamples, seed)}
        numbers.setdefault(f"drift_stage_{stage}", {})[system] = measures
    return numbers


def _number(part, gain, n_resamples, seed):
    families = part["seed"].astype(str) + " " + part["group"].astype(str)
    [found] = difference_intervals(gain, families, n_resamples=n_resamples, seed=seed)
    return found.number(0.0)
