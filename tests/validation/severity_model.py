"""Simulated ratings whose coefficients of agreement are known without sampling."""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import special

CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
NOISE_SD = 0.8


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
        One of `agreement_coverage.COEFFICIENTS`.
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
