"""The whole analysis of a panel, as tables."""

from dataclasses import dataclass, field

from casebook.inference.position import position_effect
from casebook.inference.preference import item_tests, preference_lines, win_tie_loss_table
from casebook.inference.preference_rates import preference_intervals
from casebook.raters import agreement_tables as agreement
from casebook.raters import checks, likert_tests, preference_tables, rater_checks
from casebook.raters.blinding_tables import content_audit, guesses
from casebook.raters.defects import defect_table
from casebook.raters.panel import Panel, panel_of
from casebook.raters.unblinding import Votes


@dataclass(frozen=True)
class Options:
    """How an analysis is made."""

    margin: tuple = (0.45, 0.55)
    alpha: float = 0.05
    resamples: int = 10_000
    permutations: int = 200
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Analysis:
    """What came out."""

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

    def line(self, scope):
        """Give the row of the win rate, ties as half, for these or for new raters."""
        return self.tables["lines"].set_index("scope").loc[scope]


def analyse(votes, other=None, options=None):
    """Analyse the judgements of a panel on two systems."""
    options = options or Options()
    panel = panel_of(votes, other)
    boot = {"n_boot": options.resamples, "seed": options.seed}
    tables = {
        **_preference(panel, options, boot),
        **_agreement(panel, boot),
        **_ratings(panel, boot),
        **_validity(panel, options, boot),
        "defects": defect_table(votes.defects),
    }
    return Analysis(votes, panel, tables)


def _preference(panel, options, boot):
    dependence = preference_tables.dependence(panel, **boot)
    flips = {"n_resamples": options.resamples, "seed": options.seed}
    level = {"level": 1 - options.alpha}
    held = {"alpha": options.alpha, **boot}
    return {
        "preference": win_tie_loss_table(panel.votes),
        "lines": preference_lines(panel.votes, **level, **flips),
        "intervals": preference_intervals(panel.votes, **boot),
        "item_tests": item_tests(panel.votes, **flips),
        "dependence": dependence,
        "equivalence": preference_tables.equivalence_row(panel, options.margin, **held),
        "power": preference_tables.power(dependence, options.alpha),
    }


def _agreement(panel, boot):
    return {
        "agreement": agreement.vote_agreement(panel, **boot),
        "vote_shares": agreement.vote_shares(panel),
        "pairwise": agreement.pairwise_agreement(panel, **boot),
        "leave_one_out": agreement.without_each_rater(panel),
        "rating_agreement": agreement.rating_agreement(panel, **boot),
    }


def _ratings(panel, boot):
    return {
        "rating_means": likert_tests.rating_means(panel, **boot),
        "rating_counts": likert_tests.rating_counts(panel),
        "rating_tests": likert_tests.rating_tests(panel, **boot),
        "rater_rating_tests": likert_tests.rater_rating_tests(panel),
        "correlation": likert_tests.preference_rating_correlation(panel, **boot),
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
