"""What the page on fact-checking says of exchanged words."""

import pandas as pd
import pytest
from exchanges import EXCHANGED, SYNONYM, TABLE, UNCHANGED, all_pairs, book_table, shares

from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.verdict import REFUTES

IN_NO_LIST = (
    "any noun",
    "furniture (in no list)",
    "tools (in no list)",
    "clothes (in no list)",
    "jewels (in no list)",
)


@pytest.fixture(scope="module")
def pairs():
    return all_pairs()


def test_exchanged_words_are_contradictions_and_synonyms_are_not(pairs):
    refuted = shares(pairs, PublicJudge(), REFUTES)
    exchanged = {kind: share for (kind, change), share in refuted.items() if change == EXCHANGED}
    total = exchanged.pop(f"all {EXCHANGED}")
    assert total.n >= 500
    assert all(share.estimate > 0.8 for kind, share in exchanged.items() if kind not in IN_NO_LIST)
    # What is in no list is left open: a word list cannot tell a rival from a synonym.
    assert all(exchanged[kind].estimate < 0.1 for kind in IN_NO_LIST)
    assert refuted[f"all {SYNONYM}", SYNONYM].estimate < 0.05
    assert refuted[f"all {UNCHANGED}", UNCHANGED].estimate < 0.02


def test_the_table_of_the_book_is_of_this_judge(pairs):
    book = pd.read_csv(TABLE, dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(book_table(pairs).astype(str), book)
