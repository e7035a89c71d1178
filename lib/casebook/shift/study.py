"""The embedding-shift experiment: every system on queries it was not learned on."""

from dataclasses import dataclass

import pandas as pd

from casebook.retrieval.ablation import ScoredSystems
from casebook.shift import controls, evaluate
from casebook.shift.embedded import MEASURES, embed
from casebook.shift.evaluate import RIDGE
from casebook.shift.learner import DOCUMENTED
from casebook.shift.simulators import load_embedder
from casebook.shift.splits import group_labels

BASELINE, CHANCE = "baseline", "chance"
RANDOM, IN_SAMPLE, CEILING = "{}-random", "{}-in-sample", "{}-oracle-scale"
SHOWN_APART = (DOCUMENTED, RIDGE)  # also in-sample, and by leaking folds
MEASURE = evaluate.SELECTION


@dataclass(frozen=True, eq=False)
class ShiftStudy(ScoredSystems):
    """Scores of all systems on all queries, and the shifts behind them."""

    data: object
    scores: dict
    fits: dict
    leaking: dict
    draws: dict
    by: str = "group"
    seed: int = 0

    control = CHANCE

    @property
    def dataset(self):
        """The dataset, casebook.datasets.corpus.RetrievalDataset."""
        return self.data.dataset

    @property
    def controls(self):
        """Systems that are shown but not tested: controls and bounds, tuple of str."""
        known = {BASELINE, *self.fits}
        return tuple(name for name in self.scores[MEASURE] if name not in known)

    @property
    def clusters(self):
        """Label of each query, list of str: queries with one are not independent."""
        return group_labels(self.data)

    def numbers(self, gained, **options):
        """Give every mean, and every gain in the first measure, for ``numbers.json``."""
        table = super().numbers(clusters=self.clusters, **options)
        rows = gained.astype(object).where(gained.notna(), None).set_index("system")
        for system, row in rows.iterrows():
            random = RANDOM.format(RIDGE if system == RIDGE else DOCUMENTED)
            table[system][f"{MEASURE} gain"] = {
                "value": row["gain"],
                "ci": [row["gain low"], row["gain high"]],
                "n": row["n"],
                "control": rows.loc[random, "gain"],
                "reason": row["reason"],
            }
        return table


def run_study(dataset, embedder="minilm", *, k=5, by="group", seed=0, draws=20):
    """Learn and evaluate every shift on one dataset."""
    data = embed(dataset, load_embedder(embedder))
    fits = {name: evaluate.cross_fit(data, grid, k=k, by=by, seed=seed) for name, grid in evaluate.LEARNERS.items()}
    frames = {BASELINE: data.score(data.queries)}
    frames |= {name: data.score(fit.shifted(data)) for name, fit in fits.items()}
    frames[CHANCE] = data.chance()
    leaking, spread = {}, {}
    for name in SHOWN_APART:
        frames[RANDOM.format(name)], spread[name] = controls.random_directions(
            data, fits[name], list(MEASURES), draws=draws, seed=seed
        )
    for name in SHOWN_APART:
        grid = evaluate.LEARNERS[name]
        frames[IN_SAMPLE.format(name)] = data.score(controls.in_sample(data, grid))
        frames[CEILING.format(name)] = controls.oracle_scale(data, fits[name], MEASURES)
        leak = evaluate.cross_fit(data, grid, k=k, by="query", seed=seed)
        leaking[name] = data.score(leak.shifted(data))
    scores = {measure: pd.DataFrame({name: frame[measure] for name, frame in frames.items()}) for measure in MEASURES}
    return ShiftStudy(data, scores, fits, leaking, spread, by, seed)
