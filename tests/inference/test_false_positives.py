import pytest

from casebook.inference.false_positives import (
    CONDITIONS,
    book_table,
    false_positive_study,
)
from casebook.inference.preference_study import RECOMMENDED, TESTS


@pytest.mark.slow
def test_the_pooled_test_fails_and_the_recommended_one_holds():
    """50 items, 4 raters, nobody preferred, items with sd 1.3: 4,000 studies."""
    table = false_positive_study(models=0).set_index(["condition", "test"])
    rejected = table["rejected"]
    assert rejected["items differ", RECOMMENDED] <= 0.06
    assert table["ci_low"]["items differ", "pooled sign"] > 0.10
    assert not table["holds"]["items differ", "pooled sign"]
    # Independent votes do the pooled test no harm: it is the dependence.
    assert rejected["votes independent", "pooled sign"] <= 0.06
    # For other raters than these, the item-wise tests do not hold either.
    assert not table["holds"]["items and raters differ", RECOMMENDED]
    assert rejected["items and raters differ", "item and rater bootstrap"] <= 0.06
    assert len(table) == len(CONDITIONS) * len(TESTS)


def test_the_crossed_model_is_among_them():
    table = false_positive_study(studies=40, models=2, items=20)
    rows = table[table["test"] == "crossed logit"]
    assert rows["n"].to_list() == [2, 2, 2]
    assert (rows["rejected"] <= rows["ci_high"]).all()
    again = false_positive_study(studies=40, models=2, items=20)
    assert table.equals(again)
    book = book_table(table).set_index("test")
    assert len(book) == len(TESTS) + 1
    row = table.iloc[0]
    cell = f"{row['rejected']:.3f} [{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
    assert book.loc["pooled sign", "votes independent"].startswith(cell)
