"""Do the two intervals of agreement hold what they promise? A study with known truth.

``python tests/validation/agreement_coverage.py [FILE STUDIES]`` writes the table of the book. A
rating is the class, cut at -1.2, -0.4, 0.4 and 1.2, of item + rater + noise, normal with standard
deviations 1, ``rater_sd`` and 0.8, so that coefficients are known without sampling.
"""

import itertools
import sys

import numpy as np
import pandas as pd
from scipy import special

from casebook.files import write_text
from casebook.measures.agreement import COEFFICIENT_TITLES, agreement_results
from casebook.paths import ROOT
from casebook.stats.intervals import wilson
from casebook.stats.samples import stream

TABLE = ROOT / "book" / "methods" / "agreement_coverage.csv"
KEYS = ["raters", "rater sd", "coefficient", "interval", "truth"]
COEFFICIENTS = (
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "fleiss_kappa",
    "gwet_ac1",
)
DESIGNS = [(4, 0.0), (4, 0.5), (8, 0.5)]
CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
NOISE_SD = 0.8


def simulate(raters, rater_sd, rng, items=50, missing=0.1):
    """Ratings from 1 to 5 (items x raters, NaN where missing), and each rater's severity."""
    severities = rater_sd * rng.standard_normal(raters)
    latent = rng.standard_normal((items, 1)) + severities
    latent = latent + NOISE_SD * rng.standard_normal((items, raters))
    ratings = np.digitize(latent, CUTS) + 1.0
    ratings[rng.random((items, raters)) < missing] = np.nan
    return ratings, severities


def pair_distribution(severities=None, rater_sd=0.0, nodes=80):
    """How often two raters of one item give which ratings, without sampling.

    They are of a panel with these severities, or drawn anew; ``nodes`` are those of the
    Gauss-Hermite quadrature over items.
    """
    points, weights = special.roots_hermitenorm(nodes)
    weights = weights / weights.sum()
    if severities is None:
        spread = np.hypot(NOISE_SD, rater_sd)
        shown = class_shares(points, spread)
        return shown.T @ (weights[:, None] * shown)
    shown = [class_shares(points + shift, NOISE_SD) for shift in severities]
    pairs = itertools.permutations(shown, 2)
    return np.mean([a.T @ (weights[:, None] * b) for a, b in pairs], axis=0)


def class_shares(means, spread):
    """Probability of each class for each item."""
    below = special.ndtr((CUTS - means[:, None]) / spread)
    ends = np.zeros((len(means), 1))
    return np.diff(np.hstack([ends, below, ends + 1]), axis=1)


def true_value(name, pairs):
    """A coefficient on infinitely many items whose pairs of ratings are distributed so."""
    shares, size = pairs.sum(axis=0), len(pairs)
    if name == "gwet_ac1":
        chance = np.sum(shares * (1 - shares)) / (size - 1)
        return float((np.trace(pairs) - chance) / (1 - chance))
    places = np.arange(1.0, size + 1)
    if name.endswith("ordinal"):
        places = np.cumsum(shares) - shares / 2
    distance = (places[:, None] - places) ** 2
    if name in ("krippendorff_alpha_nominal", "fleiss_kappa"):
        distance = 1 - np.eye(size)
    return float(1 - np.sum(pairs * distance) / (shares @ distance @ shares))


def coverage_study(raters, rater_sd, studies):
    """Whether each interval (this panel, new panel) holds each truth: this panel, raters drawn
    anew."""
    anew = pair_distribution(rater_sd=rater_sd)
    options = {"n_resamples": 1000, "coefficients": COEFFICIENTS, "categories": range(1, 6)}
    for study in range(studies):
        rng = np.random.Generator(stream(0, "coverage", study))
        ratings, severities = simulate(raters, rater_sd, rng)
        same = pair_distribution(severities)
        for found in agreement_results(ratings, seed=study, **options).values():
            title = COEFFICIENT_TITLES[found.coefficient]
            for interval, truth, bounds, pairs in (
                ("this panel", "this panel", found.panel_ci, same),
                ("this panel", "new panel", found.panel_ci, anew),
                ("new panel", "new panel", found.new_panel_ci, anew),
            ):
                low, high = bounds or (np.nan, np.nan)
                covered = low <= true_value(found.coefficient, pairs) <= high
                yield raters, rater_sd, title, interval, truth, covered, high - low


def coverage_text(covered):
    share = wilson(int(covered.sum()), len(covered))
    return f"{share.estimate:.3f} [{share.low:.3f}, {share.high:.3f}]"


def write_table(path=TABLE, studies=2000):
    rows = [row for design in DESIGNS for row in coverage_study(*design, studies)]
    rows = pd.DataFrame(rows, columns=[*KEYS, "coverage", "mean width"])
    how = {"coverage": coverage_text, "mean width": "mean"}
    table = rows.groupby(KEYS, sort=False).agg(how).reset_index()
    return write_text(path, table.to_csv(index=False, float_format="%.3f", lineterminator="\n"))


if __name__ == "__main__":
    print(write_table(*sys.argv[1:2], *map(int, sys.argv[2:])))
