"""What command and book say that the default judge cannot see."""

import csv

import pandas as pd
from unseen import BOOK_TABLE, book_table, measured, pairs_by_kind

from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.unseen import TABLE, general_caution, unseen_kinds


def test_the_tables_are_of_this_judge():
    table = measured(PublicJudge())
    pd.testing.assert_frame_equal(pd.read_csv(TABLE), table, check_dtype=False)
    book = pd.read_csv(BOOK_TABLE, dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(book_table(table).astype(str), book)
    kinds = {row["contradiction"] for row in unseen_kinds()}
    assert kinds == set(table.loc[table["refuted"] < 0.8, "contradiction"])
    for row in unseen_kinds():
        assert f"{row['contradiction']} ({100 * row['refuted']:.0f} %)" in general_caution()


def test_every_pair_has_two_different_sentences_and_kinds_have_several():
    for kind, pairs in pairs_by_kind().items():
        assert len(set(pairs)) == len(pairs) >= 16, kind
        assert all(evidence != claim for evidence, claim in pairs)


def test_a_judge_that_reads_the_table_backwards_would_show():
    """A judge that refutes everything sees every kind."""

    class Refuting:
        def judge(self, claim, passages):
            return [("refutes", 0.0)] * len(passages)

    assert (measured(Refuting())["refuted"] == 1).all()
    with TABLE.open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(pairs_by_kind())
