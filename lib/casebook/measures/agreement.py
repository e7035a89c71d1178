"""Agreement among raters: one function per coefficient, with intervals.

Ratings are a table of items x raters, NaN where missing; `from_counts` and
`from_table` take counts instead. Every function takes the options

n_boot : int, default 1000
    Resamples of the items; 0 for none.
seed : int, default 0
    Seed of the resamples.
confidence : float, default 0.95
    Coverage of the intervals.
categories : sequence, optional
    The rating scale in order, if it has categories that nobody used, or labels.
wide : bool, default False
    More raters than items are meant; otherwise they raise, as a transposed table.

and gives an `Agreement`: the estimate, its standard error, the interval for this panel
and the one for a new panel, percent agreement, and a reason for all that is None.
Input that is not such a table raises `casebook.errors.InputError`.
"""

from casebook.measures.agreement_alpha import LEVELS
from casebook.measures.agreement_benchmark import Benchmark, benchmark
from casebook.measures.agreement_contrast import AgreementDifference, leave_one_rater_out, paired_difference
from casebook.measures.agreement_icc import FORMS
from casebook.measures.agreement_input import from_counts, from_table
from casebook.measures.agreement_kappas import (
    brennan_prediger,
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    light_kappa,
    percent_agreement,
    scott_pi,
)
from casebook.measures.agreement_panel import Panel
from casebook.measures.agreement_recipes import NAMES, TITLES
from casebook.measures.agreement_reliability import intraclass_correlation, kendall_w, krippendorff_alpha
from casebook.measures.agreement_result import Agreement
from casebook.measures.agreement_table import agreement_results, agreement_table, table_of

__all__ = [
    "FORMS",
    "LEVELS",
    "NAMES",
    "TITLES",
    "Agreement",
    "AgreementDifference",
    "Benchmark",
    "Panel",
    "agreement_results",
    "agreement_table",
    "benchmark",
    "brennan_prediger",
    "cohen_kappa",
    "conger_kappa",
    "fleiss_kappa",
    "from_counts",
    "from_table",
    "gwet_ac1",
    "gwet_ac2",
    "intraclass_correlation",
    "kendall_w",
    "krippendorff_alpha",
    "leave_one_rater_out",
    "light_kappa",
    "paired_difference",
    "percent_agreement",
    "scott_pi",
    "table_of",
]
