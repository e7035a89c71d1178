"""The analysis of a panel that compared two systems: its tables, and what they say in sentences."""

import itertools
from collections import namedtuple

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.frames import estimates
from casebook.measures.agreement import agreement_table
from casebook.raters import preference, ratings
from casebook.raters.blinding import content_audit, guesses
from casebook.raters.layouts import PAIRED_SCALES
from casebook.raters.preference import MARGIN, NEW_RATERS, THESE_RATERS
from casebook.raters.read import defect_table
from casebook.stats.intervals import bounds_text
from casebook.tables import reason_text
from casebook.verdicts import BETTER, NOT_MEASURED, WORSE

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
KAPPAS = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic")
VOTE_VALUES = (-1, 0, 1)
DEFAULT_ALPHA = 0.05  # of the tests, unless another one was registered


#: What came out: the votes, the panel, and the tables by name.
Analysis = namedtuple("Analysis", "votes panel tables")
_PANEL = namedtuple("_PANEL", "focus against votes left positions ratings texts rows")


class ComparisonPanel(_PANEL):
    """Judgements of a panel on two systems, arranged as frames of items x raters.

    Votes are 1 for the focus, 0 for a tie, -1 or NaN; ``left`` says whether the focus was on the
    left, ``positions`` where in the rater's form; ``ratings`` are such frames by (scale, system).
    """

    @property
    def raters(self):
        return list(self.votes.columns)

    # Ratings of the focus system minus those of the other one.
    def differences(self, scale):
        return self.ratings[scale, self.focus] - self.ratings[scale, self.against]

    # A row per rating: scale, system, item, rater, rating.
    def long_ratings(self):
        table = pd.concat(self.ratings, names=["scale", "system", "item"])
        return table.stack().rename("rating").dropna().reset_index()  # noqa: PD013


def panel_of(votes, against=None):
    """The judgements on the focus and one other system, arranged."""
    others = [system for system in votes.systems if system != votes.focus]
    if against is None and len(others) == 1:
        against = others[0]
    if against not in others:
        problem = f"against: {against!r}: say which system {votes.focus} is held against"
        raise InputError(f"{problem}: choose from {', '.join(others)}")
    pair = [votes.focus, against]
    rows = votes.frame[votes.frame[["left", "right"]].isin(pair).all(axis=1)]
    if rows.empty:
        raise InputError(f"there is no judgement on {' and '.join(pair)}")
    is_left = rows["left"] == votes.focus
    values = {votes.focus: 1.0, against: -1.0, "Tie": 0.0}
    rows = rows.assign(focus_left=is_left, vote=rows["choice"].map(values))
    index = pd.MultiIndex.from_frame(rows[["item_id", "rater"]], names=["item", "rater"])
    raters = [rater for rater in votes.raters if rater in set(rows["rater"])]

    def matrix(cells):
        return cells.set_axis(index).unstack()[raters]  # noqa: PD010

    of_scales = {}
    texts = pd.DataFrame({"prompt": rows["prompt"]})
    for scale, system in itertools.product(PAIRED_SCALES, pair):
        is_there = is_left == (system == votes.focus)
        left = rows[f"{scale}_left"].astype(float)
        of_scales[scale, system] = matrix(left.where(is_there, rows[f"{scale}_right"]))
        texts[system] = rows["text_left"].where(is_there, rows["text_right"])
    texts = texts.groupby(rows["item_id"]).first()
    matrices = [matrix(rows[name]) for name in ("vote", "focus_left", "place")]
    return ComparisonPanel(*pair, *matrices, of_scales, texts, rows)


def analyse(votes, against=None, *, alpha=None, n_resamples=10_000, permutations=200, seed=0):
    """Analyse the judgements of a panel on two systems.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        As `casebook.raters.unblinding.open_forms` gives them.
    against : str, optional
        System to compare the focus with; needed if there are several.
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
        win_rates, intervals, dependence; agreement, cohen_kappa, rating_agreement; rating_means,
        rating_counts, rating_tests, rater_rating_tests, correlation; position, length,
        arm_guess, telling_words, guesses; defects.
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
    level = 1 - (alpha or votes.alpha or DEFAULT_ALPHA)
    margin = MARGIN if votes.margin is None else votes.margin
    draws = {"n_resamples": n_resamples, "seed": seed}
    tables = {
        "win_rates": preference.win_rates(panel.votes, level=level, margin=margin, **draws),
        "intervals": preference.preference_intervals(panel.votes, **draws),
        "dependence": preference.dependence(panel.votes, **draws),
        "agreement": vote_agreement(panel.votes, VOTE_COEFFICIENTS, **draws),
        "cohen_kappa": kappa_pairs(panel, **draws),
    }
    tables |= ratings.rating_tables(panel, **draws)
    tables |= validity(panel, permutations=permutations, **draws)
    tables["defects"] = defect_table(votes.defects)
    return Analysis(votes, panel, tables)


# Agreement on the preferences by several coefficients.
def vote_agreement(votes, coefficients, *, n_resamples, seed):
    options = {"categories": VOTE_VALUES, "wide": True, "n_resamples": n_resamples, "seed": seed}
    table = agreement_table(votes, "nominal", coefficients=coefficients, **options)
    bounds = [name for name in table if name.endswith(("_low", "_high"))]
    return table.astype(dict.fromkeys(["estimate", *bounds], float))


# Cohen's kappa of every two raters, with its interval, and with weights.
def kappa_pairs(panel, *, n_resamples, seed):
    columns = ["rater", "and rater", "coefficient", "estimate", "panel_low", "panel_high"]
    columns += ["percent_agreement", "n_items", "reason"]
    tables = [pd.DataFrame(columns=columns)]
    for pair in itertools.combinations(panel.raters, 2):
        table = vote_agreement(panel.votes[list(pair)], KAPPAS, n_resamples=n_resamples, seed=seed)
        table[columns[:2]] = pair
        tables.append(table[columns])
    # A kappa of 0 would be printed as the noise of its sum.
    return pd.concat(tables[1:] or tables, ignore_index=True).round(12)


# --- validity


# What spoils a blind comparison: sides, length, texts, guesses.
def validity(panel, *, permutations=200, n_resamples=10_000, seed=0):
    return {
        "position": position_table(panel),
        "length": length_effect(panel, n_resamples=n_resamples, seed=seed),
        **content_audit(panel, permutations, seed),
        "guesses": guesses(panel),
    }


# What the side of an answer does, for every rater and for all.
def position_table(panel):
    effects = {"all": preference.position_effect(panel.votes, panel.left)}
    for rater in panel.raters:
        effects[rater] = preference.position_effect(panel.votes[rater], panel.left[rater])
    return pd.concat(effects, names=["rater", None]).reset_index("rater").reset_index(drop=True)


def length_effect(panel, *, n_resamples=10_000, seed=0):
    """Whether the longer answer wins, and whether one system is the longer."""
    lengths = panel.texts[[panel.focus, panel.against]].map(len)
    longer = np.sign(lengths[panel.focus] - lengths[panel.against])
    wins = (panel.votes.mean(axis=1) + 1) / 2
    for_longer = (panel.votes.mul(longer, axis=0).mean(axis=1) + 1) / 2
    parts = {
        f"{panel.focus} is the longer answer": (longer + 1) / 2,
        "votes for the longer answer, ties as half": for_longer[longer != 0],
        f"votes for {panel.focus} where it is longer": wins[longer > 0],
        f"votes for {panel.focus} where it is shorter": wins[longer < 0],
    }
    if not lengths.to_numpy().any():
        parts = {}
    tables = [pd.DataFrame(columns=["what", "value", "low", "high", "n"])]
    for what, values in parts.items():
        shares = pd.DataFrame({what: values.dropna()})
        table = estimates(shares, n_resamples=n_resamples, seed=seed)
        tables.append(table.rename(columns={"system": "what"})[list(tables[0])])
    return pd.concat(tables[1:] or tables, ignore_index=True)


# --- what came out


def answer_lines(analysis):
    """Answer the question of the study in a few sentences."""
    panel = analysis.panel
    tables = analysis.tables
    rates = tables["win_rates"].set_index("who")
    these = rates.loc[THESE_RATERS]
    alpha = tables["agreement"].set_index("coefficient").loc["krippendorff_alpha"]
    items, raters = panel.votes.shape
    cast = f"{items} items, {these['n']} votes, {these['ties']} ties; chance is 0.5"
    new_panel = bounds_text(alpha["new_panel_low"], alpha["new_panel_high"])
    lines = [
        f"Primary, for these {raters} raters and new items: {panel.focus} wins "
        f"{_bounds(these, 'value')} of the votes, ties as half ({cast}); {_tested(panel, these)}.",
        f"For new raters as well: {_bounds(rates.loc[NEW_RATERS], 'value')}; "
        f"{_tested(panel, rates.loc[NEW_RATERS])}. "
        "This assumes that the raters are a random sample with normally distributed preferences.",
        f"Krippendorff's alpha of the preference is {_bounds(alpha, 'estimate', 'panel_')} for "
        f"these raters, {new_panel} for new ones; 0 is chance, 1 is complete agreement.",
    ]
    if not analysis.votes.registered:
        lines.append(
            "Nothing was registered: "
            "these votes came without a sealed key and its pre-registration."
        )
    rated = tables["rating_tests"]
    for row in rated[rated["n"] > 0].to_dict("records"):
        of_these = bounds_text(row["difference low"], row["difference high"], "+z.2f")
        of_new = bounds_text(row["both low"], row["both high"], "+z.2f")
        lines.append(
            f"{row['scale'].capitalize()} differs by {row['difference']:+z.2f} {of_these} points, "
            f"for new raters too {of_new} ({row['n']} items)."
        )
    side = tables["position"].set_index("rater").loc["all"].iloc[0]
    lines.append(f"The left answer gets {_bounds(side, 'value')} of {side['n']} untied votes.")
    return lines


def _bounds(row, value, panel=""):
    if pd.isna(row[value]):
        return f"undefined ({reason_text(row['reason'])})"
    return f"{row[value]:.3f} {bounds_text(row[f'{panel}low'], row[f'{panel}high'])}"


def _tested(panel, row):
    if pd.isna(row["p"]):
        return f"no test ({reason_text(row['reason'])}): {NOT_MEASURED}"
    winner = {BETTER: panel.focus, WORSE: panel.against}.get(row["verdict"])
    said = f"{winner} is preferred" if winner else row["verdict"]
    return f"p = {row['p']:.2g}: {said}"
