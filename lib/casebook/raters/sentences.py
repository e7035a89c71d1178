"""What came out of a panel, in sentences."""

import pandas as pd

from casebook.inference.intervals import bounds_text


def answer(analysis):
    """Answer the question of the study in a few sentences.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.

    Returns
    -------
    list of str
        Preference, scope, agreement, ratings and validity, each with number, interval
        and n.
    """
    panel, test = analysis.panel, analysis.primary()
    item, both = analysis.win_rate("item"), analysis.win_rate("item and rater")
    naive = analysis.tables["preference"].set_index("rater").loc["pooled"]
    held = analysis.tables["equivalence"].iloc[0]
    items, raters = panel.votes.shape
    return [
        f"{panel.focus} wins {_share(item)} of the untied votes of this panel "
        f"({items} items, {raters} raters, {int(naive['n'])} untied votes); with "
        f"other raters too the interval is {_bounds(both)}. Chance is 0.5.",
        f"Primary test, items as units: p = {test['pvalue']:.2g}; the pooled sign test "
        f"says p = {naive['p_sign']:.2g}, as if votes were independent.",
        f"Against a range of {held['range from']:g} to {held['range to']:g} that would "
        f"count as no difference, ties as half: {held['verdict']}.",
        *_agreement_lines(analysis),
        *_rating_lines(analysis),
        *_validity_lines(analysis),
    ]


def _share(row):
    return f"{row['win_rate']:.3f} {_bounds(row)}"


def _bounds(row):
    return bounds_text(row["ci_low"], row["ci_high"])


def _agreement_lines(analysis):
    table = analysis.tables["agreement"].set_index("coefficient")
    row = table.loc["krippendorff_alpha"]
    if pd.isna(row["estimate"]):
        return [f"Agreement on the preference is undefined: {row['reason']}."]
    panel = bounds_text(row["panel_low"], row["panel_high"])
    new = bounds_text(row["new_panel_low"], row["new_panel_high"])
    return [
        f"Krippendorff's alpha of the preference is {row['estimate']:.3f} {panel} for "
        f"this panel, {new} for a new one; 0 is chance, 1 agreement."
    ]


def _rating_lines(analysis):
    lines = []
    for row in analysis.tables["rating_tests"].to_dict("records"):
        if row["n"]:
            items = bounds_text(row["difference low"], row["difference high"], "+z.2f")
            both = bounds_text(row["both low"], row["both high"], "+z.2f")
            lines.append(
                f"{row['scale'].capitalize()} differs by {row['difference']:+z.2f} "
                f"{items} points, with other raters too {both} ({row['n']} items)."
            )
    return lines


def _validity_lines(analysis):
    side = analysis.tables["position"].set_index("rater").loc["all"]
    low, high = side["left_choice low"], side["left_choice high"]
    lines = [
        f"The left answer gets {side['left_choice']:.3f} {bounds_text(low, high)} of "
        f"the {int(side['n'])} untied votes."
    ]
    guess = analysis.tables["arm_guess"].iloc[0]
    if guess["reason"] is None:
        bounds = bounds_text(guess["accuracy low"], guess["accuracy high"])
        lines.append(
            f"A classifier tells the two systems apart by their text for "
            f"{guess['accuracy']:.2f} {bounds} of {guess['n']} items (chance 0.5, p = "
            f"{guess['p']:.2g})."
        )
    return lines


def side_sentence(analysis):
    """Say what the side of an answer does.

    Parameters
    ----------
    analysis : casebook.raters.analysis.Analysis
        Analysis.

    Returns
    -------
    str
        One sentence with number, interval, p and n.
    """
    found, test = analysis.side(), analysis.tables["side_test"].iloc[0]
    left = found.left_choice
    p = "undefined" if test["p"] is None else f"p = {test['p']:.2g}"
    return (
        f"The left answer is chosen in {left.estimate:.3f} "
        f"{bounds_text(left.low, left.high)} of {left.n} untied votes; a side term "
        f"in Davidson's model: {p}."
    )
