"""The embedding-shift experiment: learned shifts on unseen queries, with controls and bounds."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from casebook.data.sets import drift_stages
from casebook.errors import InputError
from casebook.models.encoders import load_encoder
from casebook.readers import read_yaml
from casebook.retrieval.ablation import ScoredSystems
from casebook.scores import Scores
from casebook.shift.embedded import (
    SHIFT_MEASURES,
    embed,
    group_labels,
    per_query,
    ranking_order,
    unit,
)
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
from casebook.stats.samples import check_count, generator
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


def _systems():
    """Readers' names of all systems, and what they are called in a sentence."""
    systems = read_yaml(Path(__file__).parent / "systems.yml")
    suffixes = systems.pop("suffixes")
    names = {key: system["name"] for key, system in systems.items()}
    phrases = {key: system["phrase"] for key, system in systems.items()}
    for system in MAIN_SYSTEMS:
        for suffix, words in suffixes.items():
            names[system + suffix] = f"{names[system]}; {words}"
            phrases[system + suffix] = f"{phrases[system]} ({words})"
    return names, phrases


NAMES, PHRASES = _systems()


@dataclass(frozen=True, eq=False)
class ShiftStudy(ScoredSystems):
    """Scores of all systems on all queries, and the shifts behind them."""

    data: object
    scores: dict  # for each measure a frame, queries x systems
    fits: dict  # cross-fitted learners by name
    others: dict  # fits that leak, or are evaluated in sample
    by: str

    control = CHANCE
    names = NAMES
    phrases = PHRASES
    unmeasured = None

    @property
    def dataset(self):
        """The dataset that was embedded."""
        return self.data.dataset

    @property
    def controls(self):
        """Systems that have learned nothing."""
        return [CHANCE, *map(RANDOM.format, MAIN_SYSTEMS)]

    @property
    def bounds(self):
        """Systems that have seen questions, or the labels, that they are evaluated on."""
        known = {BASELINE, *self.fits, *self.controls}
        return [name for name in self.scores[SELECTION_MEASURE] if name not in known]

    @cached_property
    def unmoved(self):
        """Systems that moved no query, and why: they were not measured."""
        reasons = {name: fit.unmoved for name, fit in (self.fits | self.others).items()}
        for name in MAIN_SYSTEMS:
            reasons[RANDOM.format(name)] = reasons[name]
            reasons[CEILING.format(name)] = None if self.fits[name].is_learned else reasons[name]
        return {name: reason for name, reason in reasons.items() if reason}

    @property
    def unseen(self):
        """The questions that an answer is about, within a question."""
        groups = self.dataset.cluster
        if self.by == "document":
            return "questions about documents that it was not learned from"
        if self.by == "query":
            return f"new questions of the {groups} that it was learned from"
        number = len(set(self.clusters))
        if number < FEWEST:  # an interval that says nothing of further groups
            return f"questions of these {number} {groups}, each time learned from the others"
        return f"questions of {groups} that it was not learned from"

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
        """Pairs of systems that rank by the same vectors, with the reason."""
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
            ends = _ends(fit.choices(), LEARNERS[name], _scales(name))
            if ends:
                notes[name] = f"{NAMES[name]}: {' and '.join(ends)}, so more might do better."
        return notes

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
    others = {}
    for name in MAIN_SYSTEMS:
        if by != "query":
            others[LEAKING.format(name)] = _fit(data, name, k=k, by="query", seed=seed)
        others[IN_SAMPLE.format(name)] = fit_in_sample(data, LEARNERS[name], _scales(name))
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


def _fit(data, name, *, k, seed, by="group"):
    """Cross-fit a learner by its name."""
    return cross_fit(data, LEARNERS[name], scales=_scales(name), k=k, by=by, seed=seed)


def _scales(name):
    """Scales that a learner chooses from."""
    return FIXED_SCALES.get(name, CANDIDATE_SCALES)


def _ends(choices, grid, scales):
    """In how many folds the largest scale was chosen, or the first or last penalty."""
    penalties = [options["penalty"] for options in grid if "penalty" in options]
    ends = {"scale": [max(scales)] if len(scales) > 1 else [], "penalty": penalties}
    texts = []
    for name, tried in ends.items():
        n_folds = choices[name].isin(tried).sum() if tried else 0
        if n_folds:
            values = " or ".join(f"{value:g}" for value in tried)
            folds = f"{n_folds} of {len(choices)} folds"
            texts.append(f"{folds} chose the {name} {values}, an end of those tried")
    return texts


def random_directions(fit, *, draws=20, seed=0):
    """Scores of random shifts as long as the fitted ones, averaged over draws."""
    check_count("draws", draws)
    data = fit.data
    frames = []
    for draw in range(draws):
        rng = generator(seed, "random direction", draw)
        vectors = data.queries.copy()
        for fold in fit.folds:
            direction = rng.normal(size=data.queries.shape[1])
            vectors[fold] += fit.lengths[fold, None] * direction / np.linalg.norm(direction)
        frames.append(data.score(vectors))
    return sum(frames) / draws


def oracle_scale(fit):
    """Scores at the best scale of each query and measure by its labels: a ceiling, no system."""
    frames = [fit.data.score(fit.shifted(scale=scale)) for scale in CANDIDATE_SCALES]
    best = np.max(frames, axis=0)
    return pd.DataFrame(best, index=frames[0].index, columns=frames[0].columns)


def ranks(study, system, most=20):
    """Questions whose first relevant document a shift moves most: its ranks before and after."""
    before = per_query(study.data, study.data.queries)
    after = per_query(study.data, study.fits[system].shifted())
    texts = study.dataset.queries.set_index("query_id")["text"]
    rows = pd.DataFrame({"id": before["QueryId"], "question": before["QueryId"].map(texts)})
    rows = rows.assign(before=before["Rank"], after=after["Rank"])
    gain = after["Ap1"] - before["Ap1"]  # of the reciprocal rank
    moved = rows.loc[gain[gain != 0].sort_values(ascending=False, kind="stable").index]
    if len(moved) > most:
        return pd.concat([moved.head(most // 2), moved.tail(most // 2)])
    return moved


def scores_by_scale(study, system, measure=SELECTION_MEASURE):
    """Scores of a shift at every scale but 0, beside no shift: queries x scales, as text."""
    fit = study.fits[system]
    scales = [scale for scale in CANDIDATE_SCALES if scale]
    values = {BASELINE: study.scores[measure][BASELINE]}
    for scale in scales:
        scored = study.data.score(fit.shifted(scale=scale), [measure])
        values[f"{scale:g}"] = scored[measure]
    return pd.DataFrame(values)


def segmented(study, system, measure):
    """Scores where all questions are shifted, those of the gap rule, or those of the oracle."""
    fit = study.fits[system]
    before = per_query(study.data, study.data.queries)
    after = per_query(study.data, fit.shifted())
    unshifted = study.scores[measure][BASELINE]
    shifted = study.scores[measure][system]
    by_rule = gap_gain(before, after) >= fit.taus
    by_labels = oracle(before, after, GAP_MEASURE)
    return pd.DataFrame(
        {
            BASELINE: unshifted,
            system: shifted,
            "gap rule": unshifted.mask(by_rule, shifted),
            "oracle": unshifted.mask(by_labels, shifted),
        }
    )


def learning(study):
    """What happened when each additive shift was learned, a row a fold."""
    rows = []
    for system, fit in study.fits.items():
        for number, selection in enumerate(fit.selections, 1):
            if hasattr(selection.shift, "stats"):
                about = {"shift": NAMES[system], "fold": number}
                cancelled = selection.shift.cancel_reason is not None
                rows.append(about | vars(selection.shift.stats) | {"cancelled": cancelled})
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
    return pd.DataFrame(rows)[list(columns)].rename(columns=columns)


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


def drift_scores(seeds, encoder="minilm", *, k=5, **resampling):
    """Scores of shifts learned on stage 1 of generated collections: `Scores` by stage."""
    if isinstance(encoder, str):
        encoder = load_encoder(encoder)
    parts = {}
    moved = {BASELINE}
    for seed in seeds:
        stages = [embed(dataset, encoder) for dataset in drift_stages(seed=seed)]
        fits = {name: _fit(stages[TRAIN_STAGE], name, k=k, seed=seed) for name in MAIN_SYSTEMS}
        moved |= {name for name, fit in fits.items() if not fit.unmoved}
        for stage, data in enumerate(stages):  # the same questions in the same order
            vectors = {name: fit.shifted(data) for name, fit in fits.items()}
            part = pd.DataFrame(
                {
                    name: data.score(queries, [SELECTION_MEASURE])[SELECTION_MEASURE]
                    for name, queries in {BASELINE: data.queries, **vectors}.items()
                }
            )
            part["family"] = [f"{seed} {data.dataset.groups[query]}" for query in part.index]
            part.index = [f"{seed} {query}" for query in part.index]
            parts.setdefault(f"stage {stage}", []).append(part)
    return {
        stage: _stage_scores(stage, pd.concat(rows), moved, resampling)
        for stage, rows in parts.items()
    }


def _stage_scores(stage, rows, moved, resampling):
    """Scores of one stage of all collections."""
    still = "every fold chose scale 0, so no question was moved"
    return Scores(
        rows.drop(columns="family"),
        SELECTION_MEASURE,
        "generated",
        "generated collections",
        part=stage,
        clusters=rows["family"],
        cluster="families of questions",
        names=NAMES,
        phrases=PHRASES,
        same_input=lambda pairs: {pair: still for pair in pairs if not set(pair) <= moved},
        **resampling,
    )
