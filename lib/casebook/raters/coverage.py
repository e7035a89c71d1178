"""Do the two intervals of agreement hold what they promise? A study with known truth.

``python -m casebook.raters.coverage`` writes the table of the book.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from casebook.files import write_text
from casebook.inference.proportions import wilson
from casebook.inference.samples import stream
from casebook.measures.agreement_input import as_panel
from casebook.measures.agreement_measure import measure
from casebook.measures.agreement_recipes import TITLES, recipe
from casebook.measures.agreement_result import Settings
from casebook.paths import ROOT

TABLE = ROOT / "book" / "methods" / "agreement_coverage.csv"
CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
NOISE_SD = 0.8
COEFFICIENTS = (
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "fleiss_kappa",
    "gwet_ac1",
)


@dataclass(frozen=True)
class Design:
    """A simulated rating study.

    A rating is the class, cut at -1.2, -0.4, 0.4 and 1.2, of item + rater + noise,
    normal with standard deviations 1, `rater_sd` and 0.8.

    Attributes
    ----------
    items, raters : int
        Size of the panel.
    missing : float
        Share of ratings that are missing, at random.
    rater_sd : float
        How much raters differ in severity.
    """

    items: int = 50
    raters: int = 4
    missing: float = 0.1
    rater_sd: float = 0.0


def simulate(design, rng):
    """Draw one study.

    Parameters
    ----------
    design : Design
        What to draw.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    ratings : numpy.ndarray, shape [items, raters]
        1 to 5, NaN where missing.
    severities : numpy.ndarray, shape [raters]
        The raters' own shifts.
    """
    shape = (design.items, design.raters)
    severities = design.rater_sd * rng.standard_normal(design.raters)
    latent = rng.standard_normal((design.items, 1)) + severities
    latent = latent + NOISE_SD * rng.standard_normal(shape)
    ratings = np.digitize(latent, CUTS) + 1.0
    ratings[rng.random(shape) < design.missing] = np.nan
    return ratings, severities


def pair_distribution(severities=None, rater_sd=0.0, nodes=80):
    """Give how often two raters of one item give which ratings, without sampling.

    Parameters
    ----------
    severities : array_like, shape [raters], optional
        Of a given panel; without it, two raters are drawn anew.
    rater_sd : float
        Of raters drawn anew.
    nodes : int
        Of the Gauss-Hermite quadrature over items.

    Returns
    -------
    numpy.ndarray, shape [5, 5]
        Symmetric, sums to 1.
    """
    points, weights = special.roots_hermitenorm(nodes)
    weights = weights / weights.sum()
    if severities is None:
        spread = np.hypot(NOISE_SD, rater_sd)
        shown = _class_shares(points, spread)
        return shown.T @ (weights[:, None] * shown)
    shown = [_class_shares(points + shift, NOISE_SD) for shift in severities]
    pairs = itertools.permutations(shown, 2)
    return np.mean([a.T @ (weights[:, None] * b) for a, b in pairs], axis=0)


def _class_shares(means, spread):
    """Probability of each class for each item, shape [items, 5]."""
    below = special.ndtr((CUTS - means[:, None]) / spread)
    ends = np.zeros((len(means), 1))
    return np.diff(np.hstack([ends, below, ends + 1]), axis=1)


def true_value(name, pairs):
    """Give a coefficient on infinitely many items.

    Parameters
    ----------
    name : str
        One of `COEFFICIENTS`.
    pairs : numpy.ndarray, shape [classes, classes]
        As `pair_distribution`.

    Returns
    -------
    float
        The value that estimates approach.
    """
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


def coverage_study(design, n_studies=2000, *, n_boot=1000, seed=0, names=COEFFICIENTS):
    """Count how often each interval holds each truth.

    Parameters
    ----------
    design : Design
        What to simulate.
    n_studies : int
        Number of simulated studies.
    n_boot : int
        Resamples of each.
    seed : int
        Seed of all.
    names : sequence of str
        Coefficients, among `COEFFICIENTS`.

    Returns
    -------
    pandas.DataFrame
        One row per coefficient, interval and truth: items, raters, rater_sd,
        coefficient, interval (``"this panel"``, ``"new panel"``, ``"t"``), truth
        (``"this panel"``: on other items; ``"new panel"``: of raters drawn anew),
        coverage with its 95 % bounds low and high, mean width, studies, and undefined:
        studies without that interval, which count as not covered.
    """
    recipes = [recipe(name) for name in names]
    anew = pair_distribution(rater_sd=design.rater_sd)
    outcomes = []
    for study in range(n_studies):
        rng = np.random.Generator(stream(seed, "coverage", study))
        ratings, severities = simulate(design, rng)
        panel = as_panel(ratings, categories=range(1, 6))
        same = pair_distribution(severities)
        settings = Settings(n_boot, seed=study)
        for found in measure(recipes, panel, settings):
            truths = [true_value(found.coefficient, pairs) for pairs in (same, anew)]
            outcomes += _outcomes(found, truths)
    return _summary(pd.DataFrame(outcomes), design)


def _outcomes(found, truths):
    own, anew = truths
    wanted = (
        ("this panel", "this panel", found.panel_ci, own),
        ("t", "this panel", found.interval, own),
        ("this panel", "new panel", found.panel_ci, anew),
        ("new panel", "new panel", found.new_panel_ci, anew),
    )
    for interval, truth, bounds, value in wanted:
        low, high = bounds or (np.nan, np.nan)
        yield {
            "coefficient": found.coefficient,
            "interval": interval,
            "truth": truth,
            "covered": low <= value <= high,
            "width": high - low,
        }


def _summary(outcomes, design):
    rows = []
    keys = ["coefficient", "interval", "truth"]
    for names, part in outcomes.groupby(keys, sort=False):
        share = wilson(int(part["covered"].sum()), len(part))
        rows.append(
            {
                "items": design.items,
                "raters": design.raters,
                "rater_sd": design.rater_sd,
                **dict(zip(keys, names, strict=True)),
                "coverage": share.estimate,
                "low": share.low,
                "high": share.high,
                "mean_width": part["width"].mean(),
                "studies": len(part),
                "undefined": int(part["width"].isna().sum()),
            }
        )
    return pd.DataFrame(rows)


def write_table(path=TABLE, n_studies=2000):
    """Run the designs of the book and write their table.

    Parameters
    ----------
    path : path-like
        CSV file.
    n_studies : int
        Of each design.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    designs = [Design(rater_sd=sd) for sd in (0.0, 0.5)] + [Design(50, 8, rater_sd=0.5)]
    table = pd.concat([coverage_study(design, n_studies) for design in designs])
    table["coefficient"] = table["coefficient"].map(TITLES)
    table.columns = table.columns.str.replace("_", " ")
    return write_text(
        path, table.to_csv(index=False, float_format="%.3f", lineterminator="\n")
    )


if __name__ == "__main__":
    print(write_table())
