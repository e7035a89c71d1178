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
    """Verdicts of several systems on the same claims.

    Attributes
    ----------
    name : str
        Of the dataset.
    rows : pandas.DataFrame
        One row per claim: ``id``, ``label``, ``group`` (claims that belong together)
        and the columns of `slices`.
    verdicts : dict of list
        System to verdicts in the order of the rows, None where there was none. The
        first system is the one that the chapter is about.
    policy : dict of str
        Primary policies for this dataset: off_label, nei, conflict.
    blind : tuple of str
        Systems that never see the right evidence: controls.
    slices : tuple of str
        Columns to score by.
    confidence : dict of list
        System to the stated probability that its verdict is right, None where nothing
        was stated.
    found : list of bool or None
        Whether the first system found the evidence that decides the claim.
    ablation : casebook.factcheck.ablation_report.AblationReport or None
        The 2^4 cells and the nine documented configurations on these claims.
    facts : dict
        Counts that the chapter states about the data.
    pipeline : casebook.factcheck.own_study.OwnStudy or None
        The pipeline behind the first system, if it was run.
    texts : list of str or None
        The claims.
    decisive : list of list of casebook.factcheck.cited.Cited or None
        For each claim the passages that decide it by the annotation.
    cited : list of list of casebook.factcheck.cited.Cited or None
        For each claim the passages that the first system found.
    """

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
        """Score every system.

        Parameters
        ----------
        n_boot, seed
            Of the intervals, which resample groups.
        **policy
            Instead of the dataset's own.

        Returns
        -------
        dict of casebook.measures.classification.Scores
            By system.
        """
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
        """Score the claims that are SUPPORTED or NOT_SUPPORTED; all else is no class.

        Parameters
        ----------
        **options
            ``n_boot`` and ``seed``.

        Returns
        -------
        dict of casebook.measures.classification.Scores
            By system.
        """
        return self.scores(nei="exclude", conflict="exclude", **options)

    def right(self, system):
        """Give whether each verdict is right under the policies, None if left out."""
        return is_right(self.rows["label"], self.verdicts[system], policy=self.policy)

    def comparisons(self, *, n_boot=10_000, seed=0):
        """Compare the first system with every other on the same claims.

        Parameters
        ----------
        n_boot, seed : int
            Sign patterns of the test, and their seed.

        Returns
        -------
        pandas.DataFrame
            As `casebook.factcheck.comparing.compare_verdicts` gives it.
        """
        others = {name: self.right(name) for name in self.verdicts if name != self.main}
        return compare_verdicts(
            self.right(self.main),
            others,
            clusters=self.clusters(),
            n_resamples=n_boot,
            seed=seed,
        )

    def calibrated(self, *, n_boot=1000, seed=0):
        """Compare stated confidence with what came true, None if nothing was stated.

        Parameters
        ----------
        n_boot, seed
            Of the intervals.

        Returns
        -------
        casebook.measures.calibration.Calibration or None
            Of the first system that states any.
        """
        system = next(iter(self.confidence), None)
        if system is None:
            return None
        right = self.right(system)
        kept = right.notna().to_numpy()
        stated = pd.Series(self.confidence[system], dtype=float)[kept]
        clusters = None if self.clusters() is None else self.rows["group"][kept]
        return calibration(
            right[kept].astype(bool),
            stated,
            clusters=clusters,
            n_boot=n_boot,
            seed=seed,
        )

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
    """Turn probabilities of SUPPORTED into those that the likelier label is right.

    Parameters
    ----------
    probabilities : array_like of float
        Probabilities.

    Returns
    -------
    list of float
        At least 0.5.
    """
    p = np.asarray(probabilities, dtype=float)
    return np.where(p >= 0.5, p, 1 - p).tolist()
