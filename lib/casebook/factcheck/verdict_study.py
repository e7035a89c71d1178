"""The fact-checking experiment: systems' verdicts on one set of claims."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.factcheck.comparing import compare_verdicts, is_right
from casebook.measures.calibration import calibration
from casebook.measures.classification import score_predictions

CLAIM_ONLY = "claim only"
PASS_GATE = "documents that pass the documented gate"
WRONG = {"off_label": "wrong", "nei": "exclude", "conflict": "exclude"}


@dataclass(frozen=True, eq=False)
class VerdictStudy:
    """Verdicts of several systems on the same claims."""

    name: str
    rows: pd.DataFrame
    verdicts: dict
    policy: dict
    blind: tuple = ()
    slices: tuple = ()
    confidence: dict = field(default_factory=dict)
    found: list | None = None
    ablation: object = None
    facts: dict = field(default_factory=dict)
    pipeline: object = None
    texts: list | None = None
    decisive: list | None = None
    cited: list | None = None

    @property
    def main(self):
        """The system that the chapter is about."""
        return next(iter(self.verdicts))

    def clusters(self):
        """Give the groups, None if every claim stands alone."""
        groups = self.rows["group"]
        return None if groups.is_unique else groups.tolist()

    def scores(self, *, n_boot=1000, seed=0, **policy):
        """Score every system."""
        options = {"clusters": self.clusters(), "n_boot": n_boot, "seed": seed}
        groups = {name: self.rows[name] for name in self.slices}
        return {
            name: score_predictions(
                self.rows["label"],
                pd.Series(verdicts, index=self.rows.index, dtype=object),
                groups=groups if name == self.main else None,
                **(self.policy | policy),
                **options,
            )
            for name, verdicts in self.verdicts.items()
        }

    def two_class(self, **options):
        """Score the claims that are SUPPORTED or NOT_SUPPORTED; all else is no class."""
        return self.scores(nei="exclude", conflict="exclude", **options)

    def right(self, system):
        """Give whether each verdict is right under the policies, None if left out."""
        return is_right(self.rows["label"], self.verdicts[system], policy=self.policy)

    def comparisons(self, *, n_boot=10_000, seed=0):
        """Compare the first system with every other on the same claims."""
        others = {name: self.right(name) for name in self.verdicts if name != self.main}
        return compare_verdicts(self.right(self.main), others, clusters=self.clusters(), n_resamples=n_boot, seed=seed)

    def calibrated(self, *, n_boot=1000, seed=0):
        """Compare stated confidence with what came true, None if nothing was stated."""
        system = next(iter(self.confidence), None)
        if system is None:
            return None
        right = self.right(system)
        kept = right.notna().to_numpy()
        stated = pd.Series(self.confidence[system], dtype=float)[kept]
        clusters = None if self.clusters() is None else self.rows["group"][kept]
        return calibration(right[kept].astype(bool), stated, clusters=clusters, n_boot=n_boot, seed=seed)

    def tidy(self):
        """Give one row per system and claim, for later paired comparisons."""
        parts = []
        for name, verdicts in self.verdicts.items():
            part = self.rows[["id", "group", "label", *self.slices]].copy()
            part.insert(0, "system", name)
            part["verdict"] = pd.Series(verdicts, dtype=object).to_numpy()
            part["right"] = self.right(name).to_numpy()
            part["confidence"] = self.confidence.get(name, [None] * len(part))
            parts.append(part)
        return pd.concat(parts, ignore_index=True)


def of_verdict(probabilities):
    """Turn probabilities of SUPPORTED into those that the likelier label is right."""
    p = np.asarray(probabilities, dtype=float)
    return np.where(p >= 0.5, p, 1 - p).tolist()
