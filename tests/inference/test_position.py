import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from casebook.errors import InputError
from casebook.raters.preference import position_effect

PANELS = hnp.arrays(float, (8, 3), elements=st.sampled_from([-1.0, 0.0, 1.0]))
SIDES = hnp.arrays(bool, (8, 3))


def biased(share, seed=0, shape=(100, 4)):
    """Raters who see no difference and choose the left with probability `share`."""
    rng = np.random.default_rng(seed)
    left = rng.uniform(size=shape) < 0.5
    chosen_left = rng.uniform(size=shape) < share
    return np.where(chosen_left == left, 1.0, -1.0), left


def test_bias_to_the_left_is_found_and_cancels_in_the_balanced_rate():
    votes, left = biased(0.7)
    effect = position_effect(votes, left)
    assert effect.left_choice.low > 0.6
    assert effect.left_test.pvalue < 1e-10
    assert effect.difference.low > 0.2
    assert effect.side_balanced.low < 0.5 < effect.side_balanced.high


def test_no_bias_is_not_found():
    effect = position_effect(*biased(0.5))
    assert effect.left_choice.low < 0.5 < effect.left_choice.high
    chosen = round(effect.left_choice.estimate * 400)
    assert effect.left_test.pvalue == pytest.approx(stats.binomtest(chosen, 400).pvalue)


@given(PANELS, SIDES)
def test_swapping_the_systems_keeps_the_position_effect(votes, left):
    ours, other = position_effect(votes, left), position_effect(-votes, ~left)
    assert ours.left_choice == other.left_choice
    if ours.side_balanced.estimate is not None:
        mean = 1 - other.side_balanced.estimate
        assert ours.side_balanced.estimate == pytest.approx(mean)


@given(PANELS, SIDES)
def test_swapping_the_sides_mirrors_it(votes, left):
    ours, other = position_effect(votes, left), position_effect(votes, ~left)
    assert ours.left_test.pvalue == other.left_test.pvalue
    assert ours.win_rate_left == other.win_rate_right


def test_all_on_one_side_has_no_balanced_rate():
    effect = position_effect([[1, -1]], [[True, True]])
    assert effect.side_balanced.reason == "no_units"
    assert effect.win_rate_right.estimate is None
    assert effect.left_share == 1.0


def test_sides_must_fit():
    with pytest.raises(InputError, match="shape of the votes"):
        position_effect([[1, -1]], [[True]])
    with pytest.raises(InputError, match="every vote needs a side"):
        position_effect([[1, -1]], np.array([[True, None]], dtype=object))
    # A side that is missing where no vote was cast does no harm.
    sides = np.array([[True, None]], dtype=object)
    assert position_effect([[1, np.nan]], sides).left_choice.n == 1
