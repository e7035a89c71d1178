import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.tools.numdiff import approx_hess

from casebook.errors import InputError
from casebook.inference.mixed_models import fit_cumulative_link

WINE = """2 1 2 3 2 3 1 2 1/3 2 3 2 3 2 1 2 2/3 1 3 3 4 3 2 2 3/4 3 2 2 3 2 2 3 2
4 2 5 3 3 2 2 3 3/4 3 5 2 3 4 3 3 2/5 5 4 5 3 5 2 3 4/5 4 4 3 3 4 3 4 4"""
"""Bitterness of eight wines by nine judges: Randall, Biometrical Journal 31, 1989."""


@pytest.fixture(scope="module")
def wine():
    ratings = [
        list(map(int, row.split())) for row in WINE.replace("\n", "/").split("/")
    ]
    columns = {
        "rating": np.ravel(ratings),
        "temp": np.repeat([0, 0, 0, 0, 1, 1, 1, 1], 9),
        "contact": np.repeat([0, 0, 1, 1, 0, 0, 1, 1], 9),
        "judge": np.tile(range(9), 8),
    }
    return pd.DataFrame(columns)


def effects(fit):
    return fit.table.set_index("parameter")


def test_wine_without_judges_equals_r(wine):
    fit = fit_cumulative_link(wine["rating"], wine[["temp", "contact"]])
    assert effects(fit).loc["temp", "estimate"] == pytest.approx(2.5031, abs=1e-4)
    assert fit.log_likelihood == pytest.approx(-86.4919, abs=1e-4)
    assert (fit.n, fit.df) == (72, 6)


def test_wine_with_judges_equals_r(wine):
    """Laplace's approximation, ``ordinal::clmm`` with one quadrature point."""
    groups = {"judge": wine["judge"]}
    fit = fit_cumulative_link(wine["rating"], wine[["temp", "contact"]], groups)
    assert effects(fit).loc["temp", "estimate"] == pytest.approx(3.0630, abs=1e-4)
    assert fit.log_likelihood == pytest.approx(-81.5654, abs=1e-4)
    exact = integrated(wine, fit)
    # Ten quadrature points give R -81.5325 at its own maximum, 3.0619 for temp.
    assert exact == pytest.approx(-81.5325, abs=2e-3)


def integrated(wine, fit):
    """Log-likelihood at the fit, with each judge integrated by 60-point quadrature."""
    estimates, sd = fit.table["estimate"].to_numpy(), fit.sds["sd"][0]
    cuts = np.concatenate([[-np.inf], estimates[:4], [np.inf]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    total = 0.0
    for _, rows in wine.groupby("judge"):
        fixed = rows[["temp", "contact"]].to_numpy() @ estimates[4:]
        predictor = fixed[:, None] + sd * nodes
        upper = stats.logistic.cdf(cuts[rows["rating"]][:, None] - predictor)
        lower = stats.logistic.cdf(cuts[rows["rating"] - 1][:, None] - predictor)
        likelihood = np.prod(upper - lower, axis=0)
        total += np.log(np.sum(weights * likelihood) / np.sqrt(2 * np.pi))
    return total


def test_equal_to_statsmodels_without_groups(wine):
    fit = fit_cumulative_link(wine["rating"], wine[["temp", "contact"]])
    model = OrderedModel(wine["rating"], wine[["temp", "contact"]], distr="logit")
    peer = model.fit(method="bfgs", disp=False)
    ours = effects(fit)
    for name in ("temp", "contact"):
        assert ours.loc[name, "estimate"] == pytest.approx(peer.params[name], abs=1e-4)
        assert ours.loc[name, "se"] == pytest.approx(peer.bse[name], abs=1e-4)
    cuts = model.transform_threshold_params(peer.params.to_numpy())[1:-1]
    np.testing.assert_allclose(fit.table["estimate"][:4], cuts, atol=2e-4)


def panel(items, raters, item_sd, rater_sd, preference=0.5, seed=0):
    rng = np.random.default_rng(seed)
    log_odds = preference + rng.normal(0, item_sd, (items, 1))
    log_odds = log_odds + rng.normal(0, rater_sd, raters)
    wins = rng.uniform(size=(items, raters)) < stats.logistic.cdf(log_odds)
    item, rater = np.indices(wins.shape).reshape(2, -1)
    return wins.ravel().astype(int), {"item": item, "rater": rater}


def test_laplace_of_crossed_groups_by_another_route():
    """Mode by scipy, curvature by finite differences, at the fitted parameters."""
    wins, groups = panel(12, 5, 1.3, 0.8)
    fit = fit_cumulative_link(wins, groups=groups)
    cut, sds = fit.table["estimate"][0], fit.sds["sd"].to_numpy()

    def negative(u):
        log_odds = -cut + sds[0] * u[groups["item"]] + sds[1] * u[12 + groups["rater"]]
        terms = stats.bernoulli.logpmf(wins, stats.logistic.cdf(log_odds))
        return -np.sum(terms) + u @ u / 2

    mode = optimize.minimize(negative, np.zeros(17), method="BFGS", tol=1e-9).x
    curvature = np.linalg.slogdet(approx_hess(mode, negative))[1]
    assert fit.log_likelihood == pytest.approx(
        -negative(mode) - curvature / 2, abs=1e-4
    )
    assert list(fit.sds["levels"]) == [12, 5]


def test_crossed_groups_recover_the_truth():
    wins, groups = panel(150, 40, 1.3, 0.5)
    fit = fit_cumulative_link(wins, groups=groups)
    assert fit.sds["sd"].to_list() == pytest.approx([1.3, 0.5], abs=0.15)
    row = fit.table.iloc[0]
    assert row["ci_low"] < -0.5 < row["ci_high"]


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_order_names_and_direction_do_not_matter(seed):
    wins, groups = panel(15, 4, 1.0, 0.5, seed=1)
    fit = fit_cumulative_link(wins, groups=groups)
    order = np.random.default_rng(seed).permutation(len(wins))
    renamed = {
        name: np.char.add("x", (97 - v[order]).astype(str))
        for name, v in groups.items()
    }
    other = fit_cumulative_link(-wins[order], groups=renamed)
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)
    estimate = fit.table["estimate"][0]
    assert other.table["estimate"][0] == pytest.approx(-estimate, abs=1e-3)


def test_without_variation_between_groups_their_deviation_is_zero():
    wins, groups = np.tile([0, 1], 40), {"item": np.repeat(range(40), 2)}
    fit = fit_cumulative_link(wins, groups=groups)
    assert fit.sds["sd"][0] == 0
    assert fit.table["se"][0] == pytest.approx(2 / np.sqrt(80), abs=1e-3)


@pytest.mark.parametrize("size", [2, 20, 500])
def test_separated_data_have_no_estimate(size):
    """Statsmodels' logit names the same defect: perfect separation."""
    effect = pd.DataFrame({"a": np.repeat([0.0, 1.0], size)})
    outcome = np.repeat([1, 2], size)
    assert fit_cumulative_link(outcome, effect).reason == "separated"
    outcome[0] = 2
    assert fit_cumulative_link(outcome, effect).reason == "separated"
    outcome[-1] = 1
    assert fit_cumulative_link(outcome, effect).reason is None


def test_undefined_and_bad_input():
    assert fit_cumulative_link([1, 1, 1]).reason == "one_category"
    twice = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 2, 0, 2]})
    assert fit_cumulative_link([1, 2, 2, 1], twice).reason == "not_identified"
    split = pd.DataFrame({"a": [0.0, 0, 1, 1]})
    separated = fit_cumulative_link([1, 1, 2, 2], split)
    assert (separated.reason, separated.log_likelihood) == ("separated", None)
    assert separated.table["estimate"].isna().all()
    with pytest.raises(InputError, match="4 finite values"):
        fit_cumulative_link([1, 2, 2, 1], split[:3])
    with pytest.raises(InputError, match="4 finite values"):
        fit_cumulative_link([1, 2, np.nan, 1], split)
    with pytest.raises(InputError, match="3 finite values"):
        fit_cumulative_link(["a", None, "b"])
    with pytest.raises(InputError, match="judge must name a level for each of 2 rows"):
        fit_cumulative_link([1, 2], groups={"judge": ["x", None]})
    with pytest.raises(InputError, match="levels are more than"):
        fit_cumulative_link(np.arange(4000) % 2, groups={"judge": range(4000)})
