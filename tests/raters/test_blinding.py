import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from casebook.errors import InputError
from casebook.raters import blinding as arm_guess
from casebook.raters.blinding import blinding_index, guess_arms
from casebook.raters.forms import PDPABENCH, read_answers

WORDS = "data consent notify breach purpose person organisation request access duty"


def answers(count, tell, seed=0):
    rng = np.random.default_rng(seed)
    words = WORDS.split()
    one = [" ".join(rng.choice(words, 30)) for _ in range(count)]
    two = [" ".join(rng.choice(words, 30)) for _ in range(count)]
    return [text + tell for text in one], two


def test_a_stock_phrase_is_found():
    guess = guess_arms(*answers(40, " as stated above"), n_permutations=99)
    assert guess.accuracy.estimate == 1.0
    assert guess.pvalue == pytest.approx(0.01)
    assert {"above", "stated", "as stated"} & set(guess.words["word"])


def test_answers_of_one_source_are_not_told_apart():
    values = [guess_arms(*answers(24, "", seed), folds=6, n_permutations=19, seed=seed) for seed in range(15)]
    assert abs(np.mean([g.accuracy.estimate for g in values]) - 0.5) < 0.08
    assert np.mean([g.pvalue <= 0.05 for g in values]) <= 0.25


def test_the_dual_fit_is_the_logistic_regression_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 60))
    labels = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    weights = arm_guess._dual_weights(X @ X.T, labels)
    model = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected = model.fit(X, labels).coef_[0]
    assert X.T @ weights == pytest.approx(expected, abs=1e-4)


def test_too_few_or_blank_answers_give_no_result():
    assert guess_arms(["a"] * 4, ["b"] * 4).reason == "fewer_than_folds"
    assert guess_arms([""] * 12, [" "] * 12).reason == "no_text"
    with pytest.raises(InputError, match="do not pair"):
        guess_arms(["a"], ["b", "c"])


@pytest.mark.data
def test_the_real_answers_give_their_systems_away(real_answers):
    answers, _ = read_answers(real_answers, PDPABENCH)
    guess = guess_arms(answers["rag"], answers["base"], n_permutations=39)
    assert guess.accuracy.estimate > 0.9 and guess.pvalue == pytest.approx(1 / 40)


def test_published_blinding_indices():
    # The example of the R package BI 1.2.0, as its documentation prints it.
    index = blinding_index([[48, 4, 330], [22, 30, 319]])

    def shown(found):
        return tuple(round(x, 3) for x in (found.estimate, found.low, found.high))

    assert shown(index.james) == (0.896, 0.875, 0.918)
    assert shown(index.bang["S1"]) == (0.115, 0.080, 0.150)
    assert shown(index.bang["S2"]) == (0.022, -0.016, 0.060)


@pytest.mark.parametrize(
    "counts, james, bang",
    [
        ([[50, 0, 0], [0, 50, 0]], 0.0, 1.0),
        ([[25, 25, 0], [25, 25, 0]], 0.5, 0.0),
        ([[0, 0, 9], [0, 0, 9]], 1.0, 0.0),
        ([[0, 50, 0], [50, 0, 0]], 1.0, -1.0),
    ],
)
def test_the_ends_of_both_indices(counts, james, bang):
    index = blinding_index(counts)
    assert index.james.estimate == pytest.approx(james)
    assert index.bang["S1"].estimate == pytest.approx(bang)


def test_without_guesses_the_index_is_undefined():
    index = blinding_index(np.zeros((2, 3)))
    assert index.james.estimate is None and index.bang["S2"].reason == "no_units"
    with pytest.raises(InputError, match="two arms and three answers"):
        blinding_index([[1, 2], [3, 4]])
