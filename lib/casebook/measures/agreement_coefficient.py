"""What every agreement coefficient can do."""

from abc import ABC, abstractmethod

import numpy as np


class Coefficient(ABC):
    """One coefficient on one panel, for any weighting of the items."""

    lowest = -np.inf
    nested = False

    def __init__(self, panel):
        self.panel = panel

    @classmethod
    def usable(cls, panel):
        """Which items the coefficient can use, shape [items]."""
        return panel.per_item > 0

    def reason(self):
        """Say why the coefficient is undefined on this panel, or None."""
        if self.panel.n_raters < 2:
            return "fewer_than_two_raters"
        if not (self.panel.per_item >= 2).any():
            return "no_pairable_items"
        return None if self.panel.vary else "no_variation"

    @abstractmethod
    def values(self, weights):
        """Give the coefficient under item weights."""

    def influence(self):
        """Give the linearised value of each item, whose mean is the coefficient."""
        return None

    def formula(self, settings):
        """Give interval and test of the coefficient's own theory, if it has one."""
        return None

    def agreement(self):
        """Give observed and chance agreement, or None twice."""
        return None, None


class OfCompleteItems(Coefficient):
    """A coefficient of the items that every rater rated, at least two of them."""

    @classmethod
    def usable(cls, panel):
        """Items that every rater rated."""
        return panel.complete

    def reason(self):
        """Say why it is undefined: also with fewer than two complete items."""
        if self.panel.codes is None:
            return "raters_unknown"
        if self.panel.n_raters < 2:
            return "fewer_than_two_raters"
        if self.panel.complete.sum() < 2:
            return "fewer_than_two_complete_items"
        return super().reason()
