"""Words for the size of a coefficient, given only with their probability."""

from dataclasses import dataclass

from scipy import special

from casebook.inference.samples import check_choice, check_share

SCALES = {
    "landis-koch": (
        (0.8, "almost perfect"),
        (0.6, "substantial"),
        (0.4, "moderate"),
        (0.2, "fair"),
        (0.0, "slight"),
        (-1.0, "poor"),
    ),
    "altman": (
        (0.8, "very good"),
        (0.6, "good"),
        (0.4, "moderate"),
        (0.2, "fair"),
        (-1.0, "poor"),
    ),
    "fleiss": ((0.75, "excellent"), (0.4, "intermediate to good"), (-1.0, "poor")),
}


@dataclass(frozen=True)
class Benchmark:
    """The best word that a coefficient deserves.

    Attributes
    ----------
    label : str or None
        The word; None if estimate or standard error are undefined.
    probability : float or None
        Probability that the true value lies in that class or a better one.
    cumulative : dict of float
        The same for every class, best first.
    scale : str
        Name of the scale.
    """

    label: str | None
    probability: float | None
    cumulative: dict
    scale: str


def benchmark(estimate, se, scale="landis-koch", least=0.95):
    """Name the size of a coefficient, as far as its error allows.

    Parameters
    ----------
    estimate, se : float or None
        Value in [-1, 1] and standard error.
    scale : {"landis-koch", "altman", "fleiss"}
        Which words.
    least : float, default 0.95
        Cumulative membership probability that a class must reach.

    Returns
    -------
    Benchmark
        Best class that reaches `least`.

    Notes
    -----
    The true value is taken as normal around the estimate, cut to [-1, 1]. A label by
    the estimate alone would depend on chance.

    References
    ----------
    Gwet, Handbook of Inter-Rater Reliability, 4th ed., 2014, ch. 6; Landis & Koch,
    Biometrics 33, 1977; Altman, Practical Statistics for Medical Research, 1991;
    Fleiss, Statistical Methods for Rates and Proportions, 2nd ed., 1981.
    """
    check_choice("scale", scale, SCALES)
    check_share("least", least)
    if estimate is None or se is None:
        return Benchmark(None, None, {}, scale)
    cumulative = {
        label: _share_above(bound, estimate, se) for bound, label in SCALES[scale]
    }
    label = next(word for word, p in cumulative.items() if p >= least)
    return Benchmark(label, cumulative[label], cumulative, scale)


def _share_above(bound, estimate, se):
    if bound == -1.0:
        return 1.0
    if se == 0:
        return float(estimate >= bound)
    top, bottom = special.ndtr((estimate - 1) / se), special.ndtr((estimate + 1) / se)
    above = special.ndtr((estimate - bound) / se) - top
    return float(above / (bottom - top))
