"""What is reported of an agreement coefficient, and what may be chosen."""

from dataclasses import asdict, dataclass, field

from casebook.inference.samples import check_count, check_share


@dataclass(frozen=True)
class Settings:
    """How intervals are made.

    Attributes
    ----------
    n_boot : int
        Resamples of the items; 0 for no item bootstrap.
    seed : int
        Seed of the resamples.
    confidence : float
        Nominal coverage of all intervals.
    """

    n_boot: int = 1000
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self):
        check_count("n_boot", self.n_boot, least=0)
        check_count("seed", self.seed, least=0)
        check_share("confidence", self.confidence)

    @property
    def tails(self):
        """The two tail probabilities that an interval leaves out or reaches."""
        return (1 - self.confidence) / 2, (1 + self.confidence) / 2


@dataclass(frozen=True)
class Agreement:
    """One coefficient with everything that belongs beside it.

    Attributes
    ----------
    coefficient : str
        Name, such as ``"krippendorff_alpha"``.
    estimate : float or None
        Value; None if undefined, with the code in `reason`.
    se : float or None
        Standard error over items for this panel.
    se_method : str or None
        ``"linearised"`` or ``"item bootstrap"``.
    interval : tuple of float or None
        From the formula: Student's t with `se`, or F for intraclass correlations.
    statistic : tuple or None
        Name, value and degrees of freedom of the test that the coefficient is 0.
    p_greater, p_two_sided : float or None
        One-sided p against agreement above 0, and two-sided p. Tests that have one
        side only (F, chi-squared) leave the second None.
    panel_ci : tuple of float or None
        Interval for *this panel* on other items, by the item bootstrap; of intraclass
        correlations the F interval, for the population of their model.
    new_panel_ci : tuple of float or None
        Interval for *a new panel* on other items: `panel_ci`, or without resamples
        the standard error, widened by the delete-one-rater jackknife variance.
    n_items, n_raters, n_ratings : int
        Items used, raters, ratings used.
    n_left_out : int
        Rows of the table that the coefficient cannot use.
    percent_agreement : float or None
        Share of agreeing pairs, unweighted: stands beside every coefficient.
    observed, expected : float or None
        Agreement observed, and by chance as the coefficient defines chance.
    reasons : dict of str
        Code by field, for what is None or degenerate.
    """

    coefficient: str
    estimate: float | None
    se: float | None = None
    se_method: str | None = None
    interval: tuple | None = None
    statistic: tuple | None = None
    p_greater: float | None = None
    p_two_sided: float | None = None
    panel_ci: tuple | None = None
    new_panel_ci: tuple | None = None
    n_items: int = 0
    n_raters: int = 0
    n_ratings: int = 0
    n_left_out: int = 0
    percent_agreement: float | None = None
    observed: float | None = None
    expected: float | None = None
    reasons: dict = field(default_factory=dict)

    @property
    def reason(self):
        """Why the estimate is None, else which intervals are None and why."""
        if "estimate" in self.reasons:
            return self.reasons["estimate"]
        listed = [f"{name}: {code}" for name, code in self.reasons.items()]
        return "; ".join(listed) or None

    def as_dict(self):
        """Give all fields, and `reason`, as plain values."""
        return asdict(self) | {"reason": self.reason}
