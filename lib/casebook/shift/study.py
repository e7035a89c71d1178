"""The embedding-shift experiment: learned shifts on unseen queries, with controls and bounds."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from casebook.data.sets import drift_stages
from casebook.errors import InputError
from casebook.readers import read_yaml
from casebook.retrieval.ablation import ScoredSystems
from casebook.runs.headlines import counted
from casebook.scores import Scores
from casebook.shift.embedded import SHIFT_MEASURES, embed, group_labels, per_query, unit
from casebook.shift.gate import evaluate_shift, judge_shift
from casebook.shift.learn import (
    AS_DOCUMENTED,
    CANDIDATE_SCALES,
    DOCUMENTED_MODE,
    FIXED_SCALES,
    GAP_MEASURE,
    LEARNERS,
    RIDGE,
    SELECTION_MEASURE,
    cross_fit,
    fit_in_sample,
)
from casebook.shift.segments import gap_gain, oracle
from casebook.stats.intervals import FEWEST
from casebook.stats.samples import generator
from casebook.trec import ranked

BASELINE = "baseline"
CHANCE = "chance"
# Also evaluated with single queries held out, in-sample, and beside random directions.
MAIN_SYSTEMS = (AS_DOCUMENTED, DOCUMENTED_MODE, RIDGE)
RANDOM = "{}-random"
LEAKING = "{}-leaking"
IN_SAMPLE = "{}-in-sample"
CEILING = "{}-oracle-scale"
MOST_TIMED = 50  # questions: more would change a median little
TRAIN_STAGE = 1  # of the three of a generated collection that drifts
# Ends of what a learner can choose from.
_ENDS = {
    "scale": [max(CANDIDATE_SCALES)],
    "penalty": [options["penalty"] for options in LEARNERS[RIDGE]],
}
_SYSTEMS = read_yaml(Path(__file__).parent / "systems.yml")
NAMES = {key: system["name"] for key, system in _SYSTEMS.items()}
PHRASES = {key: system["phrase"] for key, system in _SYSTEMS.items()}


@dataclass(frozen=True, eq=False)
class ShiftStudy(ScoredSystems):
    """Scores of all systems on all queries, and the shifts behind them."""

    data: object
    scores: dict  # for each measure a frame, queries x systems
    fits: dict  # cross-fitted learners by name
    others: dict  # fits that leak, or are evaluated in sample
    by: str

    control = CHANCE
    controls = (CHANCE, *map(RANDOM.format, MAIN_SYSTEMS))  # which have learned nothing
    names = NAMES
    phrases = PHRASES
    unmeasured = None

    @property
    def dataset(self):
        return self.data.dataset

    @property
    def bounds(self):
        """Systems that have seen questions, or the labels, that they are evaluated on."""
        known = {BASELINE, *self.fits, *self.controls}
        return [name for name in self.scores[SELECTION_MEASURE] if name not in known]

    @cached_property
    def unmoved(self):
        """Systems that moved no query, and why: they were not measured."""
        reasons = {name: fit.unmoved() for name, fit in (self.fits | self.others).items()}
        for name in MAIN_SYSTEMS:
            reasons[RANDOM.format(name)] = reasons[name]
            reasons[CEILING.format(name)] = self.fits[name].unmoved(scale=1.0)
        return {name: reason for name, reason in reasons.items() if reason}

    @property
    def unseen(self):
        """The questions that an answer is about, within a question."""
        groups = self.dataset.cluster
        number = len(set(self.clusters))
        if self.by == "group" and number < FEWEST:  # an interval says nothing of further groups
            return f"questions of these {number} {groups}, each time learned from the others"
        return {
            "document": "questions about documents that it was not learned from",
            "query": f"new questions of the {groups} that it was learned from",
            "group": f"questions of {groups} that it was not learned from",
        }[self.by]

    def runs(self):
        """Runs of the learned shifts, and without one: scores by query and document, best first."""
        vectors = {BASELINE: self.data.queries}
        vectors |= {system: fit.shifted() for system, fit in self.fits.items()}
        found = {}
        for system, queries in vectors.items():
            run = self.data.run(queries)
            found[system] = {query: dict(ranked(scores)) for query, scores in run.items()}
        return found

    def same_inputs(self, pairs):
        still = self.unmoved | {BASELINE: None}
        return {
            (system, against): still[system] or still[against]
            for system, against in pairs
            if system in still and against in still
        }

    @cached_property
    def notes(self):
        """Learners that chose an end of what they could choose from."""
        notes = {}
        for name, fit in self.fits.items():
            choices = fit.choices().reindex(columns=list(_ENDS))
            counts = choices.isin(_ENDS).sum()
            texts = [
                f"{count} of {len(choices)} folds chose the {column} "
                f"{' or '.join(f'{end:g}' for end in _ENDS[column])}, an end of those tried"
                for column, count in counts[counts > 0].items()
            ]
            if texts:
                notes[name] = f"{NAMES[name]}: {' and '.join(texts)}, so more might do better."
        return notes

    @cached_property
    def clusters(self):
        return group_labels(self.data)


def run_shift_study(dataset, encoder="minilm", *, k=5, by="group", seed=0, draws=20):
    """Learn and evaluate every shift of `LEARNERS` on one dataset."""
    data = embed(dataset, encoder)
    groups = len(set(group_labels(data, by)))
    if groups < 3:
        raise InputError(
            f"{dataset.key}: its questions are linked to {counted(groups, 'groups')}: at least "
            "3 are needed, to learn from one, choose on another and hold out the third"
        )
    fits = {name: cross_fit(data, name, k=k, by=by, seed=seed) for name in LEARNERS}
    others = {}
    for name in MAIN_SYSTEMS:
        if by != "query":
            others[LEAKING.format(name)] = cross_fit(data, name, k=k, by="query", seed=seed)
        others[IN_SAMPLE.format(name)] = fit_in_sample(data, name)
    frames = {BASELINE: data.score(data.queries)}
    for name, fit in (fits | others).items():
        frames[name] = data.score(fit.shifted())
    frames[CHANCE] = data.chance()
    for name in MAIN_SYSTEMS:
        frames[RANDOM.format(name)] = random_directions(fits[name], draws=draws, seed=seed)
        if name not in FIXED_SCALES:
            frames[CEILING.format(name)] = oracle_scale(fits[name])
    scores = {
        measure: pd.DataFrame({name: frame[measure] for name, frame in frames.items()})
        for measure in SHIFT_MEASURES
    }
    return ShiftStudy(data, scores, fits, others, by)


def random_directions(fit, *, draws=20, seed=0):
    """Scores of random shifts as long as the fitted ones, averaged over draws."""
    queries = fit.data.queries
    lengths = np.linalg.norm(fit.shifted() - queries, axis=1)
    frames = []
    for draw in range(draws):
        rng = generator(seed, "random direction", draw)
        vectors = queries.copy()
        for fold in fit.folds:
            direction = rng.normal(size=queries.shape[1])
            vectors[fold] += lengths[fold, None] * direction / np.linalg.norm(direction)
        frames.append(fit.data.score(vectors))
    return sum(frames) / draws


def oracle_scale(fit):
    """Scores at the best scale of each query and measure by its labels: a ceiling, no system."""
    frames = [fit.data.score(fit.shifted(scale=scale)) for scale in CANDIDATE_SCALES]
    return pd.concat(frames).groupby(level=0, sort=False).max()


def scores_by_scale(study, system, measure=SELECTION_MEASURE):
    """Scores of a shift at every scale but 0, beside no shift: queries x scales, as text."""
    fit = study.fits[system]
    scores = {BASELINE: study.scores[measure][BASELINE]}
    for scale in filter(None, CANDIDATE_SCALES):
        scores[f"{scale:g}"] = study.data.score(fit.shifted(scale=scale), [measure])[measure]
    return pd.DataFrame(scores)


def segmented(study, system, measure):
    """Scores where all questions are shifted, those of the gap rule, or those of the oracle."""
    fit = study.fits[system]
    before = per_query(study.data, study.data.queries)
    after = per_query(study.data, fit.shifted())
    taus = np.empty(len(study.data))
    for fold, selection in zip(fit.folds, fit.selections, strict=True):
        taus[fold] = selection.tau
    scores = study.scores[measure][[BASELINE, system]]
    by_rule = scores[BASELINE].mask(gap_gain(before, after) >= taus, scores[system])
    by_labels = scores[BASELINE].mask(oracle(before, after, GAP_MEASURE), scores[system])
    return scores.assign(**{"gap rule": by_rule, "oracle": by_labels})


def learning(study):
    columns = {
        "shift": "shift",
        "fold": "fold",
        "Cases": "cases",
        "ContradictoryPairs": "opposed",
        "PreClipDeltaNorm": "length",
        "PostClipDeltaNorm": "clipped to",
        "ResultantLength": "resultant length",
        "cancelled": "cancelled",
    }
    rows = []
    for system in [name for name in study.fits if name != RIDGE]:
        for fold, selection in enumerate(study.fits[system].selections, 1):
            shift = selection.shift
            about = {"shift": NAMES[system], "fold": fold, "cancelled": bool(shift.cancel_reason)}
            rows.append(about | vars(shift.stats))
    return pd.DataFrame(rows)[list(columns)].rename(columns=columns)


def gate_table(study, systems, **resampling):
    """Every rule of the documented gate on every one of some shifts that moved a question."""
    checks = []
    for system in [name for name in systems if name not in study.unmoved]:
        evaluation = evaluate_shift(study.data, study.fits[system].shifted())
        report = judge_shift(evaluation, clusters=study.clusters, **resampling)
        checks += [{"shift": study.names[system], **check} for check in report.checks]
    columns = ["shift", "metric", "delta", "low", "high", "eps", "n", "verdict", "reason"]
    return pd.DataFrame(checks, columns=columns).dropna(axis=1, how="all")


def milliseconds_per_question(study):
    """Median wall time of a question by system: its shift, its cosines and their order."""
    data = study.data
    documents = unit(data.documents)
    medians = {}
    for name in [BASELINE, *study.fits]:
        seconds = []
        for row in np.unique(np.linspace(0, len(data) - 1, MOST_TIMED).astype(int)):
            start = perf_counter()
            vectors = data.queries[[row]]
            if name != BASELINE:  # shifts of other folds cost the same
                vectors = vectors + study.fits[name].selections[0].shift.move(vectors)
            np.argsort(-(documents @ unit(vectors)[0])[data.pools[row]], kind="stable")
            seconds.append(perf_counter() - start)
        medians[name] = 1000 * float(np.median(seconds))
    return medians


def drift_scores(seeds, encoder="minilm", *, k=5, **resampling):
    """Scores of shifts learned on stage 1 of generated collections: `Scores` by stage."""
    if not seeds:
        return {}
    tables = []
    moved = {BASELINE}
    for seed in seeds:
        stages = [embed(dataset, encoder) for dataset in drift_stages(seed=seed)]
        learned_on = stages[TRAIN_STAGE]
        fits = {name: cross_fit(learned_on, name, k=k, seed=seed) for name in MAIN_SYSTEMS}
        moved |= {name for name, fit in fits.items() if not fit.unmoved()}
        for stage, data in enumerate(stages):  # the same questions in the same order
            table = data.score(data.queries, [SELECTION_MEASURE]).set_axis([BASELINE], axis=1)
            for name, fit in fits.items():
                table[name] = data.score(fit.shifted(data), [SELECTION_MEASURE])[SELECTION_MEASURE]
            table["family"] = [f"{seed} {data.dataset.groups[query]}" for query in table.index]
            table["stage"] = f"stage {stage}"
            tables.append(table.rename(index=f"{seed}, {stage}: {{}}".format))
    rows = pd.concat(tables)
    still = "every fold chose scale 0, so no question was moved"
    everything = Scores(
        rows.drop(columns=["stage", "family"]),
        SELECTION_MEASURE,
        "generated",
        "generated collections",
        clusters=rows["family"],
        cluster="families of questions",
        names=NAMES,
        phrases=PHRASES,
        same_input=lambda pairs: {pair: still for pair in pairs if not set(pair) <= moved},
        **resampling,
    )
    return everything.by(rows["stage"])
