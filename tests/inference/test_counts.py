"""Bootstrap of count tables against resampling the rows themselves."""

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.stats.intervals import resample_tables, unit_counts


def test_counts_are_kept_and_every_resample_has_n_units():
    cells = np.array([0, 0, 2, 1, 2, 2])
    units = unit_counts(cells, 4)
    assert units.table.tolist() == [2, 1, 3, 0]
    draws = resample_tables(units, n_boot=50)
    assert (draws.sum(axis=1) == 6).all()
    assert (draws[:, 3] == 0).all()


def test_moments_are_those_of_resampled_clusters():
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 15, 100)
    cells = rng.integers(0, 3, 100)
    draws = resample_tables(unit_counts(cells, 3, clusters), n_boot=20_000)
    by_cluster = np.zeros((15, 3))
    np.add.at(by_cluster, (clusters, cells), 1)
    spread = 15 * by_cluster.var(axis=0)
    assert draws.mean(axis=0) == pytest.approx(by_cluster.sum(axis=0), rel=0.01)
    assert draws.var(axis=0) == pytest.approx(spread, rel=0.05)


def test_fewer_than_two_units_cannot_be_resampled():
    assert resample_tables(unit_counts([0, 1], 2, ["a", "a"])).shape == (0, 2)
    assert resample_tables(unit_counts([], 2)).shape == (0, 2)


def test_missing_clusters_are_counted():
    with pytest.raises(InputError, match="1 of 2 units have no cluster"):
        unit_counts([0, 1], 2, ["a", None])
