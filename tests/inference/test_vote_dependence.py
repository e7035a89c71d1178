import numpy as np
import pingouin
import pytest
from scipy import stats

from casebook.raters.preference import rater_heterogeneity, vote_clustering


def test_published_figures_of_the_example(example):
    clustering = vote_clustering(example, n_boot=200)
    assert clustering.icc.estimate == pytest.approx(0.19, abs=0.005)
    assert clustering.design_effect == pytest.approx(1.57, abs=0.005)
    assert clustering.effective_n == pytest.approx(200 / clustering.design_effect)
    assert rater_heterogeneity(example).pvalue == pytest.approx(0.009, abs=5e-4)


def test_icc_equals_pingouin(example):
    # The reset index names the columns item, rater and vote.
    long = example.stack().rename("vote").reset_index()
    peer = pingouin.intraclass_corr(long, "item", "rater", "vote").set_index("Type")
    ours = vote_clustering(example, n_boot=10).icc.estimate
    single = [name for name in peer.index if name in ("ICC1", "ICC(1,1)")]
    assert ours == pytest.approx(peer.loc[single[0], "ICC"], abs=1e-9)


def test_icc_of_unequal_groups_recovers_the_truth():
    """Latent shares with variance 1/12 between items and mean 1/6 within: ICC 1/3."""
    rng = np.random.default_rng(0)
    share = rng.uniform(size=(20_000, 1))
    votes = np.where(rng.uniform(size=(20_000, 4)) < share, 1.0, -1.0)
    votes[rng.uniform(size=votes.shape) < 0.3] = np.nan
    icc = vote_clustering(votes, n_boot=20).icc
    assert icc.estimate == pytest.approx(1 / 3, abs=0.02)


def test_design_effect_predicts_the_variance_of_the_mean():
    rng = np.random.default_rng(1)
    share = rng.uniform(size=(2_000, 50, 1))
    votes = np.where(rng.uniform(size=(2_000, 50, 4)) < share, 1.0, -1.0)
    observed = votes.mean(axis=(1, 2)).var() / (1 / 200)
    assert observed == pytest.approx(1 + 3 / 3, rel=0.1)  # ICC 1/3, four votes
    effects = [vote_clustering(v, n_boot=2).design_effect for v in votes[:200]]
    assert np.mean(effects) == pytest.approx(observed, rel=0.1)


def test_heterogeneity_equals_scipy():
    votes = np.array([[1, 1, -1], [1, 0, -1], [1, -1, 1], [-1, np.nan, -1]])
    ours = rater_heterogeneity(votes)
    peer = stats.chi2_contingency([[3, 1, 1], [1, 1, 3]], correction=False)
    assert (ours.statistic, ours.pvalue) == pytest.approx((peer.statistic, peer.pvalue))
    assert (ours.df, ours.n, ours.reason) == (2, 10, "small_expected_counts")


def test_undefined():
    assert rater_heterogeneity([[1], [-1]]).reason == "fewer_than_two_raters"
    assert rater_heterogeneity([[1, 1], [1, 1]]).reason == "no_variation"
    alone = vote_clustering([[1], [-1]], n_boot=10)
    assert (alone.icc.estimate, alone.design_effect) == (None, None)
    assert vote_clustering([[0, 0]], ties="drop", n_boot=10).icc.reason == "no_units"
