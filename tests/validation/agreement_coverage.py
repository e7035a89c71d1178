"""Do the two intervals of agreement hold what they promise? A study with known truth.

``python tests/validation/agreement_coverage.py [FILE STUDIES]`` writes the table of the book.
"""

import sys

import numpy as np
import pandas as pd
from severity_model import Design, pair_distribution, simulate, true_value

from casebook.files import write_text
from casebook.measures.agreement import COEFFICIENT_TITLES, agreement_results
from casebook.paths import ROOT
from casebook.stats.intervals import wilson
from casebook.stats.samples import stream

TABLE = ROOT / "book" / "methods" / "agreement_coverage.csv"
KEYS = ["coefficient", "interval", "truth"]
COEFFICIENTS = (
    "krippendorff_alpha_nominal",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "fleiss_kappa",
    "gwet_ac1",
)


def coverage_study(design, n_studies=2000, *, n_resamples=1000, seed=0, names=COEFFICIENTS):
    """How often each interval (this panel, new panel) holds each truth: this panel, raters drawn
    anew."""
    anew = pair_distribution(rater_sd=design.rater_sd)
    options = {"n_resamples": n_resamples, "coefficients": names, "categories": range(1, 6)}
    rows = []
    for study in range(n_studies):
        rng = np.random.Generator(stream(seed, "coverage", study))
        ratings, severities = simulate(design, rng)
        same = pair_distribution(severities)
        for found in agreement_results(ratings, seed=study, **options).values():
            for interval, truth, bounds, pairs in (
                ("this panel", "this panel", found.panel_ci, same),
                ("this panel", "new panel", found.panel_ci, anew),
                ("new panel", "new panel", found.new_panel_ci, anew),
            ):
                low, high = bounds or (np.nan, np.nan)
                covered = low <= true_value(found.coefficient, pairs) <= high
                rows.append((found.coefficient, interval, truth, covered, high - low))
    rows = pd.DataFrame(rows, columns=[*KEYS, "covered", "width"])
    table = rows.groupby(KEYS, sort=False).agg(
        hits=("covered", "sum"),
        mean_width=("width", "mean"),
        studies=("width", "size"),
        undefined=("width", lambda widths: int(widths.isna().sum())),
    )
    shares = [wilson(int(row.hits), row.studies) for row in table.itertuples()]
    for name in ("estimate", "low", "high"):
        table[name] = [getattr(share, name) for share in shares]
    table = table.rename(columns={"estimate": "coverage"}).reset_index()
    return table.assign(raters=design.raters, rater_sd=design.rater_sd)


def write_table(path=TABLE, n_studies=2000):
    designs = [Design(rater_sd=sd) for sd in (0.0, 0.5)] + [Design(50, 8, rater_sd=0.5)]
    table = pd.concat([coverage_study(design, n_studies) for design in designs])
    bounds = [f"{row.coverage:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table.itertuples()]
    table = table.assign(coefficient=table["coefficient"].map(COEFFICIENT_TITLES), coverage=bounds)
    table = table[["raters", "rater_sd", *KEYS, "coverage", "mean_width"]]
    table.columns = table.columns.str.replace("_", " ")
    return write_text(path, table.to_csv(index=False, float_format="%.3f", lineterminator="\n"))


if __name__ == "__main__":
    print(write_table(*sys.argv[1:2], *map(int, sys.argv[2:])))
