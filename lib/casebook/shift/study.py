"""The embedding-shift experiment: every system on queries it was not learned on, beside controls and bounds."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pandas as pd

from casebook.data.sets import drift_stages
from casebook.errors import InputError
from casebook.frames import UNTESTED, contrasts
from casebook.models.encoders import load_encoder
from casebook.retrieval.ablation import ScoredSystems
from casebook.shift.embedded import MEASURES, embed, group_labels
from casebook.shift.learn import DOCUMENTED, LEARNERS, RIDGE, SCALES, SELECTION, best_scale, cross_fit, learn
from casebook.stats.samples import check_count, stream
from casebook.stats.tests import difference_intervals

BASELINE, CHANCE = "baseline", "chance"
RANDOM, IN_SAMPLE, CEILING = "{}-random", "{}-in-sample", "{}-oracle-scale"
SHOWN_APART = (DOCUMENTED, RIDGE)  # also in-sample, and by leaking folds
TRAIN_STAGE = 1  # of the three of a generated collection that drifts
_DRIFT = ["seed", "stage", "system", "query_id", "group", "baseline", "shifted"]


@dataclass(frozen=True, eq=False)
class ShiftStudy(ScoredSystems):
    """Scores of all systems on all queries, and the shifts behind them."""

    data: object
    scores: dict  # for each measure a frame, queries x systems
    fits: dict  # cross-fitted learners by name
    leaking: dict  # scores of learners whose folds share groups
    draws: dict  # means of each random direction
    seed: int

    control = CHANCE

    @property
    def dataset(self):
        """The dataset that was embedded."""
        return self.data.dataset

    @property
    def controls(self):
        """Systems that are shown but not tested: controls and bounds."""
        return tuple(name for name in self.scores[SELECTION] if name not in {BASELINE, *self.fits})

    @cached_property
    def clusters(self):
        """Label of each query: those with one are not independent."""
        return group_labels(self.data)


def run_study(dataset, encoder="minilm", *, k=5, by="group", seed=0, draws=20):
    """Learn and evaluate every shift of `LEARNERS` on one dataset."""
    data = embed(dataset, encoder)
    fits = {name: cross_fit(data, grid, k=k, by=by, seed=seed) for name, grid in LEARNERS.items()}
    frames = {BASELINE: data.score(data.queries)}
    frames |= {name: data.score(fit.shifted(data)) for name, fit in fits.items()}
    frames[CHANCE] = data.chance()
    leaking, spread = {}, {}
    for name in SHOWN_APART:
        frames[RANDOM.format(name)], spread[name] = random_directions(data, fits[name], draws=draws, seed=seed)
    for name in SHOWN_APART:
        # Learned, chosen and reported on the same queries: shown apart, as a warning.
        learned = [(options, learn(data, None, options).move(data.queries)) for options in LEARNERS[name]]
        frames[IN_SAMPLE.format(name)] = data.score(best_scale(data, learned)[-1])
        frames[CEILING.format(name)] = oracle_scale(data, fits[name])
        leak = cross_fit(data, LEARNERS[name], k=k, by="query", seed=seed)
        leaking[name] = data.score(leak.shifted(data))
    scores = {measure: pd.DataFrame({name: frame[measure] for name, frame in frames.items()}) for measure in MEASURES}
    return ShiftStudy(data, scores, fits, leaking, spread, seed)


def check_questions(dataset, values):
    """Refuse questions among which nothing can be learned, chosen and held out; nothing is encoded."""
    nothing = SimpleNamespace(
        **dict.fromkeys(("encode_queries", "encode_documents"), lambda texts: np.zeros((len(texts), 1)))
    )
    groups = len(set(group_labels(embed(dataset, nothing), values["by"])))
    if groups < 3:
        raise InputError(
            f"{dataset.key}: its questions are linked to {groups} group{'s' * (groups > 1)}: at least 3 are needed, to "
            "learn from one, choose on another and hold out the third"
        )


def random_directions(data, fit, measures=MEASURES, *, draws=20, seed=0):
    """Shifts of random direction, as long as the fitted ones: scores averaged over draws, and the means of each."""
    check_count("draws", draws)
    lengths, frames = fit.scales * np.linalg.norm(fit.moves, axis=1), []
    for draw in range(draws):
        rng, vectors = np.random.Generator(stream(seed, "random direction", draw)), data.queries.copy()
        for fold in fit.folds:
            direction = rng.normal(size=data.queries.shape[1])
            vectors[fold] += lengths[fold, None] * direction / np.linalg.norm(direction)
        frames.append(data.score(vectors, measures))
    return sum(frames) / draws, pd.DataFrame([frame.mean() for frame in frames])


def oracle_scale(data, fit, measures=MEASURES):
    """Give each query and measure its best scale, seen with its labels: a ceiling, not a system."""
    found = [data.score(fit.shifted(data, scale), measures) for scale in SCALES]
    return pd.DataFrame(np.max(found, axis=0), index=found[0].index, columns=found[0].columns)


def gains(study, n_resamples=10_000, margin=0.0):
    """Compare every system with no shift, over groups of queries; the learned shifts are one family."""
    frame, options = study.scores[SELECTION], {"n_resamples": n_resamples, "seed": study.seed}
    differences = frame.drop(columns=BASELINE).sub(frame[BASELINE], axis=0)
    alone = difference_intervals(differences, study.clusters, **options)
    family = contrasts(frame, [(name, BASELINE) for name in study.fits], study.clusters, margin=margin, **options)
    family = family.set_index("system").rename(columns={"low": "gain low", "high": "gain high"})
    rows = [(one.estimate, one.low, one.high, one.n, one.reason) for one in alone]
    table = pd.DataFrame(rows, differences.columns, ["gain", "gain low", "gain high", "n", "reason"], dtype=object)
    together = ["gain low", "gain high", "reason"]
    table.loc[family.index, together] = family[together]
    table = table.join(family[["p", "p_adjusted", "verdict"]]).fillna({"verdict": UNTESTED})
    signs = np.sign(differences.round(12))
    for word, sign in (("better", 1), ("equal", 0), ("worse", -1)):
        table[word] = (signs == sign).sum()
    table = table.assign(groups=len(set(study.clusters))).rename_axis("system").reset_index()
    columns = ["gain", "gain low", "gain high", "p", "p_adjusted", "better", "equal", "worse", "n", "groups", "verdict"]
    return table[["system", *columns, "reason"]].astype(
        {"gain": float, "gain low": float, "gain high": float, "n": int}
    )


def run_drift(seeds, encoder="minilm", *, k=5):
    """Learn on stage 1 of generated collections, and run on all: rows of query, stage and system."""
    encoder, parts = load_encoder(encoder) if isinstance(encoder, str) else encoder, [pd.DataFrame(columns=_DRIFT)]
    for seed in seeds:
        stages = [embed(dataset, encoder) for dataset in drift_stages(seed=seed)]
        for system in SHOWN_APART:
            fit = cross_fit(stages[TRAIN_STAGE], LEARNERS[system], k=k, seed=seed)
            for stage, data in enumerate(stages):  # the same questions in the same order
                vectors = data.queries.copy()
                for fold, chosen in zip(fit.folds, fit.selections, strict=True):
                    vectors[fold] += chosen.scale * chosen.shift.move(data.queries[fold])
                rows = pd.DataFrame({"query_id": data.query_ids, "seed": seed, "stage": stage, "system": system})
                rows["group"] = rows["query_id"].map(data.dataset.groups)
                for name, moved in (("baseline", data.queries), ("shifted", vectors)):
                    rows[name] = data.score(moved, [SELECTION])[SELECTION].array
                parts.append(rows)
    return pd.concat(parts[1:] or parts, ignore_index=True)[_DRIFT]


def drift_table(rows, n_resamples=10_000, seed=0):
    """Gain at each stage over all collections, with the lowest and highest gain of a collection."""
    found = []
    for (system, stage), part in rows.groupby(["system", "stage"], sort=False):
        gain = part["shifted"] - part["baseline"]
        families = part["seed"].astype(str) + " " + part["group"].astype(str)
        [mean] = difference_intervals(gain, families, n_resamples=n_resamples, seed=seed)
        each = gain.groupby(part["seed"]).mean()
        row = (system, stage, part["baseline"].mean(), mean.estimate, mean.low, mean.high)
        found.append((*row, each.min(), each.max(), len(each), mean.n, mean.reason))
    columns = ["system", "stage", "baseline", "gain", "gain low", "gain high"]
    return pd.DataFrame(found, columns=[*columns, "lowest", "highest", "seeds", "n", "reason"])
