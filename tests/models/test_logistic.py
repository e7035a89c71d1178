import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from casebook.models.logistic import logistic_regression


@pytest.fixture
def three_classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6))
    return X, np.argmax(X[:, :3] + rng.gumbel(size=(400, 3)), axis=1)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 100.0])
def test_it_ends_where_another_solver_ends(three_classes, penalty):
    X, y = three_classes
    peer = LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-12).fit(X, y)
    found = logistic_regression(penalty).fit(X, y)
    assert np.abs(found.coef_ - peer.coef_).max() < 1e-8
    assert np.abs(found.predict_proba(X) - peer.predict_proba(X)).max() < 1e-8
