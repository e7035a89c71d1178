"""Words for the size of a coefficient, given only with their probability."""

from dataclasses import dataclass

from scipy import special

from casebook.stats.samples import check_choice, check_share

SCALES = {
    "landis-koch": (
        (0.8, "almost perfect"),
        (0.6, "substantial"),
        (0.4, "moderate"),
        (0.2, "fair"),
        (0.0, "slight"),
        (-1.0, "poor"),
    ),
    "altman": ((0.8, "very good"), (0.6, "good"), (0.4, "moderate"), (0.2, "fair"), (-1.0, "poor")),
    "fleiss": ((0.75, "excellent"), (0.4, "intermediate to good"), (-1.0, "poor")),
}


@dataclass(frozen=True)
class Benchmark:
    """The best word that a coefficient deserves."""

    label: str | None
    probability: float | None
    cumulative: dict
    scale: str


def benchmark(estimate, se, scale="landis-koch", least=0.95):
    """Name the size of a coefficient, as far as its error allows."""
    check_choice("scale", scale, SCALES)
    check_share("least", least)
    if estimate is None or se is None:
        return Benchmark(None, None, {}, scale)
    cumulative = {label: _share_above(bound, estimate, se) for bound, label in SCALES[scale]}
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
