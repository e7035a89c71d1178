"""The analysis of a panel that compared two systems: its tables, and what they say in sentences."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from casebook.errors import InputError
from casebook.measures.agreement import (
    agreement_results,
    agreement_table,
    leave_one_rater_out,
)
from casebook.raters import preference, ratings
from casebook.raters.blinding import content_audit, guesses
from casebook.raters.layouts import PAIRED_SCALES
from casebook.raters.power import power_table
from casebook.raters.preference import EQUIVALENCE_RANGE, NEW_RATERS, THESE_RATERS, count_votes
from casebook.raters.read import defect_table
from casebook.raters.unblinding import Votes
from casebook.stats.intervals import bounded, bounds_text
from casebook.stats.samples import number_or_none
from casebook.stats.tests import holm
from casebook.tables import reason_text
from casebook.verdicts import UNDECIDED

VOTE_VALUES = (-1, 0, 1)
DEFAULT_ALPHA = 0.05  # of the tests, unless another one was registered
COPIED = 0.8  # share of equal rows of ratings above which two raters are flagged
VOTE_COEFFICIENTS = (
    "percent_agreement",
    "fleiss_kappa",
    "conger_kappa",
    "light_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "krippendorff_alpha",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "gwet_ac2",
)


@dataclass(frozen=True, eq=False)
class ComparisonPanel:
    """Judgements of a panel on two systems, arranged as frames of items x raters."""

    focus: str
    against: str
    votes: pd.DataFrame  # 1 for the focus, 0 for a tie, -1, NaN
    left: pd.DataFrame  # whether the focus stood left
    positions: pd.DataFrame  # of the item in the rater's form
    ratings: dict  # of such frames by (scale, system)
    strata: pd.Series
    texts: pd.DataFrame
    rows: pd.DataFrame

    @property
    def raters(self):
        return list(self.votes.columns)

    @property
    def rated_scales(self):
        """Scales on which somebody rated, as forms may be older than a scale; all without any."""
        rated = {
            scale for (scale, _), table in self.ratings.items() if table.notna().any(axis=None)
        }
        return [scale for scale in PAIRED_SCALES if scale in rated or not rated]

    def differences(self, scale):
        """Ratings of the focus system minus those of the other one."""
        return self.ratings[scale, self.focus] - self.ratings[scale, self.against]

    def long_ratings(self):
        """Give a row per rating: scale, system, item, rater, rating."""
        table = pd.concat(self.ratings, names=["scale", "system", "item"])
        table = table.rename_axis(columns="rater")
        return table.stack().rename("rating").dropna().reset_index()  # noqa: PD013


def opponent(focus, systems, against=None):
    """Give the system that the focus is compared with: the only one, or that of this name."""
    candidates = [system for system in systems if system != focus]
    if against is None and len(candidates) == 1:
        return candidates[0]
    if against not in candidates:
        choices = ", ".join(candidates)
        raise InputError(
            f"against: {against!r}: say which system {focus} is held against: choose from {choices}"
        )
    return against


def panel_of(votes, against=None):
    """Arrange the judgements on the focus and one other system."""
    focus = votes.focus
    against = opponent(focus, votes.systems, against)
    is_compared = votes.frame[["left", "right"]].isin([focus, against])
    rows = votes.frame[is_compared.all(axis=1)]
    if rows.empty:
        raise InputError(f"there is no judgement on {focus} and {against}")
    rows = rows.assign(focus_left=rows["left"] == focus)
    raters = [rater for rater in votes.raters if rater in set(rows["rater"])]
    judgements = pd.DataFrame({"item": rows["item_id"], "rater": rows["rater"]})
    judgements["vote"] = rows["choice"].map({focus: 1.0, against: -1.0, "Tie": 0.0})
    judgements["left"] = rows["focus_left"]
    judgements["position"] = rows["place"]
    for scale in PAIRED_SCALES:
        left = rows[f"{scale}_left"].astype(float)
        right = rows[f"{scale}_right"].astype(float)
        judgements[scale, focus] = left.where(rows["focus_left"], right)
        judgements[scale, against] = right.where(rows["focus_left"], left)
    matrices = {}
    for name in judgements.columns.drop(["item", "rater"]):
        matrix = judgements.pivot(index="item", columns="rater", values=name)  # noqa: PD010
        matrices[name] = matrix[raters]
    items = rows.drop_duplicates("item_id").set_index("item_id").reindex(matrices["vote"].index)
    left_is_focus = items["focus_left"]
    texts = pd.DataFrame(
        {
            "prompt": items["prompt"],
            focus: items["text_left"].where(left_is_focus, items["text_right"]),
            against: items["text_right"].where(left_is_focus, items["text_left"]),
        }
    )
    return ComparisonPanel(
        focus=focus,
        against=against,
        votes=matrices["vote"],
        left=matrices["left"],
        positions=matrices["position"],
        ratings={key: matrices[key] for key in itertools.product(PAIRED_SCALES, [focus, against])},
        strata=items["stratum"],
        texts=texts,
        rows=rows,
    )


@dataclass(frozen=True, eq=False)
class Analysis:
    """What came out: the votes, the panel, and the tables by name."""

    votes: Votes
    panel: ComparisonPanel
    tables: dict = field(repr=False)

    def win_rate(self, unit, ties="drop"):
        """Give the row of one interval of the win rate."""
        return self.tables["intervals"].set_index(["unit", "ties"]).loc[(unit, ties)]

    def line(self, scope):
        """Give the row of the win rate, ties as half, for these or for new raters."""
        return self.tables["lines"].set_index("scope").loc[scope]

    def side(self):
        """Give the effect of the side over all raters."""
        return _effect_of_side(self.panel, self.panel.raters)


def analyse(
    votes,
    against=None,
    *,
    equivalence_range=None,
    alpha=None,
    n_resamples=10_000,
    permutations=200,
    seed=0,
):
    """Analyse the judgements of a panel on two systems.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        As `casebook.raters.unblinding.open_forms` gives them.
    against : str, optional
        System to compare the focus with; needed if there are several.
    equivalence_range : tuple of float, optional
        Win rates that count as no difference; by default those that were registered,
        else 0.45 to 0.55.
    alpha : float, optional
        Level of the tests; by default the one that was registered, else 0.05.
    n_resamples, permutations : int
        Bootstrap draws, and exchanges of the labels in the audit of texts.
    seed : int, default 0
        Seed of all draws.

    Returns
    -------
    Analysis
        ``panel`` (votes and ratings as frames of items x raters) and ``tables``, a dict of frames:
        preference, lines, win_rates, intervals, item_tests, dependence, equivalence, power;
        agreement, vote_shares, cohen_kappa, leave_one_out, rating_agreement; rating_means,
        rating_counts, rating_tests, rater_rating_tests, correlation; position, length, order,
        duplicates, consistency, strata, arm_guess, telling_words, guesses; defects.
        Win rates and shares lie in [0, 1], chance is 1/2; coefficients of agreement are at most 1,
        chance is 0. What is undefined is missing, with a reason.

    Raises
    ------
    InputError
        If there is no judgement on the two systems, or it is not clear which two are meant.

    Examples
    --------
    >>> from casebook.raters.documented import example_votes
    >>> analysis = analyse(example_votes(), n_resamples=200, permutations=19)
    >>> print(answer_lines(analysis)[0][:91])
    Primary, for these 4 raters and new items: RAG wins 0.625 [0.544, 0.706] of the votes, ties
    >>> agreement = analysis.tables["agreement"].set_index("coefficient")
    >>> round(float(agreement.loc["fleiss_kappa", "estimate"]), 3)
    0.13
    """
    panel = panel_of(votes, against)
    tables = preference_tables(
        panel.votes,
        equivalence_range=equivalence_range or votes.equivalence_range or EQUIVALENCE_RANGE,
        alpha=alpha or votes.alpha or DEFAULT_ALPHA,
        n_resamples=n_resamples,
        seed=seed,
    )
    tables |= agreement_tables(panel, n_resamples=n_resamples, seed=seed)
    tables |= ratings.rating_tables(panel, n_resamples=n_resamples, seed=seed)
    tables |= validity(panel, permutations=permutations, n_resamples=n_resamples, seed=seed)
    tables["consistency"] = consistency(panel)
    tables["strata"] = by_stratum(panel, n_resamples=n_resamples, seed=seed)
    tables["defects"] = defect_table(votes.defects)
    return Analysis(votes, panel, tables)


def preference_tables(votes, *, equivalence_range, alpha, n_resamples, seed):
    """Count, test and bound the votes, items x raters."""
    lines = preference.preference_lines(votes, level=1 - alpha, n_resamples=n_resamples, seed=seed)
    win_rates = preference.win_rates(
        votes, lines, level=1 - alpha, n_resamples=n_resamples, seed=seed
    )
    dependence = preference.dependence(votes, n_resamples=n_resamples, seed=seed)
    design_effect = dependence.set_index("measure").loc["design effect", "value"]
    if pd.isna(design_effect):
        design_effect = 1.0
    equivalence = preference.equivalence(
        votes,
        equivalence_range=equivalence_range,
        alpha=alpha,
        n_resamples=n_resamples,
        seed=seed,
    )
    return {
        "preference": preference.win_tie_loss_table(votes),
        "lines": lines,
        "win_rates": win_rates,
        "intervals": preference.preference_intervals(votes, n_resamples=n_resamples, seed=seed),
        "item_tests": preference.item_tests(votes, n_resamples=n_resamples, seed=seed),
        "dependence": dependence,
        "equivalence": pd.DataFrame([equivalence]),
        "power": power_table(alpha=alpha, design_effect=max(1.0, float(design_effect))),
    }


# --- agreement ------------------------------------------------------------------


def agreement_tables(panel, *, n_resamples, seed):
    """Measure agreement on the preferences: of all raters, of every two, and without each."""
    return {
        "agreement": vote_agreement(panel, n_resamples=n_resamples, seed=seed),
        "vote_shares": _vote_shares(panel),
        "cohen_kappa": kappa_pairs(panel, n_resamples=n_resamples, seed=seed),
        "leave_one_out": without_each_rater(panel),
    }


def vote_agreement(panel, *, n_resamples, seed):
    """Measure agreement on the preferences with every coefficient."""
    table = agreement_table(
        panel.votes,
        "nominal",
        coefficients=VOTE_COEFFICIENTS,
        categories=VOTE_VALUES,
        wide=True,
        n_resamples=n_resamples,
        seed=seed,
    )
    return table.astype(
        {name: float for name in table if name == "estimate" or name.endswith(("_low", "_high"))}
    )


def _vote_shares(panel):
    """Shares of wins, ties and losses: the prevalence behind every kappa."""
    counts = count_votes(panel.votes)
    table = pd.DataFrame(
        {
            "vote": [panel.focus, panel.against, "Tie"],
            "count": [counts["wins"], counts["losses"], counts["ties"]],
        }
    )
    return table.assign(share=table["count"] / table["count"].sum())


def kappa_pairs(panel, *, n_resamples, seed):
    """Measure Cohen's kappa of every two raters: with its interval, and with weights."""
    names = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic")
    rows = []
    for rater, second in itertools.combinations(panel.raters, 2):
        results = agreement_results(
            panel.votes[[rater, second]],
            categories=VOTE_VALUES,
            wide=True,
            coefficients=names,
            n_resamples=n_resamples,
            seed=seed,
        )
        kappa, linear, quadratic = (results[name] for name in names)
        low, high = kappa.panel_ci or (None, None)
        rows.append(
            {
                "rater": rater,
                "and rater": second,
                "kappa": kappa.estimate,
                "kappa low": low,
                "kappa high": high,
                "linear": linear.estimate,
                "quadratic": quadratic.estimate,
                "same votes": kappa.percent_agreement,
                "n": kappa.n_items,
                "reason": kappa.reason if low is None else None,
            }
        )
    return pd.DataFrame(rows).round(12)  # a kappa of 0 would be printed as the noise of its sum


def without_each_rater(panel):
    """Measure agreement on the preferences without each rater in turn."""
    coefficients = {
        "fleiss_kappa": "fleiss_kappa",
        "krippendorff_alpha": "krippendorff_alpha_nominal",
    }
    tables = []
    for name, coefficient in coefficients.items():
        table = leave_one_rater_out(panel.votes, coefficient, categories=VOTE_VALUES, wide=True)
        tables.append(table.assign(coefficient=name))
    return pd.concat(tables, ignore_index=True)


# --- validity ------------------------------------------------------------------


def validity(panel, *, permutations=200, n_resamples=10_000, seed=0):
    """Check for what spoils a blind comparison: sides, length, order, copies, texts, guesses."""
    return {
        "position": position_table(panel),
        "length": length_effect(panel, n_resamples=n_resamples, seed=seed),
        "order": order_drift(panel),
        "duplicates": duplicate_raters(panel),
        **content_audit(panel, permutations, seed),
        "guesses": guesses(panel),
    }


def _effect_of_side(panel, raters):
    votes = panel.votes[raters]
    return preference.position_effect(
        votes.to_numpy(), panel.left[raters].where(votes.notna(), False).to_numpy(bool)
    )


def position_table(panel):
    """Measure what the side of an answer does, for every rater and for all."""
    rows = []
    groups = {rater: [rater] for rater in panel.raters}
    for name, raters in [*groups.items(), ("all", panel.raters)]:
        if panel.votes[raters].isna().to_numpy().all():
            rows.append({"rater": name, "p": None, "n": 0})
            continue
        effect = _effect_of_side(panel, raters)
        rows.append(
            {
                "rater": name,
                **bounded("left_choice", effect.left_choice),
                "p": effect.left_test.pvalue,
                "win_rate_left": effect.win_rate_left.estimate,
                "win_rate_right": effect.win_rate_right.estimate,
                **bounded("difference", effect.difference),
                **bounded("side_balanced", effect.side_balanced),
                "n": effect.left_test.n,
                "focus_left": effect.left_share,
            }
        )
    table = pd.DataFrame(rows)
    table.insert(5, "p_holm", pd.Series([*holm(list(table["p"])[:-1]), None], dtype=object))
    return table


def length_effect(panel, *, n_resamples=10_000, seed=0):
    """Ask whether the longer answer wins, and whether one system is the longer."""
    lengths = panel.texts[[panel.focus, panel.against]].map(len)
    if not lengths.to_numpy().any():
        return pd.DataFrame(columns=["what", "share", "share low", "share high", "n"])
    longer = np.sign(lengths[panel.focus] - lengths[panel.against])
    wins = (panel.votes.mean(axis=1) + 1) / 2
    for_longer = (panel.votes.mul(longer, axis=0).mean(axis=1) + 1) / 2
    parts = {
        f"{panel.focus} is the longer answer": (longer + 1) / 2,
        "votes for the longer answer, ties as half": for_longer[longer != 0],
        f"votes for {panel.focus} where it is longer": wins[longer > 0],
        f"votes for {panel.focus} where it is shorter": wins[longer < 0],
    }
    rows = []
    for what, values in parts.items():
        shares = values.dropna()
        mean = ratings.bounded_mean("share", shares, n_resamples=n_resamples, seed=seed)
        rows.append({"what": what, **mean, "n": len(shares)})
    return pd.DataFrame(rows)


def order_drift(panel):
    """Ask whether judgements change from the first to the last row of a form."""
    outcomes = {
        "vote": panel.votes,
        # NaN where nothing was asked.
        "left answer": panel.votes.where(panel.left == True, -panel.votes),  # noqa: E712
        "mean rating": sum(panel.ratings.values()) / len(panel.ratings),
    }
    rows = []
    for (name, values), rater in itertools.product(outcomes.items(), panel.raters):
        pair = pd.DataFrame(
            {"x": panel.positions[rater].astype(float), "y": values[rater]}
        ).dropna()
        row = {"rater": rater, "of": name, "rho": None, "p": None, "n": len(pair)}
        if len(pair) > 2 and pair.nunique().min() > 1:
            correlation = stats.spearmanr(pair["x"], pair["y"])
            row["rho"] = number_or_none(correlation.statistic)
            row["p"] = number_or_none(correlation.pvalue)
        rows.append(row)
    table = pd.DataFrame(rows)
    table.insert(4, "p_holm", holm(list(table["p"])))
    return table


def by_stratum(panel, *, n_resamples=10_000, seed=0):
    """Give the preference in each stratum of items."""
    rows = []
    for stratum, votes in panel.votes.groupby(panel.strata):
        row = {"stratum": stratum, "items": len(votes), **count_votes(votes)}
        if votes.notna().to_numpy().any():
            win_rate = preference.win_rate(
                votes, unit="item", ties="half", n_resamples=n_resamples, seed=seed
            )
            row["net"] = float(preference.item_means(votes).mean())
            row |= bounded("win_rate", win_rate)
        rows.append(row)
    return pd.DataFrame(rows)


def duplicate_raters(panel):
    """Compare all pairs of raters, in case one copied the other."""
    rows = []
    rated = itertools.product(panel.rated_scales, [panel.focus, panel.against])
    all_ratings = pd.concat({key: panel.ratings[key] for key in rated})
    for rater_a, rater_b in itertools.combinations(panel.raters, 2):
        votes = panel.votes[[rater_a, rater_b]].dropna()
        pair = all_ratings[[rater_a, rater_b]]
        is_complete = pair.notna().all(axis=1).groupby(level=-1).all()
        is_equal = (pair[rater_a] == pair[rater_b]).groupby(level=-1).all()[is_complete]
        shares_a = votes[rater_a].value_counts(normalize=True)
        shares_b = votes[rater_b].value_counts(normalize=True)
        rows.append(
            {
                "rater_a": rater_a,
                "rater_b": rater_b,
                "n": len(votes),
                "same_votes": (votes[rater_a] == votes[rater_b]).mean(),
                "expected": float(shares_a.mul(shares_b, fill_value=0).sum()),
                "same_ratings": is_equal.mean(),
                "suspicious": bool(len(is_equal) >= 10 and is_equal.mean() > COPIED),
            }
        )
    columns = ["rater_a", "rater_b", "n", "same_votes", "expected", "same_ratings", "suspicious"]
    return pd.DataFrame(rows, columns=columns)


def consistency(panel):
    """Compare votes with the sums of the ratings of the same judgement."""
    total = np.sign(sum(panel.differences(scale) for scale in panel.rated_scales))
    rows = []
    for rater in panel.raters:
        pair = pd.DataFrame({"vote": panel.votes[rater], "rated": total[rater]}).dropna()
        agree = int((pair["vote"] == pair["rated"]).sum())
        contradict = int((pair["vote"] * pair["rated"] < 0).sum())
        tied = len(pair) - agree - contradict
        rows.append(
            {
                "rater": rater,
                "agree": agree,
                "contradict": contradict,
                "one_tied": tied,
                "n": len(pair),
            }
        )
    return pd.DataFrame(rows)


# --- what came out ------------------------------------------------------------------


def answer_lines(analysis):
    """Answer the question of the study in a few sentences."""
    panel = analysis.panel
    tables = analysis.tables
    these = analysis.line(THESE_RATERS)
    new = analysis.line(NEW_RATERS)
    equivalence = tables["equivalence"].iloc[0]
    naive = tables["preference"].set_index("rater").loc["pooled"]
    alpha = tables["agreement"].set_index("coefficient").loc["krippendorff_alpha"]
    side = tables["position"].set_index("rater").loc["all"]
    items, raters = panel.votes.shape
    n_votes = naive[["wins", "losses", "ties"]].sum()
    cast = f"{items} items, {n_votes} votes, {naive['ties']} ties; chance is 0.5"
    scope = (
        "This assumes that the raters are a random sample with normally distributed preferences."
    )
    if new["reason"] == "fewer_than_three_raters":
        scope = "Fewer than three raters allow no statement about others."
    lines = [
        f"Primary, for these {raters} raters and new items: {panel.focus} wins "
        f"{_bounds(these, 'win_rate', 'low', 'high')} of the votes, ties as half ({cast}); "
        f"{_tested(panel, these)}.",
        f"For new raters as well: {_bounds(new, 'win_rate', 'low', 'high')}; "
        f"{_tested(panel, new)}. {scope}",
        f"The pooled sign test gives p = {naive['p_sign']:.2g}, but it treats all {naive['n']} "
        "untied votes as independent.",
        f"Win rates of {equivalence['range from']:g} to {equivalence['range to']:g} count as no "
        f"difference; equivalence for these raters: {equivalence['verdict']}.",
        "Krippendorff's alpha of the preference is "
        f"{_bounds(alpha, 'estimate', 'panel_low', 'panel_high')} for these raters, "
        f"{bounds_text(alpha['new_panel_low'], alpha['new_panel_high'])} for new ones; "
        "0 is chance, 1 is complete agreement.",
    ]
    if not analysis.votes.registered:
        lines.append(
            "Nothing was registered: "
            "these votes came without a sealed key and its pre-registration."
        )
    lines += _rating_lines(tables["rating_tests"])
    share = _bounds(side, "left_choice", "left_choice low", "left_choice high")
    lines.append(f"The left answer gets {share} of the {side['n']} untied votes.")
    guess = tables["arm_guess"].iloc[0]
    if guess["reason"] is None:
        share = _bounds(guess, "accuracy", "accuracy low", "accuracy high")
        lines.append(
            f"A classifier tells the systems apart by their text for {share} of {guess['n']} items."
        )
    return lines


def _rating_lines(rating_tests):
    """Say how far the ratings differ, for these raters and for new ones, a sentence a scale."""
    lines = []
    for row in rating_tests[rating_tests["n"] > 0].to_dict("records"):
        these = bounds_text(row["difference low"], row["difference high"], "+z.2f")
        new = bounds_text(row["both low"], row["both high"], "+z.2f")
        lines.append(
            f"{row['scale'].capitalize()} differs by {row['difference']:+z.2f} {these} points, "
            f"for new raters too {new} ({row['n']} items)."
        )
    return lines


def _bounds(row, value, low, high):
    if pd.isna(row[value]):
        return f"undefined ({reason_text(row['reason'])})"
    return f"{row[value]:.3f} {bounds_text(row[low], row[high])}"


def _tested(panel, row):
    if pd.isna(row["p"]):
        return f"no test ({reason_text(row['reason'])}): {UNDECIDED}"
    if row["verdict"] == UNDECIDED:
        return f"p = {row['p']:.2g}: {UNDECIDED}"
    winner = panel.focus if row["win_rate"] > 0.5 else panel.against
    return f"p = {row['p']:.2g}: {winner} is preferred"
