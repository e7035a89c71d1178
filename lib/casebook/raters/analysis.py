"""The whole analysis of a panel, as tables."""

from dataclasses import dataclass, field

import pandas as pd

from casebook.inference.position import position_effect
from casebook.inference.preference import item_tests, win_tie_loss_table
from casebook.inference.preference_rates import preference_intervals
from casebook.raters import agreement_tables as agreement
from casebook.raters import checks, likert_tests, preference_tables, rater_checks
from casebook.raters.blinding_tables import content_audit, guesses
from casebook.raters.defects import defect_table
from casebook.raters.panel import Panel, panel_of
from casebook.raters.unblinding import Votes

NOT_ASKED = [{"model": "mixed", "reason": "not_asked"}]


@dataclass(frozen=True)
class Options:
    """How an analysis is made.

    Attributes
    ----------
    margin : (float, float)
        Win rates that count as no difference; fixed before the votes are seen.
    alpha : float
        Level of the primary test.
    n_boot, n_resamples, permutations : int
        Bootstrap resamples, random sign vectors, exchanges of the content audit.
    seed : int
        Of all of them.
    mixed : bool
        Whether to fit the mixed models, the slowest part.
    """

    margin: tuple = (0.45, 0.55)
    alpha: float = 0.05
    n_boot: int = 10_000
    n_resamples: int = 100_000
    permutations: int = 200
    seed: int = 0
    mixed: bool = True


@dataclass(frozen=True, eq=False)
class Analysis:
    """What came out.

    Attributes
    ----------
    votes : casebook.raters.unblinding.Votes
        The judgements.
    panel : casebook.raters.panel.Panel
        The same as matrices.
    tables : dict of pandas.DataFrame
        By name; see `analyse`.
    """

    votes: Votes
    panel: Panel
    tables: dict = field(repr=False)

    def win_rate(self, unit, ties="drop"):
        """Give the row of one interval of the win rate."""
        table = self.tables["intervals"]
        chosen = (table["unit"] == unit) & (table["ties"] == ties)
        return table[chosen].iloc[0]

    def side(self):
        """Give the effect of the side over all raters."""
        votes = self.panel.votes
        sides = self.panel.left.where(votes.notna(), False).astype(bool)
        return position_effect(votes.to_numpy(), sides.to_numpy())

    def primary(self):
        """Give the row of the primary test, the sign-flip over items."""
        return self.tables["item_tests"].set_index("test").loc["sign-flip"]


def analyse(votes, other=None, options=None):
    """Analyse the judgements of a panel on two systems.

    Parameters
    ----------
    votes : casebook.raters.unblinding.Votes
        All judgements.
    other : str, optional
        System to hold against the focus system, if there are more than two.
    options : Options, optional
        How.

    Returns
    -------
    Analysis
        Tables ``preference`` (per rater and pooled), ``intervals`` (the win rate, four
        units, ties dropped and as half), ``item_tests``, ``dependence``,
        ``equivalence``, ``strengths`` and ``side_test`` (Davidson), ``models`` (mixed
        and marginal), ``power`` (votes that other win rates need), ``agreement``,
        ``vote_shares``, ``pairwise``, ``leave_one_out``, ``rating_means``,
        ``rating_counts``, ``rating_tests``, ``rater_rating_tests``,
        ``rating_agreement``, ``rating_models``, ``position``, ``length``, ``order``,
        ``duplicates``, ``consistency``, ``strata``, ``correlation``, ``arm_guess``,
        ``telling_words``, ``guesses`` and ``defects``.

    Raises
    ------
    InputError
        If there is no judgement, or the other system must be named.
    """
    options = options or Options()
    panel = panel_of(votes, other)
    boot = {"n_boot": options.n_boot, "seed": options.seed}
    tables = {
        **_preference(votes, panel, options, boot),
        **_agreement(panel, options),
        **_ratings(panel, options, boot),
        **_validity(panel, options, boot),
        "defects": defect_table(votes.defects),
    }
    return Analysis(votes, panel, tables)


def _preference(votes, panel, options, boot):
    few = {"n_boot": min(options.n_boot, 2_000), "seed": options.seed}
    fitted, test = preference_tables.strengths(votes, **few)
    dependence = preference_tables.dependence(panel, **few)
    flips = {"n_resamples": options.n_resamples, "seed": options.seed}
    held = {"alpha": options.alpha, **boot}
    skipped = pd.DataFrame(NOT_ASKED)
    return {
        "preference": win_tie_loss_table(panel.votes),
        "intervals": preference_intervals(panel.votes, **boot),
        "item_tests": item_tests(panel.votes, **flips),
        "dependence": dependence,
        "equivalence": preference_tables.equivalence_row(panel, options.margin, **held),
        "strengths": fitted,
        "side_test": preference_tables.side_test(test, int(fitted["n"].iloc[0])),
        "models": preference_tables.models(panel) if options.mixed else skipped,
        "power": preference_tables.power(dependence, options.alpha),
    }


def _agreement(panel, options):
    boot = {"n_boot": min(options.n_boot, 1_000), "seed": options.seed}
    return {
        "agreement": agreement.vote_agreement(panel, **boot),
        "vote_shares": agreement.vote_shares(panel),
        "pairwise": agreement.pairwise_agreement(panel, **boot),
        "leave_one_out": agreement.without_each_rater(panel),
        "rating_agreement": agreement.rating_agreement(panel, **boot),
    }


def _ratings(panel, options, boot):
    flips = {"n_resamples": options.n_resamples}
    skipped = pd.DataFrame(NOT_ASKED)
    return {
        "rating_means": likert_tests.rating_means(panel, **boot),
        "rating_counts": likert_tests.rating_counts(panel),
        "rating_tests": likert_tests.rating_tests(panel, **boot, **flips),
        "rater_rating_tests": likert_tests.rater_rating_tests(panel),
        "rating_models": likert_tests.models(panel) if options.mixed else skipped,
        "correlation": likert_tests.preference_rating_correlation(
            panel, n_boot=min(options.n_boot, 2_000), seed=options.seed
        ),
    }


def _validity(panel, options, boot):
    return {
        "position": checks.position_table(panel),
        "length": checks.length_effect(panel, **boot),
        "order": checks.order_drift(panel),
        "duplicates": rater_checks.duplicate_raters(panel),
        "consistency": rater_checks.consistency(panel),
        "strata": checks.by_stratum(panel, **boot),
        **content_audit(panel, options.permutations, options.seed),
        "guesses": guesses(panel),
    }
