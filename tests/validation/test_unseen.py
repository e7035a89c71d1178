"""What chapter and methods page say that the default judge cannot see."""

import pandas as pd
from unseen import TABLE, measured, pairs_by_kind

from casebook.factcheck.stance import PublicJudge


def test_the_table_is_of_this_judge():
    table = measured(PublicJudge())
    pd.testing.assert_frame_equal(pd.read_csv(TABLE), table, check_dtype=False)


def test_every_pair_has_two_different_sentences_and_kinds_have_several():
    for kind, pairs in pairs_by_kind().items():
        assert len(set(pairs)) == len(pairs) >= 16, kind
        assert all(evidence != claim for evidence, claim in pairs)


def test_a_judge_that_reads_the_table_backwards_would_show():
    class Refuting:
        def judge(self, claim, passages):
            return [("refutes", 0.0)] * len(passages)

    assert (measured(Refuting())["refuted"] == 1).all()
