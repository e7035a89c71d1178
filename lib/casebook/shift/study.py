"""The embedding-shift experiment: learned shifts on unseen queries, with controls and bounds."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures.ranking import random_order
from casebook.readers import read_yaml
from casebook.retrieval.ablation import ScoredSystems
from casebook.runs.headlines import counted
from casebook.shift.embedded import SHIFT_MEASURES, embed, group_labels, per_query
from casebook.shift.gate import evaluate_shift, judge_shift
from casebook.shift.learn import (
    AS_DOCUMENTED,
    CANDIDATE_SCALES,
    DOCUMENTED_MODE,
    GAP_MEASURE,
    LEARNERS,
    RIDGE,
    SELECTION_MEASURE,
    cross_fit,
    fit_in_sample,
)
from casebook.shift.segments import PER_QUERY_COLUMNS, gap_gain
from casebook.stats.intervals import FEWEST
from casebook.stats.samples import check_choice, generator
from casebook.tables import enumerated

BASELINE = "baseline"
CHANCE = "chance"
# Unless others are named, also evaluated with single queries held out, in-sample, and beside random
# directions.
MAIN_SYSTEMS = (AS_DOCUMENTED, DOCUMENTED_MODE, RIDGE)
RANDOM = "{}-random"
LEAKING = "{}-leaking"
IN_SAMPLE = "{}-in-sample"
_VARIANTS = {RANDOM: "random", LEAKING: "single questions", IN_SAMPLE: "in sample"}
PENALTIES = [options["penalty"] for options in LEARNERS[RIDGE]]
# Ends of what a learner can choose from, and what else there was.
_ENDS = {
    "scale": ([max(CANDIDATE_SCALES)], "the largest tried"),
    "penalty": (PENALTIES, f"of {enumerated(map('{:g}'.format, PENALTIES))} tried"),
}
_GATE_COLUMNS = [
    "shift",
    "metric",
    "delta",
    "low",
    "high",
    "eps",
    "n",
    "verdict",
    "reason",
]
_SYSTEMS = read_yaml(Path(__file__).parent / "systems.yml")
NAMES = {key: system["name"] for key, system in _SYSTEMS.items()}
PHRASES = {key: system["phrase"] for key, system in _SYSTEMS.items()}
for learner in LEARNERS:
    for variant, words in _VARIANTS.items():
        NAMES[variant.format(learner)] = f"{NAMES[learner]}; {words}"
        PHRASES[variant.format(learner)] = f"{PHRASES[learner]} ({words})"


@dataclass(frozen=True, eq=False)
class ShiftStudy(ScoredSystems):
    """Scores of all systems on all queries, and the shifts behind them."""

    dataset: object
    data: object  # its vectors
    scores: dict  # for each measure a frame, queries x systems
    fits: dict  # cross-fitted learners by name
    others: dict  # fits that leak, or are evaluated in sample
    by: str
    main: tuple  # learners that have such fits, and random directions

    control = CHANCE
    names = NAMES
    phrases = PHRASES
    unmeasured = None

    @cached_property
    def clusters(self):
        return group_labels(self.data)

    @property
    def controls(self):
        """Systems that have learned nothing."""
        return (CHANCE, *map(RANDOM.format, self.main))

    @property
    def bounds(self):
        """Systems that have seen questions, or the labels, that they are evaluated on."""
        known = {BASELINE, *self.fits, *self.controls}
        return [name for name in next(iter(self.scores.values())) if name not in known]

    @cached_property
    def unmoved(self):
        """Systems that moved no query, and why: they were not measured."""
        reasons = {
            name: fit.unmoved() for name, fit in (self.fits | self.others).items()
        }
        for name in self.main:
            reasons[RANDOM.format(name)] = reasons[name]
        return {name: reason for name, reason in reasons.items() if reason}

    def same_inputs(self, pairs):
        still = self.unmoved | {BASELINE: ""}
        pairs = [pair for pair in pairs if still.keys() >= set(pair)]
        return {pair: still[pair[0]] or still[pair[1]] for pair in pairs}

    @property
    def unseen(self):
        """The questions that an answer is about, within a question."""
        groups = self.dataset.cluster
        number = len(set(self.clusters))
        # An interval says nothing of further groups.
        if self.by == "group" and number < FEWEST:
            return (
                f"questions of these {number} {groups}, each time trained on the others"
            )
        return {
            "document": "questions about documents that it was not trained on",
            "query": f"new questions of the {groups} that it was trained on",
            "group": f"questions of {groups} that it was not trained on",
        }[self.by]

    def runs(self):
        """Runs of the learned shifts, and without one: scores by query and document, best first."""
        runs = {name: self.data.run(fit.shifted()) for name, fit in self.fits.items()}
        return {BASELINE: self.data.run(self.data.queries)} | runs

    @cached_property
    def notes(self):
        """Learners that chose an end of what they could choose from."""
        notes = {}
        for name, fit in self.fits.items():
            choices = fit.choices().reindex(columns=list(_ENDS))
            texts = []
            for column, (ends, tried) in _ENDS.items():
                counts = choices[column].value_counts().reindex(ends).dropna().items()
                chosen = [
                    f"{end:g} in {n:.0f} of {len(choices)} folds" for end, n in counts
                ]
                if chosen:
                    texts.append(f"{column} {' and '.join(chosen)}, {tried}")
            if texts:
                notes[name] = f"{NAMES[name]}: {'; '.join(texts)}."
        return notes


def run_shift_study(
    dataset,
    encoder="minilm",
    *,
    k=5,
    by="group",
    seed=0,
    draws=20,
    main=MAIN_SYSTEMS,
    measures=SHIFT_MEASURES,
):
    """Learn and evaluate every shift of `LEARNERS` on one dataset; `main` have controls."""
    for name in main:
        check_choice("shift", name, tuple(LEARNERS))
    measures = list(dict.fromkeys(measures))
    data = embed(dataset, encoder)
    groups = len(set(group_labels(data, by)))
    if groups < 3:
        raise InputError(
            f"{dataset.key}: its questions are linked to {counted(groups, 'groups')}: at least "
            "3 are needed, to learn from one, choose on another and hold out the third"
        )
    fits = {name: cross_fit(data, name, k=k, by=by, seed=seed) for name in LEARNERS}
    others = {}
    for name in main:
        if by != "query":
            others[LEAKING.format(name)] = cross_fit(
                data, name, k=k, by="query", seed=seed
            )
        others[IN_SAMPLE.format(name)] = fit_in_sample(data, name)
    frames = {BASELINE: data.score(data.queries, measures)}
    for name, fit in (fits | others).items():
        frames[name] = data.score(fit.shifted(), measures)
    frames[CHANCE] = random_order(data.qrels(), data.run(data.queries), measures)
    drawn = {"draws": draws, "seed": seed, "measures": measures}
    for name in main:
        frames[RANDOM.format(name)] = random_directions(fits[name], **drawn)
    table = pd.concat(frames, axis=1).swaplevel(axis=1)
    scores = {measure: table[measure] for measure in measures}
    return ShiftStudy(dataset, data, scores, fits, others, by, tuple(main))


def random_directions(fit, *, draws=20, seed=0, measures=SHIFT_MEASURES):
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
        frames.append(fit.data.score(vectors, measures))
    return sum(frames) / draws


def scores_by_scale(study, system, measure=SELECTION_MEASURE):
    """Scores of a shift at every scale but 0, beside no shift: queries x scales, as text."""
    scores = {BASELINE: study.scores[measure][BASELINE]}
    for scale in CANDIDATE_SCALES[1:]:
        vectors = study.fits[system].shifted(scale=scale)
        scores[f"{scale:g}"] = study.data.score(vectors, [measure])[measure]
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
    labels = PER_QUERY_COLUMNS[GAP_MEASURE]
    helps = (after[labels] > before[labels]).to_numpy()
    by_labels = scores[BASELINE].mask(helps, scores[system])
    return scores.assign(**{"gap rule": by_rule, "oracle": by_labels})


def gate_table(study, systems, **resampling):
    """Every rule of the documented gate on every one of some shifts, or why there is no verdict."""
    checks = []
    for system in systems:
        if system in study.unmoved:
            checks.append(
                {"shift": study.names[system], "reason": study.unmoved[system]}
            )
            continue
        evaluation = evaluate_shift(study.data, study.fits[system].shifted())
        report = judge_shift(evaluation, clusters=study.clusters, **resampling)
        checks += [{"shift": study.names[system], **check} for check in report.checks]
    return pd.DataFrame(checks, columns=_GATE_COLUMNS).dropna(axis=1, how="all")
