import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from casebook.errors import InputError
from casebook.stats.tests import benjamini_hochberg, holm

PVALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@settings(max_examples=30, deadline=None)
@given(PVALUES)
def test_equal_to_statsmodels(pvalues):
    for ours, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        expected = multipletests(pvalues, method=method)[1]
        assert ours(pvalues) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(PVALUES, st.data())
def test_order_is_kept_and_untested_hypotheses_do_not_count(pvalues, data):
    gap = data.draw(st.integers(0, len(pvalues)))
    undefined = data.draw(st.sampled_from([None, np.nan]))
    with_gap = [*pvalues[:gap], undefined, *pvalues[gap:]]
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(pvalues)
        assert adjust(with_gap) == [*adjusted[:gap], None, *adjusted[gap:]]
        assert all(p <= q <= 1 for p, q in zip(pvalues, adjusted, strict=True))
        in_order = np.array(adjusted)[np.argsort(pvalues)]
        assert (np.diff(in_order) >= 0).all()


def test_nothing_tested_and_nonsense():
    assert holm([]) == []
    assert holm([None, float("nan")]) == [None, None]
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([0.5, 1.5])
