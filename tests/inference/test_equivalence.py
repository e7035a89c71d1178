import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from casebook.errors import InputError
from casebook.raters.preference import equivalence


def panel(share, items, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.uniform(size=(items, 4)) < share, 1.0, -1.0)


def test_tost_equals_statsmodels():
    votes = panel(0.52, 60)
    means = (votes.mean(axis=1) + 1) / 2
    peer = DescrStatsW(means).ttost_mean(0.45, 0.55)[0]
    assert equivalence(votes, n_boot=100).p_tost == pytest.approx(peer, abs=1e-12)


@pytest.mark.parametrize(
    ("share", "items", "verdict"), [(0.5, 2000, "equivalent"), (0.7, 200, "different"), (0.5, 20, "undecided")]
)
def test_verdicts(share, items, verdict):
    assert equivalence(panel(share, items), n_boot=1000).verdict == verdict


def test_at_the_edge_of_the_region_equivalence_is_claimed_in_five_percent():
    claims = sum(equivalence(panel(0.55, 200, seed), n_boot=50).verdict == "equivalent" for seed in range(400))
    assert stats.binomtest(claims, 400, 0.05).pvalue > 0.001


def test_undefined_and_empty_region():
    same = equivalence([[1, -1]] * 6, n_boot=10)
    assert (same.p_tost, same.verdict, same.reason) == (None, "undecided", "no_variation")
    with pytest.raises(InputError, match="is empty"):
        equivalence([[1, -1]], margin=(0.6, 0.4))
