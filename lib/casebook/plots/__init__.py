"""One function per figure kind, in one style, legible on a phone."""

from casebook.plots.audits import audit_matrix, detection_line
from casebook.plots.comparison import forest, histories, pair_matrix, per_query, score_matrix
from casebook.plots.counterfactual import against_placebo, case_matrix, displacements, edit_tree, thresholds
from casebook.plots.explanations import detector_matrix, matched_lines
from casebook.plots.factcheck import confusion_matrices, interval_rows, reliability
from casebook.plots.preference import position_forest, power_curves, preference_forest, rating_distributions
from casebook.plots.retrieval import attrition, stage_times, sweeps
from casebook.plots.shift import rank_changes, shift_vector
from casebook.plots.style import use_style

__all__ = [
    "against_placebo",
    "attrition",
    "audit_matrix",
    "case_matrix",
    "confusion_matrices",
    "detection_line",
    "detector_matrix",
    "displacements",
    "edit_tree",
    "forest",
    "histories",
    "interval_rows",
    "matched_lines",
    "pair_matrix",
    "per_query",
    "position_forest",
    "power_curves",
    "preference_forest",
    "rank_changes",
    "rating_distributions",
    "reliability",
    "score_matrix",
    "shift_vector",
    "stage_times",
    "sweeps",
    "thresholds",
    "use_style",
]
