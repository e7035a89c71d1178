"""What stands beside the verdicts: explanations, the run log and stance, with controls.

All three need the pipeline itself, so they are empty where a chapter has only verdicts.
"""

import pandas as pd

from casebook.factcheck.explanation_study import quality_rows, quality_table
from casebook.factcheck.runlog import log_run, performance_score
from casebook.factcheck.stance_pairs import training_pairs
from casebook.factcheck.stance_study import stance_study
from casebook.stats.intervals import bootstrap_mean, bounded

_QUALITY = ("coverage", "influence_coverage", "soundness", "readability", "overall", "deletion", "insertion")
_BOUNDS = ("", " low", " high")


def explanation_table(study, *, n_boot=1000, seed=0):
    """Set the documented quality of explanations beside the corrected one."""
    if study.pipeline is None:
        return pd.DataFrame()
    own = study.pipeline
    rows = quality_rows(own.results, own.config.rule, seed=seed)
    groups = {claim.id: claim.group or claim.id for claim in own.test}
    found = quality_table(rows, groups, n_boot, seed).set_index("measure")
    table = pd.DataFrame([_quality_row(name, found) for name in _QUALITY])
    numbers = table.columns.difference(["measure", "n", "undefined"])
    return table.astype(dict.fromkeys(numbers, float))


def _quality_row(name, found):
    row = {"measure": name}
    for kind, key in (("documented", f"documented: {name}"), ("corrected", name)):
        bounds = [None] * 3
        if key in found.index:
            bounds = found.loc[key, ["value", "low", "high"]].tolist()
        row |= {f"{kind}{end}": v for end, v in zip(_BOUNDS, bounds, strict=True)}
    control = f"{name}_random"
    row["random"] = found.loc[control, "value"] if control in found.index else None
    last = found.loc[name if name in found.index else f"documented: {name}"]
    return row | {"n": int(last["n"]), "undefined": int(last["undefined"])}


def stance_table(study, *, n_boot=1000, seed=0):
    """Set the stance model beside itself with shuffled evidence."""
    if study.pipeline is None:
        return pd.DataFrame()
    own = study.pipeline
    train, test = (training_pairs(claims, own.base) for claims in (own.train, own.test))
    return stance_study(train, test, rarity=own.base.rarity, n_boot=n_boot, seed=seed)


def run_log_table(study, *, n_boot=1000, seed=0):
    """Give the documented score of the run log, with and without the labels."""
    if study.pipeline is None:
        return pd.DataFrame()
    own = study.pipeline
    pairs = list(zip(own.results, own.test, strict=True))
    labelled = [log_run(result, claim.label) for result, claim in pairs]
    bare = [log_run(result) for result, _ in pairs]
    groups = [claim.group or claim.id for claim in own.test]
    right = [run.accuracy for run in labelled]
    accuracy = bootstrap_mean(right, clusters=groups, n_boot=n_boot, seed=seed)
    scores = [performance_score(runs) for runs in (labelled, bare)]
    names = ("logged runs", "logged runs without labels")
    rows = [
        {"what": name, "n": len(pairs), "documented score": score} for name, score in zip(names, scores, strict=True)
    ]
    rows[0] |= bounded("accuracy", accuracy)
    return pd.DataFrame(rows)
