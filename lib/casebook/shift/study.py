"""The embedding-shift experiment: learned shifts on unseen queries, with controls and bounds."""

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np
import pandas as pd

from casebook.data.sets import drift_stages
from casebook.errors import InputError
from casebook.frames import UNTESTED, contrasts, single_contrasts
from casebook.models.encoders import load_encoder
from casebook.retrieval.ablation import ScoredSystems
from casebook.shift.embedded import SHIFT_MEASURES, embed, group_labels, ranking_order, unit
from casebook.shift.learn import (
    AS_DOCUMENTED,
    CANDIDATE_SCALES,
    DOCUMENTED_MODE,
    FIXED_SCALES,
    LEARNERS,
    RIDGE,
    SELECTION_MEASURE,
    cross_fit,
    fit_in_sample,
)
from casebook.stats.samples import check_count, generator

BASELINE = "baseline"
CHANCE = "chance"
RANDOM = "{}-random"
IN_SAMPLE = "{}-in-sample"
CEILING = "{}-oracle-scale"
# Also evaluated in-sample, and with single queries held out.
MAIN_SYSTEMS = (AS_DOCUMENTED, DOCUMENTED_MODE, RIDGE)
MOST_TIMED = 50  # questions: more would change a median little
TRAIN_STAGE = 1  # of the three of a generated collection that drifts
_DRIFT_COLUMNS = ["seed", "stage", "system", "query_id", "group", "moved", "baseline", "shifted"]
_GAIN_COLUMNS = [
    "system",
    "gain",
    "gain low",
    "gain high",
    "p",
    "p_adjusted",
    "better",
    "equal",
    "worse",
    "n",
    "groups",
    "verdict",
    "reason",
]
_DRIFT_TABLE_COLUMNS = [
    "system",
    "stage",
    "baseline",
    "gain",
    "gain low",
    "gain high",
    "lowest",
    "highest",
    "moved",
    "seeds",
    "n",
    "reason",
]

_READERS_NAMES = {
    AS_DOCUMENTED: "EmbeddingShift's shift, scale 1",
    DOCUMENTED_MODE: "EmbeddingShift's shift, chosen scale",
    "posneg-unit": "unit directions",
    "posneg-violation": "only violating negatives",
    "posneg-relative": "clipped to relative length",
    "posneg-contrast": "contrast of means",
    RIDGE: "ridge map",
    BASELINE: "no shift",
    CHANCE: "random order",
}


def reader_names():
    """Give what readers call each system."""
    names = dict(_READERS_NAMES)
    for system in MAIN_SYSTEMS:
        name = names[system]
        names[RANDOM.format(system)] = f"random direction, length of {name}"
        names[IN_SAMPLE.format(system)] = f"{name}, in sample"
        names[CEILING.format(system)] = f"{name.removesuffix(', chosen scale')}, oracle scale"
    return names


@dataclass(frozen=True, eq=False)
class ShiftStudy(ScoredSystems):
    """Scores of all systems on all queries, and the shifts behind them."""

    data: object
    scores: dict  # for each measure a frame, queries x systems
    fits: dict  # cross-fitted learners by name
    leaking: dict  # the same with folds that share groups
    in_sample: dict  # learners on the queries that they are evaluated on
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
        return tuple(
            name for name in self.scores[SELECTION_MEASURE] if name not in {BASELINE, *self.fits}
        )

    @cached_property
    def unmoved(self):
        """Systems that moved no query, and why: they were not measured."""
        fits = self.fits | {IN_SAMPLE.format(name): fit for name, fit in self.in_sample.items()}
        reasons = {name: fit.unmoved for name, fit in fits.items()}
        for name in MAIN_SYSTEMS:
            reasons[RANDOM.format(name)] = reasons[name]
            reasons[CEILING.format(name)] = None if self.fits[name].moves.any() else reasons[name]
        return {name: reason for name, reason in reasons.items() if reason}

    @cached_property
    def clusters(self):
        """Label of each query: those with one are not independent."""
        return group_labels(self.data)


def run_shift_study(dataset, encoder="minilm", *, k=5, by="group", seed=0, draws=20):
    """Learn and evaluate every shift of `LEARNERS` on one dataset."""
    data = embed(dataset, encoder)
    groups = len(set(group_labels(data, by)))
    if groups < 3:
        raise InputError(
            f"{dataset.key}: its questions are linked to {groups} group{'s' * (groups > 1)}: "
            "at least 3 are needed, to learn from one, choose on another and hold out the third"
        )
    fits = {name: _fit(data, name, k=k, by=by, seed=seed) for name in LEARNERS}
    frames = {BASELINE: data.score(data.queries)}
    for name, fit in fits.items():
        frames[name] = data.score(fit.shifted(data))
    frames[CHANCE] = data.chance()
    means_of_draws = {}
    for name in MAIN_SYSTEMS:
        mean_scores, means_of_draws[name] = random_directions(
            data, fits[name], draws=draws, seed=seed
        )
        frames[RANDOM.format(name)] = mean_scores
    leaking = {}
    in_sample = {}
    for name in MAIN_SYSTEMS:
        leaking[name] = _fit(data, name, k=k, by="query", seed=seed)
        in_sample[name] = fit_in_sample(data, LEARNERS[name], _scales(name))
        frames[IN_SAMPLE.format(name)] = data.score(in_sample[name].shifted(data))
        if name not in FIXED_SCALES:
            frames[CEILING.format(name)] = oracle_scale(data, fits[name])
    scores = {
        measure: pd.DataFrame({name: frame[measure] for name, frame in frames.items()})
        for measure in SHIFT_MEASURES
    }
    return ShiftStudy(data, scores, fits, leaking, in_sample, means_of_draws, seed)


def _fit(data, name, *, k, seed, by="group"):
    """Cross-fit a learner by its name."""
    return cross_fit(data, LEARNERS[name], scales=_scales(name), k=k, by=by, seed=seed)


def _scales(name):
    """Scales that a learner chooses from."""
    return FIXED_SCALES.get(name, CANDIDATE_SCALES)


def random_directions(data, fit, *, draws=20, seed=0):
    """Random shifts as long as the fitted ones: scores averaged over draws, means of each draw."""
    check_count("draws", draws)
    lengths = fit.scales * np.linalg.norm(fit.moves, axis=1)
    frames = []
    for draw in range(draws):
        rng = generator(seed, "random direction", draw)
        vectors = data.queries.copy()
        for fold in fit.folds:
            direction = rng.normal(size=data.queries.shape[1])
            vectors[fold] += lengths[fold, None] * direction / np.linalg.norm(direction)
        frames.append(data.score(vectors))
    return sum(frames) / draws, pd.DataFrame([frame.mean() for frame in frames])


def oracle_scale(data, fit):
    """Choose the best scale of each query and measure by its labels: a ceiling, not a system."""
    frames = [data.score(fit.shifted(data, scale)) for scale in CANDIDATE_SCALES]
    best = np.max(frames, axis=0)
    return pd.DataFrame(best, index=frames[0].index, columns=frames[0].columns)


def planned_gains(study, measure=SELECTION_MEASURE, *, n_resamples=10_000, margin=0.0):
    """Compare every learned shift with no shift: one family of contrasts over groups of queries."""
    pairs = [(name, BASELINE) for name in study.fits]
    not_measured = {pair: study.unmoved[pair[0]] for pair in pairs if pair[0] in study.unmoved}
    return contrasts(
        study.scores[measure],
        pairs,
        study.clusters,
        margin=margin,
        n_resamples=n_resamples,
        seed=study.seed,
        not_measured=not_measured,
    )


def gains(study, planned, n_resamples=10_000):
    """Gain of every system over no shift: of `planned_gains`, and the others each on its own."""
    frame = study.scores[SELECTION_MEASURE]
    differences = frame.drop(columns=BASELINE).sub(frame[BASELINE], axis=0)
    signs = np.sign(differences.round(12))
    pairs = [(name, BASELINE) for name in differences]
    alone = single_contrasts(frame, pairs, study.clusters, n_resamples=n_resamples, seed=study.seed)
    names = {"difference": "gain", "low": "gain low", "high": "gain high"}
    family = planned.rename(columns=names).set_index("system").to_dict("index")
    rows = []
    alone = alone.rename(columns=names).drop(columns=["p", "p_adjusted"])
    for row in alone.to_dict("records"):
        name = row["system"]
        row |= {
            "verdict": UNTESTED,
            "better": (signs[name] == 1).sum(),
            "equal": (signs[name] == 0).sum(),
            "worse": (signs[name] == -1).sum(),
        }
        if name in study.unmoved:
            row |= dict.fromkeys(names.values()) | {"reason": study.unmoved[name]}
        rows.append(row | family.get(name, {}))
    table = pd.DataFrame(rows, columns=_GAIN_COLUMNS)
    numeric = ["gain", "gain low", "gain high", "p", "p_adjusted"]
    return table.astype(dict.fromkeys(numeric, float) | {"reason": object})


def milliseconds_per_question(study):
    """Median wall time of a question by system: its shift, its cosines and their order."""
    data = study.data
    documents = unit(data.documents)
    rows = np.unique(np.linspace(0, len(data) - 1, MOST_TIMED).astype(int))
    medians = {}
    for name in [BASELINE, *study.fits]:
        selections = {}
        if name in study.fits:
            fit = study.fits[name]
            for fold, selection in zip(fit.folds, fit.selections, strict=True):
                selections |= dict.fromkeys(fold, selection)
        seconds = [_seconds(data, documents, row, selections.get(row)) for row in rows]
        medians[name] = 1000 * float(np.median(seconds))
    return medians


def _seconds(data, documents, row, selection):
    """Time one question, which nothing is known of but its vector."""
    start = perf_counter()
    vectors = data.queries[[row]]
    if selection is not None:
        vectors = vectors + selection.scale * selection.shift.move(vectors)
    ranking_order((documents @ unit(vectors)[0])[data.pools[row]])
    return perf_counter() - start


def run_drift(seeds, encoder="minilm", *, k=5):
    """Learn on stage 1 of generated collections, and evaluate on every stage."""
    if isinstance(encoder, str):
        encoder = load_encoder(encoder)
    frames = []
    for seed in seeds:
        stages = [embed(dataset, encoder) for dataset in drift_stages(seed=seed)]
        for system in MAIN_SYSTEMS:
            fit = _fit(stages[TRAIN_STAGE], system, k=k, seed=seed)
            for stage, data in enumerate(stages):  # the same questions in the same order
                rows = _drift_rows(data, fit)
                frames.append(rows.assign(seed=seed, stage=stage, system=system)[_DRIFT_COLUMNS])
    if not frames:
        return pd.DataFrame(columns=_DRIFT_COLUMNS)
    return pd.concat(frames, ignore_index=True)


def _drift_rows(data, fit):
    """Scores of the queries of one stage, without and with the shifts of their folds."""
    vectors = data.queries.copy()
    for fold, selection in zip(fit.folds, fit.selections, strict=True):
        vectors[fold] += selection.scale * selection.shift.move(data.queries[fold])
    rows = pd.DataFrame({"query_id": data.query_ids})
    rows["group"] = rows["query_id"].map(data.dataset.groups)
    rows["moved"] = (vectors != data.queries).any(axis=1)
    rows["baseline"] = data.score(data.queries, [SELECTION_MEASURE])[SELECTION_MEASURE].array
    rows["shifted"] = data.score(vectors, [SELECTION_MEASURE])[SELECTION_MEASURE].array
    return rows


def drift_table(rows, n_resamples=10_000, seed=0):
    """Gain at each stage over all collections, with the lowest and highest gain of a collection."""
    lines = []
    for (system, stage), part in rows.groupby(["system", "stage"], sort=False):
        gain = part["shifted"] - part["baseline"]
        scores = part[["shifted", "baseline"]]
        families = part["seed"].astype(str) + " " + part["group"].astype(str)
        found = contrasts(
            scores, [tuple(scores)], families, n_resamples=n_resamples, seed=seed
        ).iloc[0]
        gain_of_seed = gain.groupby(part["seed"]).mean()
        line = {
            "system": system,
            "stage": stage,
            "baseline": part["baseline"].mean(),
            "moved": part["moved"].sum(),
            "seeds": len(gain_of_seed),
            "n": found["n"],
        }
        if part["moved"].any():
            line |= {
                "gain": found["difference"],
                "gain low": found["low"],
                "gain high": found["high"],
            }
            line["lowest"] = gain_of_seed.min()
            line["highest"] = gain_of_seed.max()
            line["reason"] = found["reason"]
        else:
            line["reason"] = "every fold chose scale 0, so no question was moved"
        lines.append(line)
    table = pd.DataFrame(lines, columns=_DRIFT_TABLE_COLUMNS)
    numeric = ["baseline", "gain", "gain low", "gain high", "lowest", "highest"]
    return table.astype(dict.fromkeys(numeric, float))
