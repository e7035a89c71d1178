"""What chapter and methods page say that the default judge cannot see."""

import pandas as pd
from unseen import TABLE, measured

from casebook.factcheck.stance import PublicJudge


def test_the_table_is_of_this_judge():
    table = measured(PublicJudge())
    pd.testing.assert_frame_equal(pd.read_csv(TABLE), table, check_dtype=False)
