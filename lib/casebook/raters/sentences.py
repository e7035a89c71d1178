"""What came out of a panel, in sentences."""

import pandas as pd

from casebook.inference.preference import NEW_RATERS, THESE_RATERS
from casebook.stats.intervals import FEWEST, bounds_text


def answer(analysis):
    """Answer the question of the study in a few sentences."""
    panel, held = analysis.panel, analysis.tables["equivalence"].iloc[0]
    these, new = analysis.line(THESE_RATERS), analysis.line(NEW_RATERS)
    naive = analysis.tables["preference"].set_index("rater").loc["pooled"]
    items, raters = panel.votes.shape
    cast = int(naive[["wins", "losses", "ties"]].sum())
    return [
        f"Primary, for these {raters} raters and new items: {panel.focus} wins "
        f"{_share(these)} of the votes, ties as half ({items} items, {cast} votes, "
        f"{int(naive['ties'])} ties; chance is 0.5); {_tested(these)}: "
        f"{_verdict(panel, these)}.",
        f"For new raters as well: {_share(new)}; {_tested(new)}: {_verdict(panel, new)}. {_scope(new)}",
        f"The pooled sign test says p = {naive['p_sign']:.2g}, as if all "
        f"{int(naive['n'])} untied votes were independent, which they are not.",
        f"Against a range of {held['range from']:g} to {held['range to']:g} that would "
        f"count as no difference, ties as half, these raters: {held['verdict']}.",
        *_agreement_lines(analysis),
        *_rating_lines(analysis),
        *_validity_lines(analysis),
    ]


def _share(row):
    return f"{row['win_rate']:.3f} {bounds_text(row['ci_low'], row['ci_high'])}"


def _tested(row):
    if row["p"] is None or pd.isna(row["p"]):
        return f"no test ({row['reason']})"
    error = row["mc_error"]
    drawn = f" +- {error:.1g} (Monte Carlo)" if pd.notna(error) and error > 0 else ""
    return f"p = {row['p']:.2g}{drawn}"


def _verdict(panel, row):
    winner = panel.focus if row["win_rate"] > 0.5 else panel.other
    return "undecided" if row["verdict"] == "undecided" else f"{winner} is preferred"


def _scope(row):
    """Say what so many raters can and cannot show."""
    if row["reason"] == "fewer_than_three_raters":
        return "So few raters show nothing of others."
    raters = row["raters"]
    few = "" if raters >= FEWEST else f" From {raters} raters that cannot be checked."
    return f"This takes the raters for a random draw, their leanings for normal.{few}"


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
        f"The left answer gets {side['left_choice']:.3f} {bounds_text(low, high)} of the {int(side['n'])} untied votes."
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
    """Say in one sentence what the side of an answer does."""
    found = analysis.side()
    left, p = found.left_choice, found.left_test.pvalue
    said = "undefined" if p is None else f"p = {p:.2g}"
    return (
        f"The left answer is chosen in {left.estimate:.3f} "
        f"{bounds_text(left.low, left.high)} of {left.n} untied votes ({said}, votes "
        f"as independent); where {analysis.panel.focus} stands on the left it wins "
        f"{found.win_rate_left.estimate:.3f}, on the right "
        f"{found.win_rate_right.estimate:.3f}, both sides alike "
        f"{found.side_balanced.estimate:.3f} "
        f"{bounds_text(found.side_balanced.low, found.side_balanced.high)}."
    )
