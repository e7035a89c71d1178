import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from casebook.errors import InputError
from casebook.inference.kappa_power import _table, _variance, kappa_sample_size


def test_equal_to_r():
    """``irr::N.cohen.kappa(0.5, 0.5, 0.7, 0.85)`` gives 96.

    Its arguments are the true and the null value, in this order, although the example
    announces a null of 0.7: for that, 117 items are needed.
    """
    assert kappa_sample_size(0.7, 0.85) == 96
    assert kappa_sample_size(0.85, 0.7) == 117


def test_even_shares_in_closed_form():
    """The variance is 1 - kappa**2: (1.96 + 0.8416 sqrt(0.84))**2 / 0.16 = 46.6."""
    assert kappa_sample_size(0.4, 0.0, alternative="two-sided") == 47
    assert _variance(_table(0.6, 0.5, 0.5)) == pytest.approx(1 - 0.36)


def test_variance_equals_statsmodels():
    table = np.array([[40, 9], [6, 45]])
    peer = cohens_kappa(table)
    assert np.sqrt(_variance(table / 100) / 100) == pytest.approx(peer.std_kappa)


def test_simulated_power():
    n = kappa_sample_size(0.6, 0.4, positive=(0.3, 0.4))
    rng = np.random.default_rng(0)
    tables = (
        rng.multinomial(n, _table(0.6, 0.3, 0.4).ravel(), 4000).reshape(-1, 2, 2) / n
    )
    agreed = np.trace(tables, axis1=1, axis2=2)
    chance = np.einsum("ki,ki->k", tables.sum(axis=1), tables.sum(axis=2))
    kappa = (agreed - chance) / (1 - chance)
    z = (kappa - 0.4) / np.sqrt(_variance(_table(0.4, 0.3, 0.4)) / n)
    assert np.mean(z > 1.6449) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kappa": 0.5, "null": 0.5}, "must differ"),
        ({"kappa": 0.9, "null": 0.4, "positive": (0.1, 0.9)}, "cannot occur"),
        ({"kappa": 1.0, "null": 0.4}, "cannot occur"),
        ({"kappa": 0.6, "null": 0.4, "positive": (0, 0.5)}, "share of positives"),
        ({"kappa": 0.6, "null": 0.4, "alternative": "both"}, "unknown alternative"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        kappa_sample_size(**arguments)
