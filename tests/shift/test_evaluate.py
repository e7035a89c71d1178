import numpy as np
import pytest
from casebook.shift.simulators import SimulatedEncoder

from casebook.datasets import load
from casebook.errors import InputError
from casebook.shift import learn as evaluate
from casebook.shift import study as controls
from casebook.shift.embedded import embed
from casebook.shift.learn import learn_ridge

GRID = evaluate.LEARNERS["posneg-uniform"]


@pytest.fixture(scope="module")
def smoke():
    return embed(load("smoke"), SimulatedEncoder("semantic-hash"))


def test_a_planted_direction_helps_on_held_out_queries(decoys):
    fit = evaluate.cross_fit(decoys, GRID)
    before = decoys.score(decoys.queries)["RR"].mean()
    after = decoys.score(fit.shifted(decoys))["RR"].mean()
    assert after > before + 0.3
    random, spread = controls.random_directions(decoys, fit, ["RR"], draws=5)
    assert abs(random["RR"].mean() - before) < 0.2
    assert len(spread) == 5
    best = controls.oracle_scale(decoys, fit, ["RR"])["RR"]
    assert (best >= decoys.score(fit.shifted(decoys))["RR"] - 1e-12).all()


def test_held_out_judgements_change_nothing_about_their_own_shift(smoke):
    """Whatever a fold's labels say, its movements come from the other folds."""
    fit = evaluate.cross_fit(smoke, GRID)
    fold = fit.folds[0]
    relevant = list(smoke.relevant)
    for row in fold:
        relevant[row] = relevant[row][::-1].copy()
    flipped = embed(smoke.dataset, SimulatedEncoder("semantic-hash"))
    flipped.relevant[:] = relevant
    train = sorted(set(range(len(smoke))) - set(fold))
    for data in (smoke, flipped):
        chosen = evaluate.select(data, train, GRID)
        assert np.array_equal(chosen.shift.vector, fit.selections[0].shift.vector)
        assert chosen.scale == fit.selections[0].scale


def test_without_use_the_scale_is_zero(planted):
    rng = np.random.default_rng(0)
    documents = {f"d{i:02d}": rng.normal(size=6) for i in range(12)}
    queries = {f"q{i:02d}": vector for i, vector in enumerate(documents.values())}
    qrels = {f"q{i:02d}": {f"d{i:02d}": 1} for i in range(12)}
    data = planted(queries, documents, qrels)
    fit = evaluate.cross_fit(data, evaluate.LEARNERS["posneg-contrast"])
    assert not fit.scales.any()
    assert np.array_equal(fit.shifted(data), data.queries)
    assert set(fit.choices()["scale"]) == {0.0}


def test_ridge_is_the_closed_form_of_the_primal(decoys):
    learned = learn_ridge(decoys, penalty=2.0)
    Q = decoys.queries
    Y = np.stack(
        [
            decoys.documents[p][r].mean(axis=0) - decoys.documents[p][~r].mean(axis=0)
            for p, r in zip(decoys.pools, decoys.relevant, strict=True)
        ]
    )
    primal = np.linalg.solve(Q.T @ Q + 2.0 * np.eye(Q.shape[1]), Q.T @ Y)
    assert learned.move(Q) == pytest.approx(Q @ primal)


def test_ridge_equals_scikit_learn(decoys):
    linear_model = pytest.importorskip("sklearn.linear_model")
    model = linear_model.Ridge(alpha=2.0, fit_intercept=False)
    learned = learn_ridge(decoys, penalty=2.0)
    targets = learned.move(np.eye(decoys.queries.shape[1]))
    Y = np.stack(
        [
            decoys.documents[p][r].mean(axis=0) - decoys.documents[p][~r].mean(axis=0)
            for p, r in zip(decoys.pools, decoys.relevant, strict=True)
        ]
    )
    assert pytest.approx(targets) == model.fit(decoys.queries, Y).coef_.T


def test_ridge_without_contrast_moves_nothing(planted):
    data = planted({"q": [1.0, 0]}, {"a": [1.0, 0]}, {"q": {"a": 1}})
    assert not learn_ridge(data).move(data.queries).any()
    with pytest.raises(InputError, match="above 0"):
        learn_ridge(data, penalty=0.0)


def test_chance_is_the_mean_over_all_orders(planted):
    documents = {name: [1.0, n] for n, name in enumerate("abcd")}
    data = planted({"q": [1.0, 0]}, documents, {"q": {"a": 1}})
    chance = data.chance(["RR", "P@1"]).iloc[0]
    assert chance["RR"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert chance["P@1"] == pytest.approx(0.25)


def test_candidates_are_respected_and_dropped_queries_are_counted(planted):
    documents = {"a": [1.0, 0], "b": [0.5, 0.5], "c": [0, 1.0]}
    queries = {"q1": [1.0, 0], "q2": [1.0, 0], "q3": [1.0, 0]}
    data = planted(
        queries, documents, {"q1": {"c": 1}, "q2": {"a": 1}}, candidates={"q1": ["b", "c"], "q2": ["b", "c"]}
    )
    assert data.query_ids == ["q1"]
    assert set(data.run(data.queries)["q1"]) == {"b", "c"}
    account = data.account()
    assert account["reasons"] == {"no_relevant": 1, "no_judgement": 1}
    assert account["n_total"] == 3


def test_ties_go_to_the_higher_document_id(planted):
    documents = {"a": [1.0, 0], "b": [2.0, 0]}
    data = planted({"q": [1.0, 0]}, documents, {"q": {"b": 1}})
    assert data.score(data.queries)["P@1"].item() == 1.0


def test_vectors_that_are_not_finite_are_an_error(planted):
    with pytest.raises(InputError, match="1 document vectors are not finite"):
        planted({"q": [1.0, 0]}, {"a": [np.nan, 0]}, {"q": {"a": 1}})
