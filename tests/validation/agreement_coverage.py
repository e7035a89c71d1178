"""Do the two intervals of agreement hold what they promise? A study with known truth.

``python tests/validation/agreement_coverage.py`` writes the table of the book.
"""

import numpy as np
import pandas as pd
from severity_model import Design, pair_distribution, simulate, true_value

from casebook.files import write_text
from casebook.measures.agreement import COEFFICIENT_TITLES, agreement_results
from casebook.paths import ROOT
from casebook.stats.intervals import wilson
from casebook.stats.samples import stream

TABLE = ROOT / "book" / "methods" / "agreement_coverage.csv"
COEFFICIENTS = (
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "fleiss_kappa",
    "gwet_ac1",
)


def coverage_study(design, n_studies=2000, *, n_resamples=1000, seed=0, names=COEFFICIENTS):
    """Count how often each interval (this panel, new panel) holds each truth: this panel, raters
    drawn anew."""
    anew = pair_distribution(rater_sd=design.rater_sd)
    outcomes = []
    for study in range(n_studies):
        rng = np.random.Generator(stream(seed, "coverage", study))
        ratings, severities = simulate(design, rng)
        same = pair_distribution(severities)
        options = {
            "n_resamples": n_resamples,
            "seed": study,
            "coefficients": names,
            "categories": range(1, 6),
        }
        for found in agreement_results(ratings, **options).values():
            truths = [true_value(found.coefficient, pairs) for pairs in (same, anew)]
            outcomes += _outcomes(found, truths)
    return _summary(pd.DataFrame(outcomes), design)


def _outcomes(found, truths):
    own, anew = truths
    wanted = (
        ("this panel", "this panel", found.panel_ci, own),
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
    designs = [Design(rater_sd=sd) for sd in (0.0, 0.5)] + [Design(50, 8, rater_sd=0.5)]
    table = pd.concat([coverage_study(design, n_studies) for design in designs])
    bounds = [f"{row.coverage:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table.itertuples()]
    table = table.assign(coefficient=table["coefficient"].map(COEFFICIENT_TITLES), coverage=bounds)
    table = table[
        ["raters", "rater_sd", "coefficient", "interval", "truth", "coverage", "mean_width"]
    ]
    table.columns = table.columns.str.replace("_", " ")
    return write_text(path, table.to_csv(index=False, float_format="%.3f", lineterminator="\n"))


if __name__ == "__main__":
    print(write_table())
