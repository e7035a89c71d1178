"""Tables of outcomes with their bootstrap: what every score of verdicts is made of."""

from dataclasses import replace

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.measures import confusion, verdict_labels
from casebook.measures.verdict_labels import GOLD, OUTCOMES
from casebook.stats import intervals as counts
from casebook.stats.intervals import cluster_codes, wilson

UNKNOWN = "unknown"
_SHAPE = (-1, len(GOLD), len(OUTCOMES))


def members(values, n):
    """Yield each group's name and rows, in order of first occurrence."""
    if len(values) != n:
        raise InputError(f"a grouping has {len(values)} entries for {n} rows")
    values = verdict_labels.as_objects(values)
    values[pd.isna(values)] = UNKNOWN
    codes, names = verdict_labels.factorise(values)
    for code, name in enumerate(names):
        yield str(name), np.flatnonzero(codes == code)


class VerdictScorer:
    """Measures with intervals under one set of policies."""

    def __init__(self, gold, clusters, policy, options):
        self.gold, self.policy, self.options = gold, policy, options
        self.clusters = clusters
        if clusters is not None:
            self.clusters = cluster_codes(clusters, len(gold))

    def units(self, cells, rows=slice(None)):
        """Count the cells of some rows, cluster by cluster if there are any."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return counts.unit_counts(cells[rows], confusion.CELLS, clusters)

    def resampled(self, units):
        """Draw bootstrap tables of some units."""
        options = {name: self.options[name] for name in ("n_boot", "seed")}
        return counts.resample_tables(units, **options)

    def measured(self, units, draws, **changes):
        """Give every measure of some units with its interval."""
        policy = self.policy | changes
        flat, spread = (confusion.collapse(np.reshape(counted, _SHAPE), **policy) for counted in (units.table, draws))
        return self._intervals(flat[0], spread, units.n_units)

    def under_policies(self, units, draws):
        """Give every measure under each policy for answers of no class."""
        names = confusion.OFF_LABEL_POLICIES
        return {name: self.measured(units, draws, off_label=name) for name in names}

    def _intervals(self, flat, draws, n_units=0):
        values, spread = confusion.formulas(flat), confusion.formulas(draws)
        # Expected counts of a blind baseline are no whole numbers: no Wilson interval.
        shares = _shares(flat) if flat.dtype.kind == "i" else {}
        return {
            name: self._share(shares[name], spread[name], n_units)
            if name in shares and shares[name][1]
            else self._statistic(name, values[name], spread[name], round(flat.sum()))
            for name in values
        }

    def _statistic(self, name, value, draws, n):
        level, reason = self.options["level"], confusion.REASONS[name]
        return counts.percentile_interval(value, draws, n, level=level, reason=reason)

    def _share(self, share, draws, n_units):
        """Wilson's interval, or the bootstrap's where rows belong together."""
        level, (hits, n) = self.options["level"], share
        if self.clusters is None:
            return wilson(hits, n, level)
        if hits in (0, n):
            clusters = min(n, n_units)
            found = wilson(clusters if hits else 0, clusters, level)
            return replace(found, n=n, method="wilson-clusters")
        return counts.percentile_interval(hits / n, draws, n, level=level)

    def grouped(self, cells, groups):
        """Give the primary measures of every group of every grouping."""
        return {name: self._groups(cells, groups[name]) for name in groups}

    def _groups(self, cells, values):
        found = {}
        for name, rows in members(values, len(cells)):
            units = self.units(cells, rows)
            found[name] = self.measured(units, self.resampled(units))
        return found

    def baselines(self, cells, table, draws, given, labels):
        """Give the measures of predictions that do not look at the evidence."""
        gold, resampled = (
            confusion.collapse(np.reshape(counted, _SHAPE), **self.policy).sum(-1) for counted in (table, draws)
        )
        share = gold[0] / max(gold.sum(), 1)
        majority = np.eye(len(share))[np.argmax(gold[0])]
        found = {
            name: self._blind(gold[0], resampled, answer) for name, answer in (("majority", majority), ("prior", share))
        }
        one_row = np.eye(confusion.CELLS, dtype=int).reshape(_SHAPE)
        counts_in = confusion.collapse(one_row, **self.policy).sum((1, 2)) > 0
        rows = np.flatnonzero(counts_in[cells])
        policy = {"off_label": self.policy["off_label"].replace("drop", "wrong")}
        for name, predicted in (given or {}).items():
            _, predicted = verdict_labels.paired_labels(self.gold, predicted)
            columns, _ = verdict_labels.encode(predicted, labels)
            units = self.units(self.gold * len(OUTCOMES) + columns, rows)
            found[name] = self.measured(units, self.resampled(units), **policy)
        return found

    def _blind(self, gold, draws, answer):
        """Score answers that are drawn with fixed probabilities, in expectation."""
        answer = np.append(answer, 0.0)
        return self._intervals(gold[:, None] * answer, draws[:, :, None] * answer)


def _shares(flat):
    """Numerator and denominator of the measures that are shares of rows."""
    hit, columns, gold = np.diagonal(flat), flat.sum(0), flat.sum(1)
    found = {
        "accuracy": (hit.sum(), flat.sum()),
        "precision": (hit[0], columns[0]),
        "recall": (hit[0], gold[0]),
        "precision_not_supported": (hit[1], columns[1]),
        "recall_not_supported": (hit[1], gold[1]),
    }
    return {name: (int(a), int(b)) for name, (a, b) in found.items()}
