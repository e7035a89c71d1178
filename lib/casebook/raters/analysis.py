"""The analysis of a panel that compared two systems: its tables, and what they say in sentences."""

import itertools
from collections import namedtuple

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.frames import estimates
from casebook.measures.agreement import agreement_table
from casebook.raters import preference, ratings
from casebook.raters.blinding import guess_arms
from casebook.raters.layouts import PAIRED_SCALES
from casebook.raters.preference import MARGIN
from casebook.raters.read import defect_table, read_forms
from casebook.raters.unblinding import open_forms
from casebook.scores import Scores
from casebook.sentences import sentence

VOTE_COEFFICIENTS = (
    "percent_agreement",
    "fleiss_kappa",
    "conger_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "krippendorff_alpha",
    "krippendorff_alpha_ordinal",
    "krippendorff_alpha_interval",
    "gwet_ac2",
)
KAPPAS = ("cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic")
KAPPA_COLUMNS = [
    *("rater", "and rater", "coefficient", "estimate", "panel_low", "panel_high"),
    *("percent_agreement", "n_items", "reason"),
]


#: What came out: the votes, the panel, and the tables by name.
Analysis = namedtuple("Analysis", "votes panel tables")


class ComparisonPanel(
    namedtuple("ComparisonPanel", "focus against votes left ratings texts rows")
):
    """Judgements of a panel on two systems, arranged as frames of items x raters.

    Votes are 1 for the focus, 0 for a tie, -1 or NaN; ``left`` says whether the focus was on the
    left; ``ratings`` are such frames by (scale, system).
    """

    def differences(self, scale):
        """Ratings of the focus system minus those of the other one."""
        return self.ratings[scale, self.focus] - self.ratings[scale, self.against]


def votes_of(paths, columns=None, key=None, side_column=None):
    """Votes of returned forms, with the systems behind them."""
    return open_forms(read_forms(paths, columns), key, side_column)


def panel_of(votes, against=None):
    """The judgements on the focus and one other system, arranged."""
    focus = votes.focus
    others = [system for system in votes.systems if system != focus]
    if against is None and len(others) == 1:
        against = others[0]
    if against not in others:
        problem = f"against: {against!r}: say which system {focus} is held against"
        raise InputError(f"{problem}: choose from {', '.join(others)}")
    pair = [focus, against]
    rows = votes.frame[votes.frame[["left", "right"]].isin(pair).all(axis=1)]
    if rows.empty:
        raise InputError(f"there is no judgement on {focus} and {against}")
    values = {focus: 1.0, against: -1.0, "Tie": 0.0}
    cells = rows.set_index(["item_id", "rater"])
    raters = [rater for rater in votes.raters if rater in set(rows["rater"])]

    def matrix(column):
        return column.unstack("rater")[raters].rename_axis("item")  # noqa: PD010

    def of_system(system, name):
        is_left = cells["left"] == system
        return cells[f"{name}_left"].where(is_left, cells[f"{name}_right"])

    ratings = {}
    texts = {}
    for system in pair:
        texts[system] = of_system(system, "text").groupby(level="item_id").first()
        for scale in PAIRED_SCALES:
            ratings[scale, system] = matrix(of_system(system, scale).astype(float))
    left = matrix(cells["left"] == focus)
    matrices = matrix(cells["choice"].map(values)), left, ratings
    return ComparisonPanel(focus, against, *matrices, pd.DataFrame(texts), rows)


def analyse(votes, against=None, *, n_resamples=10_000, permutations=200, seed=0):
    """Analyse the judgements of a panel on two systems.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        As `casebook.raters.unblinding.open_forms` gives them.
    against : str, optional
        System to compare the focus with; needed if there are several.
    n_resamples, permutations : int
        Bootstrap draws, and exchanges of the labels in the audit of texts.
    seed : int, default 0
        Seed of all draws.

    Returns
    -------
    Analysis
        ``panel`` (votes and ratings as frames of items x raters) and ``tables``, a dict of frames:
        win_rates; agreement, cohen_kappa, rating_agreement; rating_means, rating_tests; position,
        length, arm_guess; defects.
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
    >>> print(answer_lines(analysis)[0][:49])
    Win rate (ties as half) of RAG is above 0.5: 0.62
    >>> agreement = analysis.tables["agreement"].set_index("coefficient")
    >>> round(float(agreement.loc["fleiss_kappa", "estimate"]), 3)
    0.13
    """
    panel = panel_of(votes, against)
    # The level of the tests is .95, unless another one was registered.
    level = 1 - (votes.alpha or 0.05)
    margin = votes.margin or MARGIN
    draws = {"n_resamples": n_resamples, "seed": seed}
    tables = {
        "win_rates": preference.win_rates(
            panel.votes, level=level, margin=margin, **draws
        ),
        "agreement": vote_agreement(panel.votes, VOTE_COEFFICIENTS, **draws),
        "cohen_kappa": kappa_pairs(panel, **draws),
    }
    tables |= ratings.rating_tables(panel, **draws)
    tables |= validity(panel, permutations=permutations, **draws)
    tables["defects"] = defect_table(votes.defects)
    return Analysis(votes, panel, tables)


def vote_agreement(votes, coefficients, **draws):
    """Agreement on the preferences by several coefficients."""
    table = agreement_table(
        votes,
        "nominal",
        categories=(-1, 0, 1),
        wide=True,
        coefficients=coefficients,
        **draws,
    )
    bounds = [name for name in table if name.endswith(("_low", "_high"))]
    return table.astype(dict.fromkeys(["estimate", *bounds], float))


def kappa_pairs(panel, **draws):
    """Cohen's kappa of every two raters, with its interval, and with weights."""
    tables = []
    for pair in itertools.combinations(panel.votes, 2):
        table = vote_agreement(panel.votes[list(pair)], KAPPAS, **draws)
        table[["rater", "and rater"]] = pair
        tables.append(table)
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return table.reindex(columns=KAPPA_COLUMNS)


# --- validity


def validity(panel, *, permutations=200, n_resamples=10_000, seed=0):
    """What spoils a blind comparison: sides, length, texts."""
    return {
        "position": preference.position_effect(panel.votes, panel.left),
        "length": length_effect(panel, n_resamples=n_resamples, seed=seed),
        "arm_guess": guess_arms(
            panel.texts[panel.focus],
            panel.texts[panel.against],
            n_permutations=permutations,
            seed=seed,
        ),
    }


def length_effect(panel, *, n_resamples=10_000, seed=0):
    """Votes for the longer answer, ties as half, over the items whose answers differ in length."""
    lengths = panel.texts.map(len)
    longer = np.sign(lengths[panel.focus] - lengths[panel.against])
    votes = panel.votes.mul(longer, axis=0).mean(axis=1)
    shares = ((votes + 1) / 2)[longer != 0].dropna()
    shares = shares.to_frame("votes for the longer answer, ties as half")
    table = estimates(shares, n_resamples=n_resamples, seed=seed)
    return table.rename(columns={"system": "what"})[
        ["what", "value", "low", "high", "n"]
    ]


# --- what came out


def preference_rows(analysis, scores):
    """Win rates as rows of a chapter: of each rater, of these and of new ones."""
    panel = analysis.panel
    rates = analysis.tables["win_rates"].rename(columns={"who": "part"})
    pair = {"system": panel.focus, "against": panel.against}
    margin = analysis.votes.margin or MARGIN
    rows = scores.described(rates.assign(**pair, null=0.5, margin=margin))
    return rows.assign(level=rows["value"], baseline=1 - rows["value"])


def answer_lines(analysis):
    """The win rates for these raters and for new ones in sentences."""
    scores = Scores(
        analysis.panel.votes,
        "win rate (ties as half)",
        "forms",
        unit="votes",
        cluster="questions",
    )
    rows = preference_rows(analysis, scores).tail(2)
    lines = [sentence(row) for _, row in rows.iterrows()]
    if not analysis.votes.registered:
        lines.append("Nothing was registered: these votes came without a sealed key.")
    return lines
