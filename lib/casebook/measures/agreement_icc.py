"""Intraclass correlations of Shrout and Fleiss (1979), with F tests and intervals."""

import numpy as np
from scipy import special

from casebook.measures.agreement_coefficient import OfCompleteItems

FORMS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")


class IntraclassCorrelation(OfCompleteItems):
    """Share of the variance of ratings that lies between the items."""

    def __init__(self, panel, form="2,1"):
        super().__init__(panel)
        self.model, self.average = int(form[0]), form[2] == "k"
        self.nested = self.model == 1
        complete = panel.complete[:, None]
        ratings = np.zeros((panel.n_items, panel.n_raters))
        if complete.any():
            ratings = np.where(complete, panel.values[panel.codes], 0.0)
            ratings -= np.where(complete, ratings[complete[:, 0]].mean(), 0.0)
        squares, sums = (ratings**2).sum(axis=1), ratings.sum(axis=1)
        self.features = np.column_stack([complete, squares, sums**2, ratings])

    def values(self, weights):
        """Give the correlation under item weights; see `Coefficient.values`."""
        n, between, within, raters, error = self._mean_squares(weights @ self.features)
        k = self.panel.n_raters
        noise = within if self.model == 1 else error
        below = between + (0 if self.average else k - 1) * noise
        if self.model == 2:
            below = below + (raters - error) * (1 if self.average else k) / n
        with np.errstate(invalid="ignore", divide="ignore"):
            value = (between - noise) / below
        # Rounding may leave a trace of variance where there is none.
        enough = below > 1e-12 * (between + within)
        return np.where(enough & np.isfinite(value), value, np.nan)

    def _mean_squares(self, totals):
        """Items, and mean squares between items, within, of raters and of error."""
        k = self.panel.n_raters
        (n, squares, sums), columns = totals[:, :3].T, totals[:, 3:]
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = columns.sum(axis=1) ** 2 / (n * k)
            ss_items = sums / k - centre
            ss_raters = (columns**2).sum(axis=1) / n - centre
            ss_within = squares - sums / k
            ss_error = np.maximum(ss_within - ss_raters, 0.0)
            return (
                n,
                ss_items / (n - 1),
                ss_within / (n * (k - 1)),
                ss_raters / (k - 1),
                ss_error / ((n - 1) * (k - 1)),
            )

    def formula(self, settings):
        """Give the F test and interval; see `Coefficient.formula`."""
        ones = np.ones((1, self.panel.n_items))
        squares = self._mean_squares(ones @ self.features)
        n, between, within, raters, error = (float(s[0]) for s in squares)
        k, noise = self.panel.n_raters, within if self.model == 1 else error
        df = (n - 1, n * (k - 1) if self.model == 1 else (n - 1) * (k - 1))
        if noise <= 1e-12 * between:
            return {}
        ratio = between / noise
        if self.model == 2:
            bounds = self._two_way_bounds(between, raters, error, settings)
        else:
            bounds = self._one_way_bounds(ratio, df, settings)
        return {
            "interval": bounds if np.isfinite(bounds).all() else None,
            "statistic": ("F", ratio, df),
            "p_greater": float(special.fdtrc(*df, ratio)),
        }

    def _one_way_bounds(self, ratio, df, settings):
        upper = settings.tails[1]
        low = ratio / special.fdtri(df[0], df[1], upper)
        high = ratio * special.fdtri(df[1], df[0], upper)
        if self.average:
            return float(1 - 1 / low), float(1 - 1 / high)
        k = self.panel.n_raters
        return float((low - 1) / (low + k - 1)), float((high - 1) / (high + k - 1))

    def _two_way_bounds(self, between, raters, error, settings):
        n, k, upper = self.panel.n_items, self.panel.n_raters, settings.tails[1]
        spread = k * (raters - error) / n
        icc = (between - error) / (between + (k - 1) * error + spread)
        a, b = k * icc / (n * (1 - icc)), 1 + k * icc * (n - 1) / (n * (1 - icc))
        top = (a * raters + b * error) ** 2
        parts = (a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
        df = top / parts if parts > 0 else np.nan
        f_low = special.fdtri(n - 1, df, upper)
        f_high = special.fdtri(df, n - 1, upper)
        common = k * raters + (k * n - k - n) * error
        with np.errstate(invalid="ignore", divide="ignore"):
            low = n * (between - f_low * error) / (f_low * common + n * between)
            high = n * (f_high * between - error) / (common + n * f_high * between)
            if self.average:
                low, high = (k * r / (1 + (k - 1) * r) for r in (low, high))
        return float(low), float(high)
